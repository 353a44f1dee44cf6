"""The contract's worked example (`cases/01_worked_example.toml`) in any order, and when its match is final."""

from __future__ import annotations

import random

import pytest

from afa import Operator, Punctuation, insert
from tests.automata import Tick, Vees, two_vees
from tests.oracle import net

SEVEN = [(-1.0, 1), (-1.0, 2), (-1.0, 3), (1.0, 4), (1.0, 5), (1.0, 7), (-1.0, 8)]
MATCH = (Vees(balance=0, patterns=2), 7, 8)


def tick(change: float) -> Tick:
    return Tick(99.0, change)


@pytest.mark.parametrize("seed", range(40))
def test_in_any_order(engine: str, seed: int) -> None:
    """The net output is a function of the set of events, never of the order in which they arrived."""
    arrivals = [*SEVEN, (-1.0, 6)]
    random.Random(seed).shuffle(arrivals)
    op = Operator(two_vees, window=7, engine=engine)
    out = [change for x, le in arrivals for change in op.push(insert(tick(x), le=le))]
    assert net(out) == {MATCH}, f"seed {seed}"


def test_the_match_is_final_when_a_punctuation_has_passed_it(engine: str) -> None:
    op = Operator(two_vees, window=7, engine=engine)
    for x, le in [*SEVEN[:5], (-1.0, 6), *SEVEN[5:]]:
        op.push(insert(tick(x), le=le))
    assert op.statistics.matches == 1
    assert op.push(Punctuation(7)) == [Punctuation(7)]
    assert op.statistics.matches == 1, "LE 7 is not below 7"
    assert op.push(Punctuation(8)) == [Punctuation(8)]
    assert op.statistics.matches == 0
