"""Blocks of a stored table and what is known of them without their rows: from indexes beside its files, else from the footers.

A row group of a file without an index is one block; its sums are not known, its bounds are those of its statistics. Rows of blocks
are read in batches: to read a small row group costs as much beside its rows as for them, 0.2 ms for 16 K rows of two columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from afa.replay.column_totals import (
    BOUNDS,
    SUMS,
    BlockColumn,
    Totals,
    chained,
    holds_times,
    in_arrow,
    nothing,
    parts_of_sums,
    plain,
    unknown_column,
)
from afa.replay.sidecar_file import Content, read_sidecar
from afa.replay.stored import Stored

BATCH = 1 << 20
"""So many rows are read together, or one row group."""


class Stretches(NamedTuple):
    """Rows of row groups, one stretch after the other: the row group of each, its first row there, how many rows it has."""

    group: np.ndarray
    first: np.ndarray
    rows: np.ndarray

    @classmethod
    def whole(cls, stored: Stored) -> Stretches:
        """Return all row groups."""
        return cls(np.arange(len(stored)), np.zeros(len(stored), np.int64), stored.rows)

    def where(self, stored: Stored, numbers: Sequence[int]) -> str:
        """Return in words where some stretches stand."""
        first, last = (stored.where(int(self.group[numbers[place]])) for place in (0, -1))
        return first if first == last else f"{first} to {last}"


def units(labels: np.ndarray, some: np.ndarray | None = None) -> list[list[int]]:
    """Return the numbers of stretches, or of some of them, those of one label together, by label."""
    numbers = np.arange(len(labels)) if some is None else np.flatnonzero(some)
    numbers = numbers[np.argsort(labels[numbers], kind="stable")]
    edges = np.flatnonzero(np.diff(labels[numbers])) + 1
    return [part.tolist() for part in np.split(numbers, edges)] if len(numbers) else []


def batches(
    stored: Stored, stretches: Stretches, units: Sequence[Sequence[int]], names: Sequence[str]
) -> Iterator[tuple[list[int], pa.Table]]:
    """Yield the rows of stretches in the order of units, which are numbers of stretches that stay together; and which these are.

    A row group is held from its first use to its last one.
    """
    group, first, rows = (part.tolist() for part in stretches)
    last = {group[each]: i for i, unit in enumerate(units) for each in unit}
    held: dict[int, pa.Table] = {}
    at = 0
    while at < len(units):
        need: set[int] = set()
        size, end = 0, at
        while end < len(units):
            more = {group[each] for each in units[end]} - need - held.keys()
            size += int(stored.rows[list(more)].sum())
            if end > at and more and size > BATCH:
                break
            need, end = need | more, end + 1
        for groups, table in stored.read_tables(sorted(need), names, threads=True):
            begins = np.cumsum(stored.rows[groups]) - stored.rows[groups]
            held |= {one: table.slice(begin, stored.rows[one]) for one, begin in zip(groups, begins.tolist())}
        several = [each for unit in units[at:end] for each in unit]
        yield several, pa.concat_tables([held[group[each]].slice(first[each], rows[each]) for each in several])
        for one in [one for one in held if last[one] < end]:
            del held[one]
        at = end


class Blocks:
    """The blocks of a stored table, in the order of its rows: the row group and the number of rows of each.

    ``low``, ``high``: the least and the largest time, as ints of the unit of the column of times; they mean nothing where not
    ``timed``. ``indexed``: whether an index tells of the block. A damaged index, or that of another file, is refused (`AfaError`).
    """

    def __init__(self, stored: Stored, time: str) -> None:
        self._stored, self._time = stored, time
        self._files: list[tuple[slice, Content | None]] = []
        kind = stored.kind(time)
        contents = [_by_time(read_sidecar(file), time, kind) for file in stored.files]
        self._told = None in contents  # whether footers tell of some file: they are asked only then
        found = stored.bounds(time) if self._told else unknown_column(kind, len(stored))
        timed = found.known & (found.nulls == 0) if holds_times(kind) else np.zeros(len(stored), np.bool_)
        low, high = (plain(side).values.astype(np.int64) if timed.any() else np.zeros(len(timed), np.int64) for side in found[:2])
        whole = (np.arange(len(stored)), stored.rows, low, high, timed & (low <= high), np.zeros(len(stored), np.bool_))
        parts, base = [tuple(part[:0] for part in whole)], 0
        for file, content in zip(stored.files, contents):
            filled = np.flatnonzero(file.rows)
            groups, base = slice(base, base + len(filled)), base + len(filled)
            self._files.append((groups, content))
            if content is None:
                parts.append(tuple(part[groups] for part in whole))
            else:
                group, told = groups.start + np.searchsorted(filled, content.group), np.ones(len(content.rows), np.bool_)
                parts.append((group, content.rows, content.low, content.high, told, told))
        self.group, self.rows, self.low, self.high, self.timed, self.indexed = map(np.concatenate, zip(*parts))
        first = np.cumsum(self.rows) - self.rows
        self.stretches = Stretches(self.group, first - (np.cumsum(stored.rows) - stored.rows)[self.group], self.rows)

    def times(self) -> tuple[pa.Array, pa.Array]:
        """Return the least and the largest times in the type of their column."""
        kind = self._stored.kind(self._time)
        plainly = plain(pa.nulls(0, kind)).values.dtype
        return in_arrow(self.low.astype(plainly), None, kind), in_arrow(self.high.astype(plainly), None, kind)

    def column(self, name: str) -> BlockColumn:
        """Return bounds, nulls and sums of a column in each block, as far as they are known."""
        if name == self._time:
            (low, high), zeros = self.times(), np.zeros_like(self.rows)
            return unknown_column(low.type, len(zeros))._replace(low=low, high=high, nulls=zeros, known=self.timed)
        kind = self._stored.kind(name)
        told = self._stored.bounds(name) if self._told else unknown_column(kind, 0)
        if not self.indexed.any():
            return told
        parts = []
        for groups, content in self._files:
            found = told.part(groups) if content is None else content.columns.get(name)
            if content is not None and (found is None or found.low.type != kind):
                found = unknown_column(kind, len(content.rows))
            parts += [] if found is None else [found]
        return chained(parts)

    def totals(self, name: str, words: set[str]) -> tuple[Totals, np.ndarray]:
        """Return what aggregates of a column need, in each block, and whether it is known."""
        column = self.column(name)
        known, found = column.nulls >= 0, {}
        if column.nulls.any():
            found[name, "count"] = self.rows - column.nulls
        if words & SUMS:
            assert column.total is not None
            known = known & np.asarray(column.total.is_valid())
            found |= parts_of_sums(name, column.total.fill_null(0).to_numpy(zero_copy_only=False))
        for part, ends in zip(BOUNDS, (column.low, column.high)):
            if part in words:
                known = known & column.known
                values, valid = plain(ends)
                absent = values.dtype.type(nothing(values.dtype, part))
                found[name, part] = values if valid is None else np.where(valid, values, absent)
        return found, known


def _by_time(content: Content | None, time: str, kind: pa.DataType) -> Content | None:
    """Return an index, if it has blocks by this column of times, in its type."""
    mine = content is not None and len(content.rows) and (content.time, content.time_type) == (time, str(kind))
    return content if mine else None
