"""What explain says, and the words of a range."""

from __future__ import annotations

import math
from typing import Any

import pytest

from afa import Arc, Automaton
from afa.expression import ValueRange, ranges
from afa.expression.nodes import Const, FieldRead, IsNone
from tests.expression.test_written import Tick, Vees
from tests.expression.worlds import EVENT


def never_native(e: Any, r: Any) -> bool:
    return any(x for x in e)


def test_blocks() -> None:
    program = Automaton(
        start="a",
        final={"b"},
        event=Tick,
        register=Vees(),
        arcs=[
            Arc("a", "b", lambda e, r: r.balance < 3 and -1 < e.change < 0, lambda e, r: Vees(r.balance + 1), name="fall"),
            Arc("a", "b", "kind in ('up', 'down') and change > r.balance"),
            Arc("a", "b", never_native),
            Arc.epsilon("a", "b"),
            Arc.epsilon("a", "b", "balance > 3", "(1, patterns)"),
            Arc.timeout("a", "b", lambda r: r.balance + 5),
        ],
    )
    found = program.explain()
    assert str(found).splitlines() == [
        "arc 'fall': a -> b: compiled",
        "    fence         r.balance < 3 and -1 < e.change and e.change < 0",
        "    transfer      (r.balance + 1, 0)",
        "    event part    -1 < e.change and e.change < 0",
        "    register part r.balance < 3",
        "    change        > -1 and < 0",
        "arc a -> b: compiled",
        "    fence      e.kind in ('up', 'down') and e.change > r.balance",
        "    event part e.kind in ('up', 'down')",
        "    mixed part e.change > r.balance",
        "    change     not NaN",
        "    kind       'up' or 'down'",
        "arc a -> b: Python per partial match",
        "    fence     never_native",
        "    because   a comprehension is used",
        "    hint      write the items out with and / or",
        "arc a -> b (epsilon): compiled",
        "arc a -> b (epsilon): compiled",
        "    fence     r.balance > 3",
        "    transfer  r._replace(balance=1)",
        "arc a -> b (timeout): compiled",
        "    at        r.balance + 5",
    ]
    assert [item.rung.rung for item in found] == ["compiled"] * 2 + ["Python per partial match"] + ["compiled"] * 3


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (ValueRange(), "anything"),
        (ValueRange(none=False), "not None"),
        (ValueRange(nan=False, none=False), "not NaN and not None"),
        (ValueRange(low=1, nan=False, none=False), ">= 1"),
        (ValueRange(high=1.5, high_open=True, none=False), "< 1.5 or NaN"),
        (ValueRange(values=(1, "a"), nan=False), "1 or 'a' or None"),
        (ValueRange(values=(), nan=False), "None"),
        (ValueRange(low=2, high=1, nan=False, none=False), "never"),
    ],
)
def test_words_of_a_range(found: ValueRange, words: str) -> None:
    assert found.text() == words


def test_meet_and_join() -> None:
    low, high = ValueRange(low=1, low_open=True, nan=False), ValueRange(high=5, nan=False, none=False)
    assert low.meet(high) == ValueRange(1, 5, low_open=True, nan=False, none=False)
    assert low.join(high) == ValueRange(nan=False)
    assert ValueRange(values=(1, 7), nan=False, none=False).meet(high).values == (1,)
    assert ValueRange(1, 1, values=(1,), nan=False).join(ValueRange(2, 2, values=(2,))).values == (1, 2)
    assert ValueRange(1, 3, low_open=True).join(ValueRange(1, 2)).low_open is False
    assert ValueRange(low=3, high=3, low_open=True, nan=False, none=False).empty


def test_a_fence_that_is_never_true_allows_nothing() -> None:
    assert all(found.empty for found in ranges(Const(0), EVENT).values())
    assert all(not found.contains(math.nan) for found in ranges(IsNone(FieldRead("e", "x")), EVENT).values() if found.values == ())
