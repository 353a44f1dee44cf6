"""Blocks of a stored table and what is known of them without their rows: from indexes beside its files, else from the footers.

A row group of a file without an index is one block; its sums are not known, its bounds are those of its statistics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from afa.replay.block_columns import BlockColumn, chained, unknown_column
from afa.replay.column_totals import Totals, holds_times, in_arrow, nothing, parts_of_sums, plain
from afa.replay.row_reading import Stretches
from afa.replay.sidecar import NONE, sidecar_of
from afa.replay.stored import Stored


class Blocks:
    """The blocks of a stored table, in the order of its rows: the row group and the number of rows of each.

    ``low``, ``high``: the least and the largest time, as ints of the unit of the column of times; they mean nothing where not
    ``timed``.
    """

    def __init__(self, stored: Stored, time: str, names: Sequence[str]) -> None:
        self._stored, self._time = stored, time
        self._known = sidecar_of(stored, time, [name for name in names if name != time])
        self._others = np.flatnonzero(~self._known.covered) if self._known is not None else np.arange(len(stored))
        ours = (NONE,) * 5 if self._known is None else self._known[1:6]
        found = self._in_footers(time)
        timed = found.known & (found.nulls == 0) if holds_times(found.low.type) else np.zeros(len(self._others), np.bool_)
        low, high = (plain(side).values.astype(np.int64) if timed.any() else np.zeros(len(timed), np.int64) for side in found[:2])
        whole = (self._others, np.zeros_like(self._others), stored.rows[self._others], low, high)
        parts = [np.concatenate(pair) for pair in zip(ours, whole)]
        self._order = np.argsort(parts[0], kind="stable")
        self.group, first, self.rows, self.low, self.high = (part[self._order] for part in parts)
        self.stretches = Stretches(self.group, first, self.rows)
        self.timed = np.append(np.ones(len(ours[0]), np.bool_), timed & (low <= high))[self._order]

    @property
    def indexed(self) -> bool:
        """Whether some file has an index."""
        return self._known is not None

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
        found = self._in_footers(name)
        if self._known is None:
            return found
        return chained([self._known.columns[name], found]).take(self._order)

    def _in_footers(self, name: str) -> BlockColumn:
        """Read bounds and nulls of a column from the footers, for row groups that have no index."""
        kind = self._stored.kind(name)
        found = unknown_column(kind, len(self._others))
        if types.is_nested(kind) or not len(self._others):
            return found
        bounds = self._stored.bounds(name)
        low, high, nulls = bounds.low.take(self._others), bounds.high.take(self._others), bounds.nulls[self._others]
        there = np.asarray(pc.and_(low.is_valid(), high.is_valid()))
        return found._replace(low=low, high=high, nulls=nulls, known=there | (nulls == self._stored.rows[self._others]))

    def totals(self, name: str, total: bool, bounds: bool) -> tuple[Totals, np.ndarray]:
        """Return the totals of a column in each block, and whether they are known."""
        column = self.column(name)
        known, found = column.nulls >= 0, {}
        if column.nulls.any():
            found[name, "count"] = self.rows - column.nulls
        if total:
            assert column.total is not None
            known = known & np.asarray(column.total.is_valid())
            found |= parts_of_sums(name, column.total.fill_null(0).to_numpy(zero_copy_only=False))
        if bounds:
            known = known & column.known
            for part, (values, valid) in (("min", plain(column.low)), ("max", plain(column.high))):
                absent = values.dtype.type(nothing(values.dtype, part))
                found[name, part] = values if valid is None else np.where(valid, values, absent)
        return found, known
