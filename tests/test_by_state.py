"""Partial matches by state: against their definition, and as many as statistics count, on both engines and in threads."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from afa import Change, Keyed, Operator, Punctuation, insert
from afa.model.arctable import ArcTable
from afa.model.pmatch import PMatch, Rest
from afa.model.transitions import Transitions
from tests.test_ends import ARCS, E, automaton, world


def slowly(kind: str, events: list[Change]) -> Counter[str]:
    """The partial matches that end at each step, each once, by state; for automata without ignorable runs."""
    program = automaton(kind)
    transitions = Transitions(program, ArcTable.of(program.arcs))
    steps: dict[int, dict[tuple[Any, int], int]] = {}
    for change in sorted(events, key=lambda change: change.le or 0):
        steps.setdefault(change.le or 0, {})[change.payload, change.re or 0] = 1
    found: Counter[str] = Counter()
    rows: list[PMatch] = []
    before = None
    for le, alternatives in steps.items():
        new = []
        for p in rows:
            assert before is not None
            came, stays = transitions.derive(p, Rest.behind(before), le, alternatives)
            new += came + [p] * stays
        new += transitions.begin(le, le, alternatives)
        rows, before = list(dict.fromkeys(new)), le
        found.update(p.state for p in rows)
    return found


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
@pytest.mark.parametrize("seed", range(5))
def test_as_defined(engine: Any, seed: int) -> None:
    rng = random.Random(seed)
    events = [insert(E(rng.randrange(6)), le, le + rng.randrange(1, 12)) for le in rng.sample(range(60), 40)]
    op = Operator(automaton("plain"), engine=engine)
    op.push_many(events)
    assert op.partial_matches_by_state == slowly("plain", events)


@pytest.mark.parametrize("kind", ARCS)
@pytest.mark.parametrize("seed", range(3))
def test_engines_agree_and_the_sum_is_that_of_statistics(kind: str, seed: int) -> None:
    ops: list[Any] = [
        Keyed(automaton(kind), key="key", engine="compiled"),
        Keyed(automaton(kind), key="key", engine="interpreted"),
        Keyed(automaton(kind), key="key", threads=2),
    ]
    for change in [*world(seed, 60), Punctuation(15)]:
        for op in ops:
            op.push(change)
        found = [op.partial_matches_by_state for op in ops]
        assert found[0] == found[2]
        assert kind in ("runs", "all") or found[0] == found[1]  # how often what rests is stored is the engine's business
        for states, op in zip(found, ops):
            assert all(n > 0 for n in states.values())
            assert sum(states.values()) == op.statistics.partial_matches
