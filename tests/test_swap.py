"""Swaps by name: one call, one minimal difference, all or nothing; on operators, keys and with stages around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pytest

import afa
from afa import FOREVER, AfaError, Arc, Automaton, Change, Keyed, LateEventError, Operator, Punctuation, insert, retract
from afa.errors import AutomatonError, ChangeError, ExpressionError, did_you_mean
from speculation import Choose, Cleanse, Consolidate, LastBefore
from tests import oracle, strategies
from tests.arclogs import PAYMENTS, SMALL, Pay, big, fold, pay, shown
from tests.strategies import Choices, Seeded
from tests.text import E, arc_of, automaton_of

MAKERS: dict[str, Callable[[str], Any]] = {
    "operator": lambda engine: Operator(PAYMENTS, window=10, engine=engine),
    "keyed": lambda engine: Keyed(PAYMENTS, key="who", window=10, engine=engine),
    "before": lambda engine: Cleanse(None).before(Operator(PAYMENTS, window=10, engine=engine)),
    "after": lambda engine: Consolidate(per="call").after(Keyed(PAYMENTS, key="who", window=10, engine=engine)),
}


@pytest.fixture(params=MAKERS)
def op(request: pytest.FixtureRequest, engine: str) -> Any:
    found = MAKERS[request.param](engine)
    found.push(pay(400, 1))
    return found


def test_a_swap_serves_from_the_present_on(op: Any) -> None:
    assert op.swap("above 500", big(300)) == []
    assert shown(op.push(pay(400, 2))) == [(400, 2, 1)]
    assert op.push(pay(400, 1)) == [], "it came before the swap took effect"
    assert op.swap("above 500", big(450, "above 450")) == []
    assert shown(op.push(pay(420, 3))) == []
    assert op.swap("above 450", fence="amount > 410") == []
    assert shown(op.push(pay(420, 4))) == [(420, 4, 1)]


def test_a_swap_at_an_instant_revises_what_came_before(op: Any) -> None:
    op.push(pay(600, 2))
    assert shown(op.swap("above 500", fence="amount > 300", at=1)) == [(400, 1, 1)], "the match at 2 stays"
    assert shown(op.swap("above 500", big(9999, "never"), at=2)) == [(600, 2, -1)]
    assert shown(op.swap("never", fence=lambda e, r: e.amount > 590, transfer="(r.total - e.amount,)", at=2)) == [(-600, 2, 1)]
    assert op.swap("never", fence="amount > 0", at=9) == []
    with pytest.raises(ChangeError, match=r"expected one arc named 'never' from 3 on but got .* in \[2, 9\), .* in \[9, forever\)"):
        op.swap("never", fence="True")


def test_a_swap_is_what_a_retraction_and_an_insertion_are(engine: str) -> None:
    for name, make in MAKERS.items():
        one, other = make(engine), make(engine)
        for item in (pay(400, 1), pay(5, 3), Punctuation(2)):
            one.push(item)
            other.push(item)
        one.swap("above 500", big(300))
        other.push_arc(retract(big(500, "above 500")))
        other.push_arc(insert(big(300, "above 500")))
        for item in (pay(400, 5), pay(400, 3), pay(5, 4), Punctuation(4)):
            assert Counter(one.push(item)) == Counter(other.push(item)), name
        assert one._core.arcs.table.events[-1][1:] == other._core.arcs.table.events[-1][1:]
        one._check()


def test_a_swap_keeps_partial_matches_under_a_query() -> None:
    query = afa.query("PATTERN SEQ(Pay a, Pay b) WHERE skip_till_next_match(a, b) { b.amount > a.amount }", event=Pay)
    op = query.operator()
    taken = next(arc for arc in query.automaton.arcs if arc.dst in query.automaton.final)
    assert taken.name is not None
    op.push(pay(5, 1))
    op.swap(taken.name, fence="amount > 100")
    assert [op.push(pay(amount, le)) != [] for amount, le in ((50, 2), (200, 3))] == [False, True]


def test_a_swap_looks_back() -> None:
    stage = LastBefore(Pay, {"before": "amount > 100"}, window=5)
    calm = Automaton(
        start="0", final={"1"}, event=stage.filled, arcs=[Arc("0", "1", "amount == 1 and before is None", name="calm")]
    )
    op = stage.before(Operator(calm, window=9))
    op.push_many([pay(200, 1), pay(1, 3), pay(1, 20)])
    assert [(c.le, c.diff) for c in op.swap("calm", fence="amount == 1 and before == 1", at=2)] == [(20, -1), (3, 1)]


def test_a_swap_chooses() -> None:
    op = Choose(window=10).after(Operator(PAYMENTS, window=10))
    op.push_many([pay(600, 1), pay(700, 4)])
    assert shown(op.swap("above 500", fence="amount > 650", at=0)) == [(600, 1, -1)]


REFUSED: dict[str, tuple[Any, type[AfaError], str]] = {
    "no such name": (
        lambda op: op.swap("abov 500", big(3)),
        ChangeError,
        r"expected the name of an arc in force but got 'abov 500'; did you mean 'above 500'\?; in force: 'above 500', 'small'",
    ),
    "no name": (lambda op: op.swap(SMALL, big(3)), ChangeError, r"expected the name of an arc \(str\) but got name=arc 'small'"),
    "no arc": (lambda op: op.swap("small", 7), AutomatonError, r"expected an Arc but got 7$"),
    "text": (lambda op: op.swap("small", "amount > 3"), AutomatonError, r"expected an Arc but got 'amount > 3'; write fence="),
    "nothing": (
        lambda op: op.swap("small"),
        AutomatonError,
        r"or fence= and transfer= for the arc 'small' .* got none",
    ),
    "both": (lambda op: op.swap("small", big(3), fence="True"), AutomatonError, r"for the arc 'small' in force, but got both"),
    "text that is none": (lambda op: op.swap("small", fence="amount >"), ExpressionError, r"in arc 'small': a -> a"),
    "no such field": (lambda op: op.swap("small", fence="amout > 3"), ExpressionError, r"amout"),
    "another's name": (
        lambda op: op.swap("small", big(3, "above 500")),
        ChangeError,
        r"expected a name that no other arc has but got arc 'above 500'.* beside arc 'above 500': a -> b in \[the beginning, f",
    ),
    "late": (
        lambda op: op.swap("small", big(3), at=-5),
        LateEventError,
        r"expected at >= 0 \(promised\) but got at=-5 for a swap",
    ),
    "no instant": (lambda op: op.swap("small", big(3), at=2.5), AfaError, r"expected an int \(ticks\) but got at=2\.5"),
    "the end": (lambda op: op.swap("small", big(3), at=FOREVER), LateEventError, r"expected a swap of 'small' before the end"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("late", ["raise", "drop"])
def test_what_is_refused_leaves_all_as_it_was(engine: str, case: str, late: Any) -> None:
    op = Keyed(PAYMENTS, key="who", window=10, engine=engine, late=late)
    op.push_many([pay(600, 1), pay(5, 2), Punctuation(0)])
    before = op.snapshot(), op._core.arcs.table.events
    work, error, text = REFUSED[case]
    with pytest.raises(error, match=text):
        work(op)
    assert (op.snapshot(), op._core.arcs.table.events) == before
    op._check()


def test_what_has_ended_or_not_begun_is_said() -> None:
    op = Operator(PAYMENTS, window=10)
    op.push(pay(600, 1))
    op.push_arc(retract(SMALL))
    with pytest.raises(ChangeError, match=r"but got 'small'; it ended at 2; in force: 'above 500'"):
        op.swap("small", big(3))
    op.push_arc(insert(SMALL, 50))
    with pytest.raises(ChangeError, match=r"named 'small' from 2 on but got arc 'small'.* in \[50, forever\); at=50 swaps it"):
        op.swap("small", fence="amount < 20")
    op.swap("small", fence="amount < 20", at=50)
    op.push_arc(insert(big(7, "above 500"), 3))
    with pytest.raises(ChangeError, match=r"expected one arc named 'above 500' from 2 on but got .*; retract the others"):
        op.swap("above 500", big(3))
    nameless = Operator(Automaton(start="a", final={"b"}, event=Pay, arcs=[Arc("a", "b", "True")]))
    with pytest.raises(ChangeError, match=r"but got 'x'; in force: none has a name"):
        nameless.swap("x", big(3))


@pytest.mark.parametrize("at", [5000, datetime(1970, 1, 1, 0, 0, 5), "1970-01-01T00:00:05Z", np.datetime64(5, "s")])
def test_an_instant_is_a_number_of_ticks_or_a_time(at: Any) -> None:
    op = Operator(PAYMENTS, window="9 s", tick="ms")
    op.push_many([pay(400, 4999), pay(400, 5000)])
    assert shown(op.swap("above 500", fence="amount > 300", at=at)) == [(400, 5000, 1)]


@pytest.mark.parametrize("at", [datetime(1970, 1, 1, 0, 0, 5), "1970-01-01"])
def test_a_time_needs_a_tick(at: Any) -> None:
    with pytest.raises(AfaError, match=r"at=.*tick="):
        Operator(PAYMENTS).swap("small", big(3), at=at)


def test_after_the_end_nothing_is_swapped() -> None:
    op = Operator(PAYMENTS, window=10)
    op.push(Punctuation(FOREVER))
    with pytest.raises(LateEventError, match=r"expected a swap of 'small' before the end of the stream but got one after it"):
        op.swap("small", big(3))


def test_parts_of_arcs_that_have_none() -> None:
    waits = Automaton(
        start="a",
        final={"b"},
        event=Pay,
        arcs=[Arc("a", "a", "True"), Arc.timeout("a", "b", "5", name="t"), Arc.skip("a", "True", name="s")],
    )
    op = Operator(waits, window=10)
    with pytest.raises(AutomatonError, match=r"expected no fence for arc 't': a -> b \(timeout\), which fires at its instant"):
        op.swap("t", fence="True")
    with pytest.raises(AutomatonError, match=r"expected no transfer for arc 't': a -> b \(timeout\) but got transfer='r'"):
        op.swap("t", transfer="r")
    op.swap("t", Arc.timeout("a", "b", "7"))
    assert [(c.le, c.diff) for c in op.push_many([pay(1, 1), Punctuation(9)]) if isinstance(c, Change)] == [(7, 1)]


def test_without_payloads_the_past_is_refused(engine: str) -> None:
    one = Automaton(start="a", final={"b"}, event=Pay, arcs=[Arc("a", "b", "amount > 5", name="x")])
    op = Operator(one, window=10, engine=engine, retractions=False, keep_payloads=False)
    op.push(pay(4, 3))
    op.swap("x", fence="amount > 3")
    assert len(op.push(pay(4, 4))) == 1
    before = op.snapshot
    with pytest.raises(
        ChangeError, match=r"expected a change of an arc from 5 on \(keep_payloads=False.* but got le=4 for arc 'x'"
    ):
        op.swap("x", fence="amount > 1", at=4)
    assert op.snapshot() == before()


@pytest.mark.parametrize(("known", "hint"), [(["amount"], "; did you mean 'amount'?"), (["kind"], ""), ([], "")])
def test_did_you_mean(known: list[str], hint: str) -> None:
    assert did_you_mean("amout", known) == hint


def world(choose: Choices, engine: str, key: bool) -> int:
    """Random events, promises and swaps, the oracle after each step; how many swaps were carried out, others leaving no trace."""
    spec = strategies.automaton(choose)
    automaton = automaton_of(spec)
    width = strategies.width_of(spec)
    window = choose.one([None, 4])
    options: dict[str, Any] = {"window": window, "engine": engine if spec["event"] else "interpreted"}
    op: Any = Keyed(automaton, key=lambda e: e[1] % 2, **options) if key else Operator(automaton, **options)
    arcs, changes, held, promised, now, swaps = oracle.own_arcs(automaton), list[Any](), set[Any](), -99, None, 0
    for number in range(18):
        what = choose.number(0, 9)
        if what < 5 or now is None:
            payload, le = strategies.payload(choose), max(choose.number(0, 8), promised)
            item = E(*payload)
            out = op.push(insert(item, le))
            changes.append((item, le, FOREVER if window is None else le + window, 1))
            now = max(now or 0, le + 1)
        elif what < 6:
            promised = max(promised, choose.number(0, 4))
            now = max(now, promised + 1)
            out = op.push(Punctuation(promised))
        else:
            last = [arc for arc in arcs if arc.re == FOREVER]
            gone = choose.one(last)
            new = arc_of(strategies.arc(choose, width, strategies.STATES[:3], choose.one([None, f"new{number}"]), waits=False))
            at = choose.one([None, choose.number(0, 10)])
            t = now if at is None else at
            if t < max(promised, gone.le):
                with pytest.raises(AfaError, match=r"expected (at >=|one arc named)"):
                    op.swap(gone.arc.name, new, at=at)
                continue
            out = op.swap(gone.arc.name, new, at=at)
            name = new.name or gone.arc.name
            arcs = [arc for arc in arcs if arc is not gone] + [
                gone._replace(re=t),
                oracle.ArcEvent(new.changed(name=name), t, FOREVER),
            ]
            swaps += 1
        held = fold(out, held)
        assert held == expected(automaton, changes, arcs, promised, key), f"step {number}"
        op._check()
    return swaps


def expected(automaton: Automaton, changes: list[Any], arcs: list[Any], promised: int, key: bool) -> set[Any]:
    found = set()
    for k in (0, 1) if key else (None,):
        mine = [change for change in changes if k is None or change[0][1] % 2 == k]
        found |= {(k, *match) for match in oracle.matches(automaton, mine, arcs, promised)}
    return found


@pytest.mark.parametrize("key", [False, True])
def test_random_swaps_are_what_the_oracle_makes_of_the_arcs_in_force(engine: str, key: bool) -> None:
    assert sum(world(Seeded(f"swaps/{number}"), engine, key) for number in range(25)) > 40
