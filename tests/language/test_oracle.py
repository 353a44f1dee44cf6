"""The oracle of queries gives what the papers' examples show, and what the page "Queries" says where they are silent."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from afa.expression.nodes import And, Binary, Compare, Const, FieldRead, IsNone, Not, Or
from afa.language.pattern import ANY, NEXT, PARTITION, STRICT, Component, Either, Gap, Pattern, Repeat, Seq, Tree
from afa.language.terms import Aggregate, Classifier, Ref
from tests.language.oracle import Event, choices, matches


class Stock(NamedTuple):
    n: int
    price: int
    volume: int


class Row(NamedTuple):
    type: str | None
    n: int = 0
    x: int | None = None
    key: int = 0


def e(name: str) -> FieldRead:
    return FieldRead("e", name)


def words(tree: Tree, rows: list[Event], punctuation: int = -(2**62)) -> list[str]:
    """Each match as the numbers of its events, `|` where the component changes."""
    out = []
    for found in choices(tree, rows, punctuation):
        parts, before = [], None
        for name, event in found.picks:
            parts += (["|"] if before not in (None, name) else []) + [str(event.payload.n)]
            before = name
        out.append(" ".join(parts))
    return sorted(out)


def gap(strategy: str, *absent: str) -> Gap:
    return Gap(strategy, tuple(Component(name, name) for name in absent))


def tree(pattern: Pattern, **options: Any) -> Tree:
    return Tree(pattern, Row, "type", **{"window": 100, **options})


def stream(text: str) -> list[Event]:
    """One event an instant; several in one word share it. A letter is the type, the number of the event its place."""
    rows, n = [], 0
    for le, word in enumerate(text.split(), 1):
        for letter in word:
            n += 1
            rows.append(Event(Row(letter, n), le))
    return rows


def plus(name: str, strategy: str, high: int | None = None, low: int = 1) -> Repeat:
    return Repeat(Component(name, name), low, high, Gap(strategy))


def abc(strategy: str, *absent: str) -> Tree:
    """SEQ(a, b+, c)."""
    items = (Component("a", "a"), plus("b", strategy), Component("c", "c"))
    return tree(Seq(items, (gap(strategy), gap(strategy, *absent))))


# -- the papers ------------------------------------------------------------------------------------------------------------------

PRICES, VOLUMES = (100, 120, 120, 121, 120, 125, 120, 120), (1010, 990, 1005, 999, 999, 750, 950, 700)
STOCKS = [Event(Stock(n, *row), n) for n, row in enumerate(zip(PRICES, VOLUMES), 1)]


def query_3(strategy: str) -> Tree:
    """Query 3 of Agrawal, Diao, Gyllstrom, Immerman, SIGMOD 2008."""
    a = Component(
        "a",
        first=(Compare(">", e("volume"), Const(1000)),),
        rest=(Compare(">", e("price"), Aggregate("a", "avg", "price")),),
    )
    b = Component("b", where=(Compare("<", e("volume"), Binary("*", Const(0.8), Ref("a", "last", "volume"))),))
    returns = (("first", Ref("a", "first", "n")), ("n", Aggregate("a", "count")), ("b", Ref("b", "one", "n")))
    return Tree(Seq((Repeat(a, gap=Gap(strategy)), b), (Gap(strategy),)), Stock, window=3600, returns=returns)


R1, R2, R3 = "1 2 3 4 5 | 6", "3 4 | 6", "1 2 3 4 5 6 7 | 8"


def test_figure_3_of_2008_has_three_matches() -> None:
    """The automaton of its Fig. 2(a) goes on from a[i] to b at any time, and waits for the first b there: that gives eight."""
    assert words(query_3(NEXT), STOCKS) == sorted([R1, R2, R3])
    assert words(query_3(STRICT), STOCKS) == sorted([R1, R3])
    assert len(words(query_3(ANY), STOCKS)) == 68
    assert matches(query_3(NEXT), STOCKS) == {((1, 5, 6), 6, 3601), ((3, 2, 6), 6, 3603), ((1, 7, 8), 8, 3601)}


@pytest.mark.parametrize(("strategy", "count"), [(STRICT, 1), (NEXT, 2), (ANY, 6)])
def test_figure_3b_of_2014(strategy: str, count: int) -> None:
    assert len(words(abc(strategy), stream("a a b b c"))) == count


def test_figure_4e_of_2014_has_seven_matches() -> None:
    assert len(words(abc(ANY), stream("a b b b c"))) == 7


def test_non_decreasing_values_of_2014() -> None:
    """Section 2.1 there names two chains under skip till any; there are five from .1 to .25."""
    rows = [Event(Row("b", n, x), n) for n, x in enumerate((10, 20, 15, 19, 25), 1)]
    b = Component("b", rest=(Compare(">=", e("x"), Ref("b", "last", "x")),))
    long = [word for word in words(tree(Repeat(b, gap=Gap(ANY))), rows) if word.startswith("1") and word.endswith("5")]
    assert long == ["1 2 5", "1 3 4 5", "1 3 5", "1 4 5", "1 5"]
    assert words(tree(Repeat(b, gap=Gap(NEXT))), rows)[:3] == ["1", "1 2", "1 2 5"]


# -- strategies ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "expected"), [("a b x b c", []), ("a b b c", ["1 | 2 3 | 4"]), ("a bx c", ["1 | 2 | 4"])])
def test_strict(text: str, expected: list[str]) -> None:
    assert words(abc(STRICT), stream(text)) == expected


def test_partition_sees_its_key_only() -> None:
    rows = [Event(Row("a", 1, key=1), 1), Event(Row("x", 2, key=2), 2), Event(Row("b", 3, key=1), 3)]
    pair = Seq((Component("a", "a"), Component("b", "b")), (gap(PARTITION),))
    assert words(tree(pair, key=("key",)), rows) == ["1 | 3"]
    assert words(tree(Seq(pair.items, (gap(STRICT),))), rows) == []
    assert matches(tree(pair, key=("key",), returns=(("n", Ref("b", "one", "n")),)), rows) == {((1, (3,)), 3, 101)}
    assert {key for (key, _), _, _ in matches(tree(pair, key=("key", "x")), rows)} == {(1, None)}


def test_next_skips_what_one_more_iteration_could_not_take() -> None:
    assert words(abc(NEXT), stream("a b c b c")) == ["1 | 2 4 | 5", "1 | 2 | 3"]  # c is skipped for one more b


def test_next_waits_for_all_that_may_come_next() -> None:
    optional = Seq((Component("a", "a"), plus("b", NEXT, 1, 0), Component("c", "c")), (gap(NEXT), gap(NEXT)))
    assert words(tree(optional), stream("a x c")) == ["1 | 3"]
    assert words(tree(optional), stream("a b c")) == ["1 | 2 | 3"]  # b can't be skipped


def test_a_repeat_that_is_full_waits_for_the_next_component() -> None:
    pattern = Seq((plus("a", NEXT, 2, 2), Component("b", "b")), (gap(NEXT),))
    assert words(tree(pattern), stream("a a a b")) == ["1 2 | 4", "2 3 | 4"]


def test_the_last_gap_that_is_crossed_says_what_may_be_skipped() -> None:
    items = (Component("a", "a"), plus("b", NEXT, 1, 0), Component("c", "c"))
    assert words(tree(Seq(items, (gap(ANY), gap(STRICT)))), stream("a x c")) == []
    assert words(tree(Seq(items, (gap(STRICT), gap(ANY)))), stream("a x c")) == ["1 | 3"]


@pytest.mark.parametrize(("first", "second"), [("n", "m"), ("m", "n")])
def test_what_is_absent_on_either_side_of_an_empty_component(first: str, second: str) -> None:
    items = (Component("a", "a"), plus("b", NEXT, 1, 0), Component("c", "c"))
    query = tree(Seq(items, (gap(ANY, first), gap(ANY, second))))
    assert words(query, stream("a n c")) == words(query, stream("a m c")) == []
    assert words(query, stream("a x c")) == ["1 | 3"]


def test_ties_are_before_nobody() -> None:
    pair = Seq((Component("a", "a"), Component("b", "b")), (gap(NEXT, "n"),))
    assert words(tree(pair), stream("ab")) == []
    assert words(tree(pair), stream("a bn")) == ["1 | 2"]
    assert words(tree(pair), stream("a nx b")) == []  # one of the instant forbids
    assert words(tree(pair, order="n"), stream("ab")) == ["1 | 2"]
    assert words(tree(pair, order="n"), stream("a nb")) == []
    assert words(tree(pair, order="n"), stream("a bn")) == ["1 | 2"]


# -- negation --------------------------------------------------------------------------------------------------------------------


def test_negation_after_plus_forbids_behind_the_last_one_only() -> None:
    assert words(abc(NEXT, "n"), stream("a b n b c")) == ["1 | 2 4 | 5"]
    assert words(abc(NEXT, "n"), stream("a b b n c")) == []


def test_negation_at_the_start() -> None:
    query = tree(Component("b", "b"), before=(Component("n", "n"),), window=3)
    assert words(query, stream("n x b")) == []
    assert words(query, stream("n x x b")) == ["4"]
    assert words(query, stream("nb")) == ["2"]


def test_negation_at_the_end() -> None:
    query = tree(Component("a", "a"), after=(Component("n", "n"),), window=3)
    assert [match[1:] for match in matches(query, stream("a x x x"))] == [(4, 5)]
    assert matches(query, stream("a x x")) == set()
    assert len(matches(query, stream("a x x"), punctuation=4)) == 1
    assert matches(query, stream("a x n x")) == set()
    assert len(matches(query, stream("a x x n"))) == 1  # at the end of the window: after it
    assert len(matches(query, stream("an x x x"))) == 1


# -- predicates ------------------------------------------------------------------------------------------------------------------

BIG = Compare(">", e("x"), Const(1))


@pytest.mark.parametrize(
    ("predicate", "x", "expected"),
    [(BIG, None, 0), (Not(BIG), None, 0), (Not(BIG), 1, 1), (Or((BIG, IsNone(e("x")))), None, 1), (And((BIG, BIG)), 2, 1)],
)
def test_a_comparison_with_none_holds_of_nothing(predicate: Any, x: int | None, expected: int) -> None:
    assert len(words(tree(Component("a", where=(predicate,))), [Event(Row("a", 1, x), 1)])) == expected


def test_done_is_asked_where_the_match_goes_on() -> None:
    two = Compare(">=", Aggregate("a", "count"), Const(2))
    a = Repeat(Component("a", "a", done=(two,)), gap=Gap(NEXT))
    assert words(tree(Seq((a, Component("b", "b")), (gap(NEXT),))), stream("a a b")) == ["1 2 | 3"]
    assert words(tree(a), stream("a a a")) == ["1 2", "1 2 3", "2 3"]


def test_groups_and_alternatives() -> None:
    group = Repeat(Seq((Component("a", "a"), Component("b", "b")), (gap(NEXT),)), 2, 2, Gap(NEXT))
    assert words(tree(group), stream("a b a b")) == ["1 | 2 | 3 | 4"]
    either = Seq((Either((Component("a", "a"), Component("b", "b"))), Component("c", "c")), (gap(NEXT),))
    assert words(tree(either), stream("a b c")) == ["1 | 3", "2 | 3"]


def test_without_return_the_single_components_are_shown() -> None:
    query = tree(Seq((Component("a", "a"), plus("b", NEXT)), (gap(NEXT),)))
    assert matches(query, stream("a b")) == {(("a", 1, None, 0), 2, 101)}


def test_a_match_ends_before_its_window() -> None:
    pair = Seq((Component("a", "a"), Component("b", "b")), (gap(NEXT),))
    assert words(tree(pair, window=3), stream("a x x b")) == []
    assert words(tree(pair, window=4), stream("a x x b")) == ["1 | 4"]
    assert len(words(tree(pair, window=None), stream("a x x b"))) == 1


def test_names_of_several_places_and_of_several_components() -> None:
    a, b = Component("a", "a"), Component("b", "b")
    again = Seq((a, b, a), (gap(NEXT), gap(NEXT)))
    assert words(tree(again), stream("a b a")) == ["1 | 2 | 3"]
    returns = (
        ("name", Classifier()),
        ("last", Ref("a", "last", "n")),
        ("all", Aggregate("", "count")),
        ("both", Aggregate("u", "sum", "n")),
        ("first", Ref("u", "first", "n")),
    )
    found = matches(
        tree(Seq((*again.items, b), (*again.gaps, gap(NEXT))), returns=returns, subsets=(("u", ("b",)),)), stream("a b a b")
    )
    assert found == {(("b", 3, 4, 6, 2), 4, 101)}


# -- choosing --------------------------------------------------------------------------------------------------------------------


def chosen_words(pattern: Pattern, text: str, skip: str) -> list[str]:
    query = tree(pattern, skip=skip, returns=(("from", Ref("", "first", "n")), ("to", Ref("", "last", "n"))))
    return [f"{first}-{last}" for (first, last), _, _ in sorted(matches(query, stream(text)))]


A, B = Component("a", "a"), Component("b", "b")


@pytest.mark.parametrize(
    ("pattern", "text", "skip", "expected"),
    [
        (plus("a", STRICT), "a a a", "past last row", ["1-3"]),
        (plus("a", STRICT), "a a a", "to next row", ["1-3", "2-3", "3-3"]),
        (plus("a", STRICT), "a a x a", "past last row", ["1-2", "4-4"]),
        (Repeat(A, gap=Gap(STRICT), greedy=False), "a a a", "past last row", ["1-1", "2-2", "3-3"]),
        (plus("a", STRICT, 2, 2), "a a a a", "past last row", ["1-2", "3-4"]),
        (Seq((plus("a", STRICT), B), (Gap(STRICT),)), "a a b", "to first b", ["1-3"]),
        (Seq((plus("a", STRICT), plus("b", STRICT)), (Gap(STRICT),)), "a a b b a b", "to last a", ["1-4", "2-4", "5-6"]),
        (Seq((A, Repeat(A, 0, 1), B), (Gap(STRICT), Gap(STRICT))), "a a b", "past last row", ["1-3"]),
        (Either((A, Seq((A, B), (Gap(STRICT),)))), "a b", "past last row", ["1-1"]),
        (Either((Seq((A, B), (Gap(STRICT),)), A)), "a b", "past last row", ["1-2"]),
        (Repeat(Either((Repeat(A, 0, 1, greedy=False), B)), 1, None, Gap(STRICT)), "a b", "past last row", []),
    ],
)
def test_after_match_skip(pattern: Pattern, text: str, skip: str, expected: list[str]) -> None:
    assert chosen_words(pattern, text, skip) == expected
