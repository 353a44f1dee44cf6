"""The oracle: every match of Definition 2 by brute force, straight from the contract's text; slow, and obvious.

It shares no code with the engines. The input is what a prefix leaves in force: a list of event changes, the arcs with their
lifetimes, the punctuation of the event input. The output is the set of matches ``(register, le, re)``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from punctuation.time import BEGINNING, FOREVER

NAN = float("nan")


class Event(NamedTuple):
    """An event in force."""

    payload: Any
    le: int
    re: int


class ArcEvent(NamedTuple):
    """An arc in force: it serves the events whose LE lies in ``[le, re)``."""

    arc: Any
    le: int
    re: int


class Computation(NamedTuple):
    """One computation of the automaton over a run: ``m`` is the smallest RE consumed so far."""

    state: str
    register: Any
    m: int


def matches(
    automaton: Any,
    changes: Iterable[tuple[Any, int, int, int]],
    arcs: Iterable[tuple[Any, int, int]],
    punctuation: int = BEGINNING,
    sequence: str | None = None,
) -> set[tuple[Any, int, int]]:
    """The matches over all runs.

    Parameters
    ----------
    automaton : Automaton
        Only its start, final states and initial register are read; its own arcs are part of ``arcs`` (see `own_arcs`).
    changes : iterable of (payload, le, re, diff)
        All accepted changes of events; an event is in force when its net multiplicity is positive.
    arcs : iterable of (arc, le, re)
    punctuation : int
        Of the event input; only time-outs read it.
    sequence : str, optional
        The field that orders events of one LE.

    Returns
    -------
    set of (register, le, re)
    """
    arcs = [ArcEvent(*arc) for arc in arcs]
    steps = steps_of(in_force(changes), sequence)
    found = set()
    for first in range(len(steps)):
        start = Computation(automaton.start, one_nan(automaton.register), FOREVER)
        alive = {c for c, _ in closure({(start, steps[first][0].le)}, arcs, latest=None)}
        for last in range(first, len(steps)):
            le = steps[last][0].le
            later = steps[last + 1][0].le if last + 1 < len(steps) else max(le, punctuation)
            resting = closure({(c, le) for c in consume(steps[last], alive, arcs)}, arcs, latest=later)
            if last > first:
                changed, kept = skip(steps[last], alive, arcs)
                resting |= closure({(c, le) for c in changed}, arcs, latest=later)
                resting |= closure({(c, le) for c in kept}, arcs, latest=later, asked_until=le)
            found |= {(c.register, t, c.m) for c, t in resting if is_final(c.state, t, automaton, arcs)}
            alive = {c for c, _ in resting}
    return found


def longest(found: Iterable[tuple[Any, int, int]]) -> set[tuple[Any, int, int]]:
    """Of the matches with equal payload and LE the one with the largest RE."""
    ends: dict[Any, list[int]] = defaultdict(list)
    for payload, le, re in found:
        ends[payload, le].append(re)
    return {(payload, le, max(res)) for (payload, le), res in ends.items()}


def in_force(changes: Iterable[tuple[Any, int, int, int]]) -> list[Event]:
    """The events whose net multiplicity is positive."""
    copies: Counter[Event] = Counter()
    for payload, le, re, diff in changes:
        copies[Event(one_nan(payload), le, re)] += diff
    return [event for event, n in copies.items() if n > 0]


def steps_of(events: list[Event], sequence: str | None) -> list[list[Event]]:
    """The events in order, those that share a place (LE, or LE and sequence) as one multi-event."""
    groups = defaultdict(list)
    for event in events:
        groups[event.le, getattr(event.payload, sequence) if sequence else None].append(event)
    return [groups[place] for place in sorted(groups)]


def consume(step: list[Event], alive: set[Computation], arcs: list[ArcEvent]) -> set[Computation]:
    """Every way in which a computation takes one event of the step along one arc in force."""
    out = set()
    for c in alive:
        for payload, le, re in step:
            for arc, begin, end in arcs:
                if arc.kind == "consume" and arc.src == c.state and begin <= le < end and arc.fence(payload, c.register):
                    register = c.register if arc.transfer is None else arc.transfer(payload, c.register)
                    out.add(Computation(arc.dst, one_nan(register), min(c.m, re)))
    return {c for c in out if step[0].le < c.m}


def skip(step: list[Event], alive: set[Computation], arcs: list[ArcEvent]) -> tuple[set[Computation], set[Computation]]:
    """Every way in which a computation passes all events of the step: those whose register the skip changes, and the others."""
    changed, kept = set(), set()
    for c in alive:
        for arc, begin, end in arcs:
            serves = arc.kind == "skip" and arc.src == c.state and begin <= step[0].le < end
            if not serves or step[0].le >= c.m or not all(arc.fence(payload, c.register) for payload, _, _ in step):
                continue
            register = c.register
            for payload, _, _ in step:
                register = register if arc.transfer is None else arc.transfer(payload, register)
            passed = Computation(c.state, one_nan(register), c.m)
            (kept if passed == c else changed).add(passed)
    return changed, kept


def closure(
    start: set[tuple[Computation, int]], arcs: list[ArcEvent], latest: int | None, asked_until: int = BEGINNING - 1
) -> set[tuple[Computation, int]]:
    """All (computation, instant) that epsilon arcs and time-outs lead to.

    Time-outs fire at an instant behind ``asked_until``, up to ``latest``; None: before the first event none does.
    """
    done, todo = set(), set(start)
    while todo:
        c, t = todo.pop()
        done.add((c, t))
        for arc, begin, end in arcs:
            if arc.src != c.state:
                continue
            if arc.kind == "epsilon" and begin <= t < end and arc.fence(c.register):
                register = c.register if arc.transfer is None else arc.transfer(c.register)
                todo.add((Computation(arc.dst, one_nan(register), c.m), t))
            elif arc.kind == "timeout" and latest is not None:
                instant = max(arc.at(c.register), t)
                if instant < c.m and begin <= instant < end and asked_until < instant <= latest:
                    todo.add((Computation(arc.dst, c.register, c.m), instant))
        todo -= done
    return done


def is_final(state: str, t: int, automaton: Any, arcs: list[ArcEvent]) -> bool:
    """Whether a state is final at instant ``t``."""
    return state in automaton.final or any(a.final and a.dst == state and begin <= t < end for a, begin, end in arcs)


def own_arcs(automaton: Any) -> list[ArcEvent]:
    """The automaton's own arcs: always in force until an arc change says otherwise."""
    return [ArcEvent(arc, BEGINNING, FOREVER) for arc in automaton.arcs]


def net(changes: Iterable[Any], before: Iterable[tuple[Any, int, int]] = ()) -> set[tuple[Any, int, int]]:
    """Fold output changes (punctuations are skipped) into the matches in force; each is in force once or not at all."""
    held = set(before)
    for change in changes:
        if not hasattr(change, "diff"):
            continue
        match = (one_nan(change.payload), change.le, change.re)
        assert change.diff in (1, -1), f"a match comes with diff 1 or -1: {change}"
        if change.diff == 1:
            assert match not in held, f"inserted twice: {change}"
            held.add(match)
        else:
            assert match in held, f"retracted but not in force: {change}"
            held.remove(match)
    return held


def one_nan(value: Any) -> Any:
    """The payload with every NaN replaced by one object, so that NaN equals itself."""
    if isinstance(value, tuple):
        items = [one_nan(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return NAN if isinstance(value, float) and value != value else value
