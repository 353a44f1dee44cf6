"""Slices of a stored table: whole blocks of one slice from what is known of them, the rows of the others; or all rows.

    a block  ->  by time: the slices in which its times lie    by rows: those of its places in the order of time
             ->  in one slice, and known: its totals           cut by an edge, or unknown: its rows are read

Source: the thesis, Sec. 3.3. Departs: its cost formula counts the merges of a tree; here both ways read alike, so that blocks
pay as soon as there are row groups, or enough rows of them, that need not be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from afa.replay.column_totals import Plain, Totals, plain, plain_type, totals_of, value_type
from afa.replay.known_blocks import Blocks
from afa.replay.places_in_time import Clusters
from afa.replay.row_reading import Pieces, read_groups
from afa.replay.slices import Cut, Gathered, Slices, joined
from afa.replay.stored import Stored
from afa.replay.time_column import times_in

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
    cut: Cut
    of_rows: bool
    measures: dict[str, Measure]

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys([self.time, *self.measures]))


class Work(NamedTuple):
    """Slices, and what was done for them: the way, and how many rows were read."""

    slices: Slices | None
    way: str
    rows: int


def slices_of(stored: Stored, wanted: Wanted, way: Way = "auto") -> Work:
    """Return the slices of a stored table.

    Parameters
    ----------
    stored : Stored
    wanted : Wanted
    way : "auto", "index" or "read"
        From blocks where that may be, from all rows, or what reads less.

    Notes
    -----
    O(blocks + rows read). Rows wait in memory batch by batch; those of windows of rows as long as their blocks overlap in time.
    """
    if not len(stored):
        return Work(None, "read", 0)
    return _of_rows(stored, wanted, way) if wanted.of_rows else _of_time(stored, wanted, way)


def _of_time(stored: Stored, wanted: Wanted, way: Way) -> Work:
    cut, gathered = wanted.cut, Gathered()
    blocks = None if way == "read" else Blocks(stored, wanted.time, list(wanted.measures))
    whole = None if blocks is None else _whole(blocks, wanted)
    if blocks is None or whole is None or (way == "auto" and not _pays(stored, blocks, whole)):
        groups = np.arange(len(stored))
        rows = _read_all(
            stored, wanted, Pieces(stored, groups, np.zeros_like(groups), stored.rows), [[g] for g in groups.tolist()], gathered
        )
        return Work(gathered.slices(), "read", rows)
    ids = cut.ids(np.where(whole, blocks.low, 0))
    told = _add_known(blocks, wanted, ids, whole & cut.counts(ids), gathered)
    rest = np.flatnonzero(~(told | (whole & ~cut.counts(ids))))
    units = [part.tolist() for part in np.split(rest, np.flatnonzero(np.diff(blocks.group[rest])) + 1)] if len(rest) else []
    rows = _read_all(stored, wanted, Pieces(stored, blocks.group, blocks.first, blocks.rows), units, gathered)
    return Work(gathered.slices(), "index", rows)


def _whole(blocks: Blocks, wanted: Wanted) -> Any:
    """Return which blocks are known to lie within one slice of time."""
    low, high, timed = blocks.low, blocks.high, blocks.timed
    if timed.any():
        wanted.cut.check(int(low[timed].min()), int(high[timed].max()))
    low, high = np.where(timed, low, 0), np.where(timed, high, 0)
    return timed & (wanted.cut.ids(low) == wanted.cut.ids(high))


def _pays(stored: Stored, blocks: Blocks, whole: np.ndarray) -> bool:
    """Return whether it costs less to read all blocks but some than to read all."""
    decoded = int(stored.rows[np.unique(blocks.group[~whole])].sum())
    left = DECODED * decoded + ADDED * int(blocks.rows[~whole].sum())
    return left <= SHARE * (DECODED + ADDED) * stored.total


def _add_known(blocks: Blocks, wanted: Wanted, ids: np.ndarray, whole: np.ndarray, gathered: Gathered, clusters: Any = None) -> Any:
    """Add those of some blocks of which all that is wanted is known, of clusters all or none; return which these are."""
    used = whole
    columns: dict[str, Totals] = {}
    for name, measure in wanted.measures.items():
        if name == wanted.time:
            kind = plain_type(blocks.time_type)
            of_time = [part.astype(kind) for part in (blocks.low, blocks.high)] if measure.bounds else [None, None]
            total = np.zeros(len(blocks.rows), np.int64) if measure.total else None
            columns[name] = Totals(blocks.rows, total, of_time[0], of_time[1])
            known: Any = not measure.total
        else:
            columns[name], known = blocks.totals(name, *measure)
        used = used & known
    used = used if clusters is None else clusters.all_of(used)
    gathered.add(Slices(ids[used], blocks.rows[used], {name: part.take(used) for name, part in columns.items()}))
    return used


def _of_rows(stored: Stored, wanted: Wanted, way: Way) -> Work:
    cut, gathered = wanted.cut, Gathered()
    blocks = Blocks(stored, wanted.time, list(wanted.measures))
    read = _time_groups(stored, blocks, wanted)
    clusters = Clusters.of(blocks)
    begin, end = cut.ids(clusters.start), cut.ids(clusters.start + clusters.rows - 1)
    whole, ids = (begin == end)[clusters.cluster], begin[clusters.cluster]
    used = np.zeros(len(ids), np.bool_)
    if way == "index" or (way == "auto" and _pays(stored, blocks, whole)):
        used = _add_known(blocks, wanted, ids, whole & cut.counts(ids), gathered, clusters) | (whole & ~cut.counts(ids))
    units = [unit for unit in clusters.units() if not used[unit[0]]]
    pieces = Pieces(stored, blocks.group, blocks.first, blocks.rows)
    for numbers, table in pieces.batches(units, wanted.columns):
        of_batch = list(dict.fromkeys(clusters.cluster[numbers].tolist()))
        places = np.concatenate([np.arange(clusters.start[c], clusters.start[c] + clusters.rows[c]) for c in of_batch])
        ticks = times_in(table, wanted.time, lambda: stored.name)
        order = None if (ticks[1:] >= ticks[:-1]).all() else np.argsort(ticks, kind="stable")
        gathered.add(_reduced(table, wanted, *_runs(cut, places), order))
        read += len(table)
    return Work(gathered.slices(), "index" if used.any() else "read", read)


def _time_groups(stored: Stored, blocks: Blocks, wanted: Wanted) -> int:
    """Read the times of row groups of which no statistics tell them; how many rows that were."""
    groups = [int(group) for group in blocks.group[~blocks.timed]]
    low, high, rows = [], [], 0
    for group in groups:
        ticks = times_in(read_groups(stored, [group], [wanted.time])[group], wanted.time, lambda group=group: stored.where(group))  # type: ignore[misc]
        low.append(int(ticks.min()))
        high.append(int(ticks.max()))
        rows += len(ticks)
    blocks.time_groups(groups, low, high)
    return rows


def _read_all(stored: Stored, wanted: Wanted, pieces: Pieces, units: Sequence[Sequence[int]], gathered: Gathered) -> int:
    """Read pieces and add their slices of time; return how many rows these were."""
    rows = 0
    for numbers, table in pieces.batches(units, wanted.columns):
        ticks = times_in(table, wanted.time, lambda numbers=numbers: _where(stored, pieces, numbers))  # type: ignore[misc]
        wanted.cut.check(int(ticks.min()), int(ticks.max()))
        gathered.add(_reduced(table, wanted, *_runs(wanted.cut, ticks)))
        rows += len(table)
    return rows


def _where(stored: Stored, pieces: Pieces, numbers: list[int]) -> str:
    first, last = pieces.group_of(numbers[0]), pieces.group_of(numbers[-1])
    return stored.where(first) if first == last else f"{stored.where(first)} to {stored.where(last)}"


def _runs(cut: Cut, ticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
    rows = np.diff(starts, append=len(table))
    told = wanted.cut.counts(ids)
    columns = {}
    for name, measure in wanted.measures.items():
        column = _plain(table[name])
        found = totals_of(column if order is None else column.take(order), starts, total=measure.total, bounds=measure.bounds)
        found = found._replace(present=rows) if column.valid is None else found
        columns[name] = found if told.all() else found.take(told)
    if not told.all():
        ids, rows = ids[told], rows[told]
    return joined([Slices(ids, rows, columns)]) if len(ids) else Slices(ids, rows, columns)


def _plain(column: Any) -> Plain:
    """Return a column as numbers; one of other values counts only, where they are there."""
    if plain_type(value_type(column.type)) is not None:
        return plain(column)
    valid = None if not column.null_count else np.asarray(column.is_valid().combine_chunks().to_numpy(zero_copy_only=False))
    return Plain(np.zeros(len(column), np.uint8), valid)
