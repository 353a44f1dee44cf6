"""The matcher of `row_matcher` beside what ISO/IEC 19075-5 says, worked out by hand, and beside Python's regular expressions."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.language.row_matcher import Alt, Anchor, Cat, Clauses, Hidden, Node, Permute, Rep, Scan, Var
from tests.language.row_values import OPS, TableRow, Value, both, decided, either, known, label, number, over, reach
from tests.strategies import Choices, Seeded
from tests.worlds.kind import TooManyError

A, B, C = Var("A"), Var("B"), Var("C")
STAR, PLUS = Rep(A, 0, None), Rep(A, 1, None)


def v(row: Any, took: str | None) -> Any:
    return row


def is_(of: int) -> Value:
    return known(OPS["="], reach(v), lambda seen: of)


def rows(*values: Any) -> list[TableRow]:
    """Rows one tick apart, which last for long."""
    return [TableRow(value, le, 100) for le, value in enumerate(values)]


def shown(clauses: Clauses, *values: Any) -> list[Any]:
    """What is shown, in the order of the times."""
    found = clauses.answer(rows(*values))
    return [values for _, values, le, _ in sorted(found.elements(), key=lambda each: each[2])]


DEFINE = {"A": is_(1), "B": is_(2), "C": is_(3)}
NUMBER_COUNT = (number, over("count", v))
HAND = {
    # an empty match at each row that is no A, and behind a match
    "star": (STAR, {}, (1, 1, 2, 1), [(1, 2), (2, 0), (3, 1)]),
    "reluctant star": (Rep(A, 0, None, False), {}, (1, 1), [(1, 0), (2, 0)]),
    "nothing": (Cat(()), {}, (1, 2), [(1, 0), (2, 0)]),
    "nothing or A": (Alt((Cat(()), A)), {}, (1, 1), [(1, 0), (2, 0)]),
    "plus": (PLUS, {}, (2, 1, 1, 2, 1), [(1, 2), (2, 1)]),
    "next row": (PLUS, {"skip": "next"}, (1, 1, 2), [(1, 2), (2, 1)]),
    "to last": (Cat((A, Rep(B, 1, None))), {"skip": ("last", "B")}, (1, 2, 2, 1, 2), [(1, 3), (2, 2)]),
    "to first of what is not there": (Cat((A, Rep(B, 0, 1))), {"skip": ("first", "B")}, (1, 1), [(1, 1), (2, 1)]),
    "begins": (Cat((Anchor(False), A)), {}, (1, 1), [(1, 1)]),
    "ends": (Cat((PLUS, Anchor(True))), {"skip": "next"}, (1, 2, 1, 1), [(1, 2), (2, 1)]),
    "ends nowhere": (Cat((A, Anchor(True), B)), {}, (1, 2), []),
    "all in any order": (Permute((A, B, C)), {}, (3, 1, 2, 2, 3), [(1, 3)]),
    "left first": (Alt((A, Cat((A, B)))), {}, (1, 2), [(1, 1)]),
    "window": (Rep(A, 1, None), {"window": 2}, (1, 1, 1), [(1, 2), (2, 1)]),
    "gives rows back": (Cat((Rep(Var("X"), 0, None), B)), {}, (1, 2, 1, 2, 1), [(1, 4)]),
    "twice": (Cat((Rep(A, 2, 2), B)), {}, (1, 1, 1, 2), [(1, 3)]),
    "two or more, reluctant": (Cat((Rep(A, 2, None, False), Rep(A, 0, 1))), {}, (1, 1, 1, 1), [(1, 3)]),
}


@pytest.mark.parametrize("name", HAND)
def test_one_row_a_match(name: str) -> None:
    pattern, options, values, expected = HAND[name]
    assert shown(Clauses(pattern, DEFINE, NUMBER_COUNT, **options), *values) == expected


def test_an_iteration_that_takes_nothing_is_the_last() -> None:
    """In `S (A??)* C?` a row behind S that is A and C is C (SEMANTICS.md)."""
    pattern = Cat((Var("S"), Rep(Rep(A, 0, 1, False), 0, None), Rep(C, 0, 1)))
    assert shown(Clauses(pattern, {"A": is_(1), "C": is_(1)}, (reach(label),)), 0, 1) == [("C",)]


SUM = over("sum", v)


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        ("show", [(1, (1, 1, "A")), (2, (2, 0, None)), (1, (3, 1, "A")), (1, (3, 2, "A"))]),
        ("omit", [(1, (1, 1, "A")), (1, (3, 1, "A")), (1, (3, 2, "A"))]),
        ("unmatched", [(1, (1, 1, "A")), (2, (2, 0, None)), (1, (3, 1, "A")), (1, (3, 2, "A"))]),
    ],
)
def test_all_rows_of_a_pattern_that_may_be_empty(every: str, expected: list[Any]) -> None:
    clauses = Clauses(STAR, DEFINE, (number, over("count", v), reach(label)), rows=every)
    assert shown(clauses, 1, 2, 1, 1) == expected


def test_rows_of_no_match_show_nulls() -> None:
    clauses = Clauses(Cat((A, B)), DEFINE, (number, over("count", v)), rows="unmatched")
    assert shown(clauses, 1, 1, 2, 3) == [(1, (None, None)), (1, (1, 1)), (2, (1, 2)), (3, (None, None))]


def test_hidden_rows_are_read_and_not_shown() -> None:
    clauses = Clauses(Cat((A, Hidden(Rep(B, 1, None)), C)), DEFINE, (over("sum", v), over("sum", v, final=True)), rows="show")
    assert shown(clauses, 1, 2, 2, 3) == [(1, (1, 8)), (3, (8, 8))]


def test_where_values_are_read() -> None:
    """Rows 5 1 1 1 2 9, all of the match 1 1 1 2 but the first and the last."""
    clauses = Clauses(
        Cat((PLUS, B)),
        DEFINE,
        (
            reach(v, "A", first=True, k=1), reach(v, "A", k=2), reach(v, "A", k=3), reach(v, first=True, step=-1), reach(v, step=1),
            reach(v, "A", k=1, step=2), reach(label, "A", first=True), reach(label), reach(label, step=1), over("avg", v),
            over("count distinct", v), over("array", v), over("max by", v, by=v),
            over("sum", v, where=lambda row, took: took == "A"),
        ),
    )  # fmt: skip
    found = [1, 1, None, 5, 9, 2, "A", "B", None, 1.25, 2, (1, 1, 1, 2), 2, 3]
    assert shown(clauses, 5, 1, 1, 1, 2, 9) == [tuple(found)]


def test_running_and_final() -> None:
    clauses = Clauses(PLUS, DEFINE, (reach(v, step=-1), over("count", v), over("count", v, final=True)), rows="show")
    assert shown(clauses, 7, 1, 1) == [(1, (7, 1, 2)), (1, (1, 2, 2))]


def test_subsets_and_partitions() -> None:
    table = [TableRow((key, value), le, 9) for le, (key, value) in enumerate([("k", 1), ("l", 1), ("k", 2), (None, 1), (None, 2)])]
    read = reach(lambda row, took: row[1])
    define: dict[str, Value] = {name: known(OPS["="], read, lambda seen, i=i: i) for i, name in [(1, "A"), (2, "B")]}
    clauses = Clauses(
        Cat((A, B)),
        define,
        (over("sum", lambda row, took: row[1], "S"), number),
        partition=lambda row: row[0],
        subsets={"S": ("A", "B")},
    )
    assert clauses.answer(table) == {("k", (3, 1), 2, 9): 1, (None, (3, 1), 4, 9): 1}


def test_three_values() -> None:
    values = (True, False, None)
    conjunctions = [[True, False, None], [False, False, False], [None, False, None]]
    assert [[decided([x, y], False) for y in values] for x in values] == conjunctions
    disjunctions = [[True, True, True], [True, False, None], [True, None, None]]
    assert [[decided([x, y], True) for y in values] for x in values] == disjunctions
    assert both(lambda: True, lambda: None)() is None
    assert either(lambda: True, lambda: None)() is True
    assert known(OPS["<"], lambda: None, lambda: 1)() is None


def test_as_often_as_matches_show_it() -> None:
    clauses = Clauses(Cat((PLUS, B)), DEFINE, (reach(v, "B"),), skip="next")
    assert clauses.answer(rows(1, 1, 2)) == {((), (2,), 2, 100): 2}


def test_rows_that_do_not_live_together_are_no_match() -> None:
    clauses = Clauses(Cat((A, B)), DEFINE, NUMBER_COUNT)
    assert not clauses.answer([TableRow(1, 0, 3), TableRow(2, 3, 9)])
    assert clauses.answer([TableRow(1, 0, 4), TableRow(2, 3, 9)]) == {((), (1, 2), 3, 4): 1}


def test_it_gives_up() -> None:
    with pytest.raises(TooManyError):
        Clauses(Cat((Rep(STAR, 0, None), B)), DEFINE, NUMBER_COUNT).answer(rows(*[1] * 40), patience=10_000)


# -- beside regular expressions --------------------------------------------------------------------------------------------------


def pattern(choose: Choices, deep: int = 3) -> tuple[str, Node, bool]:
    """A pattern of letters as a regular expression and as nodes, and whether it may be empty."""
    if not deep or choose.chance(35):
        letter = choose.one("ABC")
        return letter, Var(letter), False
    (one, left, nothing), (other, right, none) = pattern(choose, deep - 1), pattern(choose, deep - 1)
    way = choose.one(("cat", "alt", "rep"))
    if way == "cat":
        return one + other, Cat((left, right)), nothing and none
    if way == "alt":
        return f"(?:{one}|{other})", Alt((left, right)), nothing or none
    if nothing:
        return f"{one}(?:{other})", Cat((left, right)), none
    word, low, high = choose.one((("*", 0, None), ("+", 1, None), ("?", 0, 1), ("{1,2}", 1, 2), ("{2,}", 2, None), ("{,2}", 0, 2)))
    greedy = choose.chance(60)
    return f"(?:{one}){word}{'' if greedy else '?'}", Rep(left, low, high, greedy), low == 0


def test_it_matches_as_regular_expressions_do() -> None:
    letters = {name: known(OPS["="], reach(v), lambda seen, name=name: name) for name in "ABC"}
    found = 0
    for i in range(600):
        choose = Seeded(f"regular {i}")
        text, node, _ = pattern(choose)
        word = "".join(choose.one("AABC") for _ in range(14))
        scan = Scan(Clauses(node, letters, ()), rows(*word), iter(range(10**9)), 10**9)
        for start in range(len(word)):
            expected = re.compile(text).match(word, start)
            end, _ = next(scan.ways(node, start, ()), (None, None))
            assert end == (expected and expected.end()), (text, word, start)
            found += end is not None
    assert found > 2000
