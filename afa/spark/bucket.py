"""Carry out the work of one bucket: rows, arcs and a watermark in, changes out, state as bytes. This module knows nothing of Spark.

    events, arcs, promised -> Bucket.run  -> Answer     changes | late rows | faults
                              Bucket.save -> bytes      a snapshot, and the lines of the arc log that it needs

The promise comes first, then arcs, then events: what is late depends on the watermark alone, never on which rows share a bucket.
Before it only those events come that have waited for it (`afa.spark.held`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgpack
import pyarrow as pa
import pyarrow.compute as pc

from afa.change import Change
from afa.compiled.compiled_engine import CompiledEngine
from afa.errors import AfaError, LateEventError, SnapshotError
from afa.model.arc import Arc
from afa.model.raised import Faults, Raised
from afa.operator import snapshot
from afa.operator.call import Core
from afa.operator.keyed import Keyed
from afa.operator.tables import written
from afa.spark import shared
from afa.spark.answer import Answer, Fault, shortened
from afa.spark.hashing import bucket_numbers
from afa.spark.held import Held
from afa.spark.job import Job
from afa.spark.logged import Logged
from afa.spark.operator_image import Image
from afa.spark.recipe import Difference, difference, rebuilt
from afa.spark.windows import Windows
from afa.state.sound import wanted
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time

FORMAT = 5


class Bucket:
    """The operator of the keys that share a bucket.

    Parameters
    ----------
    job : Job
    number : int
    blobs : sequence of bytes
        What `save` gave since the last whole snapshot, in that order; none: nothing was seen yet.
    image : Image, optional
        What `leave` left, in place of the blobs.

    Raises
    ------
    SnapshotError
        The state is of another version, or the schemas of the code have changed; an image is of other code.
    """

    def __init__(self, job: Job, number: int, blobs: Sequence[bytes] = (), image: Image | None = None) -> None:
        self._job = job
        self._number = number
        self._speaks = number == 0  # of arcs, which come to all buckets
        self._late: list[Change] = []
        self._code = job.recipe  # the code that the arcs in force follow
        self._base = self._code  # what the operator was made with
        self._end = BEGINNING  # of the last lifetime that ends, where rows say it
        self._changed: Difference | None = None  # what the job asks for since
        self._windows = Windows([(BEGINNING, job.window)])
        self._delay = self._past = job.delay  # the longest that the watermark was ever behind; that before this job
        self._faults = None if job.stop_on_fault else Faults()
        late: Any = self._late.append
        if image is None and not blobs:
            self._held = Held(job.schema, job.speculation)
            options: dict[str, Any] = {"engine": "auto", "arc_punctuation": False, "keyed": True, "faults": self._faults}
            core = Core(job.automaton, window=job.window, sequence=job.sequence, late=late, **options)
            core.arcs.elsewhere = True
            self._operator = Keyed._of(core, job.key)
            self._logged = Logged(job, self._speaks, self._base, job.automaton)
            return
        faults = Faults()
        try:
            if image is not None:
                self._go_on(image, late, faults)
            else:
                self._restore([_unpack(blob) for blob in blobs], late, faults)
        except (AfaError, MemoryError):
            raise
        except Exception as error:  # what comes from outside may be wrong in any way
            if image is not None and isinstance(error, OSError):  # no room for it to grow
                raise
            raise SnapshotError(f"expected the state of a bucket but got something else: {error}") from error
        self._go_on_with(self._operator._core, faults)

    def _go_on_with(self, core: Any, faults: Faults) -> None:
        """Tell what functions raise from now on, or stop; what was derived anew was told before, maybe under another `on_fault`."""
        faults.taken()
        self._faults = None if self._job.stop_on_fault else faults
        if self._faults is None:
            core.faults = None
            core.engine.let_raise()

    def _restore(self, parts: list[Saved], late: Any, faults: Faults) -> None:
        """Be what the store holds."""
        job, (self._base, before), automaton = self._job, parts[0].recipes, self._job.automaton
        if self._base != job.recipe:
            automaton = rebuilt(self._base, job.automaton)
        if before != job.recipe:
            self._changed = difference(before, job.recipe)
        self._code = before
        steps = [step for part in parts[1:] for step in part.logged]
        self._logged = Logged(job, self._speaks, self._base, automaton, parts[0].logged, steps)
        snapshots, table = [part.snapshot for part in parts], self._logged.table
        core = snapshot.load(automaton, snapshots, (), late, "auto", keyed=True, faults=faults, table=table)
        self._operator = Keyed._of(core, job.key)
        self._held = Held(job.schema, job.speculation, [part.held for part in parts], parts[-1].bound)
        self._end = parts[-1].end
        self._keep_time(parts[-1].spans, parts[-1].delay)

    def _keep_time(self, spans: Any, delay: int) -> None:
        """Go on with windows and delay of a state."""
        self._windows, self._past = Windows(spans), delay
        self._delay = max(delay, self._job.delay)

    def _go_on(self, image: Image, late: Any, faults: Faults) -> None:
        """Be what another process left."""
        version, logged, self._base, before, held, bound, self._end, spans, delay = image.note
        if version != FORMAT or before != self._code:
            raise SnapshotError("expected an image of this code but got one of other code")
        automaton = self._job.automaton if self._base == self._code else rebuilt(self._base, self._job.automaton)
        self._logged = Logged(self._job, self._speaks, self._base, automaton, logged)
        table, key = self._logged.table, self._job.key
        self._operator = image.operator(automaton, key=key, late=late, faults=faults, table=table)
        self._held = Held(self._job.schema, self._job.speculation, [held], bound)
        self._keep_time(spans, delay)

    def run(self, events: Any, arcs: Sequence[str | bytes | None], promised: int) -> Answer:
        """Take what a batch has for this bucket.

        Parameters
        ----------
        events : pyarrow.Table or None
            Key columns, the event's fields, ``le`` and ``diff``; no nulls but in optional fields.
        arcs : sequence of str or bytes
            Lines of an arc log, in any order.
        promised : int
            The watermark, in ticks.

        Raises
        ------
        Exception
            What a user's function raised, or what is wrong with an arc, if faults are to stop the query. Else an arc does not serve
            where one of its functions raises, which is told; rows, arcs and promise are taken in any case.
        LateEventError
            Something came behind the watermark, if that is to stop the query.
        """
        answer, core = Answer([], [], []), self._operator._core
        present = max(promised, self._job.since) + 1000 * (self._past + 1)  # no bucket has seen a row from there on
        if self._changed is not None and self._changed.window is not None:
            self._check_present(present)
        due = self._held.take(events, promised)
        self._tell_of_early(events, promised, answer)
        self._promise(due.before, promised, answer)
        code: list[Any] = []
        if self._changed is not None:
            code, said_of_code = self._logged.of_code(self._changed, present)
            if self._changed.window is not None:
                self._windows.change(present, self._job.window)
            self._changed, self._code, answer = None, self._job.recipe, answer._replace(code=said_of_code)
        told = self._logged.run(core, arcs, promised, partial(self._carry_out, answer), code)
        if due.after is not None and due.after.num_rows:
            self._push(due.after, answer)
        else:  # the timer has called: keys that get no more rows are gone when they are final
            self._engine.clean_all()
        self._windows.forget(promised)
        if self._speaks:
            answer.faults.extend(told.faults)
            answer.late.extend(told.late)
            answer = answer._replace(notes=told.notes)
        if self._faults is not None:
            answer.faults.extend(self._fault(*item) for item in self._faults.taken().items())
        answer.late.extend(change for change in self._late if self._speaks or not isinstance(change.payload, Arc))
        self._late.clear()
        if answer.late and self._job.stop_on_late:
            change = answer.late[0]
            raise LateEventError(
                f"expected nothing behind the watermark {promised} but got {len(answer.late)} late, first {change!r}"
            )
        return answer

    def _check_present(self, present: int) -> None:
        """A row from the present on that has come already would lose its window, so that no retraction finds it.

        Raises
        ------
        SnapshotError
            There is one: the watermark is held back by another stream than this row's.
        """
        waiting = self._held.rows
        latest = max(self._operator._core.progress.now - 1, pc.max(waiting["le"]).as_py() if len(waiting) else BEGINNING)
        if latest >= present:
            raise SnapshotError(
                f"expected all rows so far before {present}, the watermark + lateness, from where on another window may hold, but "
                f"got one at {latest}: a stream of this query is behind; keep the window until it has caught up"
            )

    def _tell_of_early(self, events: Any, promised: int, answer: Answer) -> None:
        """Tell of rows that wait for a watermark before 1970, which Spark does not have, as far as the job does not make one."""
        waits = self._job.speculation is not None or self._operator._core.arcs.table.timeouts
        if promised > BEGINNING or self._job.since or not waits or events is None:
            return
        early = events.filter(pc.less(events["le"], 0))
        if not len(early):
            return
        reason = (
            f"expected times from 1970 on, where Spark's watermark begins, but got {len(early)} rows before it: what waits for the "
            f"watermark waits until later rows move it; match(since=..) says from when on the stream may have rows"
        )
        if self._job.stop_on_fault:
            raise AfaError(reason)
        answer.faults.append(Fault(reason, f"bucket {self._number}", None, pc.min(early["le"]).as_py()))

    def _promise(self, waited: Any, promised: int, answer: Answer) -> None:
        """Take the rows that have waited for the watermark, and follow it."""
        if waited is not None:
            self._push(waited, answer)
        core = self._operator._core
        if promised > max(BEGINNING, core.progress.events):
            self._carry_out(answer, core.run, [("event", Punctuation(promised), None)], True)

    def _push(self, rows: Any, answer: Answer) -> None:
        """Push rows, each with the lifetime that its time says."""
        if self._windows.one:
            self._operator._core.window = self._windows.latest
        rows = self._windows.lived(rows)
        if self._job.lifetimes:
            ends = pc.max(rows.filter(pc.less(rows["re"], FOREVER))["re"]).as_py()
            self._end = max(self._end, BEGINNING if ends is None else ends)
        answer.changes.append(self._operator.push_many(rows))

    def _fault(self, raised: Raised, where: str) -> Fault:
        """Return what a function raised, in words."""
        key = raised.key if len(self._job.keys) > 1 else (raised.key,)
        return Fault(shortened(f"{raised.error} {where}".rstrip()), f"bucket {self._number}", key, raised.le)  # type: ignore[arg-type]

    def rest(self) -> Answer:
        """Return what is to be told where nothing comes any more."""
        return Answer([], [], self._logged.rest().faults if self._speaks else [])

    def _carry_out(self, answer: Answer, work: Callable[..., Any], *args: Any) -> None:
        """Carry out what is no row, as one call. What it raises stops the query: no bucket may go on without what others have."""
        answer.changes.append(self._operator._core.calls.call(self._written, work, *args))

    def _written(self, work: Callable[..., Any], *args: Any) -> Any:
        """Return what changes, as a table; within a call."""
        operator = self._operator
        return written(work(*args), self._job.empty, operator._core)

    # -- state ---------------------------------------------------------------------------------------------------------------

    def wakes(self, watermark: int) -> int | None:
        """Return the watermark (ms) at which the bucket must run without rows: for its next time-outs, or the end of lifetimes."""
        found = None if self._held.next is None else max(watermark + 1, self._held.next // 1000)
        if self._speaks and self._logged.waits is not None:
            found = _first(found, max(watermark + 1, self._logged.waits // 1000 + 1))
        if self._engine.store.directory.codes:
            if self._operator._core.arcs.table.timeouts:
                return watermark + 1
            if self._job.lifetimes:
                last = self._end // 1000
            elif self._windows.longest is not None:
                last = watermark + self._windows.longest // 1000
            else:
                return found
            if last >= watermark:
                found = _first(found, last + 1)
        return found

    def numbers(self, all_keys: bool) -> dict[str, int | None]:
        """Return what is held; partial matches only if all keys are to be visited for it."""
        engine = self._engine
        sizes = engine.sizes() if all_keys else None
        return {
            "keys": len(engine.store.directory.codes) if sizes is None else sizes.keys,
            "partial_matches": None if sizes is None else sizes.partial_matches,
            "held": len(self._held.rows),
            "memory_bytes": engine.store.memory.used,
        }

    @property
    def _engine(self) -> CompiledEngine:
        """The compiled one: all fields are scalars."""
        engine = self._operator._core.engine
        assert isinstance(engine, CompiledEngine)
        return engine

    @property
    def moved(self) -> bool:
        """Whether the job has changed since the state was saved as a whole: so it must be again."""
        return self._changed is not None

    def save(self, incremental: bool) -> bytes:
        """Return the state, or what has changed of it since the last time."""
        logged, recipes = self._logged.save(incremental), None if incremental else [self._base, self._code]
        return self._packed(logged, recipes, self._operator.snapshot(incremental=incremental), self._held.save(incremental))

    def _packed(self, logged: Any, recipes: Any, snapshot: bytes, held: bytes) -> bytes:
        rest = [self._held.bound, self._end, self._windows.spans, self._delay]
        blob: bytes = msgpack.packb([FORMAT, logged, recipes, snapshot, held, *rest])
        return blob

    def leave(self, token: bytes) -> None:
        """Leave the operator to the next process, right after `save`; the bucket is spent."""
        note = [FORMAT, self._logged.whole(), self._base, self._code, self._held.save(False), self._held.bound, self._end]
        note += [self._windows.spans, self._delay]
        shared.put(token, self._operator, note)

    # -- keys that move ------------------------------------------------------------------------------------------------------

    def split(self, count: int) -> Iterator[bytes]:
        """Yield the state in parts, for each of so many buckets the keys that it has then."""
        core, states = self._operator._core, self._engine.save()
        numbers = self._numbers_of(states.keys, count)
        held = self._held.split(lambda rows: bucket_numbers([rows[name] for name in self._job.keys], count), count)
        recipes = [{**recipe, "buckets": count} for recipe in (self._base, self._code)]
        for number in range(count):
            blob = snapshot.blob_with(core, states.only(numbers == number))
            yield self._packed(self._logged.whole(), recipes, blob, held[number])
            core.changes = core.outputs = core.withdrawn = core.late.count = 0  # the first part has all that was counted

    def _numbers_of(self, keys: Sequence[Any], count: int) -> Any:
        """Return the buckets of keys, of so many."""
        columns = [keys] if len(self._job.keys) == 1 else list(zip(*keys)) or [()] * len(self._job.keys)
        types = [self._job.schema.field(name).type for name in self._job.keys]
        return bucket_numbers([pa.chunked_array([pa.array(list(c), t)]) for c, t in zip(columns, types)], count)

    def settle(self, promised: int) -> Answer:
        """Follow the watermark, under the job as it was; what that brings."""
        answer = Answer([], [], [])
        due = self._held.take(None, promised)
        self._promise(due.before, promised, answer)
        if due.after is not None:
            self._push(due.after, answer)
        self._windows.forget(promised)
        if self._faults is not None:
            answer.faults.extend(self._fault(*item) for item in self._faults.taken().items())
        return answer

    def join(self, others: Sequence[Bucket]) -> None:
        """Take the keys of buckets that have followed the same watermark; to be saved as a whole."""
        faults = Faults()
        core = snapshot.with_states_of([each._operator._core for each in (self, *others)], faults)
        self._operator = Keyed._of(core, self._job.key)
        self._go_on_with(core, faults)
        self._held.join([other._held for other in others])
        self._late.extend(change for other in others for change in other._late)
        self._end = max(each._end for each in (self, *others))


def _first(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


class Saved(NamedTuple):
    """The parts of what `Bucket.save` gave."""

    logged: list[Any]
    recipes: Any
    snapshot: bytes
    held: bytes
    bound: int
    end: int
    spans: Any
    delay: int


def _unpack(blob: bytes) -> Saved:
    try:
        version, *parts = msgpack.unpackb(blob)
        saved = Saved(*parts) if version == FORMAT else None
    except Exception as error:
        raise SnapshotError(f"expected the state of a bucket but got {blob[:20]!r}: {error}") from error
    if saved is None:
        raise SnapshotError(f"expected the state of a bucket in format {FORMAT} but got format {version!r}")
    lists = isinstance(saved.logged, list)
    wanted("lines of an arc log, snapshots and rows", lists and type(saved.snapshot) is type(saved.held) is bytes, saved)
    wanted("a delay", type(saved.delay) is int and saved.delay >= 0, saved.delay)
    return saved._replace(bound=as_time(saved.bound, "bound"), end=as_time(saved.end, "end"))
