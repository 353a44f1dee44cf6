"""Where a match ends: the partial matches that stand for it, and the steps from their start on. What is refused, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from afa.change import Change
from afa.engine import Engine, Step
from afa.errors import AfaError, ChangeError
from afa.lineage.derivation import Derivation
from afa.lineage.graph import Graph
from afa.lineage.lineage import Lineage
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch, Rest
from afa.model.raised import Faults
from afa.model.transitions import Transitions
from afa.schema import Schema
from punctuation.progress import Progress
from punctuation.time import BEGINNING, FOREVER

NEAR = 3
"""So many matches are named in place of one that is not in force."""


class Held(NamedTuple):
    """What a lineage is derived from.

    Parameters
    ----------
    engine : Engine
    automaton : Automaton
    table : ArcTable
        The arcs in force.
    progress : Progress
    goes_on : bool
        Whether an arc does not serve where one of its functions raises.
    shown : Schema
        What of a match is told: its first fields.
    event : Schema or None
        What of an event is told: its first fields. None: all of any payload.
    """

    engine: Engine
    automaton: Automaton
    table: ArcTable
    progress: Progress
    goes_on: bool
    shown: Schema
    event: Schema | None


class End(NamedTuple):
    """A partial match that ends as a match: the number of the step at which it stands, what of the match is told, and all of it."""

    step: int
    p: PMatch
    shown: tuple[Any, ...]
    payload: tuple[Any, ...]
    le: int
    re: int


def lineage_of(held: Held, match: Change, only: Collection[Any] | None = None) -> Lineage:
    """Return the lineage of a match in force.

    Parameters
    ----------
    held : Held
    match : Change
        Its payload, LE, RE and key count. Of the form that `afa.schema.Schema.take` gives it.
    only : collection of payloads, optional
        Where several matches are told as this one, those that are meant, with all that they show.

    Raises
    ------
    ChangeError
        No such match is in force.
    AfaError
        It is, but began before a promise, which has dropped its first events.
    """
    payload, key = match.payload, match.key
    le: Any = match.le
    re: Any = match.re
    if le < held.progress.final:
        raise ChangeError(
            f"expected a match in force with le >= {held.progress.final} (promised) but got {payload!r} at le={le}: "
            f"it is final, and forgotten"
        )
    transitions = Transitions(held.automaton, held.table, Faults() if held.goes_on else None)
    transitions.key = key
    steps = held.engine.steps(key, le, le)
    found = [end for end in _ends(held, transitions, steps) if (end.shown, end.le, end.re) == (tuple(payload), le, re)]
    if not found:
        raise ChangeError(f"expected a match in force but got {_words(payload, le, re, key)}; {_near(held, transitions, match)}")
    if only is not None:
        found = [end for end in found if end.payload in only]
        if not found:
            raise ChangeError(
                f"expected a match that the stage has chosen but got {_words(payload, le, re, key)}, which it has not"
            )
    first, promised = min(_le(end.p.start) for end in found), max(held.progress.final, held.progress.some)
    if first < promised:
        raise AfaError(
            f"expected a match whose events are all held but got {_words(payload, le, re, key)}, which began at le={first}, before "
            f"the promise of {promised}: what came before that is dropped"
        )
    span = [step for step in held.engine.steps(key, first, le, {end.p.start for end in found}) if first <= step.le <= le]
    behind = sum(step.le <= le for step in steps) - len(span)
    ends: dict[int, list[PMatch]] = {}
    for end in found:
        ends.setdefault(end.step - behind, []).append(end.p)
    derivation = Derivation(held.automaton, transitions, span, ends)
    return Lineage(match, Graph(derivation, key, _told(held)), held.event)


def matches_from(held: Held, key: Hashable, low: int) -> list[Change]:
    """Return the matches of a key that are in force and not final, with an LE from ``low`` on, as insertions.

    O(steps from ``low`` on, and what stands there); all steps, where there are time-outs.
    """
    low = max(low, held.progress.final)
    transitions = Transitions(held.automaton, held.table, Faults() if held.goes_on else None)
    transitions.key = key
    steps = held.engine.steps(key, BEGINNING if held.table.timeouts else low, FOREVER - 1)
    found = {(end.shown, end.le, end.re): None for end in _ends(held, transitions, steps) if end.le >= low}
    return [Change(held.shown.cls(*shown), le, re, 1, key) for shown, le, re in found]


def _ends(held: Held, transitions: Transitions, steps: Sequence[Step]) -> Iterator[End]:
    """Yield what of the lists of some steps are matches, by events and by time-outs."""
    shown = len(held.shown.fields)
    for i, y in enumerate(steps):
        z = steps[i + 1] if i + 1 < len(steps) else None
        clock = max(y.le, held.progress.events)
        horizon = clock if z is None else z.le if z.follows else min(z.le, clock)
        for p in y.partial:
            instants = [(y.le, p)] if y.events else []
            if p.state in transitions.table.timeouts:
                instants += transitions.fired(p, Rest(y.le, y.le), horizon)
            for t, q in instants:
                if transitions.final(q.state, t):
                    payload = tuple(held.automaton.match(q.register))
                    yield End(i, p, payload[:shown], payload, t, q.re)


def _near(held: Held, transitions: Transitions, match: Change) -> str:
    """Return which matches in force are near to one that is not, in words. O(what is held of the key)."""
    payload, key = match.payload, match.key
    le: Any = match.le
    steps = held.engine.steps(key, BEGINNING, FOREVER - 1)
    found = {(end.shown, end.le, end.re) for end in _ends(held, transitions, steps) if end.le >= held.progress.final}
    if not found:
        return f"none is in force{_of(key)}"
    near = sorted(found, key=lambda end: (end[0] != payload, abs(end[1] - le), end[1], repr(end)))[:NEAR]
    return "near it: " + ", ".join(f"{held.shown.cls(*shown)!r} from {le} to {re}" for shown, le, re in near)


def _words(payload: Any, le: int, re: int | None, key: Hashable) -> str:
    return f"{payload!r} from {le} to {re}{_of(key)}"


def _of(key: Hashable) -> str:
    return "" if key is None else f" of key {key!r}"


def _le(start: Any) -> int:
    le: int = start[0] if isinstance(start, tuple) else start
    return le


def _told(held: Held) -> Callable[[Any], Any]:
    """Return how an event is told: without the fields that a stage has added."""
    schema, whole = held.event, held.automaton.event_schema
    if schema is None or whole is None or schema.cls is whole.cls:
        return lambda payload: payload
    size = len(schema.fields)
    return lambda payload: schema.cls(*payload[:size])
