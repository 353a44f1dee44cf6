"""All paths of all matches by brute force, from the page "Lineage" of SEMANTICS.md; as `tests/oracle.py`, with what was taken.

It shares no code with the engines, nor with `afa.lineage`: computations run forward over the events in force, each with its path.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from punctuation.time import BEGINNING, FOREVER
from tests.oracle import ArcEvent, Event, in_force, is_final, one_nan, steps_of
from tests.worlds.kind import TooManyError

Path = tuple[tuple[str, Event], ...]
MOST = 50_000
"""So many computations at a step, times its events, are gone on with."""


class Computation(NamedTuple):
    """One computation, as of `tests.oracle`, with the events that it has taken."""

    state: str
    register: Any
    m: int
    path: Path


class Behind(NamedTuple):
    """What stands behind a match: its paths, and the LE at which the earliest of its runs began."""

    paths: set[Path]
    first: int


def behind(
    automaton: Any,
    changes: Iterable[tuple[Any, int, int, int]],
    arcs: Iterable[tuple[Any, int, int]],
    punctuation: int = BEGINNING,
    sequence: str | None = None,
) -> dict[tuple[Any, int, int], Behind]:
    """What stands behind each match ``(register, le, re)``. Parameters: as of `tests.oracle.matches`.

    Raises
    ------
    TooManyError
        There are more than MOST computations.
    """
    arcs = [ArcEvent(*arc) for arc in arcs]
    steps = steps_of(in_force(changes), sequence)
    found: dict[tuple[Any, int, int], Behind] = {}
    for first in range(len(steps)):
        began = steps[first][0].le
        start = Computation(automaton.start, one_nan(automaton.register), FOREVER, ())
        alive = {c for c, _ in closure({(start, began)}, arcs, latest=None)}
        for last in range(first, len(steps)):
            if len(alive) * len(steps[last]) > MOST:
                raise TooManyError(f"{len(alive)} computations at {steps[last][0].le}")
            le = steps[last][0].le
            later = steps[last + 1][0].le if last + 1 < len(steps) else max(le, punctuation)
            resting = closure({(c, le) for c in consume(steps[last], alive, arcs)}, arcs, latest=later)
            if last > first:
                changed, kept = skip(steps[last], alive, arcs)
                resting |= closure({(c, le) for c in changed}, arcs, latest=later)
                resting |= closure({(c, le) for c in kept}, arcs, latest=later, asked_until=le)
            for c, t in resting:
                if is_final(c.state, t, automaton, arcs):
                    match = c.register, t, c.m
                    found.setdefault(match, Behind(set(), began)).paths.add(c.path)
            alive = {c for c, _ in resting}
    return found


def taken(c: Computation, arc: Any, event: Event) -> Path:
    """The path of a computation that takes an event along an arc."""
    passes = arc.src == arc.dst and arc.transfer is None
    component = arc.select if arc.select is not None else "" if passes else arc.dst
    return (*c.path, (component, event)) if component else c.path


def consume(step: list[Event], alive: set[Computation], arcs: list[ArcEvent]) -> set[Computation]:
    """Every way to take one event of the step."""
    out = set()
    for c in alive:
        for event in step:
            payload, le, re = event
            for arc, begin, end in arcs:
                if arc.kind == "consume" and arc.src == c.state and begin <= le < end and arc.fence(payload, c.register):
                    register = c.register if arc.transfer is None else arc.transfer(payload, c.register)
                    out.add(Computation(arc.dst, one_nan(register), min(c.m, re), taken(c, arc, event)))
    return {c for c in out if step[0].le < c.m}


def skip(step: list[Event], alive: set[Computation], arcs: list[ArcEvent]) -> tuple[set[Computation], set[Computation]]:
    """Every way to pass all events of the step by a skip: where it changes the register, and where it does not."""
    changed, kept = set(), set()
    for c in alive:
        for arc, begin, end in arcs:
            serves = arc.kind == "skip" and arc.src == c.state and begin <= step[0].le < end and step[0].le < c.m
            if serves and all(arc.fence(payload, c.register) for payload, _, _ in step):
                register = c.register
                for payload, _, _ in step:
                    register = register if arc.transfer is None else arc.transfer(payload, register)
                passed = c._replace(register=one_nan(register))
                (kept if passed == c else changed).add(passed)
    return changed, kept


def closure(
    start: set[tuple[Computation, int]], arcs: list[ArcEvent], latest: int | None, asked_until: int = BEGINNING - 1
) -> set[tuple[Computation, int]]:
    """All that epsilon arcs and time-outs behind ``asked_until``, up to ``latest``, lead to: they take no event."""
    done, todo = set(), set(start)
    while todo:
        c, t = todo.pop()
        done.add((c, t))
        for arc, begin, end in arcs:
            if arc.src != c.state:
                continue
            if arc.kind == "epsilon" and begin <= t < end and arc.fence(c.register):
                register = c.register if arc.transfer is None else arc.transfer(c.register)
                todo.add((c._replace(state=arc.dst, register=one_nan(register)), t))
            elif arc.kind == "timeout" and latest is not None:
                instant = max(arc.at(c.register), t)
                if instant < c.m and begin <= instant < end and asked_until < instant <= latest:
                    todo.add((c._replace(state=arc.dst), instant))
        todo -= done
    return done
