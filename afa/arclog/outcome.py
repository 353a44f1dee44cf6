"""What some more lines of an arc log, and its promise, change in the arcs in force; and what is to be told of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from afa.arclog.versions import LineVersion, LogLine, Versions
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent
from afa.model.automaton import Automaton
from afa.model.reach import loose_ends


class LogStep(NamedTuple):
    """The effect of a promise and of lines."""

    idle: list[LogLine]  # retractions that end nothing and never will
    late: list[LogLine]  # behind the promise
    clashes: list[LogLine]  # whose id another one has
    kept: list[LogLine]  # that were taken
    gone: list[ArcEvent]
    come: list[ArcEvent]
    names: list[str]  # of the arcs in force, if there are idle retractions
    notes: list[str]  # to be told of arcs that have come
    bad: Sequence[tuple[str, Any]] = ()  # lines that are none, and why


def step_of(
    versions: Versions, idle: list[LogLine], lines: Iterable[LogLine], automaton: Automaton, others: Sequence[ArcEvent] = ()
) -> LogStep:
    """Take lines behind a promise, which has given ``idle``; ``others`` are in force beside the versions."""
    beside = {event.arc.name for event in others if event.arc.name is not None}
    names = sorted(beside.union(version.line.name for version in versions.all())) if idle else []
    taken = versions.take(lines)
    there = [version for before in taken.before.values() for version in before]
    now = [version for name in taken.before for version in versions.of(name)]
    notes = _notes(versions, there, now, automaton, [event.arc for event in others])
    return LogStep(idle, taken.late, taken.clashes, taken.kept, _less(there, now), _less(now, there), names, notes)


def not_in_force(line: LogLine, names: Sequence[str]) -> str:
    """Return what is told of a retraction that has ended nothing."""
    return f"expected an arc in force but got {line.name!r}; in force: {', '.join(names) or 'none'}"


ONE_ID = "expected one line of an id but got two that differ; the earlier one counts"


def _notes(
    versions: Versions, there: Sequence[LineVersion], now: Sequence[LineVersion], automaton: Automaton, others: list[Arc]
) -> list[str]:
    """Return what is to be told of arcs that are new: that they lead nowhere yet, or that nothing leads to them."""
    old = {version.line.identity for version in there}
    come: list[Arc] = [version.line.arc for version in now if version.line.identity not in old and version.line.arc is not None]
    there_now = [arc for version in versions.all() if (arc := version.line.arc) is not None]  # None: of a snapshot, and over
    return loose_ends(automaton, come, [*others, *there_now]) if come else []


def _less(versions: Sequence[LineVersion], others: Sequence[LineVersion]) -> list[ArcEvent]:
    known = {
        (version.line[:5], version.re) for version in others
    }  # not by identity alone: of two lines of one id another may count
    return [event_of(version) for version in versions if (version.line[:5], version.re) not in known]


def event_of(version: LineVersion) -> ArcEvent:
    return ArcEvent(version.line.arc, version.le, version.re)
