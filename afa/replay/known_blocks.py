"""Blocks of a stored table and what is known of them without their rows: from indexes beside its files, else from the footers.

A row group of a file without an index is one block; its sums are not known, its bounds are those of its statistics.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from afa.replay.block_columns import BlockColumn, chained, unknown_column
from afa.replay.column_totals import Totals, in_arrow, nothing, parts_of_sums, plain, value_type
from afa.replay.sidecar import sidecar_of
from afa.replay.stored import Stored

NONE = np.zeros(0, np.int64)


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
    """

    def __init__(self, stored: Stored, time: str, names: list[str]) -> None:
        self._stored, self._time, self._known = stored, time, sidecar_of(stored, time, [name for name in names if name != time])
        covered = np.zeros(len(stored), np.bool_) if self._known is None else self._known.covered
        self._others = np.flatnonzero(~covered)
        ours = (NONE,) * 5 if self._known is None else self._known[1:6]
        low, high, timed = self._times()
        whole = (self._others, np.zeros_like(self._others), stored.rows[self._others], low, high)
        parts = [np.concatenate(pair) for pair in zip(ours, whole)]
        self._order = np.argsort(parts[0], kind="stable")
        self.group, self.first, self.rows, self.low, self.high = (part[self._order] for part in parts)
        self.timed = np.concatenate([np.ones(len(ours[0]), np.bool_), timed])[self._order]

    def _times(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = _in_footers(self._stored, self._time, self._others)
        low, high = (plain(side).values.astype(np.int64) for side in found[:2])
        narrow = not types.is_uint64(value_type(found.low.type)) or high >= 0
        return low, high, found.known & (found.nulls == 0) & (low <= high) & narrow

    def totals(self, name: str, total: bool, bounds: bool) -> tuple[Totals, np.ndarray]:
        """Return the totals of a column in each block, and of which blocks they are known."""
        column = self._column(name)
        known, found = column.nulls >= 0, {}
        if column.nulls.any():
            found[name, "count"] = self.rows - column.nulls
        if total:
            assert column.total is not None
            known = known & column.total.is_valid().to_numpy(zero_copy_only=False)
            found |= parts_of_sums(name, column.total.fill_null(0).to_numpy(zero_copy_only=False))
        if bounds:
            known = known & column.known
            for part, (values, valid) in (("min", plain(column.low)), ("max", plain(column.high))):
                absent = values.dtype.type(nothing(values.dtype, part))
                found[name, part] = values if valid is None else np.where(valid, values, absent)
        return found, known

    def _column(self, name: str) -> BlockColumn:
        if name == self._time:
            kind, zeros = value_type(self._stored.schema.field(name).type), np.zeros_like(self.rows)
            low, high = (in_arrow(side.astype(plain(pa.nulls(0, kind)).values.dtype), None, kind) for side in (self.low, self.high))
            return unknown_column(kind, len(zeros))._replace(low=low, high=high, nulls=zeros, known=self.timed)
        found = _in_footers(self._stored, name, self._others)
        found = found if self._known is None else chained([self._known.columns[name], found])
        return found.take(self._order)


def _in_footers(stored: Stored, name: str, groups: np.ndarray) -> BlockColumn:
    """Return what footers tell of a column in row groups."""
    kind = value_type(stored.schema.field(name).type)
    found = unknown_column(kind, len(groups))
    if types.is_nested(kind) or not len(groups):
        return found
    bounds = stored.bounds(name)
    nulls = bounds.nulls[groups]
    plainly = types.is_integer(kind) or types.is_boolean(kind) or types.is_timestamp(kind) or types.is_date(kind)
    if not (plainly or kind in (pa.float32(), pa.float64())):
        return found._replace(nulls=nulls)
    low, high = (_values([side[group] for group in groups.tolist()], kind) for side in (bounds.low, bounds.high))
    there = low.is_valid().to_numpy(zero_copy_only=False) & high.is_valid().to_numpy(zero_copy_only=False)
    return found._replace(low=low, high=high, nulls=nulls, known=there | (nulls == stored.rows[groups]))


def _values(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return values of statistics as a column; null: nobody knows."""
    try:
        return pa.array(values, kind, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.nulls(len(values), kind)
