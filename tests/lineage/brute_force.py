"""All paths of all matches by brute force, from the page "Lineage" of SEMANTICS.md; as `tests/oracle.py`, with what was taken.

It shares no code with the engines, nor with `afa.lineage`: computations run forward over the events in force, each with its path;
what takes no event is what it is in `tests/oracle.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from punctuation.time import BEGINNING, FOREVER
from tests import oracle
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

    `TooManyError` where there are more than MOST computations.
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
        for out, found in zip((changed, kept), oracle.skip(step, {plain(c)}, arcs)):
            out |= {Computation(*after, c.path) for after in found}
    return changed, kept


def closure(start: set[tuple[Computation, int]], arcs: list[ArcEvent], **bounds: Any) -> set[tuple[Computation, int]]:
    """All that epsilon arcs and time-outs lead to: they take no event."""
    return {(Computation(*after, c.path), t) for c, le in start for after, t in oracle.closure({(plain(c), le)}, arcs, **bounds)}


def plain(c: Computation) -> oracle.Computation:
    """A computation without what it has taken."""
    return oracle.Computation(*c[:3])
