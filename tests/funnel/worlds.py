"""Random automata: after every step the counts of their funnel must be those that brute force finds.

Worlds are those of `tests.stress.generate`: automata with ignorable arcs, skips, epsilon arcs and time-outs, arcs that come and
go, ties, disorder, retractions, promises, keys, snapshots.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from punctuation.time import BEGINNING
from tests.funnel.brute_force import Counts, counts
from tests.strategies import Seeded
from tests.stress import run as stress
from tests.stress.generate import World, as_longest, world
from tests.stress.mixes import mix
from tests.worlds.kind import Seen, Worlds

HOW = ("entered", "before", "matched", "went_on", "by_match", "by_window", "by_no_arc", "open")


def expected(here: World, operator: Any) -> Counts:
    """What is to be counted, over all keys."""
    model, floor = here.model, max(operator._core.progress.floor, BEGINNING)
    changes = [(*event, n) for event, n in model.copies.items()]
    keys = [None] if model.key is None else {getattr(payload, model.key) for payload, *_ in changes}
    arcs = list(model.arcs)
    found = [
        counts(
            here.automaton,
            [change for change in changes if model.key is None or getattr(change[0], model.key) == key],
            arcs,
            model.event_promise,
            model.sequence,
            here.longest,
            floor,
        )
        for key in keys
    ]
    whole = Counts(Counter(), Counter(), 0, 0, 0)
    for one in found:
        whole = Counts(*(a + b for a, b in zip(whole, one)))  # type: ignore[operator]
    return whole


def check(here: World, operator: Any) -> int:
    """Compare; returns how often arcs were asked."""
    funnel, wanted = operator.funnel(most=None), expected(here, operator)
    events = operator._core.arcs.table.events
    ids = list(dict.fromkeys(id(event.arc) for event in events))
    assert len(ids) == len(funnel.arcs)
    promised = operator._core.progress.floor > BEGINNING
    asked = {(i, "asked"): arc.asked for i, arc in zip(ids, funnel.arcs)} | {
        (i, "true"): arc.true for i, arc in zip(ids, funnel.arcs)
    }
    for event in events:  # after a snapshot arcs of one name may be other objects
        assert any(event.arc == arc for arc, _, _ in here.model.arcs)
    if {id(arc) for arc, _, _ in here.model.arcs} >= set(ids):
        for place, n in asked.items():
            assert n == wanted.arcs[place], f"{place}, {[e.arc for e in events]}: {n}, expected {wanted.arcs[place]}; {funnel}"
    for state in funnel.states:
        for how in HOW:
            n = getattr(state, how)
            assert n == wanted.states[state.state, how], (
                f"{state.state} {how}: {n}, expected {wanted.states[state.state, how]}; {funnel}"
            )
        ends = state.went_on + state.by_match + state.by_window + state.by_no_arc + state.open
        assert state.entered + state.before == ends
    for arc in funnel.arcs:
        if arc.kind != "timeout":
            assert arc.asked == arc.true + arc.raised + sum(part.stopped for part in arc.parts)
    assert funnel.began == wanted.began
    assert funnel.events == wanted.events
    assert promised or funnel.matches == wanted.matches, f"{funnel.matches}, expected {wanted.matches}"
    return sum(arc.asked for arc in funnel.arcs)


def run(spec: dict[str, Any], engine: str) -> Seen:
    """Run a world; an AssertionError tells the first step at which a count is wrong."""
    return stress.followed(spec, engine, lambda here, operator, *_: Seen(asked=check(here, operator)))


def numbered(seed: str, number: int) -> dict[str, Any]:
    """The world of a number: every third one a mix, of few instants and many changes; every fourth one with ``longest=True``."""
    choose, family = Seeded(f"{seed}/{number}"), Seeded(f"{seed}/family {number // 8}")
    spec = mix(choose, 30, family) if number % 3 == 2 else world(choose)
    return as_longest(choose, spec) if number % 4 == 3 else spec


WORLDS = Worlds("funnel", numbered, run, stress.smaller)
