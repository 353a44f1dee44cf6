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

from afa.replay.column_totals import Totals, plain, times_in, totals_of
from afa.replay.key_spans import ranges_of
from afa.replay.known_blocks import Blocks, Stretches, batches, units
from afa.replay.slices import Gathered, Slices, WindowCut, joined
from afa.replay.stored import Stored

Way = Literal["auto", "index", "read"]
DECODED, ADDED = 5, 1
"""What it costs to decode a row of a row group, and to add one up: 26 and 5 ns for a time and a float."""
SHARE = 0.97
"""Blocks pay if what is left of the work is less than this; they cost 10 ms for 2,000 blocks themselves."""
NONE = np.zeros(0, np.int64)


class Wanted(NamedTuple):
    """The column of times, the windows, whether they are of rows, and the aggregates of columns."""

    time: str
    cut: WindowCut
    of_rows: bool
    words: dict[str, set[str]]


class Work(NamedTuple):
    """Slices, and what was done for them: the way, and how many rows were read."""

    slices: Slices
    way: str
    rows: int


def slices_of(stored: Stored, wanted: Wanted, way: Way = "auto") -> Work:
    """Return the slices of a stored table: from blocks where that may be, from all rows, or (auto) what reads less.

    O(blocks + rows read). Rows wait in memory batch by batch; those of windows of rows as long as their blocks overlap in time.
    """
    cut, of_rows = wanted.cut, wanted.of_rows
    gathered = Gathered(_reduced(stored.schema.empty_table(), wanted, NONE, NONE))
    blocks = Blocks(stored, wanted.time)
    read = _read_times(stored, blocks, wanted.time) if of_rows else 0
    low, high = blocks.low[blocks.timed], blocks.high[blocks.timed]
    cluster, start, rows = clusters(blocks.low, blocks.high, blocks.rows) if of_rows else (np.arange(len(blocks.rows)), NONE, NONE)
    if of_rows:
        begin, end = cut.ids(start)[cluster], cut.ids(start + rows - 1)[cluster]
    else:
        if len(low):
            cut.check(int(low.min()), int(high.max()))
        begin, end = (cut.ids(np.where(blocks.timed, side, 0)) for side in (blocks.low, blocks.high))
    whole = blocks.timed & (begin == end)
    done = np.zeros(len(whole), np.bool_)
    if way == "index" or (way == "auto" and _pays(stored, blocks, whole)):
        done = _add_known(blocks, wanted, begin, whole, gathered, cluster)
    stretches, left = (blocks.stretches, ~done) if of_rows or done.any() else (Stretches.whole(stored), None)
    together = units(cluster if of_rows else stretches.group, left)
    for numbers, table in batches(stored, stretches, together, list(dict.fromkeys([wanted.time, *wanted.words]))):
        ticks = times_in(table, wanted.time, stretches.where(stored, numbers))
        at, order = ticks, None
        if of_rows:
            here = np.unique(cluster[numbers])
            at = ranges_of(start[here], start[here] + rows[here])
            order = None if (ticks[1:] >= ticks[:-1]).all() else np.argsort(ticks, kind="stable")
        else:
            cut.check(int(ticks.min()), int(ticks.max()))
        gathered.add(_reduced(table, wanted, *_runs(cut, at), order))
        read += len(table)
    return Work(gathered.slices(), "index" if done.any() else "read", read)


def clusters(low: np.ndarray, high: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cluster of each block, and the place of each cluster's first row among all rows by time, and how many it has.

    Blocks that overlap in time are one cluster: all its rows come before those of the next one, in the order of time; rows of one
    time are in the order in which they stand.

    >>> clusters(np.array([0, 7, 5]), np.array([4, 9, 7]), np.array([2, 3, 2]))  # the last two share 7
    (array([0, 1, 1]), array([0, 2]), array([2, 5]))
    """
    count = len(low)
    ends = np.empty(2 * count, np.int64)  # where a block begins and ends in the order of (time, place), as a rank
    ends[np.lexsort((np.tile(np.arange(count), 2), np.append(low, high)))] = np.arange(2 * count)
    order = np.argsort(ends[:count])
    reach = np.maximum.accumulate(ends[count:][order])
    cluster = np.zeros(count, np.int64)
    cluster[order[1:]] = np.cumsum(ends[order[1:]] > reach[:-1])
    of_cluster = np.bincount(cluster, rows).astype(np.int64)
    return cluster, np.cumsum(of_cluster) - of_cluster, of_cluster


def _pays(stored: Stored, blocks: Blocks, whole: np.ndarray) -> bool:
    """Return whether it costs less to read all blocks but some than to read all."""
    decoded = int(stored.rows[np.unique(blocks.group[~whole])].sum())
    left = DECODED * decoded + ADDED * int(blocks.rows[~whole].sum())
    return left <= SHARE * (DECODED + ADDED) * stored.total


def _add_known(
    blocks: Blocks, wanted: Wanted, ids: np.ndarray, whole: np.ndarray, gathered: Gathered, cluster: np.ndarray
) -> np.ndarray:
    """Gather blocks of which all that is wanted is known, of clusters all or none; return which need not be read."""
    held = wanted.cut.counts(ids)
    used: Any = whole & held
    totals: Totals = {}
    for name, words in wanted.words.items():
        found, known = blocks.totals(name, words)
        totals |= found
        used = used & known
    used &= ~np.isin(cluster, cluster[~used])
    gathered.add(Slices(ids, blocks.rows, totals).take(used))
    return np.asarray(used | (whole & ~held))


def _read_times(stored: Stored, blocks: Blocks, time: str) -> int:
    """Read the times of row groups of which no statistics tell them; return how many rows that were."""
    rows = 0
    for block in np.flatnonzero(~blocks.timed).tolist():
        group = int(blocks.group[block])
        ticks = times_in(stored.read(group, [time]), time, stored.where(group))
        blocks.low[block], blocks.high[block] = ticks.min(), ticks.max()
        rows += len(ticks)
    blocks.timed[:] = True
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
    for name, words in wanted.words.items():
        column = plain(table[name]) if order is None else plain(table[name]).take(order)
        totals |= totals_of(name, column, starts, words)
    found, held = Slices(ids, np.diff(starts, append=len(table)), totals), wanted.cut.counts(ids)
    return joined([found if held.all() else found.take(held)])
