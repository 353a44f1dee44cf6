"""Carry out the work of one bucket: rows, arcs and a watermark in, changes out, state as bytes. This module knows nothing of Spark.

    events, arcs, promised -> Bucket.run  -> BucketAnswer     changes | late rows | faults
                              Bucket.save -> bytes      a snapshot, and the lines of the arc log that it needs

Messages (``id=``) become changes of rows first (`afa.spark.bucket_ids`). A batch is one call of the operator: rows that have waited
for the promise (`afa.spark.held`), the promise, arcs, rows. So what is late depends on the watermark alone, never on which rows
share a bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgpack
import pyarrow as pa
import pyarrow.compute as pc

from afa.arclog.outcome import LogStep
from afa.change import Change
from afa.compiled.compiled_engine import CompiledEngine
from afa.engine.budget import Budget
from afa.errors import AfaError, ChangeError, LateEventError, SnapshotError, blame
from afa.io.answer import as_arrow, key_parts
from afa.model.arc import Arc
from afa.model.keys import Keys
from afa.model.raised import Faults, shortened, text_of
from afa.operator import snapshot
from afa.operator.call import Core
from afa.operator.members import MEMBERS
from afa.operator.options import Options
from afa.operator.tables import assemble
from afa.spark import shared
from afa.spark.bucket_ids import UNKNOWN, BucketIds
from afa.spark.hashing import bucket_numbers
from afa.spark.held import WaitingRows, Windows, streams_of
from afa.spark.job import BucketAnswer, Fault, Job
from afa.spark.ledger import BucketLog
from afa.spark.operator_image import Image
from afa.spark.packed_rows import STATE, moment_of
from afa.spark.recipe import RecipeDifference, check, difference, rebuilt
from afa.spark.refused import RefusedRows, in_order, is_of_rows, net_of, take_by_halves, vain
from afa.spark.rules_bucket import RulesBucket
from afa.spark.stages import Stages
from afa.spark.worlds_bucket import WorldsBucket
from afa.state.key_columns import KeyColumns
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.time import BEGINNING, FOREVER, as_time

FORMAT = 8
OLDEST = 6
"""Formats are read from here on: that of 6 has no refused rows, that of 7 no ids."""


def bucket_of_job(job: Job, number: int, blobs: Sequence[bytes] = (), image: Image | None = None) -> Any:
    """Make a `Bucket`, or what the pattern has in its place."""
    own = job.asked.own
    if own is None:
        return Bucket(job, number, blobs, image)
    return (WorldsBucket if own.rules is None else RulesBucket)(job, own, number, b"".join(blobs))


class Bucket:
    """The operator of the keys that share a bucket.

    ``blobs`` is what `save` gave since the last whole snapshot, in that order (none: nothing was seen yet); or ``image`` is what
    `leave` left, in place of them. A state of another version or of other schemas is refused (SnapshotError), an image of other
    code too.
    """

    def __init__(self, job: Job, number: int, blobs: Sequence[bytes] = (), image: Image | None = None) -> None:
        self._job = job
        self._number = number
        self._speaks = number == 0  # of arcs, which come to all buckets
        self._late: list[Change] = []
        self._vain: list[Change] = []  # of these, retractions whose rows have not come by now
        self._told: list[Fault] = []
        self._code = job.recipe  # the code that the arcs in force follow
        self._base = self._code  # what the operator was made with
        self._end = BEGINNING  # of the last lifetime that ends, where rows say it
        self._changed: RecipeDifference | None = None  # what the job asks for since
        self._redefined: tuple[Mapping[str, str], int] = {}, BEGINNING  # conditions of definitions that this batch puts in force
        self._windows = Windows([(BEGINNING, job.window)])
        self._delay = self._past = job.delay  # the longest that the watermark was ever behind; that before this job
        self._faults = None if job.stop_on_fault else Faults()
        self._lifetimes = job.lifetimes
        empty = job.schema.empty_table()
        self._like = Table("arrow", empty, empty)  # as all output is written
        late: Any = self._late.append
        if image is None and not blobs:
            self._held, self._refused = WaitingRows(job.schema, job.speculation), RefusedRows(job.schema)
            options = Options(window=job.window, order_by=job.order_by, late=late, longest=job.longest, members=job.members)
            self._core = Core(job.automaton, options, keyed=True, faults=self._faults)
            self._core.arcs.elsewhere = True
            self._core.keys = Keys(job.automaton, job.key)
            self._core.engine.bound(Budget(job.partial_matches))
            self._stages = Stages(job.asked, self._core, job.keys, self._faults)
            self._logged = BucketLog(job, self._speaks, self._base, job.automaton)
            self._ids = None if job.messages is None else BucketIds(job)
            return
        try:
            self._restore([_saved(image.note)] if image is not None else list(map(_unpack, blobs)), image, late)
        except (SnapshotError, MemoryError):
            raise
        except Exception as error:  # what comes from outside may be wrong in any way
            if image is not None and isinstance(error, OSError):  # no room for it to grow
                raise
            raise SnapshotError(f"expected the state of a bucket but got something else: {error}") from error

    def _restore(self, parts: list[BucketState], image: Image | None, late: Any) -> None:
        """Go on from the state that the store holds, or from an image of the same code."""
        job, automaton, last, faults = self._job, self._job.automaton, parts[-1], Faults()
        self._base, self._code = parts[0].recipes
        if image is not None and self._code != job.recipe:
            raise SnapshotError("expected an image of this code but got one of other code")
        if self._base != job.recipe:
            check(self._base, job.recipe)
            automaton = rebuilt(self._base, automaton)
        if self._code != job.recipe:
            self._changed = difference(self._code, job.recipe)
        steps = [step for part in parts[1:] for step in part.logged]
        self._logged = BucketLog(job, self._speaks, self._base, automaton, parts[0].logged, steps)
        table = self._logged.ledger.table
        if image is None:
            snapshots = [part.snapshot for part in parts]
            core = snapshot.load(automaton, snapshots, (), {"late": late}, keyed=True, faults=faults, table=table)
        else:
            core = image.core(automaton, late=late, faults=faults, table=table)
        self._held = WaitingRows(job.schema, job.speculation, [part.held for part in parts], last.bound)
        self._refused = RefusedRows(job.schema, last.refused)
        self._ids = None if job.messages is None else BucketIds(job, [part.ids for part in parts])
        self._end, self._windows, self._past = last.end, Windows(last.spans), last.delay
        self._delay = max(last.delay, job.delay)
        self._go_on_with(core, faults, [blob for part in parts for blob in part.stages])

    def _go_on_with(self, core: Core, faults: Faults, stages: Sequence[bytes]) -> None:
        """Tell what functions raise from now on, or stop; what was derived anew was told before, maybe under another `on_fault`."""
        faults.taken()
        core.keys = Keys(core.automaton, self._job.key)
        core.engine.bound(Budget(self._job.partial_matches))  # of this job, whatever the state was made under
        self._core, self._faults = core, None if self._job.stop_on_fault else faults
        self._stages = Stages(self._job.asked.as_made(self._base), core, self._job.keys, self._faults, stages)
        if self._faults is None:
            core.faults = None
            core.engine.let_raise()

    def run(self, events: Any, arcs: Sequence[str | bytes | None], promised: int) -> BucketAnswer:
        """Take what a batch has for this bucket: rows with nulls in optional fields only, lines of an arc log, the watermark.

        Raises what a function raised, what is wrong with an arc, or why a row can't be taken, if faults are to stop the query.
        Else an arc does not serve where one of its functions raises, and rows that can't be taken are left out, which is told; all
        other rows, arcs and promise are taken in any case. LateEventError: something came behind the watermark, if that is to
        stop the query.
        """
        changed, code, said = self._changed, list[Any](), None
        present = self._present(promised)
        if changed is not None and changed.window is not None:
            self._check_present(present)
        self._refused.forget(promised)
        self._told = []
        events = self._events(events, promised)
        self._told += self._early(events, promised)
        waited, rows = map(self._known, self._held.take(events, promised))
        if changed is not None:
            code, said = self._logged.of_code(changed, present)
            if changed.window is not None:
                self._windows.change(present, self._job.window)
            self._redefined, self._changed, self._code = (changed.conditions, present), None, self._job.recipe
        step, told = None, BucketAnswer([], [], [])
        if arcs or code or self._logged.waits < promised:  # else a promise changes nothing: all buckets are at one place in the log
            step, told = self._logged.take(arcs, promised, code)
        changes = self._call(waited, promised, step, rows)
        if rows is None or not rows.num_rows:  # the timer has called: keys that get no more rows are gone when they are final
            self._engine.clean_all()
            self._stages.clean()
            if self._ids is not None:
                self._ids.clean()
        self._windows.forget(promised)
        late, faults = self._lates(promised), self._told
        if self._speaks:
            late, faults = told.late + late, faults + told.faults
        if late and self._job.late == "raise":
            raise LateEventError(f"expected nothing behind the watermark {promised} but got {len(late)} late, first {late[0]!r}")
        return BucketAnswer([changes], late, faults, said, told.notes if self._speaks else ())

    def history(self, events: Any, arcs: Sequence[str | bytes | None], end: int | None) -> BucketAnswer:
        """Take all rows of a static table; ``end``: the promise behind them."""
        answer = self.run(events, arcs, BEGINNING)
        if end is not None:
            answer = answer.then(self.run(None, [], end))
        answer.faults.extend(self.rest())
        return answer

    def _lates(self, promised: int) -> list[Change]:
        """Return what has come behind the watermark; tell of retractions whose rows have not come by now."""
        in_vain = {id(change) for change in self._vain}
        late = [change for change in self._late if id(change) not in in_vain]
        self._late.clear()
        for change in self._vain:
            said = vain(change, promised)
            if self._job.late == "raise":
                raise LateEventError(f"{said} of key {change.key!r}")
            self._fault(ChangeError(said), change.key, change.le)
        self._vain.clear()
        return [change for change in late if self._speaks or not isinstance(change.payload, Arc)]

    def _call(self, waited: Any, promised: int, step: LogStep | None, rows: Any) -> pa.Table:
        """Carry out a batch, as one call; where rows are to blame that it fails, as several. What else it raises stops the query:
        no bucket may go on without what others have.
        """
        try:
            return self._try(self._lived(waited), promised, step, self._lived(rows))
        except Exception as error:
            if not is_of_rows(error) or (waited is None and rows is None):
                raise
        found = self._take_apart(waited)
        found.append(self._try(None, promised, step, None))
        found += self._take_apart(self._known(rows))  # a row that has waited may be refused by now
        return net_of(found, [MEMBERS])

    def _try(self, waited: Any, promised: int, step: LogStep | None, rows: Any) -> pa.Table:
        """Carry out a call; if it fails, nothing is told of it."""
        vain = len(self._vain)
        try:
            changes = self._core.calls.call(self._carry_out, waited, promised, step, rows)
        except BaseException:
            del self._vain[vain:]
            if self._faults is not None:
                self._faults.taken()
            raise
        self._redefined = {}, BEGINNING
        self._told += self._raised()
        return changes

    def _carry_out(self, waited: Any, promised: int, step: LogStep | None, rows: Any) -> pa.Table:
        """Take rows that have waited, the promise, arcs and rows, within a call; what changes."""
        core, stages, late = self._core, self._stages, len(self._core.late.waiting)
        before = core.progress.output
        is_new = promised > max(BEGINNING, core.progress.events)
        stages.take(waited, promised if is_new else None)
        self._vain += core.late.waiting[late:]  # no row that has waited is late
        if step is not None and (step.gone or step.come):
            core.arcs.replace(core, self._logged.ledger.table(core.reads_from), step.gone, step.come)
        stages.redefine(*self._redefined)
        stages.take(rows)
        return assemble(stages.told(before), self._like, core)

    def _events(self, rows: Any, promised: int) -> Any:
        """Return what messages change; tell of those that are put aside."""
        if self._ids is None:
            return rows
        present = UNKNOWN if promised in (BEGINNING, FOREVER) else self._present(promised)
        changes = self._ids.take(rows, promised, present)
        for late, change, reason in self._ids.told():
            if late:
                self._late.append(change)
            else:
                self._fault(ChangeError(reason), change.key, None if change.le == UNKNOWN else change.le)
        return changes

    # -- rows that can't be taken ----------------------------------------------------------------------------------------------

    def _take_apart(self, rows: Any) -> list[pa.Table]:
        """Take rows in as few calls as can be, and refuse those that can't be taken; what changes."""
        found: list[pa.Table] = []
        if rows is not None:
            take = lambda part: found.append(self._try(None, BEGINNING, None, self._lived(part)))  # noqa: E731
            take_by_halves(in_order(rows, self._job.keys), take, self._refuse)
        return found

    def _refuse(self, row: pa.Table, error: Exception) -> None:
        """Leave out a row, and tell why; or stop the query."""
        [values] = row.to_pylist()
        key = tuple(values[name] for name in self._job.keys)
        self._fault(error, key if len(key) > 1 else key[0], values["le"], values)
        if self._job.retracts:
            self._refused.add(row)

    def _known(self, rows: Any) -> Any:
        """Return rows without the retractions of refused ones, which are told."""
        rows, met = self._refused.met_by(rows)
        for values in [] if met is None else met.to_pylist():
            key = tuple(values[name] for name in self._job.keys)
            error = ChangeError(f"expected the retraction of a row in force but got that of one that was refused: {_shown(values)}")
            self._fault(error, key if len(key) > 1 else key[0], values["le"])
        return rows

    def _fault(self, error: Exception, key: Any, le: int | None, row: dict[str, Any] | None = None) -> None:
        """Tell of what is wrong with a row, which is left out; or stop the query, with key and time."""
        if self._job.stop_on_fault:
            blame(error, f"of key {key!r} at {moment_of(le)}{'' if row is None else f', row {_shown(row)}'}")
            raise error
        text = text_of(error) if row is None else f"{text_of(error)}; left out: {_shown(row)}"
        parts: Any = key if len(self._job.keys) > 1 else (key,)
        self._told.append(Fault(shortened(text), f"bucket {self._number}", parts, le))

    def _present(self, promised: int) -> int:
        """Return from when on no bucket has seen a row."""
        return max(promised, self._job.since) + 1000 * (self._past + 1)

    def _check_present(self, present: int) -> None:
        """Refuse a new window if a row from the present on has come already: it would lose its own, so that no retraction finds it.

        Then the watermark is held back by another stream than this row's.
        """
        waiting = self._held.rows
        latest = max(self._core.progress.now - 1, pc.max(waiting["le"]).as_py() if len(waiting) else BEGINNING)
        if latest >= present:
            raise SnapshotError(
                f"expected all rows so far before {present}, the watermark + lateness, from where on another window may hold, but "
                f"got one at {latest}: a stream of this query is behind; keep the window until it has caught up"
            )

    def _early(self, events: Any, promised: int) -> list[Fault]:
        """Tell of rows that wait for a watermark before 1970, which Spark does not have, as far as the job does not make one."""
        if promised > BEGINNING or self._job.since or events is None:
            return []
        early = events.filter(pc.less(events["le"], 0))
        readings = self._job.asked.readings
        clocked = self._core.arcs.table.timeouts or (readings is not None and (readings.clocked or self._lifetimes))
        if not len(early) or (self._job.speculation is None and not clocked):
            return []
        reason = (
            f"expected times from 1970 on, where Spark's watermark begins, but got {len(early)} rows before it: what waits for the "
            f"watermark waits until later rows move it; match(since=..) says from when on the stream may have rows"
        )
        if self._job.stop_on_fault:
            raise AfaError(reason)
        return [Fault(reason, f"bucket {self._number}", None, pc.min(early["le"]).as_py())]

    def _lived(self, rows: Any) -> Any:
        """Return rows, each with the lifetime that its time says, be it by the one window, which the operator gets to know."""
        if len(self._windows.spans) == 1:
            self._core.window = self._windows.spans[0][1]
        if rows is None or self._job.asked.readings is not None:  # a reading without an end holds until the next one
            return rows
        rows = self._windows.lived(rows)
        if self._lifetimes:
            ends = pc.max(rows.filter(pc.less(rows["re"], FOREVER))["re"]).as_py()
            self._end = max(self._end, BEGINNING if ends is None else ends)
        return rows

    def _raised(self) -> list[Fault]:
        """Return what functions have raised, in words; texts without their middle, if they are long: payloads may be."""
        found = []
        for raised, where in self._faults.taken().items() if self._faults is not None else ():
            text = shortened(f"{raised.error}{where}" if where.startswith(";") else f"{raised.error} {where}".rstrip())
            key: Any = raised.key if len(self._job.keys) > 1 else (raised.key,)
            found.append(Fault(text, f"bucket {self._number}", key, raised.le))
        return found

    def rest(self) -> list[Fault]:
        """Return the faults that are known once nothing comes any more: retractions of arcs and rows that have ended nothing."""
        self._told = self._logged.rest() if self._speaks else []
        self._events(None, FOREVER)
        if self._job.retracts:
            self._core.calls.call(self._stages.overdue)
            self._vain += self._late
            self._lates(FOREVER)
        return self._told

    # -- state ---------------------------------------------------------------------------------------------------------------

    def wakes(self, watermark: int) -> int | None:
        """Return the watermark (ms) at which the bucket must run without rows: for its next time-outs, or the end of lifetimes."""
        waits = [] if self._held.next is None else [max(watermark + 1, self._held.next // 1000)]
        if self._logged.waits < FOREVER:
            waits.append(max(watermark + 1, self._logged.waits // 1000 + 1))
        if len(self._engine.store.directory):
            if self._core.arcs.table.timeouts:
                return watermark + 1
            longest = self._windows.longest
            last = watermark - 1 if longest is None else watermark + longest // 1000
            if self._lifetimes and self._job.asked.readings is None:
                last = self._end // 1000
            if last >= watermark:
                waits.append(last + 1)
        wakes = self._stages.wakes(watermark, self._lifetimes)
        if wakes is not None:
            waits.append(wakes)
        if self._ids is not None and self._ids.next is not None:
            waits.append(max(watermark, self._ids.next // 1000) + 1)
        return min(waits, default=None)

    def numbers(self, all_keys: bool) -> dict[str, int | None]:
        """Return what is held; partial matches only if all keys are to be visited for it."""
        engine = self._engine
        sizes = engine.sizes() if all_keys else None
        return {
            "keys": len(engine.store.directory) if sizes is None else sizes.keys,
            "partial_matches": None if sizes is None else sizes.partial_matches,
            "ties": None if sizes is None else sizes.ties,
            "candidates": None if sizes is None else sizes.matches if self._job.asked.chooses else 0,
            **({} if sizes is None else {f"{STATE}{state}": n for state, n in engine.by_state().items()}),
            "held": len(self._held.rows),
            "memory_bytes": engine.memory_bytes(),
            **({} if self._ids is None else self._ids.numbers),
        }

    @property
    def _engine(self) -> CompiledEngine:
        """The compiled one: all fields are scalars."""
        engine = self._core.engine
        assert isinstance(engine, CompiledEngine)
        return engine

    @property
    def moved(self) -> bool:
        """Whether the job has changed since the state was saved as a whole: so it must be again."""
        return self._changed is not None

    def save(self, incremental: bool) -> bytes:
        """Return the state, or what has changed of it since the last time."""
        recipes = None if incremental else [self._base, self._code]
        held, stages = self._held.save(incremental), self._stages.save(incremental)
        blob = self._core.calls.call(snapshot.save, self._core, incremental)
        ids = b"" if self._ids is None else self._ids.save(incremental)
        return _packed(self._state(self._logged.save(incremental), recipes, blob, held, stages, ids))

    def _state(self, logged: Any, recipes: Any, snapshot: bytes, held: bytes, stages: Sequence[bytes], ids: bytes) -> list[Any]:
        """Return the state as plain data; see `BucketState`."""
        rest = [self._held.bound, self._end, self._windows.spans, self._delay, self._refused.save(), ids]
        return [FORMAT, logged, recipes, snapshot, held, stages, *rest]

    def leave(self, token: bytes) -> None:
        """Leave the operator to the next process, right after `save`; the bucket is spent. Only the compiled engine can."""
        if not isinstance(self._engine, CompiledEngine):
            return
        recipes, held = [self._base, self._code], self._held.save(False)
        ids = b"" if self._ids is None else self._ids.save(False)
        shared.put(token, self._core, self._state(self._logged.whole(), recipes, b"", held, self._stages.blobs, ids))

    def check(self) -> None:
        """Assert the operator's invariants; for tests."""
        self._core.calls.call(self._core.check)

    # -- keys that move ------------------------------------------------------------------------------------------------------

    def split(self, count: int) -> Iterator[bytes]:
        """Yield the state in parts, for each of so many buckets the keys that it has then."""
        core, states = self._core, self._engine.save()
        numbers = self._numbers_of(states.keys, count)
        held, refused = (streams_of(rows, self._job.keys, count) for rows in (self._held.rows, self._refused.rows))
        stages = self._stages.split(lambda keys: self._numbers_of(keys, count), count)
        ids = (lambda _: b"") if self._ids is None else self._ids.split(lambda keys: self._numbers_of(keys, count))
        recipes = [{**recipe, "buckets": count} for recipe in (self._base, self._code)]
        for number in range(count):
            blob = snapshot.blob_with(core, states.only(numbers == number))
            state = self._state(self._logged.whole(), recipes, blob, held[number], stages[number], ids(number))
            yield _packed([*state[:-2], refused[number], state[-1]])
            core.changes = core.outputs = core.withdrawn = core.late.count = 0  # the first part has all that was counted

    def _numbers_of(self, keys: Sequence[Any], count: int) -> Any:
        columns = key_parts(KeyColumns.of(keys), self._keys)
        types = [self._job.schema.field(name).type for name in self._job.keys]
        arrays = [as_arrow(column, kind, name) for column, kind, name in zip(columns, types, self._job.keys)]
        return bucket_numbers([pa.chunked_array([array]) for array in arrays], count)

    @property
    def _keys(self) -> Keys:
        assert self._core.keys is not None
        return self._core.keys

    def settle(self, promised: int) -> BucketAnswer:
        """Follow the watermark, under the job as it was; what that brings."""
        self._told = []
        self._refused.forget(promised)
        self._events(None, promised)
        waited, rows = map(self._known, self._held.take(None, promised))
        changes = self._call(waited, promised, None, rows)
        self._windows.forget(promised)
        return BucketAnswer([changes], [], self._told)

    def join(self, others: Sequence[Bucket]) -> None:
        """Take the keys of buckets that have followed the same watermark; to be saved as a whole.

        Of an operator whose rows wait for those behind them the promise is of its own rows: the smallest one holds for all.
        """
        faults, every = Faults(), sorted((self, *others), key=lambda bucket: bucket._core.progress.events)
        stages = [blob for each in reversed(every) for blob in each._stages.save(False)]
        self._go_on_with(snapshot.with_states_of([each._core for each in every], faults), faults, stages)
        self._held.join([other._held for other in others])
        if self._ids is not None:
            self._ids.join([other._ids for other in others if other._ids is not None])
        self._refused.rows = pa.concat_tables([each._refused.rows for each in every])
        self._late.extend(change for other in others for change in other._late)
        self._vain.extend(change for other in others for change in other._vain)
        self._end = max(each._end for each in every)


class BucketState(NamedTuple):
    """The parts of what `Bucket.save` gave."""

    logged: list[Any]
    recipes: Any
    snapshot: bytes
    held: bytes
    stages: list[bytes]
    bound: int
    end: int
    spans: Any
    delay: int
    refused: bytes = b""
    ids: bytes = b""


def _shown(values: dict[str, Any]) -> str:
    """Return a row in words, its times readable."""
    return repr({name: moment_of(value) if name in ("le", "re") else value for name, value in values.items()})


def _packed(state: list[Any]) -> bytes:
    blob: bytes = msgpack.packb(state)
    return blob


def _unpack(blob: bytes) -> BucketState:
    try:
        state = msgpack.unpackb(blob)
    except Exception as error:
        raise SnapshotError(f"expected the state of a bucket but got {blob[:20]!r}: {error}") from error
    return _saved(state)


def _saved(state: Any) -> BucketState:
    """Return the parts of a state, checked as far as those who take them do not."""
    wanted("the state of a bucket", isinstance(state, list) and len(state) > 0, state)
    version, *parts = state
    if type(version) is not int or not OLDEST <= version <= FORMAT:
        raise SnapshotError(f"expected the state of a bucket in format {FORMAT} but got format {version!r}")
    wanted("the parts of the state of a bucket", len(parts) == len(BucketState._fields) - (FORMAT - version), parts)
    saved = BucketState(*parts)
    lists = isinstance(saved.logged, list) and isinstance(saved.stages, list)
    blobs = all(type(blob) is bytes for blob in (saved.snapshot, saved.held, saved.refused, saved.ids))
    wanted("lines of an arc log, snapshots and rows", lists and blobs, saved)
    wanted("a delay", type(saved.delay) is int and saved.delay >= 0, saved.delay)
    return saved._replace(bound=as_time(saved.bound, "bound"), end=as_time(saved.end, "end"))
