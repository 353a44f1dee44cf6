"""Negation that names a later component by order: what is skipped must not lie above, or below, what comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Change, insert, retract
from afa.expression.nodes import Compare, Const, FieldRead, Or
from afa.language import many, one
from afa.language.builder_printer import builder_text
from afa.language.pattern import Component, Gap, Seq, Tree
from afa.language.query import Query
from afa.language.sase_printer import sase_text
from afa.language.terms import Ref
from tests.language.test_builder_printer import built


class Tick(NamedTuple):
    type: str
    x: float | None = None
    y: int = 0


TEXT = """PATTERN SEQ(A a, ~(N n), B b) WHERE skip_till_any_match(a, b) { n.x > b.x } WITHIN 100 RETURN a.y AS y, b.x AS x"""
BUILT = (
    one("a", "A")
    .absent("n", "N", lambda e, m: e.x > m.b.x)
    .followed_by_any(one("b", "B"))
    .within(100)
    .returns(y=lambda m: m.a.y, x=lambda m: m.b.x)
)


def held(out: list[Change], before: set[Any] = frozenset()) -> set[Any]:  # type: ignore[assignment]
    found = set(before)
    for change in out:
        found ^= {(*change.payload, change.le, change.re)}
    return found


def ticks(*rows: tuple[str, float | None, int]) -> list[Change]:
    return [insert(Tick(kind, x), le) for kind, x, le in rows]


def test_text_and_builder_say_the_same_and_print_as_each_other(tmp_path: Path) -> None:
    tree = afa.query(TEXT, event=Tick).tree
    assert BUILT.query(Tick).tree == tree
    assert afa.query(sase_text(tree), event=Tick).tree == tree
    (again,) = built([builder_text(tree)], tmp_path)
    assert again.query(Tick).tree == tree


def test_nothing_higher_than_what_comes_lies_before_it(engine: str) -> None:
    op = afa.query(TEXT, event=Tick).operator(engine=engine)
    rows = ticks(("A", 0, 1), ("N", 5, 2), ("N", 7, 2), ("N", None, 3), ("C", 9, 3), ("N", float("nan"), 4))
    ends = ticks(("B", 4, 5), ("B", 7, 6), ("B", 6, 6), ("B", None, 7), ("B", 8, 8))
    now = held(op.push_many([*rows, *ends]))
    assert now == {(0, 7.0, 6, 101), (0, None, 7, 101), (0, 8.0, 8, 101)}
    now = held(op.push(retract(Tick("N", 7), 2)), now)
    assert now == {(0, 6.0, 6, 101), (0, 7.0, 6, 101), (0, None, 7, 101), (0, 8.0, 8, 101)}
    now = held(op.push(insert(Tick("N", 7.5), 6)), now)  # of one instant with two of them: before the last only
    assert now == {(0, 6.0, 6, 101), (0, 7.0, 6, 101), (0, None, 7, 101), (0, 8.0, 8, 101)}
    assert held(op.push(insert(Tick("N", 9), 7, 8)), now) == now - {(0, 8.0, 8, 101)}  # what is skipped shortens nothing
    op._check()
    again = afa.query(TEXT, event=Tick).restore(op.snapshot(), engine=engine)
    assert [(m.payload.x, m.diff) for m in again.push(insert(Tick("B", 9), 9))] == [(9.0, 1)]


def test_behind_a_repetition_counts_what_lies_behind_its_last_event(engine: str) -> None:
    query = many("a", "A").any().absent("n", "N", lambda e, m: e.x >= m.b.max.x).followed_by_any(many("b", "B")).within(100)
    op = query.returns(n=lambda m: m.a.count, k=lambda m: m.b.count, x=lambda m: m.b.max.x).of(Tick).operator(engine=engine)
    now = held(op.push_many(ticks(("A", 0, 1), ("N", 5, 2), ("A", 0, 3), ("N", 3, 4), ("B", 4, 5), ("B", 6, 6))))
    assert now == {
        *((n, k, x, le, re) for n, re in ((1, 103), (2, 101)) for k, x, le in ((1, 4.0, 5), (1, 6.0, 6), (2, 6.0, 6))),
        *((1, k, 6.0, 6, 101) for k in (1, 2)),  # the first a alone: b from 6 on
    }


def test_what_is_noted_is_told_and_given_up_when_nothing_reads_it_any_more() -> None:
    query = afa.query(
        "PATTERN SEQ(A a, ~(N n), B b, C c) WHERE skip_till_next_match(a, b, c) { n.x > b.x and n.y > a.y } WITHIN 9", event=Tick
    )
    states, fields = query.explain().states, query.explain().register
    assert "notes n_highest" in str(states[0])
    assert "n_highest" not in str(states[1])
    assert "field n_highest: float | None, n: highest of what was skipped" in map(str, fields)
    other = afa.query(
        "PATTERN SEQ(A a, ~(N n), B b, C c) WHERE skip_till_next_match(a, b, c) { n.x > b.x and n.y > 3 } WITHIN 9", event=Tick
    )
    assert query.changes_to(other).goes == ("a",)  # it has noted other events


REFUSED: list[tuple[str, Any, str]] = [
    ("n.y == b.y", lambda e, m: e.y == m.b.y, r"by order .* but got a comparison by ==; only the highest or the lowest value"),
    ("n.y != b.y", lambda e, m: e.y != m.b.y, "but got a comparison by !="),
    ("n.y in (1, 2) or n.y > b.y", lambda e, m: e.y in (1, 2) or e.y > m.b.y, r"got one by or; write one negation for each part"),
    ("not n.y > b.y", lambda e, m: not e.y > m.b.y, "but got one by not; turn the comparison round"),
    ("n.y - b.y > 3", lambda e, m: e.y - m.b.y > 3, "but got both on one side; let all of n stand on one side of >"),
    ("n.y > b.y + n.x", lambda e, m: e.y > m.b.y + e.x, "but got both on one side"),
    ("n.y > 3 if b.y is None else n.y > 4", lambda e, m: e.y > 3 if m.b.y is None else e.y > 4, "but got one by if"),
    ("b.y is None", lambda e, m: m.b.y is None, "but got another one; compare n with an earlier component"),
]


@pytest.mark.parametrize(("text", "function", "message"), REFUSED)
def test_what_is_not_by_order_is_refused_in_words(text: str, function: Any, message: str) -> None:
    if text != "b.y is None":  # a condition of b alone, in text
        with pytest.raises(AfaError, match=message) as caught:
            afa.query(f"PATTERN SEQ(A a, ~(N n), B b) WHERE skip_till_next_match(a, b) {{ {text} }}", event=Tick)
        assert "line 1, column" in str(caught.value)
    with pytest.raises(AfaError, match=message):
        one("a", "A").absent("n", "N", function).followed_by(one("b", "B")).query(Tick)


def test_one_value_from_one_side_can_be_noted() -> None:
    with pytest.raises(AfaError, match="to bound one value from one side but got several"):
        afa.query("PATTERN SEQ(A a, ~(N n), B b) WHERE skip_till_next_match(a, b) { n.x > b.x and n.y < b.y }", event=Tick)
    two = "PATTERN SEQ(A a, ~(N n), ~(N k), B b) WHERE skip_till_next_match(a, b) { n.x > b.x and k.y < b.y } WITHIN 9"
    assert len(afa.query(two, event=Tick).explain().register) > 2
    gap = Gap("any", (Component("n", None, (Or((Compare(">", FieldRead("e", "y"), Ref("b", "one", "y")), Const(True))),)),))
    with pytest.raises(AfaError, match=r"conditions of the absent n on b, which comes after it, by order .* but got one by or"):
        Query(Tree(Seq((Component("a"), Component("b")), (gap,)), Tick))
    mixed = Compare(">", FieldRead("e", "type"), Ref("b", "one", "type"))
    assert Query(Tree(Seq((Component("a"), Component("b")), (Gap("any", (Component("n", None, (mixed,)),)),)), Tick)).automaton


def test_a_negation_in_a_group_or_at_the_start_names_none_that_comes_later() -> None:
    with pytest.raises(AfaError, match="got b, which comes after it; both repeat together, so that there are several b"):
        afa.query("PATTERN SEQ((A a, ~(N n), B b)+, C c) WHERE skip_till_next_match(a, b, c) { n.x > b[1].x }", event=Tick)
    with pytest.raises(AfaError, match="got a, which comes after it; what a will be is not known when an event of n comes"):
        afa.query("PATTERN SEQ(~(N n), A a, B b) WHERE skip_till_next_match(a, b) { n.x > a.x } WITHIN 9", event=Tick)
    with pytest.raises(AfaError, match="one on k, which is absent, too; name a component that takes an event"):
        afa.query("PATTERN SEQ(A a, ~(N n), ~(N k), B b) WHERE skip_till_next_match(a, b) { n.x > k.x }", event=Tick)
    inner = one("a", "A").absent("n", "N", lambda e, m: e.x > m.b.x).followed_by(one("b", "B"))
    with pytest.raises(AfaError, match="is not known yet; ask it of component"):
        many(inner).followed_by(one("c", "C")).query(Tick)
    query = many(one("a", "A").absent("n", "N", lambda e, m: e.x > m.c.x).followed_by(one("b", "B"))).followed_by(one("c", "C"))
    text = "PATTERN SEQ((A a, ~(N n), B b)+, C c) WHERE skip_till_next_match(a, b, c) { n.x > c.x }"
    assert query.query(Tick).tree == afa.query(text, event=Tick).tree
