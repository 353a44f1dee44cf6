"""Carry out the work of one bucket of `Worlds`, or of MATCH_RECOGNIZE over one another: rows and a watermark in, changes out.

State is bytes. It knows nothing of Spark.

A batch is the promise, then the rows: what is late depends on the watermark alone. Equal rows of a batch are added up, and
retractions go first, so that their order in it, which Spark does not keep, matters nowhere. What can't be taken is looked for by
halves: a row is told as a fault where the operator refuses it alone. Which arcs run in Python the user's own `Worlds` has told.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgpack
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.change import Change
from afa.compiled.fit import known
from afa.errors import LateEventError, SnapshotError, blame
from afa.model.arc import TIMEOUT
from afa.model.raised import shortened, text_of
from afa.spark.job import BucketAnswer, Fault, Job, events_of
from afa.spark.packed_rows import changes_schema
from afa.spark.recipe import Recipe, difference
from afa.spark.refused import net_of, summed, take_by_halves
from afa.state.sound import wanted
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time

FORMAT = 2


class WorldsBucket:
    """The `Worlds` of the keys that share a bucket. ``blob`` is what `save` gave; none: it begins anew."""

    moved = True
    """The state is written whole by each batch: it is not worth it to tell what has changed of it."""

    @known()
    def __init__(self, job: Job, own: Any, number: int, blob: bytes = b"") -> None:
        self._job, self._own, self._number = job, own, number
        self._last, self._promised, self._lives = BEGINNING, BEGINNING, own.lives
        self._recipe = json.dumps(job.recipe, sort_keys=True)
        self._waits = own.clocked or any(arc.kind == TIMEOUT for arc in job.automaton.arcs)  # so that a promise brings matches
        self._faults: list[Fault] = []
        self._begin(blob)

    def _begin(self, blob: bytes) -> None:
        self._worlds = self._own.operator(self._job.automaton)
        if not blob:
            return
        recipe, last, promised, snapshot = _unpacked(blob)
        if recipe != self._recipe:
            check_same(json.loads(recipe), self._job.recipe)
        if snapshot:
            self._last, self._promised = last, promised
            self._worlds = (self._own.restored or self._worlds.restore)(snapshot)

    @known()
    def run(self, events: pa.Table | None, arcs: Sequence[Any], promised: int) -> BucketAnswer:
        """Take what a batch has for this bucket: rows as of `afa.spark.bucket.Bucket`, and with the upper ends of intervals.

        Raises what the operator says of a row that it can't take, if faults are to stop the query. LateEventError: an event came
        behind the promise, if that is to stop it.
        """
        self._faults, promised = [], self._clocked(promised)
        found = self._promise(promised)
        late: list[Change] = []
        if events is not None:
            is_late = pc.less(self._lower(events), promised)
            late, rows = self._late(events.filter(is_late), promised), added_up(events.filter(pc.invert(is_late)))
            found += self._take(rows)
        return BucketAnswer([self._table(found)], late, self._faults)

    @known()
    def history(self, events: pa.Table | None, arcs: Sequence[Any], end: int | None) -> BucketAnswer:
        """Take all rows of a static table, in order of their lower ends, with a promise between slices; ``end``: behind them."""
        self._faults = []
        found = net_of([self._table([]), *map(self._table, self._slices(events, end))])
        return BucketAnswer([found], [], self._faults)

    def _slices(self, events: pa.Table | None, end: int | None) -> Iterator[list[Any]]:
        if events is not None:
            rows = added_up(events)
            lower = self._lower(rows).to_numpy()
            order = np.argsort(lower, kind="stable")
            rows, lower, size = rows.take(order), lower[order], self._own.at_once
            for low in range(0, len(lower), size):
                yield self._promise(int(lower[low]))
                yield self._take(rows.slice(low, size))
        if end is not None:
            yield self._promise(self._clocked(end))

    # -- times -----------------------------------------------------------------------------------------------------------------

    def _clocked(self, promised: int) -> int:
        """Returns the promise of instants that follows from one of ``le``."""
        return promised if promised in (BEGINNING, FOREVER) else promised - self._own.before

    def _lower(self, rows: pa.Table) -> pa.Array:
        """Returns the first instant at which each event may have happened."""
        return pc.subtract(rows["le"], self._own.before)

    def _upper(self, rows: pa.Table) -> pa.Array:
        """Returns the last instant at which each event may have happened."""
        return pc.add(rows[next(iter(self._own.times), "le")], self._own.behind)

    # -- the operator ----------------------------------------------------------------------------------------------------------

    def _promise(self, promised: int) -> list[Any]:
        if promised <= self._promised:
            return []
        self._promised = promised
        return _changes(self._worlds.push(Punctuation(promised)))

    def _take(self, rows: pa.Table) -> list[Any]:
        """Take rows; those that the operator refuses one by one are told as faults, or stop the query."""
        found: list[Any] = []

        def take(part: pa.Table) -> None:
            found.extend(_changes(self._worlds.push_many([part])))
            self._last = max(self._last, pc.max(self._upper(part)).as_py())

        take_by_halves(rows, take, self._refuse)
        return found

    def _refuse(self, row: pa.Table, error: Exception) -> None:
        key = self._keys(row)[0]
        if self._job.stop_on_fault:
            blame(error, f"of key {key[0] if len(key) == 1 else key!r}")
            raise error
        self._faults.append(Fault(shortened(text_of(error)), f"bucket {self._number}", key, pc.min(self._lower(row)).as_py()))

    def _keys(self, rows: pa.Table) -> list[tuple[Any, ...]]:
        names = self._job.keys
        return list(zip(*(rows[name].to_pylist() for name in names))) if names else [()] * len(rows)

    def _late(self, rows: pa.Table, promised: int) -> list[Change]:
        """Return late rows as changes, at their lower ends."""
        found = self._changes_of(rows)
        if found and self._job.late == "raise":
            upper = self._upper(rows)[0].as_py()
            raise LateEventError(
                f"expected nothing behind the watermark {promised} but got {len(found)} late, first [{found[0].le}, {upper}] "
                f"for {found[0].payload!r}"
            )
        return found

    def _changes_of(self, rows: pa.Table) -> list[Change]:
        """Return rows as changes, at their lower ends."""
        job = self._job
        event, single = events_of(job.automaton, job.asked), len(job.keys) == 1
        cls: Any = event.cls
        lower = self._lower(rows).to_pylist()
        fields = [lower if field.name == event.instant else rows[field.name].to_pylist() for field in event.fields]
        payloads = map(cls._make, zip(*fields)) if fields else (cls() for _ in lower)
        diffs = rows["diff"].to_pylist() if "diff" in rows.column_names else [1] * len(rows)
        keys: Any = [key[0] if single else key for key in self._keys(rows)] if job.keys else [None] * len(rows)
        return [Change(payload, le, None, diff, key) for payload, le, diff, key in zip(payloads, lower, diffs, keys)]

    def _table(self, out: Sequence[Any]) -> pa.Table:
        """Returns changes, and tables of some, as columns: keys, fields of matches, ``le``, ``re``, ``diff``."""
        changes = [each for each in out if isinstance(each, Change)]
        keys = (change.key if len(self._job.keys) > 1 else (change.key,) * len(self._job.keys) for change in changes)
        rows = [(*key, *change.payload, change.le, change.re, change.diff) for key, change in zip(keys, changes)]
        whole = changes_schema(self._job)
        fields = [whole.field(name) for name in whole.names if name not in ("kind", "reason")]
        columns, schema = zip(*rows) if rows else [()] * len(fields), pa.schema(fields)
        found = pa.Table.from_arrays([pa.array(each, field.type) for each, field in zip(columns, fields)], schema=schema)
        return pa.concat_tables([found, *(each.select(schema.names).cast(schema) for each in out if isinstance(each, pa.Table))])

    # -- state -----------------------------------------------------------------------------------------------------------------

    @property
    def _end(self) -> int:
        """The promise that makes all final which has come."""
        if self._last == BEGINNING:
            return BEGINNING
        return FOREVER if self._lives is None else min(self._last + self._lives, FOREVER)

    def wakes(self, watermark: int) -> int | None:
        """Returns the watermark (ms) at which the bucket must run without rows: what it brings, or lets go. None: it need not."""
        if self._end <= self._promised:
            return None
        ends = [self._promised + 1] if self._waits else [self._last + 1, self._end]
        promise = min((end for end in ends if self._promised < end < FOREVER), default=None)
        return None if promise is None else max(watermark + 1, -(-(promise + self._own.before) // 1000))

    def numbers(self, all_keys: bool) -> dict[str, int | None]:
        """Returns no numbers: keys of worlds say nothing to a user."""
        return {}

    def save(self, incremental: bool) -> bytes:
        """Returns the state, whole; of the operator nothing where all that has come is final. O(state).

        Compressed a quarter of it is left: what worlds hold is much alike, and a store takes longer for what is more.
        """
        snapshot = b"" if self._end <= self._promised else self._worlds.snapshot()
        return zlib.compress(msgpack.packb([FORMAT, self._recipe, self._last, self._promised, snapshot]), 1)

    def leave(self, token: bytes) -> None:
        """Leave nothing in memory: the next batch reads the state."""


def added_up(rows: pa.Table) -> pa.Table:
    """Return the sums of rows, retractions first; rows as they are, if there is no retraction."""
    if "diff" not in rows.column_names or not len(rows) or pc.min(rows["diff"]).as_py() > 0:
        return rows
    found = summed(rows)
    return pa.concat_tables([found.filter(pc.less(found["diff"], 0)), found.filter(pc.greater(found["diff"], 0))])


def _changes(out: Sequence[Any]) -> list[Any]:
    return [each for each in out if not isinstance(each, Punctuation)]


def check_same(before: Recipe, now: Recipe) -> None:
    """Refuse (SnapshotError) a job that can't go on from another one's state: Worlds keep their arcs."""
    other = difference(before, now)
    if other.gone or other.new:
        was, arcs = (", ".join(texts) or "none" for texts in (other.gone, other.new))
        raise SnapshotError(
            f"expected the arcs that the checkpoint was made with, {was}, but got {arcs}: Worlds keep theirs on Spark; begin anew "
            f"with another checkpoint"
        )


def _unpacked(blob: bytes) -> tuple[str, int, int, bytes]:
    try:
        version, *parts = msgpack.unpackb(zlib.decompress(blob))
    except Exception as error:
        raise SnapshotError(f"expected the state of a bucket of Worlds but got {blob[:20]!r}: {error}") from error
    if version != FORMAT:
        raise SnapshotError(f"expected the state of a bucket of Worlds in format {FORMAT} but got format {version!r}")
    wanted("four parts", len(parts) == 4, parts)
    recipe, last, promised, snapshot = parts
    wanted("a recipe and a snapshot", type(recipe) is str and type(snapshot) is bytes, snapshot)
    return recipe, as_time(last, "last"), as_time(promised, "promised"), snapshot
