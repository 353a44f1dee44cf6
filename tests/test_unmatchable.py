"""What can't match is said when it is built: fields that are none, fences that no value satisfies, time-outs that come too late."""

from __future__ import annotations

import functools
import logging
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import afa
from afa import Arc, Automaton, AutomatonError, ExpressionError, Operator, insert
from afa.expression.evaluation import evaluate
from afa.expression.intervals import contradiction
from tests.expression import worlds

LEGACY = False


class Pay(NamedTuple):
    amount: int
    kind: str = ""
    share: float = 0.0
    ts: int = 0
    note: str | None = None

    @property
    def twice(self) -> int:
        return 2 * self.amount


class Sum(NamedTuple):
    total: int = 0
    since: int = 0


def built(fence: Any, transfer: Any = None, **more: Any) -> Automaton:
    return Automaton(start="a", final={"b"}, event=Pay, register=Sum(), arcs=[Arc("a", "b", fence, transfer, **more)])


def over(e: Any, limit: int) -> bool:
    return bool(e.amout > limit)


def early(e: Any, r: Any) -> bool:
    if LEGACY:
        return False
    return bool(e.amount > 1)


def tried(e: Any, r: Any) -> bool:
    try:
        return bool(e.amout > 5)
    except AttributeError:
        return False


def last(limit: int, e: Any, r: Any) -> bool:
    total = r.totl + limit
    return bool(e.amount > total)


@pytest.mark.parametrize(
    ("fence", "transfer", "message"),
    [
        (lambda e, r: e.amout > 5, None, r"expected fence\(e, r\) to read fields of Pay but got e.amout in arc 'x': a -> b, line "),
        (
            lambda e, r: e.kind == "buy" and e.amout > 5,
            None,
            r"test_unmatchable.py; its fields: amount, .*; did you mean 'amount'.",
        ),
        (lambda pay, reg: pay.amount > reg.totl, None, r"fields of Sum but got reg.totl .*did you mean 'total'\?"),
        (lambda e, r: True, lambda e, r: r._replace(totl=1), r"transfer\(e, r\) .* got r._replace\(totl=..\) .*mean 'total'\?"),
        (lambda e, r: True, lambda e, r: Sum(e.amout), "got e.amout "),
        (lambda e, r: over(e, 5), None, "got e.amout "),
        (functools.partial(last, 5), None, "got r.totl "),
        (lambda e, r: True, lambda e, r: Sum(e.amount if r.totl == 0 else 0), "got r.totl "),
        (lambda e, r: e.qqqqqqq, None, r"line \d+ of test_unmatchable.py; its fields: amount, kind, share, ts, note"),
    ],
)
def test_a_field_that_there_is_not(fence: Any, transfer: Any, message: str) -> None:
    with pytest.raises(AutomatonError, match=message):
        built(fence, transfer, name="x")


def test_text_says_what_was_meant() -> None:
    with pytest.raises(ExpressionError, match=r"amout is no field of Pay; its fields: amount, kind, .*; did you mean 'amount'\?"):
        built("amout > 5")


@pytest.mark.parametrize(
    "fence",
    [
        lambda e, r: hasattr(e, "amout") and e.amout > 5,
        lambda e, r: getattr(e, "amout", 0) > 5,
        tried,
        early,
        lambda e, r: LEGACY and e.amout > 5,
        lambda e, r: e.amout > 5 if LEGACY else e.amount > 5,
        lambda e, r: e.total > 5 if e.kind == "order" else e.amount > 5,
        lambda e, r: e.twice > 5 and e.count(3) == 0 and len(e._fields) == 5,
        lambda e, r: any(e.amout > x for x in ()),
        functools.partial(over, limit=5).func and (lambda e, r: (lambda e: e.other)(r) if LEGACY else True),
    ],
)
def test_a_read_that_something_guards_is_left_alone(fence: Callable[..., Any]) -> None:
    built(fence)


def test_a_class_that_makes_fields_up_is_left_alone() -> None:
    class Loose(Pay):
        def __getattr__(self, name: str) -> int:
            return 6

    arc = Arc("a", "b", lambda e, r: e.amout > 5)
    Automaton(start="a", final={"b"}, event=Loose, arcs=[arc])


def test_a_pushed_arc_with_such_a_field_is_refused() -> None:
    operator = Operator(built("amount > 5"), window=10)
    with pytest.raises(AutomatonError, match=r"got e\.amout in arc a -> b"):
        operator.push_arc(insert(Arc("a", "b", lambda e, r: e.amout > 5)))
    with pytest.raises(AutomatonError, match=r"3 < e.amount and e.amount < 4, which no e.amount does, in arc a -> b"):
        operator.push_arc(insert(Arc("a", "b", "3 < amount < 4")))
    assert len(operator.push(insert(Pay(6), 1))) == 1


@pytest.mark.parametrize(
    ("fence", "message"),
    [
        ("share > 10 and share < 5", "e.share > 10 and e.share < 5, which no e.share does, in arc a -> b; without it no event "),
        ("share > 10 and share < 5", "without it no event leads to the final state 'b'"),
        (lambda e, r: e.kind == "x" and 3 < e.amount < 4, "3 < e.amount and e.amount < 4, which no e.amount does"),
        (lambda e, r: e.amount > 3 and (e.amount < 4 or e.amount < 2), r"e.amount > 3 and \(e.amount < 4 or e.amount < 2\), "),
        ("kind == 'a' and kind == 'b'", "e.kind == 'a' and e.kind == 'b', which no e.kind does"),
        ("kind in ('a', 'b') and kind == 'c'", "which no e.kind does"),
        ("note is None and note == 'x'", "e.note is None and e.note == 'x'"),
        ("amount == 5.5 and amount > 3", "which no e.amount does"),
        ("r.total > 10 and amount > 3 and r.total <= 10", "r.total > 10 and r.total <= 10, which no r.total does"),
        ("share != share and share > 3", None),
        ("3 <= amount < 4", None),
        ("3 < share < 4", None),
        ("kind == 'a' or kind == 'b'", None),
        ("amount > 5 or amount < 3", None),
        ("False", None),
        ("amount > r.total and amount < r.since", None),
    ],
)
def test_a_fence_that_no_value_satisfies(fence: Any, message: str | None) -> None:
    if message is None:
        if "!=" not in fence:
            built(fence)
        return
    with pytest.raises(AutomatonError, match="expected a fence that some value satisfies but got .*" + message):
        built(fence)


def test_an_epsilon_arc_that_no_register_satisfies() -> None:
    arcs = [Arc("a", "m", "True"), Arc.epsilon("m", "b", "r.total > 3 and r.total < 4")]
    with pytest.raises(AutomatonError, match=r"got r.total > 3 and r.total < 4, which no r.total does, in arc m -> b .epsilon."):
        Automaton(start="a", final={"b"}, event=Pay, register=Sum(), arcs=arcs)


class Order(NamedTuple):
    ts: int
    seen: afa.Instant


def waiting(field: str, wait: str, step: str | None = None) -> Automaton:
    arcs = [Arc("a", "w", "True", f"r._replace(since=e.{field})"), Arc.timeout("w", "late", wait, name="late")]
    if step is not None:
        arcs.append(Arc("w", "w", "True", step))
    return Automaton(start="a", final={"late"}, event=Order, register=Sum(), arcs=arcs)


@pytest.mark.parametrize(
    ("automaton", "message"),
    [
        (
            waiting("seen", "r.since + 100"),
            "never fires with window=100: it waits until e.seen . 100, .* of 101 at least",
        ),
        (
            waiting("ts", "r.since + 100"),
            "arc 'late': w -> late .timeout. never fires with window=100, if e.ts is the event's time: it waits",
        ),
        (waiting("seen", "5 + (r.since + 100)"), "give a window of 106 at least"),
        (waiting("seen", "r.since - 1 + 101", "r._replace(since=e.seen + 50)"), "give a window of 101 at least"),
        (waiting("seen", "r.since + 99"), None),
        (waiting("seen", "r.since + 100", "r._replace(total=r.total + 1)"), "101"),
        (waiting("seen", "r.since + 100", "r._replace(since=r.total)"), None),
        (waiting("seen", "r.total + 100"), None),
        (waiting("seen", "max(r.since, r.total) + 100"), None),
    ],
)
def test_a_time_out_that_the_window_cuts_off(automaton: Automaton, message: str | None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "afa"):
        Operator(automaton, window=100)
        Operator(automaton, window=100)
        Operator(automaton)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == (message is not None)
    if message is not None:
        assert re.search(message, said[0])


def test_durations_are_compared_as_ticks(caplog: pytest.LogCaptureFixture) -> None:
    automaton = waiting("seen", "r.since + span('2 days')")
    with caplog.at_level(logging.WARNING, "afa"):
        Operator(automaton, window="49h", tick="ms")
        Operator(automaton, window="2 days", tick="s")
        Operator(automaton, window="2 days", tick="s")
    (said,) = [record.getMessage() for record in caplog.records]
    assert said == (
        "arc 'late': w -> late (timeout) never fires with window=172800 s: it waits until e.seen + 172800 s, "
        "and no match lasts until then; give a window of 172801 s at least"
    )


def test_the_window_that_is_said_is_enough() -> None:
    automaton = waiting("seen", "r.since + 100")
    for window, matches in ((100, 0), (101, 1)):
        operator = Operator(automaton, window=window)
        operator.push(insert(Order(0, 5), 5))
        assert sum(isinstance(c, afa.Change) for c in operator.push(afa.Punctuation(1000))) == matches


@pytest.mark.filterwarnings("ignore:Bitwise inversion")
def test_what_is_refused_is_true_of_no_value() -> None:
    """Random fences, against random events and registers."""
    found = 0
    for seed in range(2500):
        rng = random.Random(seed)
        fence = worlds.clauses(rng, 3)
        for side, schema in (("e", worlds.EVENT), ("r", worlds.REGISTER)):
            if contradiction(fence, schema, side) is not None:
                found += 1
                assert not any(worlds.outcome(satisfied, fence, rng) == (bool, "True") for _ in range(30)), seed
    assert found > 10


def satisfied(fence: Any, rng: random.Random) -> bool:
    return bool(evaluate(fence, worlds.event(rng), worlds.register(rng)))
