"""Hold rows back until the watermark comes near them: the user decides how far ahead of it the operator works ([AFA10] Sec. 5.3).

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
from punctuation.time import BEGINNING, FOREVER


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
        self._schema, self._ahead, self.bound = schema, ahead, bound
        tables = [table_of(blob) for blob in blobs if blob]
        for table in tables:
            table.validate(full=True)  # offsets of damaged strings lead beyond the memory
        rows = pa.concat_tables([schema.empty_table(), *map(self._fitting, tables)])
        self.rows = rows.filter(pc.greater_equal(rows["le"], bound))
        self._fresh = schema.empty_table()  # of these, those that are in no state yet

    def take(self, events: pa.Table | None, promised: int) -> Due:
        """Let rows come, and go. O(rows that wait)."""
        if self._ahead is None and not len(self.rows):
            return Due(None, events)
        come = self._schema.empty_table() if events is None else self._fitting(events)
        if self._ahead is None:
            self.bound, reach = max(self.bound, pc.max(self.rows["le"]).as_py() + 1), FOREVER
        else:
            self.bound = reach = max(self.bound, promised + self._ahead)
        before = pc.less(self.rows["le"], promised)
        soon = pc.and_not(pc.less(self.rows["le"], reach), before)
        now = pc.less(come["le"], reach)
        due = Due(_some(self.rows.filter(before)), _some(pa.concat_tables([self.rows.filter(soon), come.filter(now)])))
        self._fresh = pa.concat_tables([self._fresh, come.filter(pc.invert(now))])
        rows = pa.concat_tables([self.rows, come])
        self.rows = rows.filter(pc.greater_equal(rows["le"], reach)).combine_chunks()
        return due

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
        self.rows = pa.concat_tables([self.rows, *(other.rows for other in others)]).combine_chunks()
        self.bound = min([self.bound, *(other.bound for other in others)])

    @property
    def next(self) -> int | None:
        """Which promise lets the next row through, less one; None if none waits."""
        return None if self._ahead is None or not len(self.rows) else int(pc.min(self.rows["le"]).as_py()) - self._ahead

    def _fitting(self, rows: pa.Table) -> pa.Table:
        if "diff" not in rows.column_names:
            rows = rows.append_column("diff", pa.array(np.ones(len(rows), np.int64)))
        return rows.select(self._schema.names).cast(self._schema)


def _some(rows: pa.Table) -> pa.Table | None:
    return rows if len(rows) else None
