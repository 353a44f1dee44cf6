"""The side output: late changes are kept, in order, and nothing goes silently."""

from __future__ import annotations

from typing import Any

import pytest

from afa import AfaError, Arc, Automaton, Operator, Punctuation, insert, retract
from punctuation import SideOutput

WORDS = Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: e == "a")])


def operator(side: SideOutput, **options: Any) -> Operator:
    return Operator(WORDS, window=5, late=side, engine="interpreted", **options)


def test_late_events_and_arcs_and_lone_retractions_are_kept_in_order() -> None:
    side = SideOutput()
    op, arc = operator(side), insert(Arc("0", "1", lambda e, r: e == "b"), le=3)
    op.push(retract("gone", le=7))
    op.push(Punctuation(8))
    op.push(insert("a", le=7))
    op.push_arc(arc)
    op.push_many([insert("a", le=9), insert("b", le=1)])
    assert [(change.payload, change.le, change.diff) for change in side.changes] == [
        ("gone", 7, -1),
        ("a", 7, 1),
        (arc.payload, 3, 1),
        ("b", 1, 1),
    ]
    assert side.count == len(side) == op.statistics.late == 4
    assert op.statistics.changes == 2


def test_a_late_change_comes_with_its_lifetime_and_may_be_pushed_elsewhere() -> None:
    side = SideOutput()
    op = operator(side)
    op.push(Punctuation(8))
    op.push(insert("a", le=7))
    (change,) = side.take()
    assert (change.le, change.re) == (7, 12)
    assert len(Operator(WORDS, engine="interpreted").push(change)) == 1


def test_a_call_that_is_refused_leaves_nothing_aside() -> None:
    side = SideOutput()
    op = operator(side)
    op.push(Punctuation(8))
    with pytest.raises(AfaError, match="le=None"):
        op.push_many([insert("a", le=7), insert("a")])
    assert (len(side), side.count, op.statistics.late) == (0, 0, 0)


def test_beyond_its_limit_the_oldest_are_let_go_and_counted() -> None:
    side = SideOutput(limit=2)
    op = operator(side)
    op.push(Punctuation(8))
    op.push_many([insert(word, le=1) for word in "abcd"])
    assert [change.payload for change in side.changes] == ["c", "d"]
    assert (len(side), side.count, side.lost) == (2, 4, 2)
    assert repr(side) == "SideOutput(limit=2): 2 kept, 4 came, 2 lost"
    assert [change.payload for change in side.take()] == ["c", "d"]
    assert (side.changes, side.take(), len(side), side.count, side.lost) == ([], [], 0, 4, 2)


def test_an_empty_side_output_serves_a_restored_operator() -> None:
    op = operator(SideOutput())
    op.push(Punctuation(8))
    side = SideOutput()
    again = Operator.restore(WORDS, op.snapshot(), late=side)
    again.push(insert("a", le=7))
    assert side.count == 1


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (0, r"expected a limit of at least 1 \(None: none\) but got limit=0"),
        (2.5, r"expected an int \(ticks\) but got limit=2.5"),
    ],
)
def test_a_bad_limit_is_refused(limit: Any, text: str) -> None:
    with pytest.raises(AfaError, match=text):
        SideOutput(limit)
