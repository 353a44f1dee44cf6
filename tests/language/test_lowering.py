"""Trees lowered: what their automata look like, what lowering refuses; their matches: `test_sase_matches.py`, worlds of queries."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from afa import AfaError, AutomatonError, Keyed, Operator, insert
from afa.expression.nodes import Const
from afa.language.pattern import ANY, NEXT, STRICT, Component, Either, Gap, Repeat, Seq, Tree
from afa.language.query import Query
from afa.language.terms import Aggregate, Ref
from tests.language import by_hand
from tests.language.by_hand import Item, Stock, a, compare, e


def test_strict_contiguity_is_of_the_stream() -> None:
    pattern = Seq((Component("a", "shelf"), Component("c", "exit")), (Gap(STRICT),))
    op = Query(Tree(pattern, Item, "type", window=9, returns=(("place", a("place", "one")),))).operator()
    assert isinstance(op, Operator)
    rows = [("shelf", 1), ("exit", 2), ("shelf", 3), ("x", 4), ("exit", 5)]
    assert [c.le for t, le in rows for c in op.push(insert(Item(t, le, 7), le))] == [2]
    with pytest.raises(AutomatonError, match="expected no strict contiguity in a query by tag, whose keys are"):
        Query(Tree(pattern, Item, "type", key=("tag",)))


# -- what automata look like -----------------------------------------------------------------------------------------------------


def arcs(tree: Tree) -> list[str]:
    automaton = Query(tree).automaton
    return [f"{arc.src}>{arc.dst} {arc.fence} / {arc.transfer and str(arc.transfer)}" for arc in automaton.arcs]


def test_the_template_is_what_one_writes_by_hand() -> None:
    assert arcs(by_hand.rising(NEXT, "p2")) == [
        "start>a+ 'e.price % 2 == 0' / '(e.price, 1, e.price)'",
        "a+>a+ 'e.price > r.a_last_price' / 'r._replace(n=r.n + 1, a_last_price=e.price)'",
        "a+>F 'e.volume < 3' / 'r._replace(a_last_price=0)'",
        "a+>a+ 'not e.price > r.a_last_price' / None",
    ]


def test_equal_gaps_make_one_state_and_a_negation_behind_a_repetition_two() -> None:
    assert Query(by_hand.theft(NEXT)).automaton.states == ("start", "a", "F")
    assert Query(by_hand.thefts(NEXT)).automaton.states == ("start", "a+", "a+~n", "F")


def test_what_a_match_shows_is_not_what_it_holds() -> None:
    query = Query(by_hand.mappers(NEXT))
    assert query.automaton.match_schema.describe() == "Match(mean: float, top: float)"
    assert query.automaton.register_schema.describe() == "Register(mean: float, top: float, b_count: int, b_sum_val: float)"


def test_a_field_that_nobody_reads_any_more_is_reset() -> None:
    b = Component("b", where=(compare(e("price"), ">", a("price", "one")),))
    pattern = Seq((Component("a"), b, Component("c")), (Gap(ANY),) * 2)
    assert arcs(Tree(pattern, Stock, window=9, returns=(("p", a("price", "one", "c")),))) == [
        "start>a 'True' / 'r._replace(a_price=e.price)'",
        "a>b 'e.price > r.a_price' / 'r._replace(a_price=0)'",
        "b>F 'True' / 'r._replace(p=e.price)'",
        "a>a 'True' / None",
        "b>b 'True' / None",
    ]


def test_optional_components_are_none() -> None:
    pattern = Seq((Component("a", "shelf"), Repeat(Component("b", "register"), 0, 1), Component("c", "exit")), (Gap(), Gap()))
    query = Query(Tree(pattern, Item, "type", window=9, returns=(("b", a("place", "one", "b")), ("n", Aggregate("b", "count")))))
    assert query.automaton.match_schema.describe() == "Match(b: int | None, n: int)"


def test_default_return() -> None:
    query = Query(Tree(by_hand.theft(NEXT).pattern, Item, "type", window=9))
    assert query.automaton.match_schema.cls._fields == (
        "a_type", "a_tag", "a_place", "a_to", "c_type", "c_tag", "c_place", "c_to",
    )  # fmt: skip


# -- Query -----------------------------------------------------------------------------------------------------------------------


def test_query_says_what_an_operator_needs() -> None:
    query = Query(by_hand.theft(NEXT))
    assert (query.key, query.window, query.components) == ("tag", 20, ("a", "c"))
    assert isinstance(query.operator(), Keyed)
    assert repr(query) == "Query(a c by tag within 20)"
    again = pickle.loads(pickle.dumps(query))
    assert (again, hash(again)) == (query, hash(query))
    assert again.automaton.shown is query.automaton.shown
    with pytest.raises(AttributeError, match="a Query is frozen: tree can't be set"):
        query.tree = None  # type: ignore[assignment, misc]
    with pytest.raises(AfaError, match=r"window=3 can't be combined with a query because the query says it \(WITHIN\)"):
        query.operator(window=3)
    with pytest.raises(AfaError, match="expected a pattern tree but got 'a b'"):
        Query("a b")  # type: ignore[arg-type]


def test_operators_of_queries_travel() -> None:
    op = Query(by_hand.mappers(NEXT)).operator()
    op.push(insert(by_hand.Task("start", 1, 0.0), 1))
    op.push(insert(by_hand.Task("map", 1, 4.0), 2))
    op = pickle.loads(pickle.dumps(op))
    (change,) = op.push(insert(by_hand.Task("end", 1, 0.0), 3))
    assert repr(change.payload) == "Match(mean=4.0, top=4.0)"
    assert pickle.loads(pickle.dumps(change)) == change


def test_tables_have_the_columns_of_return() -> None:
    op = Query(by_hand.mappers(NEXT)).operator()
    out = op.push_many({"type": ["start", "map", "end"], "job": [1, 1, 1], "val": [0.0, 4.0, 0.0], "le": [1, 2, 3]})
    assert {name: list(column) for name, column in out.items()} == {
        "job": [1], "mean": [4.0], "top": [4.0], "le": [3], "re": [21], "diff": [1],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"returns": (("x", Ref("z", "one", "tag")),)}, "expected one of the components a, c but got 'z'"),
        ({"returns": (("x", Ref("a", "one", "tog")),)}, "expected a field of Item but got 'tog'; its fields: type, tag, place, to"),
        ({"returns": (("x", Aggregate("a", "sum", "type")),)}, "expected a number to sum but got type, a str of Item"),
        ({"returns": (("x", Aggregate("a", "avg")),)}, r"expected avg\(..\) of a field but got avg\(a\)"),
        ({"returns": (("class", Const(1)),)}, "expected a name for what RETURN shows .* but got 'class'"),
        ({"returns": (("x", Const(1)), ("x", Const(2)))}, "expected each name once in RETURN but got 'x' 2 times; say AS another"),
        ({"pattern": Repeat(Component("a"), 1, 1000)}, "expected a pattern of at most 300 positions but got more"),
        (
            {"pattern": Repeat(Either(tuple(Component(f"v{i}") for i in range(101))), 1, None)},
            "expected a pattern in which at most 10,000 pairs of positions follow one another but got 10,201",
        ),
        ({"pattern": Repeat(Component("a"), 3, 2)}, r"expected 0 <= low <= high and high > 0 but got \{3,2\}"),
        ({"pattern": "a b"}, "expected a pattern but got 'a b'"),
    ],
)
def test_refused(change: dict[str, Any], message: str) -> None:
    tree = by_hand.theft(NEXT)
    known = {name: getattr(tree, name) for name in ("pattern", "event", "type_column", "key", "window", "returns")}
    with pytest.raises(AutomatonError, match=message):
        Query(Tree(**{**known, **change}))
