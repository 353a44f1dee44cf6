"""Durations in fences: an automaton with `afa.span` means what the one with its ticks means, on every way that an arc can come."""

from __future__ import annotations

import copy
import functools
import json
import math
import pickle
import random
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Arc, Automaton, AutomatonError, ExpressionError, Keyed, Operator, Punctuation, insert, retract
from afa.explain.draw.words import fence_of
from afa.expression import spans
from afa.language import one
from tests.oracle import net


class Pay(NamedTuple):
    at: afa.Instant
    amount: int


class Seen(NamedTuple):
    first: int = 0
    due: int = 0


class Limits(NamedTuple):
    short: Any
    long: Any


LIMIT = afa.span("10 minutes")
LIMITS = Limits(afa.span("1 s"), afa.span(timedelta(minutes=10)))
UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


class Settings:
    WAIT = afa.span("600 s")


def until(first: int) -> Any:
    return first + LIMIT


def fences() -> dict[str, Any]:
    cell = afa.span("10 min")
    return {
        "text": "at - r.first < span('10 minutes')",
        "text, with the module": "at - r.first < afa.span('10 minutes')",
        "text, calculated": "at < r.first + 2 * span('5 minutes') and at > -span('1 s')",
        "inline": lambda e, r: e.at - r.first < afa.span("10 minutes"),
        "global": lambda e, r: e.at - r.first < LIMIT,
        "cell": lambda e, r: e.at - r.first < cell,
        "default": lambda e, r, limit=cell: e.at - r.first < limit,
        "field": lambda e, r: e.at - r.first < LIMITS.long,
        "attribute": lambda e, r: e.at - r.first < Settings.WAIT,
        "helper": lambda e, r: e.at < until(r.first),
        "partial": functools.partial(lambda limit, e, r: e.at - r.first < limit, LIMIT),
        "minus": lambda e, r: e.at - LIMIT < r.first,
    }


def pair(fence: Any, **options: Any) -> Automaton:
    arcs = [Arc("0", "1", "True", "(e.at, e.at)", **options), Arc("1", "2", fence, **options)]
    return Automaton(start="0", final={"2"}, event=Pay, register=Seen(), arcs=arcs)


def pays(seed: int, scale: int, n: int = 40) -> list[Any]:
    """Pays at random seconds, in the operator's ticks: in any order, some taken back."""
    choose = random.Random(seed)
    given = [insert(Pay(None, i), choose.randint(0, 3000) * scale) for i in range(n)]
    return given + [retract(*change[:2]) for change in choose.sample(given, n // 5)]


def in_seconds(changes: Any, scale: int) -> Any:
    """What is left, times in seconds."""
    return {(tuple(field // scale for field in payload), le // scale) for payload, le, _ in net(changes)}


@pytest.mark.parametrize("form", fences())
def test_a_span_means_its_ticks(form: str, engine: Any) -> None:
    expected = None
    for tick, scale in UNITS.items():
        op = Operator(pair(fences()[form]), window="1 hour", tick=tick, engine=engine)
        plain = Operator(pair(lambda e, r, limit=600 * scale: e.at - r.first < limit), window=3600 * scale, engine=engine)
        stream = pays(1, scale)
        pushed = [out for change in stream for out in op.push(change)]
        assert net(pushed) == net([out for change in stream for out in plain.push(change)])
        found = in_seconds(pushed, scale)
        assert expected in (None, found)
        assert found
        expected = found


def test_transfers_epsilon_arcs_and_time_outs(engine: Any) -> None:
    arcs = [
        Arc("0", "1", "True", lambda e, r: Seen(e.at, e.at + LIMIT)),
        Arc.epsilon("1", "2", lambda r: r.due - r.first >= afa.span("600 s"), "r._replace(due=r.due + span('1 min'))"),
        Arc.timeout("2", "3", lambda r: r.due - afa.span("1 min")),
    ]
    automaton = Automaton(start="0", final={"3"}, event=Pay, register=Seen(), arcs=arcs)
    for tick, scale in UNITS.items():
        op = Operator(automaton, window="1 hour", tick=tick, engine=engine)
        op.push(insert(Pay(None, 1), 100 * scale))
        (found, _) = op.push(Punctuation(701 * scale))
        assert (found.payload, found.le) == (Seen(100 * scale, 760 * scale), 700 * scale)


def table_of(change: Any) -> dict[str, list[int]]:
    return {"kind": [1], "arc": [0], "le": [change.le], "diff": [change.diff], "amount": [0]}


def test_arcs_that_come_later(engine: Any) -> None:
    """Pushed, in lists and tables, as JSON; taken out again by the arc that was given, with a name or without."""
    late = "at - r.first >= span('10 minutes')"
    named, bare = Arc("1", "2", late, name="late"), Arc("1", "2", lambda e, r: e.at - r.first >= LIMIT)
    from_json = Arc.from_json(json.dumps(bare.to_json(pair("False"))))
    assert "span('10 min')" in json.dumps(bare.to_json(pair("False")))
    for arc in (named, bare, from_json):
        for way in (
            lambda op, change: op.push_arc(change),
            lambda op, change: op.push_many([change]),
            lambda op, change: op.push_many(table_of(change), arcs=[change.payload]),
        ):
            op = Operator(pair("False"), window="1 hour", tick="s", engine=engine)
            op.push_many([insert(Pay(None, 1), 0), insert(Pay(None, 2), 600), insert(Pay(None, 3), 601)])
            assert op.statistics.matches == 0
            way(op, insert(arc, le=0))
            assert op.statistics.matches == 1
            way(op, insert(arc, le=0))
            way(op, retract(arc, le=0))
            assert op.statistics.matches == 1
            way(op, retract(arc, le=0))
            assert op.statistics.matches == 0
            op._check()
    op.push_arc(insert(bare))
    op.push_arc(retract(bare))
    with pytest.raises(afa.ChangeError, match="expected an arc in force"):
        op.push_arc(retract(bare))


def test_swaps_by_name() -> None:
    op = Operator(named("at < r.first + span('1 s')"), tick="ms", window="1 hour")
    op.push_many([insert(Pay(None, 1), 0), insert(Pay(None, 2), 600_000)])
    op.swap("x", fence="at - r.first <= span('10 min')", at=5)
    assert op.statistics.matches == 1
    op.swap("x", Arc("1", "2", lambda e, r: e.at - r.first < LIMIT), at=6)
    assert op.statistics.matches == 0
    with pytest.raises(AutomatonError, match=r"expected a whole number of ticks .* got span\('1 us'\)"):
        op.swap("x", fence="at < span('1 us')", at=7)


def test_own_arcs_can_be_taken_out_by_what_was_given() -> None:
    automaton = pair(lambda e, r: e.at - r.first < LIMIT)
    op = Operator(automaton, tick="s")
    assert op.automaton.arcs[1] == automaton.arcs[1] != Operator(pair("at < span('1 s')"), tick="s").automaton.arcs[1]
    assert hash(op.automaton.arcs[1]) == hash(automaton.arcs[1])
    op.push_arc(retract(automaton.arcs[1]))
    assert op.push_many([insert(Pay(None, 1), 1), insert(Pay(None, 2), 2)]) == []
    assert op.automaton.arcs[0] is automaton.arcs[0], "an arc without durations is the one that was given"
    for bound, limit in (
        (automaton.bound("s"), 600),
        (automaton.bound("s").bound("ms"), 600_000),
        (op.automaton.bound("us"), 6 * 10**8),
    ):
        assert bound.arcs[1].fence(Pay(limit - 1, 1), Seen())
        assert not bound.arcs[1].fence(Pay(limit, 1), Seen())
    plain = pair("at < 3")
    assert plain.bound(None) is plain.bound("s") is plain
    twice = automaton.bound("s")
    assert twice.bound("s") is twice is twice.bound(None) is Operator(twice).automaton is Operator(twice, tick="s").automaton
    assert twice.bound("ms").arcs[1].origin is automaton.arcs[1], "bound anew, by what was said"
    assert len(Operator(twice, tick="ms").push_many([insert(Pay(None, 1), 0), insert(Pay(None, 1), 599_999)])) == 1


def test_state_is_kept(engine: Any) -> None:
    automaton = pair(LATER.fence, name=None)
    op = Operator(automaton, window="1 hour", tick="ms", engine=engine)
    op.push_arc(insert(LATER, le=0))
    op.push_arc(insert(LATER, le=5))
    op.push(insert(Pay(None, 1), 7))
    blob = op.snapshot()
    for back in (Operator.restore(automaton, blob, arcs=[LATER], engine=engine), copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        back.push_arc(retract(LATER, le=5))
        assert len(back.push_many([insert(Pay(None, 1), 600_006), insert(Pay(None, 1), 1_200_006)])) == 1
        assert back._core.tick == "ms"
        back._check()
    with pytest.raises(AutomatonError, match=r"expected tick=, what one int of LE counts, for span\('10 min'\) in the fence of"):
        Operator.restore(automaton, Operator(pair("False"), window=1).snapshot())


LATER = Arc("1", "2", lambda e, r: e.at - r.first < LIMIT, name="later")


def test_keys_and_operators_without_payloads() -> None:
    class Age(NamedTuple):
        who: str
        age: int

    twice = Automaton(
        start="0",
        final={"2"},
        event=Age,
        arcs=[Arc("0", "1", "age < span('1 s')"), Arc("1", "2", lambda e, r: e.age >= LIMITS.short)],
    )
    for options in ({}, {"keep_payloads": False, "retractions": False}):
        op = Keyed(twice, key="who", window="1 min", tick="ms", **options)  # type: ignore[arg-type]
        table = {"who": ["a", "b", "a", "b"], "age": [999, 1000, 1000, 999], "le": [1, 2, 3, 4]}
        assert op.push_many(table)["who"].tolist() == ["a"]
        assert Keyed.restore(twice, op.snapshot(), key="who").statistics.matches == 1


def test_conditions_of_promises() -> None:
    op = Operator(pair("at - r.first < 7"), window=100, tick="s", retractions=False)
    op.push(Punctuation(50, where="amount >= span('1 minute')"))
    with pytest.raises(afa.LateEventError, match=r"where e\.amount >= 60"):
        op.push(insert(Pay(None, 60), 4))
    op.push(insert(Pay(None, 59), 4))
    assert len(Operator.restore(op.automaton, op.snapshot())._core.conditions.all) == 1
    with pytest.raises(AutomatonError, match=r"expected tick=, .* for span\('1 min'\) in the condition"):
        Operator(pair("True"), retractions=False).push(Punctuation(5, where="amount > span('1 minute')"))


def test_in_queries() -> None:
    text = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) {{ b.at - a.at < {} }} WITHIN 1 hour"
    text += " RETURN a.amount AS n, b.amount AS m"
    query = afa.query(text.format("span('10 minutes')"), event=Pay, tick="s")
    assert query == afa.query(text.format("600"), event=Pay, tick="s")
    later = one("b", lambda e, m: e.at - m.a.at < LIMIT)
    built = one("a").followed_by_any(later).within("1 hour").returns(n=lambda m: m.a.amount, m=lambda m: m.b.amount)
    assert built.query(Pay, tick="s") == query
    for broken in (
        lambda: afa.query(text.format("span('1 s')").replace("1 hour", "9"), event=Pay),
        lambda: built.within(9).query(Pay),
    ):
        with pytest.raises(afa.QueryError, match=r"expected tick=, what one int of LE counts, for span"):
            broken()


def test_pictures_and_explanations() -> None:
    automaton = pair(lambda e, r: e.at - r.first < LIMIT and e.amount < LIMITS.short)
    explained = automaton.explain()[1]
    assert explained.texts["fence"] == "e.at - r.first < span('10 min') and e.amount < span('1 s')"
    assert explained.rung.rung == "compiled"
    bound = automaton.bound("s")
    assert bound.explain()[1].texts["fence"] == "e.at - r.first < 600 and e.amount < 1"
    assert bound.explain()[1].ranges == {"amount": "< 1"}
    assert fence_of(bound.arcs[1]) == explained.texts["fence"], "a picture shows what was said"
    assert repr(bound.arcs[1].fence) == repr(explained.texts["fence"])
    assert Arc.from_json(bound.arcs[1].to_json(bound)).fence.text == "e.at - r.first < 600 and e.amount < 1"  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(bound)).arcs[1].fence(Pay(599, 0), Seen())


def python_only(e: Any, r: Any) -> bool:
    return math.hypot(e.at - r.first, 0) < LIMIT


APART = r"expected a fence that can be taken apart, as it reads afa\.span\(\.\.\),"


@pytest.mark.parametrize(
    ("fence", "tick", "error", "message"),
    [
        ("at < span('1 s')", None, AutomatonError, r"expected tick=, .* for span\('1 s'\) in the fence of arc 'x': 1 -> 2 but got"),
        ("at < span('1500 us')", "ms", AutomatonError, r"expected a whole number of ticks .* got span\('1500 us'\) with tick='ms'"),
        ("at < span('10 moons')", "ms", ExpressionError, r"expected a unit of time but got span='10 moons' with the unit 'moons'"),
        ("at < span(10)", "ms", ExpressionError, r'expected a duration such as "10 minutes" or a timedelta but got span\(10\)'),
        ("at < span()", "ms", ExpressionError, r"expected a duration such as"),
        ("at < span(at)", "ms", ExpressionError, r"expected a duration such as"),
        ("at < span", "ms", ExpressionError, r"span is no field of Pay"),
        ("at in (span('1 s'), 3)", "ms", ExpressionError, r"in, over values that are no constants"),
        (lambda e, r: e.at < afa.span("moon"), "ms", AutomatonError, APART),
        (python_only, "ms", AutomatonError, rf"{APART} but math\.hypot"),
        (lambda e, r: repr(LIMIT) < "1", "ms", AutomatonError, APART),
    ],
)  # fmt: skip
def test_what_no_operator_takes(fence: Any, tick: str | None, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        Operator(pair(fence, name=None) if error is ExpressionError else named(fence), tick=tick)
    op = Operator(pair("False"), tick=tick)
    op.push(insert(Pay(None, 1), 1))
    with pytest.raises(error, match=message):
        op.push_arc(insert(Arc("1", "2", fence, name="x")))
    with pytest.raises(error, match=message):
        op.push_many([insert(Pay(None, 2), 2), insert(Arc("1", "2", fence, name="x"))])
    assert op.statistics.events == 1


def named(fence: Any) -> Automaton:
    arcs = [Arc("0", "1", "True", "(e.at, e.at)", name="first"), Arc("1", "2", fence, name="x")]
    return Automaton(start="0", final={"2"}, event=Pay, register=Seen(), arcs=arcs)


def test_durations_that_no_value_satisfies() -> None:
    fence = "amount < span('1 s') and amount > span('2 s')"
    message = r"expected a fence that some value satisfies but got e\.amount < 1000 and e\.amount > 2000, which no e\.amount does"
    with pytest.raises(AutomatonError, match=message):
        Operator(pair(fence), tick="ms")
    derived = Arc.from_json({"src": "1", "dst": "2", "fence": fence, "name": "x"})
    Operator(pair("False"), tick="ms").push_arc(insert(derived))  # nobody wrote it by hand


@pytest.mark.parametrize("value", [5, None, 1.5, "", "moon", timedelta(seconds=-1), "0.1 ns"])
def test_what_is_no_span(value: Any) -> None:
    with pytest.raises(AfaError, match=r"expected a (duration|unit)"):
        afa.span(value)


def test_spans_are_not_calculated_with_by_python() -> None:
    for wrong in (
        lambda: 1 + LIMIT,
        lambda: LIMIT < 3,
        lambda: 2 * LIMIT,
        lambda: -LIMIT,
        lambda: int(LIMIT),
        lambda: LIMIT == 3,
        lambda: 3 in [LIMIT],
    ):
        with pytest.raises(AfaError, match=r"expected a duration in a function that can be taken apart.* but got span\('10 min'\)"):
            wrong()
    with pytest.raises(AfaError, match="expected a duration in a function that can be taken apart"):
        pair("at < span('1 s')").arcs[1].fence(Pay(1, 1), Seen())
    assert (afa.span("60 s"), afa.span("1h 30m"), str(afa.span("0 s"))) == (afa.span("1 min"), afa.span("90 min"), "span('0 d')")


def test_a_field_may_be_called_span() -> None:
    class Gap(NamedTuple):
        span: int

    automaton = Automaton(start="0", final={"1"}, event=Gap, arcs=[Arc("0", "1", "span < span('1 s') and span > 1")])
    assert len(Operator(automaton, tick="ms").push_many([insert(Gap(span), 1) for span in (1, 2, 999, 1000)])) == 1
    assert Operator(Automaton(start="0", final={"1"}, event=Gap, arcs=[Arc("0", "1", lambda e, r: e.span > 1)])).automaton.arcs


WAIT = timedelta(minutes=10)


def test_a_timedelta_in_a_fence_is_told_how_to_be_one() -> None:
    """It may be meant: fields of any type hold datetimes, which Python compares with it."""
    rung = pair(lambda e, r: e.at - r.first < WAIT).explain()[1].rung
    assert (rung.reason, rung.hint) == ("WAIT is a timedelta", "times are ints: write afa.span(WAIT), which is one, too")
    op = Operator(pair(lambda e, r: e.at - r.first < afa.span(WAIT)), tick="s")
    assert len(op.push_many([insert(Pay(None, 1), 1), insert(Pay(None, 1), 600)])) == 1


def test_only_functions_that_may_read_a_span_are_read() -> None:
    assert not spans.mentions_span(lambda e, r: e.at < math.pi and print(e))
    assert not spans.mentions_span(print)
    assert spans.mentions_span(python_only)

    def unbound(e: Any, r: Any) -> bool:
        return bool(e.at < later)

    assert not spans.mentions_span(unbound), "it has no value yet"
    later = LIMIT
    assert spans.mentions_span(unbound)
