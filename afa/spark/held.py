"""Rows that wait for the watermark: a `Cleanse` before the operator of a bucket ([AFA10] Sec. 5.3), as part of its state.

A row waits until its time is below the promise + ``ahead``. So which rows wait is known from that bound alone, and a state holds
the rows that have come since the last one. The bound never moves back, though another job may go on with another ``ahead``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.spark.ipc import stream_of, table_of
from punctuation.time import BEGINNING
from speculation.cleanse import Cleanse


class Due(NamedTuple):
    """Rows that the operator is to take, or None: those that waited for the promise, and those that go with it or are late."""

    before: pa.Table | None
    after: pa.Table | None


class Held:
    """The rows of a bucket that have come and wait.

    Parameters
    ----------
    schema : pyarrow.Schema
        With ``le`` and ``diff``; rows without ``diff`` are insertions.
    ahead : int or None
        Ticks; None: no row waits.
    blobs : sequence of bytes
        What `save` gave since the last whole state.
    bound : int
        The last one's.
    """

    def __init__(self, schema: pa.Schema, ahead: int | None, blobs: Sequence[bytes] = (), bound: int = BEGINNING) -> None:
        self._schema, self._stage = schema, Cleanse(ahead)
        tables = [table_of(blob) for blob in blobs if blob]
        for table in tables:
            table.validate(full=True)  # offsets of damaged strings lead beyond the memory
        rows = pa.concat_tables([schema.empty_table(), *map(self._fitting, tables)])
        self._stage.go_on(rows.filter(pc.greater_equal(rows["le"], bound)), bound)
        self._fresh = schema.empty_table()  # of these, those that are in no state yet

    @property
    def bound(self) -> int:
        """All that has left has an LE below it."""
        return self._stage.bound

    @property
    def rows(self) -> pa.Table:
        """The rows that wait."""
        rows = self._stage.rows
        return self._schema.empty_table() if rows is None else rows

    def take(self, events: pa.Table | None, promised: int) -> Due:
        """Let rows come, and go. O(rows that come or go, and the log of those that wait)."""
        if self._stage.sigma is None and self._stage.first is None:
            return Due(None, events)
        come = self._schema.empty_table() if events is None else self._fitting(events)
        released = self._stage.punctuate(max(promised, BEGINNING + 1)) or self._schema.empty_table()
        before = pc.less(released["le"], promised)
        passed = self._stage.pass_rows(come)
        self._fresh = pa.concat_tables([self._fresh, come.filter(pc.greater_equal(come["le"], self.bound))])
        soon = released.filter(pc.invert(before))
        return Due(_some(released.filter(before)), _some(soon if passed is None else pa.concat_tables([soon, passed])))

    def save(self, incremental: bool) -> bytes:
        """Return the rows that wait, or those that have come since the last time and wait; nothing if there are none."""
        rows = self._fresh.filter(pc.greater_equal(self._fresh["le"], self.bound)) if incremental else self.rows
        self._fresh = self._schema.empty_table()
        return stream_of(rows) if len(rows) else b""

    def split(self, numbers: Callable[[pa.Table], Any], count: int) -> list[bytes]:
        """Return the rows that wait, in parts: those of each number that a function gives them."""
        found = numbers(self.rows)
        parts = [self.rows.filter(pa.array(found == number)) for number in range(count)]
        return [stream_of(rows) if len(rows) else b"" for rows in parts]

    def join(self, others: Sequence[Held]) -> None:
        """Let rows that wait elsewhere wait here, as long as there; to be saved as a whole."""
        rows = pa.concat_tables([self.rows, *(other.rows for other in others)])
        bound = min([self.bound, *(other.bound for other in others)])
        self._stage = Cleanse(self._stage.sigma)
        self._stage.go_on(rows, bound)

    @property
    def next(self) -> int | None:
        """Which promise lets the next row through, less one; None if none waits."""
        ahead, first = self._stage.sigma, self._stage.first
        return None if ahead is None or first is None else first - ahead

    def _fitting(self, rows: pa.Table) -> pa.Table:
        if "diff" not in rows.column_names:
            rows = rows.append_column("diff", pa.array(np.ones(len(rows), np.int64)))
        return rows.select(self._schema.names).cast(self._schema)


def _some(rows: pa.Table) -> pa.Table | None:
    return rows if len(rows) else None
