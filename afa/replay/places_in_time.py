"""Rows in the order of time without looking at them: which blocks stand alone, and at which place their rows begin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from afa.replay.known_blocks import Blocks


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
    def of(cls, blocks: Blocks) -> Clusters:
        """Return the clusters of blocks. *Requires* that the times of all are known.

        Examples
        --------
        >>> from types import SimpleNamespace as Some
        >>> times = Some(low=np.array([0, 7, 5]), high=np.array([4, 9, 7]), rows=np.array([2, 3, 2]))
        >>> Clusters.of(times)      # the last two share 7, and the one that begins earlier stands behind
        Clusters(cluster=array([0, 1, 1]), start=array([0, 2]), rows=array([2, 5]))
        """
        order = np.lexsort((blocks.high, blocks.low))
        low, high = blocks.low[order].tolist(), blocks.high[order].tolist()
        cluster = np.zeros(len(order), np.int64)
        number = 0
        latest, behind = high[0], int(order[0])  # behind: the last of the blocks that reach as far
        first = _first_of_equal(low, order.tolist())
        for i, place in enumerate(order.tolist()):
            if i and (low[i] > latest or (low[i] == latest and first[i] > behind)):
                number += 1
            if i and high[i] >= latest:
                latest, behind = high[i], place if high[i] > latest else max(behind, place)
            cluster[place] = number
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


def _first_of_equal(low: list[int], places: list[int]) -> list[int]:
    """Return for each block in order which of it and those behind it that begin at the same time stands first."""
    found = places.copy()
    for i in range(len(low) - 2, -1, -1):
        if low[i] == low[i + 1]:
            found[i] = min(found[i], found[i + 1])
    return found
