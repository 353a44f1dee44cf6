"""A sample of the random worlds of funnels, in the normal suite, and faults that they find.

The long run: ``python -m tests.worlds funnel``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from afa import Gapless, Operator
from afa.explain.funnel import counting, standing
from tests import numbered as gapless
from tests import raising
from tests.conftest import ENGINES
from tests.funnel import worlds
from tests.funnel.brute_force import counts
from tests.model import blocks


def test_automata(turns: str) -> None:
    assert worlds.WORLDS.run("sample", range(32), turns)["asked"] > 5_000


def test_functions_that_raise(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the operator goes on, an arc does not serve where it raises; what it was asked counts as raised."""
    raising.go_on(monkeypatch)
    monkeypatch.setattr(worlds, "check", lambda here, operator: sum(arc.raised for arc in operator.funnel().arcs))
    assert raising.that_raise(worlds.WORLDS).run("raising", range(8), engine)["asked"] > 20


@pytest.mark.parametrize("gaps", ["break", "join"])
def test_numbers_without_gaps(engine: str, gaps: Any) -> None:
    asked = 0
    for seed in range(12):
        world = gapless.World(f"funnel {gaps} {seed}")
        model = gapless.model_of(world, join=gaps == "join")
        op = Operator(world.automaton, engine=engine, gapless=Gapless("seq", gaps=gaps), **world.options())  # type: ignore[arg-type]
        for step in world.steps:
            gapless.carried_out(op, model, step)
            if model.event_promise > -(1 << 62):
                break
            wanted = [
                counts(world.automaton, block, model.arcs, promised, "seq")
                for block, promised in blocks(
                    [(*event, n) for event, n in model.copies.items()], model.event_promise, gaps == "join"
                )
            ]
            funnel = op.funnel()
            assert funnel.began == sum(one.began for one in wanted)
            for state in funnel.states:
                for how in ("entered", "went_on", "by_match", "by_window", "by_no_arc", "open"):
                    assert getattr(state, how) == sum(one.states[state.state, how] for one in wanted), (state, how)
            asked += sum(arc.asked for arc in funnel.arcs)
    assert asked > 200


def then(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that does what another one does, and changes what it returns."""
    return lambda right: lambda *given: change(right(*given))


PLANTED: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "a window that ends one tick late": (
        standing.StandingMatches,
        "expired",
        lambda right: lambda self, le: right(self, le - 1),
    ),
    "time-outs that never fire": (counting.Counting, "_fire", lambda right: lambda *given: None),
    "nothing begins": (counting.Counting, "_begin", lambda right: lambda *given: None),
    "what led on is forgotten": (counting.Counting, "_led", lambda right: staticmethod(lambda *given: None)),
    "a skip that any event passes": (counting, "_first_of", then(lambda found: -1)),
    "an arc in force for ever": (counting.CountedFence, "serves", lambda right: lambda self, le: True),
    "the shorter one stands": (counting.Counting, "_keep_longest", lambda right: lambda *given: None),
}
"""Faults, each of which some world shows."""


@pytest.mark.parametrize("fault", list(PLANTED))
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, wrong = PLANTED[fault]
    monkeypatch.setattr(owner, name, wrong(getattr(owner, name)))
    assert any(worlds.WORLDS.failure(worlds.numbered("sample", number), ENGINES[0]) for number in range(32)), fault
