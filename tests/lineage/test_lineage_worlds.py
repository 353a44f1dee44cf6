"""A sample of the random worlds of lineages, in the normal suite, and faults that they find.

The long runs: ``python -m tests.worlds lineage``, ``python -m tests.worlds lineage-of-queries``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from afa import Change, Gapless, Operator
from afa.compiled import compiled_engine
from afa.interpreted import interpreted_engine
from afa.lineage import derivation, graph, match_ends, walked
from punctuation.time import FOREVER
from tests import numbered as gapless
from tests import raising
from tests.conftest import ENGINES
from tests.lineage import query_worlds, worlds
from tests.lineage.brute_force import behind
from tests.lineage.checks import check_lineage
from tests.model import blocks


def test_automata(turns: str) -> None:
    seen = worlds.WORLDS.run("sample", range(24), turns, more_than={"matches": 500})
    assert seen["paths"] > 1.2 * seen["matches"], seen
    assert seen["refused"] > 50, seen


def test_queries(turns: str) -> None:
    seen = query_worlds.WORLDS.run("sample", range(16, 34), turns, more_than={"matches": 100})
    assert seen["paths"] > 1.1 * seen["matches"], seen
    assert seen["refused"] > 16, seen


def test_functions_that_raise(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the operator goes on, an arc does not serve where it raises; asking tells no fault again."""
    faults = raising.go_on(monkeypatch)
    monkeypatch.setattr(worlds, "behind", lambda automaton, changes, arcs, *rest: behind(automaton, changes, tamed(arcs), *rest))
    seen = raising.that_raise(worlds.WORLDS).run("raising", range(8), engine)
    assert len(faults.taken()) > 5
    assert seen["matches"] > 50, seen


def tamed(arcs: Any) -> Any:
    return [(raising.tamed(arc), le, re) for arc, le, re in arcs]


@pytest.mark.parametrize("gaps", ["break", "join"])
def test_numbers_without_gaps(engine: str, gaps: Any) -> None:
    seen = 0
    for seed in range(30):
        world = gapless.World(f"lineage {gaps} {seed}")
        model = gapless.model_of(world, join=gaps == "join")
        op = Operator(world.automaton, engine=engine, gapless=Gapless("seq", gaps=gaps), **world.options())  # type: ignore[arg-type]
        for step in world.steps:
            gapless.carried_out(op, model, step)
            final = model.event_promise
            for block, promised in blocks([(*event, n) for event, n in model.copies.items()], final, gaps == "join"):
                for (register, le, re), (paths, first) in behind(world.automaton, block, model.arcs, promised, "seq").items():
                    if first >= final:
                        check_lineage(op.lineage(Change(register, le, re)), paths, None, "seq")
                        seen += 1
    assert seen > 100, seen


def then(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that does what another one does, and changes what it returns."""
    return lambda right: lambda *given: change(right(*given))


def of_steps(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A reader of steps that changes each."""
    return then(lambda found: [change(y) for y in found])


def one_each(right: Any) -> Any:
    """Of several ways to a partial match from one place, the last one."""
    return then(lambda taken: list({p: (pick, p) for pick, p in taken}.values()))(right)


def last_end(right: Any) -> Any:
    """A derivation from the last step alone at which a match ends."""
    return lambda transitions, steps, ends, re: right(transitions, steps, {max(ends): ends[max(ends)]}, re)


def of_ways(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A reader of what the kernels found that changes it, where there is anything."""
    return then(lambda found: found and change(found))


def earlier(ways: Any) -> Any:
    """Ways without the first edge of a group that has several."""
    into = ways.edges[0].tolist()
    last = next((place for place in reversed(range(len(into))) if into.count(into[place]) > 1), None)
    return ways if last is None else ways._replace(edges=np.delete(ways.edges, last, axis=1))


WAITS: dict[str, Any] = {
    "automaton": {
        "start": "a", "final": ["c"], "register": None, "event": "E",
        "arcs": [
            {"src": "a", "dst": "b", "fence": "e.kind == 0"},
            {"src": "b", "dst": "c", "kind": "timeout", "at": "3"},
            {"src": "c", "dst": "c", "fence": "e.kind == 1"},
        ],
    },
    "extra": [],
    "options": {"window": 9, "order_by": None, "arc_punctuation": False, "late": "raise", "key": None},
    "ops": [("insert", (0, 0), 1, None), ("insert", (1, 0), 4, None), ("insert", (1, 0), 5, None)],
}  # fmt: skip
"""A world in which a partial match rests in a state that only a time-out leads to."""

PLANTED: dict[str, tuple[int | dict[str, Any], Any, str, Callable[[Any], Any]]] = {
    "a way is dropped": (2, graph.Graph, "ways", then(lambda found: found[:-1] if len(found) > 1 else found)),
    "one pick leads from one place only": (3, derivation, "derived", one_each),
    "a match ends at one step only": (76, match_ends, "derived_ways", last_end),
    "a wrong component": (0, derivation, "component_of", lambda right: lambda arc: arc.select or arc.src),
    "an ignorable arc takes": (2, derivation, "component_of", lambda right: lambda arc: arc.select or arc.dst),
    "no time-out fires on the way": (5, derivation, "Rest", lambda right: SimpleNamespace(behind=lambda le: right(le, FOREVER))),
    "alternatives as they came": (2, walked, "in_order", lambda right: lambda pick: 0),
    "a partial match is not read": (0, compiled_engine, "held_steps", of_steps(lambda y: y._replace(partial=y.partial[1:]))),
    "an edge is lost": (82, compiled_engine, "match_paths", of_ways(earlier)),
    "a match ends in one partial match only": (
        32,
        compiled_engine,
        "match_paths",
        of_ways(lambda ways: ways._replace(ends=[each[:1] for each in ways.ends])),
    ),
    "an event is not read": (
        3,
        interpreted_engine,
        "held_steps",
        of_steps(lambda y: y._replace(events=dict([*y.events.items()][:1]))),
    ),
}
"""Faults, each with the world that shows it."""


@pytest.mark.parametrize("fault", list(PLANTED))
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown_by, owner, name, wrong = PLANTED[fault]
    spec = worlds.numbered("planted", shown_by) if isinstance(shown_by, int) else shown_by
    assert not any(worlds.WORLDS.failure(spec, engine) for engine in ENGINES)
    monkeypatch.setattr(owner, name, wrong(getattr(owner, name)))
    assert any(worlds.WORLDS.failure(spec, engine) for engine in ENGINES), fault
