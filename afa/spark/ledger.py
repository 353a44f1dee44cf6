"""The ledger of an arc log: what it has come to so far. All buckets find the same, so those of a process share the work.

A batch's lines come to every bucket. The first of a process that is at some state takes the step from there. The others, known by
the same bytes of state and the same lines, get what it has found, and the same `ArcTable`: engines share what they make of it.
Where an arc is one that only Python can run, nothing is shared: two of them may have equal names.
"""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgpack

from afa.errors import AutomatonError
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.model.reach import loose_ends
from afa.spark.arc_lines import Fits, digest, fitting_line
from afa.spark.job import Job
from afa.spark.recipe import Recipe, arc_of, name_of, texts_of
from afa.spark.versions import END, INSERT, Line, Version, Versions
from afa.state.sound import wanted
from punctuation.time import BEGINNING, FOREVER, as_time

KEPT = 8
"""How many states, and steps, a process caches."""
TABLES = 4
"""How many tables of a state are cached: each promise that ends an arc needs another one, and engines keep programs in it."""
Raw = str | bytes | None


class Step(NamedTuple):
    """The effect of a promise and of lines.

    Parameters
    ----------
    bad : list of (str, raw line)
        Lines that are none, and why.
    idle, late, clashes : list of Line
        Retractions that end nothing and never will; lines behind the promise; lines whose id another one has.
    kept : list
        What to keep of the lines that were taken.
    gone, come : list of ArcEvent
        The difference.
    names, notes : list of str
        The arcs in force; what is to be told of arcs that have come.
    """

    bad: list[tuple[str, Raw]]
    idle: list[Line]
    late: list[Line]
    clashes: list[Line]
    kept: list[Any]
    gone: list[ArcEvent]
    come: list[ArcEvent]
    names: list[str]
    notes: list[str]


class Ledger:
    """A state of an arc log.

    Parameters
    ----------
    job : Job
    recipe : Recipe
        That the operator's automaton was made by: its arcs were always in force.
    automaton : Automaton
        The operator's.
    packed : bytes
        What `packed` was; b"": nothing has come.

    Raises
    ------
    SnapshotError, AutomatonError, ValueError, TypeError
        They are something else.
    """

    def __init__(self, job: Job, recipe: Recipe, automaton: Automaton, packed: bytes = b"") -> None:
        self._job, self._fits = job, Fits(job)
        self._own = [_own(i, text, arc) for i, (text, arc) in enumerate(zip(texts_of(recipe["arcs"]), automaton.arcs))]
        self._packed: bytes | None = packed or None  # and what else is known of this state, once it was asked for
        self._waits: list[int | None] = []
        self._tables: dict[int, ArcTable] = {}  # by how many arcs have ended
        self._ends: list[int] = []
        if not packed:
            self.versions = Versions([Version(line, BEGINNING, FOREVER) for line in self._own])
            return
        begun, lines = msgpack.unpackb(packed)
        self.versions = Versions(map(self._version, begun))
        self.versions.take(map(self.line, lines))

    def step(self, promised: int, lines: Iterable[Raw], code: Sequence[Any]) -> Step:
        """Move the promise, then take lines: those of the log, and those of a changed code."""
        idle = self.versions.promise(promised)
        names = sorted({version.line.name for version in self.versions.all()}) if idle else []
        bad: list[tuple[str, Raw]] = []
        taken = self.versions.take([*map(self.line, code), *self._read(lines, bad)])
        there = [version for versions in taken.before.values() for version in versions]
        now = [version for name in taken.before for version in self.versions.of(name)]
        gone, come = _less(there, now), _less(now, there)
        self._changed()
        kept = [line.source for line in taken.kept]
        return Step(bad, idle, taken.late, taken.clashes, kept, gone, come, names, self._notes(there, now))

    def replay(self, promised: int, sources: Iterable[Any]) -> None:
        """Take a step again of which the lines are known that were taken."""
        self.versions.promise(promised)
        self.versions.take(map(self.line, sources))
        self._changed()

    @property
    def packed(self) -> bytes:
        """All that there is to be kept."""
        if self._packed is None:
            begun = [[version.line.source, version.re] for version in self.versions.begun()]
            self._packed = msgpack.packb([begun, [line.source for line in self.versions.lines()]])
        return self._packed

    @property
    def waits(self) -> int | None:
        """See `Versions.waits`."""
        if not self._waits:
            self._waits = [self.versions.waits]
        return self._waits[0]

    def table(self, final: int) -> ArcTable:
        """Return what is in force beyond an instant: one table for all who ask, until the next arc has ended."""
        if not self._tables:
            self._tables[0] = ArcTable(map(_event, self.versions.all()))
            self._ends = sorted({event.re for event in self._tables[0].events if event.re < FOREVER})
        n = bisect_right(self._ends, final)
        table = self._tables.get(n)
        if table is None:
            table = self._tables[n] = self._tables[0].cleaned(final)
            for old in [m for m in self._tables if m > 0][:-TABLES]:
                del self._tables[old]
        table.made = table.made or []
        return table

    def _changed(self) -> None:
        """Forget what was made of the state before."""
        self._packed, self._waits = None, []
        self._tables, self._ends = {}, []

    def line(self, source: Any) -> Line:
        """Return a line by what was kept of it."""
        if isinstance(source, str):
            return fitting_line(source, self._fits)
        op, text, present, n = source
        wanted("a line of the code", op in ("insert", "end") and type(text) is str, source)
        at, sequence = as_time(present, "present"), BEGINNING + as_time(n, "changes of code")
        arc = arc_of(text, self._job.automaton) if op == "insert" else None
        content, identity = digest(["code", text]), digest(["code", source])
        return Line(at, sequence, INSERT if arc else END, identity, content, name_of(text), FOREVER, arc, source)

    def _read(self, lines: Iterable[Raw], bad: list[tuple[str, Raw]]) -> list[Line]:
        """Return the lines that are such."""
        found = []
        for raw in lines:
            try:
                found.append(fitting_line(raw, self._fits))
            except AutomatonError as error:
                bad.append((str(error), raw))
        return found

    def _notes(self, there: Sequence[Version], now: Sequence[Version]) -> list[str]:
        """Return what is to be told of arcs that are new: that they lead nowhere yet, or that nothing leads to them."""
        old = {version.line.identity for version in there}
        come: list[Arc] = [version.line.arc for version in now if version.line.identity not in old]
        return loose_ends(self._job.automaton, come, [version.line.arc for version in self.versions.all()]) if come else []

    def _version(self, saved: Any) -> Version:
        source, re = saved
        line = self._own[source] if type(source) is int and source >= 0 else self.line(source)
        wanted("the version of an arc", line.op == INSERT and line.at < as_time(re, "re") <= line.until, saved)
        return Version(line, line.at, re)


_ledgers: OrderedDict[bytes, Ledger] = OrderedDict()
_steps: OrderedDict[Any, tuple[Step, bytes]] = OrderedDict()


class Place:
    """Where a bucket is in an arc log.

    Parameters
    ----------
    job, recipe, automaton, packed
        See `Ledger`.
    """

    def __init__(self, job: Job, recipe: Recipe, automaton: Automaton, packed: bytes = b"") -> None:
        self._of = job, recipe, automaton
        python = any(item.get("python") for made in (job.recipe, recipe) for item in made["arcs"])
        self._root = os.urandom(16) if python else digest([job.recipe, recipe])
        self._state, self._key = packed, self._known_by(packed)

    @property
    def ledger(self) -> Ledger:
        """What the log has come to here. It may be another's tomorrow: only `step` may change it."""
        found = _ledgers.get(self._key)
        if found is None:
            found = _ledgers[self._key] = Ledger(*self._of, self._state)
            _trim(_ledgers)
        return found

    def step(self, promised: int, lines: Iterable[Raw], code: Sequence[Any] = ()) -> Step:
        """Carry out `Ledger.step`."""
        known = self._key, promised, tuple(sorted(set(lines), key=_bytes)), msgpack.packb(list(code))
        if known not in _steps:
            ledger = self.ledger
            del _ledgers[self._key]
            step = ledger.step(promised, known[2], code)
            self._arrive(ledger)
            _steps[known] = step, ledger.packed
            _trim(_steps)
        step, self._state = _steps[known]
        self._key = self._known_by(self._state)
        return step

    def replay(self, steps: Iterable[Any]) -> None:
        """Take steps again that were saved."""
        ledger = Ledger(*self._of, self._state)
        for promised, sources in steps:
            ledger.replay(as_time(promised, "promised"), sources)
        self._arrive(ledger)

    def _arrive(self, ledger: Ledger) -> None:
        self._state, self._key = ledger.packed, self._known_by(ledger.packed)
        _ledgers.setdefault(self._key, ledger)
        _trim(_ledgers)

    def _known_by(self, packed: bytes) -> bytes:
        return hashlib.blake2b(self._root + packed, digest_size=16).digest()


def _trim(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > KEPT:
        kept.popitem(last=False)


def _bytes(raw: Raw) -> tuple[bool, bytes]:
    return raw is None, b"" if raw is None else raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")


def _own(place: int, text: str, arc: Arc) -> Line:
    """Return an arc of the automaton as a line that was there from the beginning."""
    identity = digest(["own", place])
    return Line(BEGINNING, BEGINNING, INSERT, identity, digest(["code", text]), name_of(text), FOREVER, arc, place)


def _less(versions: Sequence[Version], others: Sequence[Version]) -> list[ArcEvent]:
    """Versions that are not among others."""
    known = {(version.line.identity, version.re) for version in others}
    return [_event(version) for version in versions if (version.line.identity, version.re) not in known]


def _event(version: Version) -> ArcEvent:
    return ArcEvent(version.line.arc, version.le, version.re)
