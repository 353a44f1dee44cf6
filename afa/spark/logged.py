"""The arcs of a bucket: what the lines of the arc log, and a changed code, have made of them; the difference is one call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from afa.arc import Arc
from afa.arctable import ArcEvent, ArcTable
from afa.automaton import Automaton
from afa.change import Change
from afa.core import Core
from afa.errors import AutomatonError
from afa.reach import loose_ends
from afa.sound import wanted
from afa.spark.answer import Fault
from afa.spark.arcs import Fits, digest, fitting_line, shown
from afa.spark.job import Job
from afa.spark.recipe import Difference, Recipe, arc_of, name_of, said, texts_of
from afa.spark.versions import END, INSERT, Line, Version, Versions
from punctuation.time import BEGINNING, FOREVER, as_time

CarryOut = Callable[..., None]
"""``carry_out(work, *args)`` does ``work(*args)`` as one call of the operator."""
log = logging.getLogger("afa.spark")


class Told(NamedTuple):
    """What is to be said of lines: all buckets find the same, but notes."""

    late: list[Change]
    faults: list[Fault]
    notes: list[str]


class Retraction(NamedTuple):
    """The payload of a late retraction."""

    name: str


class Logged:
    """The versions of arcs that lines of the arc log, and the code, have come to.

    Parameters
    ----------
    job : Job
    speaks : bool
        Whether notes are asked for.
    recipe : Recipe
        That the operator's automaton was made by: its arcs were always in force.
    automaton : Automaton
        The operator's.
    state : list, optional
        What `save` gave last as a whole.
    steps : sequence of list
        What it gave since then.

    Raises
    ------
    SnapshotError, AutomatonError
        They are something else.
    """

    def __init__(
        self,
        job: Job,
        speaks: bool,
        recipe: Recipe,
        automaton: Automaton,
        state: Sequence[Any] | None = None,
        steps: Iterable[Any] = (),
    ) -> None:
        self._job, self._speaks, self._fits = job, speaks, Fits(job)
        self._own = [_own(i, text, arc) for i, (text, arc) in enumerate(zip(texts_of(recipe["arcs"]), automaton.arcs))]
        self._steps: list[list[Any]] = []  # since the last `save`: [promise, sources of lines]
        self._coded = [BEGINNING, 0]  # the last change of the code: when, and how many there were
        begun = [Version(line, BEGINNING, FOREVER) for line in self._own]
        if state is None:
            self._versions = Versions(begun)
            return
        begun, lines, promised, self._coded = state
        self._versions = Versions(map(self._version, begun), as_time(promised, "promised"))
        self._versions.take(self._line(source) for source in lines)
        for number in self._coded:
            as_time(number, "change of the code")
        for promised, sources in steps:
            self._versions.promise(as_time(promised, "promised"))
            self._versions.take(map(self._line, sources))

    # -- lines -------------------------------------------------------------------------------------------------------------

    def run(
        self, core: Core, raws: Iterable[str | bytes | None], promised: int, carry_out: CarryOut, code: Iterable[Line] = ()
    ) -> Told:
        """Let the promise move, and lines come, in any order: those of the log, and those that `of_code` gave."""
        told = Told([], [], [])
        self._tell_idle(self._versions.promise(promised), told)
        self._step(promised)
        taken = self._versions.take([*code, *self._read(raws, told)])
        for line in taken.late:
            told.late.append(_late(line))
        for line in taken.clashes:
            self._fault(told, "expected one line of an id but got two that differ; the earlier one counts", line.source, line.at)
        if taken.before:
            self._follow(core, taken.before, carry_out)
            self._step(promised, [line.source for line in taken.kept])
            told.notes.extend(self._loose_ends(taken.before) if self._speaks else ())
        return told

    def rest(self) -> Told:
        """What is to be told where nothing comes any more: retractions that have ended nothing."""
        told = Told([], [], [])
        self._tell_idle(self._versions.promise(FOREVER), told)
        return told

    def of_code(self, found: Difference, present: int) -> tuple[list[Line], str]:
        """The lines that a changed code comes to, and what is to be told of it."""
        present, n = max(present, self._coded[0]), self._coded[1] + 1
        self._coded = [present, n]
        told = f"the job has changed since the checkpoint; from {present} on {said(found)}"
        log.warning("%s", told)
        sources = [["end", text, present, n] for text in found.gone] + [["insert", text, present, n] for text in found.new]
        return [self._line(source) for source in sources], told

    def _read(self, raws: Iterable[str | bytes | None], told: Told) -> Iterator[Line]:
        """The lines that are such; the others are told."""
        for raw in raws:
            try:
                line = fitting_line(raw, self._fits)
            except AutomatonError as error:
                self._fault(told, str(error), raw)
                continue
            yield line

    def _tell_idle(self, lines: Sequence[Line], told: Told) -> None:
        known = sorted({version.line.name for version in self._versions.all()}) if lines else []
        for line in lines:
            there = ", ".join(known) or "none"
            self._fault(told, f"expected an arc in force but got {line.name!r}; in force: {there}", line.source, line.at)

    def _fault(self, told: Told, reason: str, what: Any, le: int | None = None) -> None:
        if self._job.stop_on_fault:
            raise AutomatonError(f"{reason[:2000]} (in {shown(what)})")
        told.faults.append(Fault(reason[:2000], shown(what), None, le))

    def _follow(self, core: Core, before: dict[str, list[Version]], carry_out: CarryOut) -> None:
        """Let the operator follow from what there was of these names to what there is, as one call."""
        there = [version for versions in before.values() for version in versions]
        now = [version for name in before for version in self._versions.of(name)]
        gone, come = _less(there, now), _less(now, there)
        if gone or come:
            carry_out(core.run_arcs, gone, come)

    def _loose_ends(self, before: dict[str, list[Version]]) -> list[str]:
        """What is to be told of arcs that are new: that they lead nowhere yet, or that nothing leads to them."""
        old = {version.line.identity for versions in before.values() for version in versions}
        come = [version.line.arc for name in before for version in self._versions.of(name) if version.line.identity not in old]
        return loose_ends(self._job.automaton, come, [version.line.arc for version in self._versions.all()]) if come else []

    @property
    def waits(self) -> int | None:
        """The earliest instant of a retraction that has ended nothing yet: it is told when the promise has passed it."""
        return self._versions.waits

    # -- state -------------------------------------------------------------------------------------------------------------

    def table(self) -> ArcTable:
        """What the operator has in force."""
        return ArcTable(map(_event, self._versions.all()))

    def save(self, incremental: bool) -> list[Any]:
        """All that there is to be kept, as plain data; or what has come since the last time."""
        steps, self._steps = self._steps, []
        return steps if incremental else self.whole()

    def whole(self) -> list[Any]:
        """All that there is to be kept, as plain data."""
        lines = [line.source for line in self._versions.lines()]
        return [list(map(_saved, self._versions.begun())), lines, self._versions.promised, self._coded]

    def _step(self, promised: int, sources: Sequence[Any] = ()) -> None:
        if self._steps and not self._steps[-1][1]:
            self._steps.pop()  # a promise alone, which this one goes beyond
        self._steps.append([promised, list(sources)])

    def _version(self, saved: Any) -> Version:
        source, re = saved
        line = self._own[source] if type(source) is int and source >= 0 else self._line(source)
        wanted("the version of an arc", line.op == INSERT and line.at < as_time(re, "re") <= line.until, saved)
        return Version(line, line.at, re)

    def _line(self, source: Any) -> Line:
        """A line by what was kept of it."""
        if isinstance(source, str):
            return fitting_line(source, self._fits)
        op, text, present, n = source
        wanted("a line of the code", op in ("insert", "end") and type(text) is str, source)
        at, sequence = as_time(present, "present"), BEGINNING + as_time(n, "changes of code")
        arc, content = None, digest(["code", text])
        if op == "insert":
            arc = arc_of(text, self._job.automaton)
        op = INSERT if op == "insert" else END
        return Line(at, sequence, op, digest(["code", source]), content, name_of(text), FOREVER, arc, source)


def _own(place: int, text: str, arc: Arc) -> Line:
    """An arc of the automaton as a line that was there from the beginning."""
    identity = digest(["own", place])
    return Line(BEGINNING, BEGINNING, INSERT, identity, digest(["code", text]), name_of(text), FOREVER, arc, place)


def _less(versions: Sequence[Version], others: Sequence[Version]) -> list[ArcEvent]:
    """Versions that are not among others."""
    known = {(version.line.identity, version.re) for version in others}
    return [_event(version) for version in versions if (version.line.identity, version.re) not in known]


def _event(version: Version) -> ArcEvent:
    return ArcEvent(version.line.arc, version.le, version.re)


def _saved(version: Version) -> list[Any]:
    return [version.line.source, version.re]


def _late(line: Line) -> Change:
    """A line behind the promise, as a change."""
    if line.op == INSERT:
        return Change(line.arc, line.at, line.until)
    return Change(Retraction(line.name), line.at, None, -1)
