"""A pattern that changes while its operator runs: other relations, other conditions; what stays goes on."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

from afa import AfaError, Chain, Keyed, Operator, insert
from afa.situations import Situation, TemporalPattern


class Reading(NamedTuple):
    a: bool
    x: float


def _pattern(where: str, start: float = 0.5, **options: Any) -> TemporalPattern:
    return TemporalPattern(event=Reading, **{"within": 40, **options}, where=where, a=Situation("a"), b=Situation(f"x > {start}"))


def _rows(seed: int, n: int = 60) -> list[Any]:
    rng = random.Random(seed)
    return [insert(Reading(rng.random() < 0.5, rng.choice([0.2, 0.6, 0.9])), le) for le in range(n)]


def _net(out: Any, net: Counter[Any]) -> Counter[Any]:
    for change in out:
        net[tuple(change.payload), change.le, change.re] += change.diff
    return +net


@pytest.mark.parametrize("seed", range(5))
def test_other_relations(engine: Any, seed: int) -> None:
    """From the start on they are the other pattern; in the midst matches that began before go on, and old ones stay."""
    one, other = _pattern("a overlaps|before b"), _pattern("a overlaps|meets b")
    led = one.changes_to(other)
    rows = _rows(seed)
    changed, plain, old = one.operator(engine=engine), other.operator(engine=engine), one.operator(engine=engine)
    assert changed.push_many(list(led.arcs)) == []
    assert _net(changed.push_many(rows), Counter()) == _net(plain.push_many(rows), Counter())
    midst = one.operator(engine=engine)
    net = _net(midst.push_many(rows[:30]), Counter())
    net = _net(midst.push_many(list(led.arcs)), net)
    net = _net(midst.push_many(rows[30:]), net)
    wanted = _net(old.push_many(rows[:30]), Counter())
    assert {each for each in net if each[1] < 30} == set(wanted)
    of_other = _net(other.operator(engine=engine).push_many(rows), Counter())
    begun = {each for each in of_other if each[1] >= 30 and min(each[0][0], each[0][2]) >= 30}
    assert begun <= set(net)
    going_on = {each for each in net if each[1] >= 30 and min(each[0][0], each[0][2]) < 30}
    assert going_on <= set(of_other) | set(_net(old.push_many(rows[30:]), Counter(wanted)))
    assert led.stays
    assert {change.diff for change in led.arcs} == {-1, 1}


@pytest.mark.parametrize("seed", range(5))
def test_another_threshold(engine: Any, seed: int) -> None:
    """From now on it moves no past situation; with a lifetime in the past it does, as if the readings had been judged so."""
    rows = _rows(seed)
    op = _pattern("a overlaps b").operator(engine=engine)
    net = _net(op.push_many(rows[:30]), Counter())
    assert op.redefine("b", "x > 0.8") == []
    net = _net(op.push_many(rows[30:]), net)
    net = _net(op.redefine("b", "x > 0.8", le=0), net)
    assert net == _net(_pattern("a overlaps b", 0.8).operator(engine=engine).push_many(rows), Counter())
    net = _net(op.redefine("b", lambda e: e.x > 0.5, le=0, re=60), net)
    assert net == _net(_pattern("a overlaps b").operator(engine=engine).push_many(rows), Counter())


def test_what_it_refuses() -> None:
    """Patterns that differ in more than their relations."""
    one = _pattern("a overlaps b")
    with pytest.raises(AfaError, match="the same within for a running operator, 40, but got 50"):
        one.changes_to(_pattern("a overlaps b", within=50))
    with pytest.raises(AfaError, match=r"the same definitions \(a condition is changed by redefine\)"):
        one.changes_to(_pattern("a overlaps b", 0.8))
    with pytest.raises(AfaError, match="expected a TemporalPattern but got 3"):
        one.changes_to(3)  # type: ignore[arg-type]


def test_who_takes_a_pattern() -> None:
    """Operator takes any, Keyed one with a key; said once."""
    plain, keyed = _pattern("a overlaps b"), _pattern("a overlaps b", key="x")
    assert repr(Operator(plain)).startswith("Situated(a, b, at ")
    with pytest.raises(AfaError, match="expected key=, the column or columns that make the key, but got Keyed without one"):
        Keyed(plain)
    for each in (Operator(keyed), Operator(plain, key="x"), Operator(keyed, key="x")):
        assert each.operator._core.keys.names == ("x",)
    with pytest.raises(AfaError, match="expected the pattern's own key='x' but got key='a'"):
        Keyed(keyed, key="a")
    with pytest.raises(AfaError, match="expected the pattern's own window=40"):
        plain.operator(window=9)
    with pytest.raises(AfaError, match="the events of its operator are instants, no readings"):
        plain.operator(members="a")
    with pytest.raises(AfaError, match=r"; write TemporalPattern.operator\(\)"):
        Chain(plain, plain)
    with pytest.raises(AfaError, match="did you mean 'a'"):
        plain.operator().redefine("A", "x > 1")
