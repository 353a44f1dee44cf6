"""The arcs of a bucket, as the arc log and changed code have them: worked out once for all buckets of a process.

    Logged    where a bucket is in an arc log: what a batch's lines and promise change, and what is told of them
    Ledger    what the log has come to there

A batch's lines come to every bucket. The first of a process that is at some state takes the step from there. The others, known by
the same bytes of state and the same lines, get what it has found, and the same `ArcTable`: engines share what they make of it.
Where an arc is one that only Python can run, only buckets of one task share: two such arcs may have equal names.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgpack

from afa.arclog.lines import digest, read_lines, shown
from afa.arclog.outcome import ONE_ID, LogStep, event_of, not_in_force, step_of
from afa.arclog.versions import END, INSERT, LineVersion, LogLine, Versions
from afa.change import Change
from afa.errors import AutomatonError
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.spark.job import BucketAnswer, Fault, Job
from afa.spark.recipe import Recipe, RecipeDifference, arc_of, name_of, said, texts_of
from afa.state.sound import wanted
from punctuation.time import BEGINNING, FOREVER, as_time

KEPT = 8
"""How many states, and steps, a process caches."""
TABLES = 4
"""How many tables of a state are cached: each promise that ends an arc needs another one, and engines keep programs in it."""
Raw = str | bytes | None
log = logging.getLogger("afa.spark")


class Ledger:
    """A state of an arc log.

    ``recipe`` is what the operator's ``automaton`` was made by: its arcs were always in force. ``packed`` is what `packed` was, or
    b"": nothing has come. If it is something else, SnapshotError, AutomatonError, ValueError or TypeError is raised.
    """

    def __init__(self, job: Job, recipe: Recipe, automaton: Automaton, packed: bytes = b"") -> None:
        self._job = job
        self._own = [_own(i, text, arc) for i, (text, arc) in enumerate(zip(texts_of(recipe["arcs"]), automaton.arcs))]
        self._tables: dict[int, ArcTable] = {}  # by how many arcs have ended
        self._ends: list[int] = []
        if not packed:
            self.versions = Versions([LineVersion(line, BEGINNING, FOREVER) for line in self._own], keep=kept_for(job, recipe))
            return
        begun, lines = msgpack.unpackb(packed)
        self.versions = Versions(map(self._version, begun), keep=kept_for(job, recipe))
        self._take(lines)

    def step(self, promised: int, lines: Iterable[Raw], code: Sequence[Any]) -> LogStep:
        """Move the promise, then take lines: those of the log, and those of a changed code."""
        idle, bad = self.versions.promise(promised), list[tuple[str, Raw]]()
        come = [line for source in code for line in self.lines(source)]
        step = step_of(self.versions, idle, [*come, *self._read(lines, bad)], self._job.automaton)
        self._tables = {}
        return step._replace(bad=bad)

    def replay(self, promised: int, sources: Iterable[Any]) -> None:
        """Take a step again, given the lines that it took."""
        self.versions.promise(promised)
        self._take(sources)

    @property
    def packed(self) -> bytes:
        """The state as bytes, from which a `Ledger` is made again."""
        begun = [[version.line.source, version.re] for version in self.versions.begun()]
        found: bytes = msgpack.packb([begun, sources_of(self.versions.lines())])
        return found

    def table(self, final: int) -> ArcTable:
        """Return what is in force beyond an instant: one table for all who ask, until the next arc has ended."""
        if not self._tables:
            self._tables[0] = ArcTable(map(event_of, self.versions.all()))
            self._ends = sorted({event.re for event in self._tables[0].events})
        n = bisect_right(self._ends, final)
        table = self._tables.get(n)
        if table is None:
            table = self._tables[n] = self._tables[0].cleaned(final)
            for old in [m for m in self._tables if m > 0][:-TABLES]:
                del self._tables[old]
        table.made = table.made or []
        return table

    def _take(self, sources: Iterable[Any]) -> None:
        self.versions.take(line for source in sources for line in self.lines(source))

    def lines(self, source: Any) -> tuple[LogLine, ...]:
        """Return the lines of a `LogLine.source`: text of the log, or a change of the code, [op, arc, present, number]."""
        if isinstance(source, str):
            return self._fitting(source)
        op, text, present, n = source
        wanted("a line of the code", op in ("insert", "end") and type(text) is str, source)
        at, sequence = as_time(present, "present"), BEGINNING + as_time(n, "changes of code")
        arc = arc_of(text, self._job.automaton) if op == "insert" else None
        content, identity = digest(["code", text]), digest(["code", source])
        return (LogLine(at, sequence, INSERT if arc else END, identity, content, name_of(text), FOREVER, arc, source),)

    def _fitting(self, raw: Raw) -> tuple[LogLine, ...]:
        """Read a line; refuse an arc that can't be in force here."""
        return tuple(x if x.arc is None else x._replace(arc=self._job.fitting_arc(x.arc)) for x in read_lines(raw))

    def _read(self, lines: Iterable[Raw], bad: list[tuple[str, Raw]]) -> list[LogLine]:
        found: list[LogLine] = []
        for raw in lines:
            try:
                found += self._fitting(raw)
            except AutomatonError as error:
                bad.append((str(error), raw))
        return found

    def _version(self, saved: Any) -> LineVersion:
        source, re = saved
        line = self._own[source] if type(source) is int and source >= 0 else self.lines(source)[-1]
        wanted("the version of an arc", line.op == INSERT and line.at < as_time(re, "re") <= line.until, saved)
        return LineVersion(line, line.at, re)


_ledgers: OrderedDict[bytes, Ledger] = OrderedDict()
_steps: OrderedDict[Any, tuple[LogStep, bytes]] = OrderedDict()


class Retraction(NamedTuple):
    """The payload of a late retraction."""

    name: str


class BucketLog:
    """Where a bucket is in an arc log: the arcs that its lines, and the code, have come to.

    ``speaks`` says whether what there is to tell is asked for; ``state`` is what `save` gave last as a whole, ``steps`` what it
    gave since then; see `Ledger`.
    """

    def __init__(
        self,
        job: Job,
        speaks: bool,
        recipe: Recipe,
        automaton: Automaton,
        state: Sequence[Any] = (b"", (BEGINNING, 0)),
        steps: Sequence[Any] = (),
    ) -> None:
        self._job, self._speaks, self._of = job, speaks, (job, recipe, automaton)
        self._steps: list[list[Any]] = []  # since the last `save`: [promise, what is kept of lines]
        packed, self._coded = state  # and the last change of the code: when, and how many there were
        wanted("lines of an arc log", type(packed) is bytes, packed)
        for number in self._coded:
            as_time(number, "change of the code")
        python = any(item.get("python") for made in (job.recipe, recipe) for item in made["arcs"])
        self._root = digest([job.recipe, recipe, kept_for(job, recipe)]) + (_its_own(job.automaton) if python else b"")
        if not steps:
            self._follow(packed)
            return
        ledger = Ledger(*self._of, packed)
        for promised, sources in steps:
            ledger.replay(as_time(promised, "promised"), sources)
        self._share(ledger)

    @property
    def ledger(self) -> Ledger:
        """What the log has come to here. It may be another's tomorrow: only `_step` may change it."""
        found = _ledgers.get(self._key)
        if found is None:
            found = _ledgers[self._key] = Ledger(*self._of, self._state)
            _trim(_ledgers)
        return found

    def take(self, lines: Iterable[Raw], promised: int, code: Sequence[Any] = ()) -> tuple[LogStep, BucketAnswer]:
        """Let the promise move, and lines come, in any order: those of the log, and those that `of_code` gave; what to tell."""
        told, step = BucketAnswer([], [], []), self._step(promised, lines, code)
        self._steps.append([promised, sources_of(step.kept)])
        self._tell_idle(step, told)
        for reason, raw in step.bad:
            self._fault(told, reason, raw)
        for line in step.clashes:
            self._fault(told, ONE_ID, line.source, line.at)
        told.late.extend(map(_late, step.late))
        return step, told._replace(notes=step.notes)

    def rest(self) -> list[Fault]:
        """Return what is to be told where nothing comes any more: retractions that have ended nothing."""
        told = BucketAnswer([], [], [])
        self._tell_idle(self._step(FOREVER, []), told)
        return told.faults

    def of_code(self, found: RecipeDifference, present: int) -> tuple[list[Any], str]:
        """Return a change of the code as lines (see `Ledger.line`), and in words."""
        present, n = max(present, self._coded[0]), self._coded[1] + 1
        self._coded = [present, n]
        told = f"the job has changed since the checkpoint; from {present} on {said(found)}"
        log.warning("%s", told)
        return [["end", text, present, n] for text in found.gone] + [["insert", text, present, n] for text in found.new], told

    def save(self, incremental: bool) -> list[Any]:
        """Return the place in the log as plain data, or the steps to it since the last time."""
        steps, self._steps = self._steps, []
        return steps if incremental else self.whole()

    def whole(self) -> list[Any]:
        """Return the place in the log as plain data."""
        return [self._state, self._coded]

    def _step(self, promised: int, lines: Iterable[Raw], code: Sequence[Any] = ()) -> LogStep:
        """Carry out `Ledger.step`, or find what another bucket's has come to."""
        known = self._key, promised, tuple(sorted(set(lines), key=_bytes)), msgpack.packb(list(code))
        if known in _steps:
            step, packed = _steps[known]
            self._follow(packed)
            return step
        ledger = self.ledger
        del _ledgers[self._key]
        step = ledger.step(promised, known[2], code)
        _steps[known] = step, self._share(ledger)
        _trim(_steps)
        return step

    def _share(self, ledger: Ledger) -> bytes:
        """Be where a ledger is, and let others find it."""
        packed = ledger.packed
        _ledgers.setdefault(self._known_by(packed), ledger)
        _trim(_ledgers)
        self._follow(packed)
        return packed

    def _known_by(self, packed: bytes) -> bytes:
        return hashlib.blake2b(self._root + packed, digest_size=16).digest()

    def _follow(self, packed: bytes) -> None:
        """Be at this state, and know (who speaks) what `Versions.waits` says of it."""
        self._state, self._key = packed, self._known_by(packed)
        waits = self.ledger.versions.waits if self._speaks else None
        self.waits = FOREVER if waits is None else waits

    def _tell_idle(self, step: LogStep, told: BucketAnswer) -> None:
        for line in step.idle:
            self._fault(told, not_in_force(line, step.names), line.source, line.at)

    def _fault(self, told: BucketAnswer, reason: str, what: Any, le: int | None = None) -> None:
        if self._job.stop_on_fault:
            raise AutomatonError(f"{reason[:2000]} (in {shown(what)})")
        told.faults.append(Fault(reason[:2000], shown(what), None, le))


@functools.lru_cache(KEPT)
def _its_own(automaton: Automaton) -> bytes:
    """Return what no other automaton of this process has."""
    return os.urandom(16)


def kept_for(job: Job, recipe: Recipe) -> int:
    """Return for how long arcs that have ended are kept, in ticks: a lifetime, where members of matches are told; or two, as a scan
    that chooses holds rows that are final.
    """
    if job.members is None and not job.asked.chooses:
        return 0
    windows = job.window, recipe["window"]
    return FOREVER if job.lifetimes or None in windows else max(windows) * (1 + job.asked.chooses)


def _trim(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > KEPT:
        kept.popitem(last=False)


def _bytes(raw: Raw) -> tuple[bool, bytes]:
    return raw is None, b"" if raw is None else raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")


def _own(place: int, text: str, arc: Any) -> LogLine:
    identity = digest(["own", place])
    return LogLine(BEGINNING, BEGINNING, INSERT, identity, digest(["code", text]), name_of(text), FOREVER, arc, place)


def sources_of(lines: Iterable[LogLine]) -> list[Any]:
    """Return what is kept of lines; of the two of a swap once."""
    return list({json.dumps(line.source): line.source for line in lines}.values())


def _late(line: LogLine) -> Change:
    if line.op == INSERT:
        return Change(line.arc, line.at, line.until)
    return Change(Retraction(line.name), line.at, None, -1)
