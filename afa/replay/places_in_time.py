"""Rows in the order of time without looking at them: which blocks stand alone, and at which place their rows begin."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Clusters(NamedTuple):
    """Blocks that overlap in time, together: all rows of a cluster come before those of the next one, in the order of time.

    Rows of one time are in the order in which they stand.

    Attributes
    ----------
    cluster : numpy.ndarray of int64
        Of each block which cluster it is in; clusters are numbered in the order of time.
    start, rows : numpy.ndarray of int64
        Of each cluster the place of its first row among all rows, and how many it has.
    """

    cluster: np.ndarray
    start: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, blocks: Any) -> Clusters:
        """Return the clusters of blocks. *Requires* that the times of all are known.

        Examples
        --------
        >>> from types import SimpleNamespace as Some
        >>> times = Some(low=np.array([0, 7, 5]), high=np.array([4, 9, 7]), rows=np.array([2, 3, 2]))
        >>> Clusters.of(times)      # the last two share 7, and the one that begins earlier stands behind
        Clusters(cluster=array([0, 1, 1]), start=array([0, 2]), rows=array([2, 5]))
        """
        count = len(blocks.low)
        ends = np.empty(2 * count, np.int64)  # where a block begins and ends in the order of (time, place), as a rank
        ends[np.lexsort((np.tile(np.arange(count), 2), np.append(blocks.low, blocks.high)))] = np.arange(2 * count)
        order = np.argsort(ends[:count])
        reach = np.maximum.accumulate(ends[count:][order])
        cluster = np.zeros(count, np.int64)
        cluster[order[1:]] = np.cumsum(ends[order[1:]] > reach[:-1])
        rows = np.bincount(cluster, blocks.rows).astype(np.int64)
        return cls(cluster, np.cumsum(rows) - rows, rows)

    def units(self) -> list[list[int]]:
        """Return the blocks of each cluster, in the order in which they stand."""
        order = np.argsort(self.cluster, kind="stable")
        ends = np.cumsum(np.bincount(self.cluster, minlength=len(self.start)))
        return [part.tolist() for part in np.split(order, ends[:-1])] if len(ends) else []

    def all_of(self, some: np.ndarray) -> np.ndarray:
        """Return which blocks are in clusters of which all blocks are among some."""
        whole = np.ones(len(self.start), np.bool_)
        whole[self.cluster[~some]] = False
        return np.asarray(whole[self.cluster])
