"""Stages take durations: by the tick of the operator they stand at, or by their own where they stand alone."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest

from afa import AfaError, Arc, Automaton, Keyed, Operator, Punctuation, insert, retract, span
from speculation import Choose, Cleanse, LastBefore, tradeoff
from tests.automata import Number

PAIR = Automaton(start="0", final={"2"}, event=Number, arcs=[Arc("0", "1", "n == 1"), Arc("1", "2", "n == 2")])
STREAM = [
    insert(Number(1), 1000),
    Punctuation(500),
    insert(Number(2), 5400),
    insert(Number(2), 2000),
    Punctuation(1500),
    Punctuation(9000),
]


@pytest.mark.parametrize("sigma", ["5 s", timedelta(seconds=5), "5_000 ms"])
def test_a_cleanse_has_the_tick_of_its_operator(sigma: Any) -> None:
    for stand in ("before", "after"):
        found = [getattr(Cleanse(each), stand)(Operator(PAIR, window="1 min", tick="ms")) for each in (sigma, 5000)]
        assert found[0].stage.sigma == 5000
        outs = [[op.push(item) for item in STREAM] for op in found]
        assert outs[0] == outs[1]
        assert found[0].snapshot() == found[1].snapshot()
    alone = [Cleanse(sigma, tick="ms"), Cleanse(5000), copy.deepcopy(Cleanse(sigma))]
    alone[2].stand("ms")
    assert [stage.push_many(STREAM) for stage in alone[1:]] == [alone[0].push_many(STREAM)] * 2


def test_sigma_is_set_while_it_runs() -> None:
    op = Cleanse(None).before(Operator(PAIR, window="1 min", tick="s"))
    op.stage.sigma = "2 minutes"
    assert op.stage.sigma == 120
    back = Operator.restore(PAIR, op.snapshot())
    back.stage.sigma = timedelta(hours=1)
    assert back.stage.sigma == 3600
    alone = Cleanse(3)
    with pytest.raises(AfaError, match=r"expected tick=, what one int of LE counts, beside sigma='1 s' but got none"):
        alone.sigma = "1 s"  # type: ignore[assignment]
    assert alone.push(insert("a", 1)) == []


def test_a_bound_on_the_delay() -> None:
    made = [Cleanse.auto(max_delay=delay, memory=200).after(Operator(PAIR, window="1 min", tick="ms")) for delay in ("20 ms", 20)]
    for op in made:
        for t in range(300):
            op.push_many([insert(Number(1), t + t % 40), insert(Number(2), t + t % 40 + 1), Punctuation(t)])
    assert made[0].stage.sigma == made[1].stage.sigma > 0
    assert made[0].snapshot() == made[1].snapshot()
    assert Operator.restore(PAIR, made[0].snapshot()).stage.sigma == made[0].stage.sigma
    assert Cleanse.auto(max_delay="1 s", tick="ms").push(insert("a", 3)) == []


def test_tradeoff_by_durations() -> None:
    stream = [(i, item) for i, item in enumerate(STREAM)]
    for at in ("input", "output"):
        found = tradeoff(stream, lambda: Operator(PAIR, window=60_000, tick="ms"), ["1 s", timedelta(seconds=4)], at=at)  # type: ignore[arg-type]
        assert found == tradeoff(stream, lambda: Operator(PAIR, window=60_000), [1000, 4000], at=at)  # type: ignore[arg-type]


@pytest.mark.parametrize("where", [{"last": "n == span('3 ms')"}, {"last": lambda e: e.n == THREE}, {"last": "n == 3"}])
def test_last_before(where: Any) -> None:
    made = []
    for stage in (LastBefore(Number, where, window="1 s"), LastBefore(Number, {"last": "n == 3"}, window=1000)):
        automaton = Automaton(start="0", final={"1"}, event=stage.filled, arcs=[Arc("0", "1", "n == 1 and last is None")])
        made.append((stage, stage.before(Operator(automaton, window=10, tick="ms")), automaton))
    items = [insert(Number(3), 5), insert(Number(1), 1004), insert(Number(1), 1005), insert(Number(3), 2), retract(Number(3), 5)]
    outs = [[[(c.le, c.diff) for c in op.push(item)] for item in items] for _, op, _ in made]  # type: ignore[union-attr]
    assert outs[0] == outs[1] == [[], [], [(1005, 1)], [], [(1004, 1)]]
    assert made[0][1].snapshot() == made[1][1].snapshot()
    like = LastBefore(Number, where, window="1 s", filled=made[0][0].filled)
    back = Operator.restore(made[0][2], made[0][1].snapshot(), stages=[like])
    assert back.push(insert(Number(3), 4)) == made[1][1].push(insert(Number(3), 4))
    alone = LastBefore(Number, where, window="1 s", tick="ms")
    assert [change.payload[1] for change in alone.push_many(items[:3])] == [None, 5, None]


THREE = span("3 ms")


def test_choose() -> None:
    matches = [insert("a", 5000, 11_000), insert("a", 7000, 14_000), insert("b", 3000, 11_000)]
    assert Choose(window="10 s", tick="ms").push_many(matches) == Choose(window=10_000).push_many(matches)
    found = [Choose(window=window).after(Operator(PAIR, window="10 s", tick="ms")) for window in ("10 s", 10_000)]
    items = [insert(Number(n), le) for le, n in ((1000, 1), (2000, 2), (3000, 1), (4000, 2))]
    outs = [op.push_many(items) for op in found]
    assert outs[0] == outs[1] != []
    assert found[0].snapshot() == Operator.restore(PAIR, found[0].snapshot()).snapshot()


MISSING = r"expected tick=, what one int of LE counts, beside {}='5 s' but got none; give the Cleanse tick=\"ms\", say, or stand it"


def test_no_duration_without_a_tick() -> None:
    waits = Cleanse("5 s")
    for call in (
        lambda: waits.push(insert("a", 1)),
        lambda: waits.push_many([Punctuation(3)]),
        lambda: waits.statistics,
        waits.snapshot,
        lambda: copy.deepcopy(waits).push(insert("a", 1)),
        lambda: waits.before(Operator(PAIR)),
        lambda: waits.after(Keyed(PAIR, key="n")),
    ):
        with pytest.raises(AfaError, match=MISSING.format("sigma")):
            call()
    for stage, said in (
        (Choose(window="5 s"), "window='5 s' but got none; give the Choose"),
        (LastBefore(Number, {"last": "n == 3"}, window="5 s"), "window='5 s' but got none; give the LastBefore"),
        (LastBefore(Number, {"last": "n == span('3 s')"}), "where={'last': .* but got none; give the LastBefore"),
    ):
        with pytest.raises(AfaError, match=said):
            stage.push(insert(Number(1), 1, 9))  # type: ignore[attr-defined]
    with pytest.raises(AfaError, match=MISSING.format("max_delay")):
        Cleanse.auto(max_delay="5 s").push(insert("a", 1))
    assert waits.before(Operator(PAIR, tick="s")).stage.sigma == 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cleanse("moon"), "expected a duration such as"),
        (lambda: Cleanse("1"), "expected a duration such as .* but got sigma='1'"),
        (lambda: Cleanse("5 moons"), "expected a unit of time but got sigma='5 moons' with the unit 'moons'"),
        (lambda: Cleanse(timedelta(seconds=-1), tick="s"), "expected a duration from 0 to an int64 of ticks but got sigma="),
        (lambda: Choose(window="0 s", tick="s"), "expected a number of ticks above 0 but got window=0"),
        (lambda: Choose(window="0 s").after(Operator(PAIR, tick="s")), "expected a number of ticks above 0 but got window=0"),
        (
            lambda: LastBefore(Number, {"last": "n == span('1 ms')"}, tick="s"),
            r"expected a whole number of ticks .* in the condition",
        ),
        (lambda: Cleanse("5 s", tick="moon"), "expected a unit of time but got tick='moon'"),
        (
            lambda: Cleanse("5 s", tick="ms").before(Operator(PAIR, tick="s")),
            "expected a Cleanse with the operator's tick='s' but got",
        ),
        (
            lambda: Cleanse("5 ms").before(Operator(PAIR, tick="s")),
            "expected a whole number of ticks but got sigma='5 ms' with tick='s'",
        ),
    ],
)
def test_what_a_stage_refuses(make: Any, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        make()
