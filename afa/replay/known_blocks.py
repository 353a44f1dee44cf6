"""Blocks of a stored table and what is known of them without their rows: from indexes beside its files, else from the footers.

A row group of a file without an index is one block; its sums are not known, its bounds are those of its statistics.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from afa.errors import AfaError
from afa.replay.column_totals import Totals, nothing, plain, plain_type, value_type
from afa.replay.sidecar import sidecar_of
from afa.replay.stored import Stored
from punctuation.timestamps import ticks_of_time


class Blocks:
    """The blocks of a stored table, in the order of its rows.

    Attributes
    ----------
    group, first, rows : numpy.ndarray of int64
        The row group of each, its first row there, how many rows it has.
    low, high : numpy.ndarray of int64
        The least and the largest time, as ints of the unit of the column of times; without meaning where not ``timed``.
    timed : numpy.ndarray of bool
        Where these are known.
    indexed : numpy.ndarray of bool
        Which blocks are those of an index.
    time_type : pyarrow.DataType
    """

    def __init__(self, stored: Stored, time: str, names: list[str]) -> None:
        self._stored, self._known = stored, sidecar_of(stored, time, names)
        self.time_type = value_type(stored.schema.field(time).type)
        covered = np.zeros(len(stored), np.bool_) if self._known is None else self._known.covered
        self._others = np.flatnonzero(~covered)
        none = np.zeros(0, np.int64)
        ours = (none, none, none, none, none) if self._known is None else self._known[1:6]
        low, high, timed = self._times(time)
        whole = (self._others, np.zeros_like(self._others), stored.rows[self._others], low, high)
        parts = [np.concatenate(pair) for pair in zip(ours, whole)]
        self._order = np.argsort(parts[0], kind="stable")
        self.group, self.first, self.rows, self.low, self.high = (part[self._order] for part in parts)
        self.indexed = np.repeat([True, False], [len(ours[0]), len(whole[0])])[self._order]
        self.timed = np.concatenate([np.ones(len(ours[0]), np.bool_), timed])[self._order]

    def time_groups(self, groups: list[int], low: list[int], high: list[int]) -> None:
        """Take the times of row groups that were read for that."""
        place = {group: i for i, group in enumerate(self.group.tolist()) if not self.indexed[i]}
        at = [place[group] for group in groups]
        self.low[at], self.high[at], self.timed[at] = low, high, True

    def totals(self, name: str, total: bool, bounds: bool) -> tuple[Totals, np.ndarray]:
        """Return the totals of a column in each block, and of which blocks they are known. Asks the footers, if it has to."""
        kind = plain_type(self._stored.schema.field(name).type)
        parts = []
        if self._known is not None:
            parts.append(self._of_index(name, kind, total, bounds))
        if len(self._others):
            parts.append(self._of_footers(name, kind, total, bounds))
        present, added, low, high, known = (
            None if column[0] is None else np.concatenate(column)[self._order] for column in zip(*parts)
        )
        assert present is not None
        assert known is not None
        return Totals(present, added, low, high), known

    def _of_index(self, name: str, kind: Any, total: bool, bounds: bool) -> tuple[Any, ...]:
        assert self._known is not None
        column = self._known.columns[name]
        known, added, low, high = column.nulls >= 0, None, None, None
        if total and column.total is not None:
            added = column.total.fill_null(0).to_numpy(zero_copy_only=False)
            known = known & column.total.is_valid().to_numpy(zero_copy_only=False)
        if bounds:
            known = known & column.known
            (low, valid), (high, _) = plain(column.low), plain(column.high)
            if valid is not None:
                low, high = (np.where(valid, part, kind.type(nothing(kind, i == 0))) for i, part in enumerate((low, high)))
        return self._known.rows - column.nulls, added, low, high, known

    def _of_footers(self, name: str, kind: Any, total: bool, bounds: bool) -> tuple[Any, ...]:
        rows = self._stored.rows[self._others]
        typed = value_type(self._stored.schema.field(name).type)
        added = None if not total else np.zeros(len(rows), np.float64 if types.is_floating(typed) else np.int64)
        low = high = None if not bounds else np.full(len(rows), nothing(kind, True), kind)
        if total or types.is_nested(typed):  # which no statistics have
            return rows, added, low, high, np.zeros(len(rows), np.bool_)
        found = self._stored.bounds(name)
        nulls = found.nulls[self._others]
        known = nulls >= 0
        if bounds:
            least, largest = ([side[group] for group in self._others.tolist()] for side in (found.low, found.high))
            low, there = _numbers(least, kind, typed, True)
            high, as_well = _numbers(largest, kind, typed, False)
            known &= (there & as_well) | (nulls == rows)
        return rows - nulls, None, low, high, known

    def _times(self, time: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the least and the largest time of row groups without an index, and of which they are known."""
        if not len(self._others):
            none = np.zeros(0, np.int64)
            return none, none, none.astype(np.bool_)
        found = self._stored.bounds(time)
        kind = value_type(self._stored.schema.field(time).type)
        wide = np.dtype(np.int64)
        low, there = _numbers([found.low[group] for group in self._others.tolist()], wide, kind, True)
        high, as_well = _numbers([found.high[group] for group in self._others.tolist()], wide, kind, False)
        return low, high, there & as_well & (found.nulls[self._others] == 0) & (low <= high)


def _numbers(values: list[Any], kind: np.dtype[Any], typed: pa.DataType, low: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return values of statistics as plain numbers, and which of them are known."""
    found = np.full(len(values), nothing(kind, low), kind)
    known = np.zeros(len(values), np.bool_)
    for i, value in enumerate(values):
        number = _number(value, typed)
        if number is not None and number == number and (kind.kind == "f" or _fits(number, kind)):
            found[i], known[i] = number, True
    return found, known


def _fits(number: Any, kind: np.dtype[Any]) -> bool:
    return bool(np.iinfo(kind).min <= number <= np.iinfo(kind).max)


def _number(value: Any, typed: pa.DataType) -> Any:
    """Return a value of statistics as a number; None: nobody knows."""
    try:
        if types.is_timestamp(typed):
            return ticks_of_time(value, typed.unit, "") if isinstance(value, datetime) else None
        if types.is_date(typed):
            unit = "d" if types.is_date32(typed) else "ms"
            return ticks_of_time(value, unit, "") if isinstance(value, date) and not isinstance(value, datetime) else None
    except AfaError:
        return None
    if types.is_boolean(typed) or types.is_integer(typed):
        return int(value) if isinstance(value, (bool, int)) else None
    return value if types.is_floating(typed) and isinstance(value, float) else None
