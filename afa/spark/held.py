"""The rows of a bucket before its operator: how long each lives, and which wait for the watermark.

Waiting is a `Cleanse` before the operator ([AFA10] Sec. 5.3), as part of the bucket's state. A row waits until its time is below
the promise + ``ahead``. So which rows wait is known from that bound alone, and a state holds the rows that have come since the last
one. The bound never moves back, though another job may go on with another ``ahead``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.spark.hashing import bucket_numbers
from afa.state.sound import wanted
from punctuation.time import BEGINNING, FOREVER, as_time
from speculation.cleanse import Cleanse
from speculation.stage_state import stream_of


class WaitingRows:
    """The rows of a bucket that have come and wait.

    ``schema`` has ``le`` and ``diff`` (rows without ``diff`` are insertions); ``ahead`` is in ticks, None: no row waits; ``blobs``
    is what `save` gave since the last whole state, ``bound`` the last one's.
    """

    def __init__(self, schema: pa.Schema, ahead: int | None, blobs: Sequence[bytes] = (), bound: int = BEGINNING) -> None:
        self._schema, self._stage = schema, Cleanse(ahead)
        tables = [table_of(blob) for blob in blobs if blob]
        for table in tables:
            table.validate(full=True)  # offsets of damaged strings lead beyond the memory
        rows = pa.concat_tables([schema.empty_table(), *(fitting(table, schema) for table in tables)])
        self._stage.go_on(rows.filter(pc.greater_equal(rows["le"], bound)), bound)
        self._fresh = schema.empty_table()  # of these, those that are in no state yet
        self._passes = ahead is None and self._stage.first is None  # no row waits, now or later

    @property
    def bound(self) -> int:
        """All that has left has an LE below it."""
        return self._stage.bound

    @property
    def rows(self) -> pa.Table:
        """The rows that wait."""
        rows = self._stage.rows
        return self._schema.empty_table() if rows is None else rows

    def take(self, events: pa.Table | None, promised: int) -> tuple[pa.Table | None, pa.Table | None]:
        """Let rows come, and go: those that waited for the promise, and those that go with it or are late; None: none.

        O(rows that come or go, and the log of those that wait).
        """
        if self._passes:
            return None, events
        come = self._schema.empty_table() if events is None else fitting(events, self._schema)
        released = self._stage.punctuate(max(promised, BEGINNING + 1)) or self._schema.empty_table()
        before = pc.less(released["le"], promised)
        passed = self._stage.pass_rows(come)
        self._fresh = pa.concat_tables([self._fresh, come.filter(pc.greater_equal(come["le"], self.bound))])
        soon = released.filter(pc.invert(before))
        after = soon if passed is None else pa.concat_tables([soon, passed])
        waited = released.filter(before)
        return waited if len(waited) else None, after if len(after) else None

    def save(self, incremental: bool) -> bytes:
        """Return the rows that wait, or those that have come since the last time and wait; nothing if there are none."""
        rows = self._fresh.filter(pc.greater_equal(self._fresh["le"], self.bound)) if incremental else self.rows
        self._fresh = self._schema.empty_table()
        return stream_of(rows) if len(rows) else b""

    def join(self, others: Sequence[WaitingRows]) -> None:
        """Let rows that wait elsewhere wait here, as long as there; to be saved as a whole."""
        rows = pa.concat_tables([self.rows, *(other.rows for other in others)])
        bound = min([self.bound, *(other.bound for other in others)])
        self._stage = Cleanse(self._stage.sigma)
        self._stage.go_on(rows, bound)
        self._passes = self._passes and all(other._passes for other in others)

    @property
    def next(self) -> int | None:
        """Which promise lets the next row through, less one; None if none waits."""
        ahead, first = self._stage.sigma, self._stage.first
        return None if ahead is None or first is None else first - ahead


class Windows:
    """Windows by the LE of events: where a job's window has changed, events before the present keep theirs, for their retractions.

    ``spans`` says from which LE on which window holds (ticks; None: for ever), in order; the first from BEGINNING on.
    """

    def __init__(self, spans: Sequence[Any]) -> None:
        self.spans = [(as_time(begin, "begin"), None if window is None else as_time(window, "window")) for begin, window in spans]
        begins = [begin for begin, _ in self.spans]
        sound = begins[:1] == [BEGINNING] and begins == sorted(set(begins))
        sound = sound and all(window is None or window > 0 for _, window in self.spans)
        wanted("windows in order", sound, self.spans)

    def change(self, present: int, window: int | None) -> None:
        """Let another window hold from the present on."""
        self.spans = [span for span in self.spans if span[0] < present]
        self.spans.append((present if self.spans else BEGINNING, window))

    def forget(self, promised: int) -> None:
        """Drop the windows of which no event can come any more."""
        while len(self.spans) > 1 and self.spans[1][0] <= promised:
            self.spans[:2] = [(BEGINNING, self.spans[1][1])]

    @property
    def longest(self) -> int | None:
        """The longest window; None: for ever."""
        windows = [window for _, window in self.spans]
        return None if None in windows else max(window for window in windows if window is not None)

    def lived(self, rows: pa.Table) -> pa.Table:
        """Return rows with an ``re`` each, their own or the one by the window; where there is one window the operator knows it."""
        own = rows["re"] if "re" in rows.column_names else None
        if (own is None and len(self.spans) == 1) or (own is not None and not own.null_count):
            return rows
        le = rows["le"].to_numpy()
        begins, windows = zip(*self.spans)
        ticks = np.array([FOREVER if window is None else window for window in windows], np.int64)
        window = ticks[np.searchsorted(np.array(begins, np.int64), le, "right") - 1]
        re = np.where(le > FOREVER - window, FOREVER, le + np.minimum(window, FOREVER - np.maximum(le, 0)))
        if own is None:
            return rows.append_column("re", pa.array(re))
        filled = np.where(own.is_valid().to_numpy(), own.fill_null(0).to_numpy(), re)
        return rows.set_column(rows.column_names.index("re"), "re", pa.array(filled))


def streams_of(rows: pa.Table, keys: Sequence[str], count: int) -> list[bytes]:
    """Returns the rows of each of so many buckets as an Arrow stream; nothing for a bucket without rows."""
    numbers = bucket_numbers([rows[name] for name in keys], count)
    parts = [rows.filter(pa.array(numbers == number)) for number in range(count)]
    return [stream_of(part) if len(part) else b"" for part in parts]


def fitting(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows in a schema that has ``diff``; without one they are insertions."""
    if "diff" not in rows.column_names:
        rows = rows.append_column("diff", pa.array(np.ones(len(rows), np.int64)))
    return rows.select(schema.names).cast(schema)


def table_of(blob: bytes) -> pa.Table:
    """Return the table of an Arrow stream."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()
