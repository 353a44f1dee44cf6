"""Carry out the work of one bucket of `Worlds`: rows and a watermark in, changes out, state as bytes. It knows nothing of Spark.

A batch is the promise, then the rows: what is late depends on the watermark alone. Equal rows of a batch are added up, and
retractions go first, so that their order in it, which Spark does not keep, matters nowhere. What can't be taken is looked for by
halves: a row is told as a fault where the operator refuses it alone. Which arcs run in Python the user's own `Worlds` has told.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgpack
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.change import Change
from afa.compiled.fit import known
from afa.errors import ChangeError, LateEventError, SnapshotError, blame
from afa.model.raised import shortened, text_of
from afa.spark.job import BucketAnswer, Fault
from afa.spark.packed_rows import BadRow, changes_schema, why
from afa.spark.refused import take_by_halves
from afa.spark.worlds_job import WorldsJob
from afa.state.sound import wanted
from afa.uncertain.drawn_events import CHUNK
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time

FORMAT = 1


class WorldsBucket:
    """The `Worlds` of the keys that share a bucket. ``blob`` is what `save` gave; none: it begins anew."""

    @known()
    def __init__(self, job: WorldsJob, number: int, blob: bytes | None = None) -> None:
        self._job, self._number = job, number
        self._worlds, self._last, self._promised = job.fresh(), BEGINNING, BEGINNING
        self._faults: list[Fault] = []
        if blob:
            self._last, self._promised, snapshot = _unpacked(blob)
            self._worlds = self._worlds.restore(snapshot)

    @known()
    def run(self, events: pa.Table | None, bad: Sequence[BadRow], promised: int) -> BucketAnswer:
        """Take what a batch has for this bucket.

        Parameters
        ----------
        events : pyarrow.Table or None
            Key columns, the event's fields, times in ticks, ``diff``.
        bad : sequence of BadRow
            Rows that could not be read.
        promised : int
            No later event has a lower end below it.

        Raises
        ------
        Exception
            What the operator says of a row that it can't take, if faults are to stop the query. LateEventError: an event came
            behind the promise, if that is to stop it.
        """
        self._faults = self._unread(bad)
        found = self._promise(promised)
        late: list[Change] = []
        if events is not None:
            is_late = pc.less(self._job.lower(events), promised)
            late, rows = self._late(events.filter(is_late), promised), added_up(events.filter(pc.invert(is_late)))
            found += self._take(rows)
        return BucketAnswer([self._table(found)], late, self._faults)

    @known()
    def run_all(self, events: pa.Table | None, bad: Sequence[BadRow], end: int | None) -> BucketAnswer:
        """Take all rows of a static table, in order of their lower ends, with a promise between slices; ``end``: behind them."""
        self._faults = self._unread(bad)
        net: Counter[tuple[Any, ...]] = Counter()
        for found in self._slices(events, end):
            for change in found:
                net[change.key, change.payload, change.le, change.re] += change.diff
        whole = [Change(payload, le, re, 1, key) for (key, payload, le, re), n in net.items() if n]
        return BucketAnswer([self._table(whole)], [], self._faults)

    def _slices(self, events: pa.Table | None, end: int | None) -> Iterator[list[Change]]:
        if events is not None:
            rows = added_up(events)
            lower = self._job.lower(rows).to_numpy()
            order = np.argsort(lower, kind="stable")
            rows, lower, size = rows.take(order), lower[order], max(CHUNK // self._worlds.options["worlds"], 1)
            for low in range(0, len(lower), size):
                yield self._promise(int(lower[low]))
                yield self._take(rows.slice(low, size))
        if end is not None:
            yield self._promise(end)

    # -- the operator ----------------------------------------------------------------------------------------------------------

    def _promise(self, promised: int) -> list[Change]:
        if promised <= self._promised:
            return []
        self._promised = promised
        return _changes(self._worlds.push(Punctuation(promised)))

    def _take(self, rows: pa.Table) -> list[Change]:
        """Take rows; those that the operator refuses one by one are told as faults, or stop the query."""
        found: list[Change] = []

        def take(part: pa.Table) -> None:
            found.extend(_changes(self._worlds.push_many([part])))
            self._last = max(self._last, pc.max(self._job.upper(part)).as_py())

        take_by_halves(rows, take, self._refuse)
        return found

    def _refuse(self, row: pa.Table, error: Exception) -> None:
        key = self._keys(row)[0]
        if self._job.job.stop_on_fault:
            blame(error, f"of key {key[0] if len(key) == 1 else key!r}")
            raise error
        self._faults.append(Fault(shortened(text_of(error)), f"bucket {self._number}", key, pc.min(self._job.lower(row)).as_py()))

    def _keys(self, rows: pa.Table) -> list[tuple[Any, ...]]:
        names = self._job.job.keys
        return list(zip(*(rows[name].to_pylist() for name in names))) if names else [()] * len(rows)

    def _late(self, rows: pa.Table, promised: int) -> list[Change]:
        """Return late rows as changes, at their lower ends."""
        if not len(rows):
            return []
        job = self._job.job
        assert job.automaton.event_schema is not None
        event, single = job.automaton.event_schema, len(job.keys) == 1
        cls: Any = event.cls
        lower, upper = self._job.lower(rows).to_pylist(), self._job.upper(rows).to_pylist()
        fields = [lower if field.name == event.instant else rows[field.name].to_pylist() for field in event.fields]
        payloads = map(cls._make, zip(*fields)) if fields else (cls() for _ in lower)
        diffs = rows["diff"].to_pylist() if "diff" in rows.column_names else [1] * len(rows)
        keys: Any = [key[0] if single else key for key in self._keys(rows)] if job.keys else [None] * len(rows)
        found = [Change(payload, le, None, diff, key) for payload, le, diff, key in zip(payloads, lower, diffs, keys)]
        if job.late == "raise":
            raise LateEventError(
                f"expected nothing behind the watermark {promised} but got {len(found)} late, first [{lower[0]}, {upper[0]}] "
                f"for {found[0].payload!r}"
            )
        return found

    def _unread(self, bad: Sequence[BadRow]) -> list[Fault]:
        """Return the faults of rows that could not be read, or stop the query."""
        job = self._job.job
        said = [why(job, each, "lower <= upper" if len(self._job.times) > 1 else "a time") for each in bad]
        if said and job.stop_on_fault:
            raise ChangeError(said[0])
        keys = [tuple(each.row.get(name) for name in job.keys) for each in bad]
        return [Fault(text, f"bucket {self._number}", key, each.le) for text, key, each in zip(said, keys, bad)]

    def _table(self, changes: Sequence[Change]) -> pa.Table:
        """Return changes as columns: keys, what matches show, ``le``, ``re``, ``diff``."""
        job = self._job.job
        if len(job.keys) == 1:
            keys: list[Any] = [[change.key for change in changes]]
        else:
            keys = [[change.key[i] for change in changes] for i in range(len(job.keys))]
        shown = [[change.payload[i] for change in changes] for i in range(len(job.shown.fields))]
        times = [[getattr(change, name) for change in changes] for name in ("le", "re", "diff")]
        names = [*job.keys, *(field.name for field in job.shown.fields), "le", "re", "diff"]
        schema = changes_schema(job)
        columns = [pa.array(values, schema.field(name).type) for name, values in zip(names, [*keys, *shown, *times])]
        return pa.Table.from_arrays(columns, names=names)

    # -- state -----------------------------------------------------------------------------------------------------------------

    @property
    def _end(self) -> int:
        """The promise that makes all final which has come."""
        if self._last == BEGINNING:
            return BEGINNING
        window = self._job.window
        return FOREVER if window is None else min(self._last + window, FOREVER)

    def wakes(self) -> int | None:
        """Return the promise at which the bucket must run without rows: what it brings, or lets go. None: it need not."""
        if self._end <= self._promised:
            return None
        ends = [self._promised + 1] if self._job.waits else [self._last + 1, self._end]
        return min((end for end in ends if self._promised < end < FOREVER), default=None)

    def save(self) -> bytes:
        """Return the state, whole; nothing where all that has come is final. O(state).

        Compressed a quarter of it is left: what worlds hold is much alike, and a store takes longer for what is more.
        """
        if self._end <= self._promised:
            return b""
        return zlib.compress(msgpack.packb([FORMAT, self._last, self._promised, self._worlds.snapshot()]), 1)


def added_up(rows: pa.Table) -> pa.Table:
    """Return rows of which equal ones are one, with the sum of their ``diff``; retractions first. As they are, if there is none."""
    if "diff" not in rows.column_names or not len(rows) or pc.min(rows["diff"]).as_py() > 0:
        return rows
    names = [name for name in rows.column_names if name != "diff"]
    found = rows.group_by(names, use_threads=False).aggregate([("diff", "sum")])
    found = found.rename_columns(["diff" if name == "diff_sum" else name for name in found.column_names])
    return pa.concat_tables([found.filter(pc.less(found["diff"], 0)), found.filter(pc.greater(found["diff"], 0))])


def _changes(out: Sequence[Any]) -> list[Change]:
    return [change for change in out if isinstance(change, Change)]


def _unpacked(blob: bytes) -> tuple[int, int, bytes]:
    try:
        version, last, promised, snapshot = msgpack.unpackb(zlib.decompress(blob))
    except Exception as error:
        raise SnapshotError(f"expected the state of a bucket of Worlds but got {blob[:20]!r}: {error}") from error
    if version != FORMAT:
        raise SnapshotError(f"expected the state of a bucket of Worlds in format {FORMAT} but got format {version!r}")
    wanted("a snapshot", isinstance(snapshot, bytes), snapshot)
    return as_time(last, "last"), as_time(promised, "promised"), snapshot
