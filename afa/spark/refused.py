"""Rows that can't be taken, found by halves; and those among them that may still be retracted.

A call is taken whole or not at all. Where one fails because of rows, each half is a call of its own, down to single rows: what an
operator refuses alone is left out, and told. Which ones these are follows from what the operator holds, and from the order of rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.change import Change
from afa.engine.budget import BytesError
from afa.errors import BudgetError, LateEventError, SnapshotError
from afa.model.raised import text_of
from afa.schema import NAN
from afa.spark.held import table_of
from afa.spark.packed_rows import moment_of
from punctuation.time import FOREVER
from speculation.stage_state import stream_of


def is_of_rows(error: Exception) -> bool:
    """Return whether rows may be to blame for what a call has raised: a machine is for want of memory, but in a function."""
    if isinstance(error, BudgetError):
        return not isinstance(error, BytesError)
    if isinstance(error, MemoryError):
        text = text_of(error)
        return "expected at most" in text or " of arc " in text
    return not isinstance(error, (LateEventError, SnapshotError, OSError))


def take_by_halves(rows: pa.Table, take: Callable[[pa.Table], None], refuse: Callable[[pa.Table, Exception], None]) -> None:
    """Take rows, in as few calls as can be; ``refuse`` gets each row that can't be taken alone, with the error.

    O(r log n) calls that fail, of n rows of which r are refused.
    """
    if not len(rows):
        return
    try:
        take(rows)
    except Exception as error:
        if not is_of_rows(error):
            raise
        if len(rows) == 1:
            refuse(rows, error)
            return
        half = len(rows) // 2
        for part in (rows.slice(0, half), rows.slice(half)):
            take_by_halves(part, take, refuse)


def vain(change: Change, promised: int) -> str:
    """Say that the row of a retraction has not come."""
    until = "" if promised == FOREVER else f" before {moment_of(promised)} (promised)"
    return f"expected the insertion of {change.payload!r}{until} but got its retraction only"


def in_order(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return rows in an order that does not depend on how they came: by key, retractions first, then by time."""
    first = [*keys, *(name for name in ("diff", "le") if name in rows.column_names)]
    rest = [name for name in rows.column_names if name not in first]
    return rows.sort_by([(name, "ascending") for name in (*first, *rest)])


def net_of(tables: Sequence[pa.Table], aside: Sequence[str] = ()) -> pa.Table:
    """Return the changes of several calls as those of one; those of which a column is ``aside`` stay as they are."""
    whole = pa.concat_tables(tables)
    names = whole.column_names
    if len(tables) == 1 or not whole.num_rows or not set(aside).isdisjoint(names):
        return whole
    return summed(whole).select(names).cast(whole.schema)


def summed(rows: pa.Table) -> pa.Table:
    """Return rows of which equal ones are one, with the sum of their ``diff``, where that is not 0."""
    found = rows.group_by([name for name in rows.column_names if name != "diff"], use_threads=False).aggregate([("diff", "sum")])
    found = found.rename_columns(["diff" if name == "diff_sum" else name for name in found.column_names])
    return found.filter(pc.not_equal(found["diff"], 0))


class RefusedRows:
    """The rows that a bucket has refused, as long as their retractions may come. ``blob`` is what `save` gave."""

    def __init__(self, schema: pa.Schema, blob: bytes = b"") -> None:
        self._names = [name for name in schema.names if name != "diff"]
        self._parts = [pa.schema([schema.field(name) for name in self._names]).empty_table()]
        if blob:
            rows = table_of(blob)
            rows.validate(full=True)
            self._add(rows)

    @property
    def rows(self) -> pa.Table:
        """The rows, as one table."""
        if len(self._parts) > 1:
            self._parts = [pa.concat_tables(self._parts).combine_chunks()]
        return self._parts[0]

    @rows.setter
    def rows(self, rows: pa.Table) -> None:
        self._parts = [rows]

    def add(self, row: pa.Table) -> None:
        """Take note of a row. A retraction has nothing that could be retracted."""
        if "diff" not in row.column_names or row["diff"][0].as_py() > 0:
            self._add(row)

    def _add(self, rows: pa.Table) -> None:
        self._parts.append(rows.select(self._names).cast(self._parts[0].schema))

    def forget(self, promised: int) -> None:
        """Drop the rows below a promise, of which a retraction is late."""
        if len(self.rows):
            self.rows = self.rows.filter(pc.greater_equal(self.rows["le"], promised))

    def met_by(self, rows: pa.Table | None) -> tuple[pa.Table | None, pa.Table | None]:
        """Return rows without those that retract a refused one, which is forgotten, and those; None: there are none."""
        if not len(self.rows) or rows is None or "diff" not in rows.column_names:
            return rows, None
        gone = np.flatnonzero(rows["diff"].to_numpy() < 0)
        there, met, left = defaultdict[Any, list[int]](list), list[int](), np.ones(len(self.rows), bool)
        for place, row in enumerate(self._values(self.rows)):
            there[row].append(place)
        for place, row in zip(gone.tolist(), self._values(rows.take(gone))):
            if there.get(row):
                met.append(place)
                left[there[row].pop()] = False
        if not met:
            return rows, None
        self.rows = self.rows.filter(pa.array(left))
        stay = np.ones(len(rows), bool)
        stay[met] = False
        return rows.filter(pa.array(stay)), rows.take(met)

    def _values(self, rows: pa.Table) -> Iterator[tuple[Any, ...]]:
        columns = [rows[name].to_pylist() for name in self._names]
        return zip(*([NAN if value != value else value for value in column] for column in columns))

    # -- state -----------------------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """Return the rows; nothing if there are none."""
        return stream_of(self.rows) if len(self.rows) else b""
