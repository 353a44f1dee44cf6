"""Slices of a stored table: whole blocks of one slice from what is known of them, the rows of the others; or all rows.

    a block  ->  by time: the slices in which its times lie    by rows: those of its places in the order of time
             ->  in one slice, and known: its totals           cut by an edge, or unknown: its rows are read

Source: the thesis, Sec. 3.3. Departs: its cost formula counts the merges of a tree; here both ways read alike, so that blocks
pay as soon as there are row groups, or enough rows of them, that need not be looked at.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from afa.replay.column_totals import Plain, Totals, plain, plain_type, times_in, totals_of
from afa.replay.key_spans import ranges_of
from afa.replay.known_blocks import Blocks
from afa.replay.row_reading import Stretches, batches
from afa.replay.slices import Gathered, Slices, WindowCut, joined
from afa.replay.stored import Stored

Way = Literal["auto", "index", "read"]
DECODED, ADDED = 5, 1
"""What it costs to decode a row of a row group, and to add one up: 26 and 5 ns for a time and a float."""
SHARE = 0.97
"""Blocks pay if what is left of the work is less than this; they cost 10 ms for 2,000 blocks themselves."""


class Measure(NamedTuple):
    """What is wanted of a column, beside how many values there are."""

    total: bool = False
    bounds: bool = False


class Wanted(NamedTuple):
    """The column of times, the windows, whether they are of rows, and what is wanted of columns."""

    time: str
    cut: WindowCut
    of_rows: bool
    measures: dict[str, Measure]

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys([self.time, *self.measures]))


class Work(NamedTuple):
    """Slices, and what was done for them: the way, and how many rows were read."""

    slices: Slices
    way: str
    rows: int


class Clusters(NamedTuple):
    """Blocks that overlap in time, together: all rows of a cluster come before those of the next one, in the order of time.

    Rows of one time are in the order in which they stand.
    """

    cluster: np.ndarray  # of each block which cluster it is in; clusters are numbered in the order of time
    # start, rows: of each cluster the place of its first row among all rows, and how many it has
    start: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, blocks: Any) -> Clusters:
        """Return the clusters of blocks. *Requires* that the times of all are known.

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


def slices_of(stored: Stored, wanted: Wanted, way: Way = "auto") -> Work:
    """Return the slices of a stored table: from blocks where that may be, from all rows, or (auto) what reads less.

    O(blocks + rows read). Rows wait in memory batch by batch; those of windows of rows as long as their blocks overlap in time.
    """
    gathered = Gathered()
    if not len(stored):
        return Work(gathered.slices(), "read", 0)
    found, rows = (_of_rows if wanted.of_rows else _of_time)(stored, wanted, way, gathered)
    return Work(gathered.slices(), found, rows)


def _of_time(stored: Stored, wanted: Wanted, way: Way, gathered: Gathered) -> tuple[str, int]:
    """Gather slices of time; return the way, and how many rows were read."""
    if way == "read":
        return "read", _read(stored, wanted, Stretches.whole(stored), None, gathered)
    blocks = Blocks(stored, wanted.time, list(wanted.measures))
    if blocks.timed.any():
        wanted.cut.check(int(blocks.low[blocks.timed].min()), int(blocks.high[blocks.timed].max()))
    begin, end = (wanted.cut.ids(np.where(blocks.timed, side, 0)) for side in (blocks.low, blocks.high))
    whole = blocks.timed & (begin == end)
    if way == "auto" and not _pays(stored, blocks, whole):
        return "read", _read(stored, wanted, Stretches.whole(stored), None, gathered)
    done = _add_known(blocks, wanted, begin, whole, gathered)
    return "index", _read(stored, wanted, blocks.stretches, np.flatnonzero(~done), gathered)


def _pays(stored: Stored, blocks: Blocks, whole: np.ndarray) -> bool:
    """Return whether it costs less to read all blocks but some than to read all."""
    decoded = int(stored.rows[np.unique(blocks.group[~whole])].sum())
    left = DECODED * decoded + ADDED * int(blocks.rows[~whole].sum())
    return left <= SHARE * (DECODED + ADDED) * stored.total


def _add_known(
    blocks: Blocks, wanted: Wanted, ids: np.ndarray, whole: np.ndarray, gathered: Gathered, clusters: Clusters | None = None
) -> Any:
    """Gather blocks of which all that is wanted is known, of clusters all or none; return which need not be read."""
    held = wanted.cut.counts(ids)
    used: Any = whole & held
    totals: Totals = {}
    for name, measure in wanted.measures.items():
        found, known = blocks.totals(name, *measure)
        totals |= found
        used = used & known
    used = used if clusters is None else clusters.all_of(used)
    gathered.add(Slices(ids, blocks.rows, totals).take(used))
    return used | (whole & ~held)


def _of_rows(stored: Stored, wanted: Wanted, way: Way, gathered: Gathered) -> tuple[str, int]:
    """Gather slices of rows in the order of time; return the way, and how many rows were read."""
    cut = wanted.cut
    blocks = Blocks(stored, wanted.time, list(wanted.measures))
    read = _read_times(stored, blocks, wanted)
    clusters = Clusters.of(blocks)
    begin, end = cut.ids(clusters.start), cut.ids(clusters.start + clusters.rows - 1)
    whole, ids = (begin == end)[clusters.cluster], begin[clusters.cluster]
    done = np.zeros(len(ids), np.bool_)
    if way == "index" or (way == "auto" and _pays(stored, blocks, whole)):
        done = _add_known(blocks, wanted, ids, whole, gathered, clusters)
    units = [unit for unit in clusters.units() if not done[unit[0]]]
    for numbers, table in batches(stored, blocks.stretches, units, wanted.columns):
        of_batch = np.array(list(dict.fromkeys(clusters.cluster[numbers].tolist())))
        places = ranges_of(clusters.start[of_batch], clusters.start[of_batch] + clusters.rows[of_batch])
        ticks = times_in(table, wanted.time, lambda: stored.name)
        order = None if (ticks[1:] >= ticks[:-1]).all() else np.argsort(ticks, kind="stable")
        gathered.add(_reduced(table, wanted, *_runs(cut, places), order))
        read += len(table)
    return "index" if done.any() else "read", read


def _read_times(stored: Stored, blocks: Blocks, wanted: Wanted) -> int:
    """Read the times of row groups of which no statistics tell them; how many rows that were."""
    rows = 0
    for block in np.flatnonzero(~blocks.timed).tolist():
        group = int(blocks.group[block])
        ticks = times_in(stored.read(group, [wanted.time]), wanted.time, lambda group=group: stored.where(group))  # type: ignore[misc]
        blocks.low[block], blocks.high[block] = ticks.min(), ticks.max()
        rows += len(ticks)
    blocks.timed[:] = True
    return rows


def _read(stored: Stored, wanted: Wanted, stretches: Stretches, some: np.ndarray | None, gathered: Gathered) -> int:
    """Read some stretches and gather their slices of time; return how many rows these were."""
    rows = 0
    for numbers, table in batches(stored, stretches, stretches.by_group(some), wanted.columns):
        ticks = times_in(table, wanted.time, lambda numbers=numbers: stretches.where(stored, numbers))  # type: ignore[misc]
        wanted.cut.check(int(ticks.min()), int(ticks.max()))
        gathered.add(_reduced(table, wanted, *_runs(wanted.cut, ticks)))
        rows += len(table)
    return rows


def _runs(cut: WindowCut, ticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slices of times, and where rows of each begin. A slice comes several times where times are not in order."""
    if (ticks[1:] >= ticks[:-1]).all():
        low, high = cut.ids(ticks[[0, -1]]).tolist()
        if high - low < len(ticks) // 16:  # found by bisection: a division costs 1 ns a row, and to compare them as much
            ids = np.arange(low, high + 1)
            starts = np.searchsorted(ticks, cut.begin(ids))
            there = np.diff(starts, append=len(ticks)) > 0
            return ids[there], starts[there]
    of_rows = cut.ids(ticks)
    starts = np.flatnonzero(np.concatenate([[True], of_rows[1:] != of_rows[:-1]]))
    return of_rows[starts], starts


def _reduced(table: pa.Table, wanted: Wanted, ids: np.ndarray, starts: np.ndarray, order: np.ndarray | None = None) -> Slices:
    """Return the slices of rows that are read; ``order``: that of the rows by time, where they are not in it."""
    totals: Totals = {}
    for name, measure in wanted.measures.items():
        column = _plain(table[name]) if order is None else _plain(table[name]).take(order)
        totals |= totals_of(name, column, starts, total=measure.total, bounds=measure.bounds)
    found, held = Slices(ids, np.diff(starts, append=len(table)), totals), wanted.cut.counts(ids)
    found = found if held.all() else found.take(held)
    return joined([found]) if len(found.ids) else found


def _plain(column: Any) -> Plain:
    """Return a column as numbers; one of other values counts only, where they are there."""
    if plain_type(column.type) is not None:
        return plain(column)
    valid = None if not column.null_count else np.asarray(column.is_valid().combine_chunks().to_numpy(zero_copy_only=False))
    return Plain(np.zeros(len(column), np.uint8), valid)
