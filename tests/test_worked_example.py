"""The contract's worked example through the public API, in the contract's words; `cases/01_worked_example.toml` has it as data."""

from __future__ import annotations

import random

import pytest

from afa import FOREVER, Operator, Punctuation, insert, retract
from tests.automata import Tick, Vees, two_vees
from tests.oracle import net

SEVEN = [(-1.0, 1), (-1.0, 2), (-1.0, 3), (1.0, 4), (1.0, 5), (1.0, 7), (-1.0, 8)]
MATCH = (Vees(balance=0, patterns=2), 7, 8)


def tick(change: float) -> Tick:
    return Tick(99.0, change)


def test_seven_events_then_a_late_one(engine: str) -> None:
    op = Operator(two_vees, window=7, engine=engine)
    out = [change for x, le in SEVEN for change in op.push(insert(tick(x), le=le))]
    assert net(out) == set()
    (match,) = op.push(insert(tick(-1.0), le=6))
    assert (match.payload, match.le, match.re, match.diff) == (*MATCH, 1)
    assert type(match.payload) is Vees
    (gone,) = op.push(retract(tick(-1.0), le=6))
    assert (gone.payload, gone.le, gone.re, gone.diff) == (*MATCH, -1)


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


def test_without_a_window_the_match_lasts(engine: str) -> None:
    """The same events without a window: the start at 1 counts for events up to FOREVER."""
    op = Operator(two_vees, engine=engine)
    out = [change for x, le in [*SEVEN, (-1.0, 6)] for change in op.push(insert(tick(x), le=le))]
    assert net(out) == {(MATCH[0], 7, FOREVER)}
