"""Negation at the start: nothing of a kind before the first event, within the window that ends with the match."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import pytest

import afa
from afa import BEGINNING, FOREVER, AfaError, Change, Keyed, Punctuation, insert, retract
from afa.expression.nodes import Compare, FieldRead
from afa.language import absent, one
from afa.language.pattern import Component, Tree
from afa.language.query import Query
from afa.language.sase_printer import sase_text
from afa.language.terms import Ref
from speculation import LookBack


class Event(NamedTuple):
    type: str
    tag: int
    x: int | None = None


class Dated(NamedTuple):
    type: str
    tag: int
    last_n: int
    at: afa.Instant | None = None


TEXT = """PATTERN SEQ(~(Register n), Shelf a, Exit b) WHERE skip_till_next_match(a, b) { [tag] and n.x > 0 }
WITHIN 10 RETURN a.x AS x"""
QUERY = afa.query(TEXT, event=Event)


def held(out: list[Any], before: set[Any] = frozenset()) -> set[Any]:  # type: ignore[assignment]
    found = set(before)
    for change in out:
        if isinstance(change, Change):
            found ^= {(tuple(change.payload), change.le, change.re, change.key)}
    return found


def event(type_: str, le: int, x: int | None = 1, tag: int = 0) -> Change:
    return insert(Event(type_, tag, x), le)


def test_what_is_absent_looks_back_from_the_end_of_the_match(engine: str) -> None:
    op = QUERY.operator(engine=engine)
    assert isinstance(op, LookBack)
    now = held(op.push_many([event("Shelf", 20), event("Exit", 25)]))
    assert now == {((1,), 25, 30, 0)}
    for le, x, tag, blocks in ((15, 1, 0, False), (16, 0, 0, False), (16, None, 0, False), (16, 1, 1, False), (16, 1, 0, True)):
        out = op.push(event("Register", le, x, tag))
        assert bool(out) is blocks, (le, x, tag)
    assert held(op.push(retract(Event("Register", 0, 1), 16))) == now
    assert held(op.push(event("Register", 20))) == set(), "one of the same instant is not before"
    assert held(op.push_many([retract(Event("Exit", 0, 1), 25), event("Exit", 29)]), now) == {((1,), 29, 30, 0)}
    assert op.push(event("Register", 19, 1)) == [], "19 is the end's 29 - 10"
    out = op.push_many([retract(Event("Exit", 0, 1), 29), event("Exit", 28)])
    assert out == [Change(op.automaton.match_schema.cls(1), 29, 30, -1, 0)]


def test_tables_snapshots_copies_and_promises(engine: str) -> None:
    op = QUERY.operator(engine=engine)
    columns = {"type": ["Exit", "Shelf", "Register"], "tag": [3, 3, 3], "x": [1, 2, 3], "le": [25, 20, 5]}
    out = op.push_many(columns)
    assert (out["tag"].tolist(), out["x"].tolist(), out["le"].tolist(), out["diff"].tolist()) == ([3], [2], [25], [1])
    import pyarrow as pa

    late = pa.table({"type": ["Register"], "tag": [3], "x": [1], "le": [18]})
    for again in (QUERY.restore(op.snapshot(), engine=engine), pickle.loads(pickle.dumps(QUERY)).restore(op.snapshot())):  # type: ignore[arg-type]
        assert again.snapshot() == op.snapshot()
        assert again.push_many(late).column("diff").to_pylist() == [-1]
    assert op.push(Punctuation(40)) == [Punctuation(40)]
    assert op.stage.statistics.held == 0
    assert op.push_many([event("Shelf", 40), event("Exit", 41)])[0].diff == 1
    op._check()


def test_without_a_window_all_that_came_before_counts(engine: str) -> None:
    query = afa.query("PATTERN SEQ(~(N n), A a, B b) WHERE skip_till_any_match(a, b) { }", event=Event)
    op = query.operator(engine=engine)
    now = held(op.push_many([event("A", FOREVER - 2), event("B", FOREVER - 1)]))
    assert len(now) == 1
    assert held(op.push(event("N", BEGINNING)), now) == set()
    assert query.shown.describe() == "Match(a_type: str, a_tag: int, a_x: int | None, b_type: str, b_tag: int, b_x: int | None)"


def test_at_the_ends_of_time_nothing_overflows(engine: str) -> None:
    op = QUERY.operator(engine=engine)
    early = [event("Register", BEGINNING), event("Shelf", BEGINNING + 2), event("Exit", BEGINNING + 3)]
    late = [event("Shelf", FOREVER - 15), event("Exit", FOREVER - 14)]
    assert {le for _, le, _, _ in held(op.push_many([*early, *late]))} == {FOREVER - 14}
    assert held(op.push(retract(Event("Register", 0, 1), BEGINNING)))


def test_one_event_and_names_that_the_events_have(engine: str) -> None:
    query = afa.query("PATTERN SEQ(~(N n), A a, ~(N m)) WHERE skip_till_next_match(a) { [tag] } WITHIN 5", event=Dated)
    op = query.operator(engine=engine)
    now = held(op.push_many([insert(Dated(kind, 0, 7), le) for kind, le in (("A", 3), ("N", 8), ("A", 12), ("A", 14), ("A", 30))]))
    assert {match[1:3] for match in held(op.push(Punctuation(50)), now)} == {(8, 9), (19, 20), (35, 36)}
    assert held(op.push(insert(Dated("A", 1, 7), 60))) == set()


def test_behind_it_matches_are_chosen(engine: str) -> None:
    a = Component("a", "A")
    tree = Tree(
        a, Event, "type", window=10, before=(Component("n", "N"),), skip="past last row", ties=False,
        returns=(("x", Ref("a", "one", "x")),),
    )  # fmt: skip
    op = Query(tree).operator(engine=engine)
    assert held(op.push_many([event("A", 20), event("A", 40)])) == {((1,), 20, 30, None), ((1,), 40, 50, None)}
    op = Query(tree).restore(op.snapshot(), engine=engine)  # type: ignore[arg-type]
    assert [change.diff for change in op.push(event("N", 15))] == [-1]


def test_in_the_three_notations_and_explained() -> None:
    built = absent("n", "Register", lambda e: e.x > 0).followed_by(one("a", "Shelf")).followed_by(one("b", "Exit"))
    query = built.by("tag").within(10).returns(x=lambda m: m.a.x).query(Event)
    assert query.tree == QUERY.tree
    assert afa.query(sase_text(QUERY.tree), event=Event).tree == QUERY.tree
    said = str(QUERY.explain())
    assert (
        "in front of the operator: the stage LastBefore says in last_n when last: e.type == 'Register' and e.x is not None and"
        in said
    )
    assert QUERY.automaton.event_schema is not None
    assert QUERY.automaton.event_schema.cls._fields == ("type", "tag", "x", "at", "last_n")  # type: ignore[attr-defined]
    assert "Instant" not in QUERY.automaton.match_schema.describe()


def test_an_arc_swapped_behind_it(engine: str) -> None:
    other = afa.query(TEXT.replace("n.x > 0 }", "n.x > 0 and b.x > 5 }"), event=Event)
    op = QUERY.operator(engine=engine)
    op.push_many([event("Shelf", 20), *QUERY.changes_to(other).arcs])
    assert op.push(event("Exit", 25)) == []
    assert len(op.push(event("Exit", 26, 9))) == 1
    assert len(op.push(event("Register", 19))) == 1
    with pytest.raises(AfaError, match="expected a query with the same negation at the start for a running operator"):
        QUERY.changes_to(afa.query(TEXT.replace("n.x > 0", "n.x > 1"), event=Event))


def test_what_is_refused() -> None:
    shared = Component("n", "N", where=(Compare("==", FieldRead("e", "x"), Ref("a", "one", "x")),))
    with pytest.raises(AfaError, match="expected ~n at the start to read fields of its own event only but got one of a: nothing"):
        Query(Tree(Component("a"), Event, "type", before=(shared,)))
    unknown = Component("n", "N", where=(Compare("==", FieldRead("e", "y"), FieldRead("e", "x")),))
    with pytest.raises(AfaError, match="expected a field of Event but got 'y'"):
        Query(Tree(Component("a"), Event, "type", before=(unknown,)))
    with pytest.raises(AfaError, match=r"that may be revised.* but got retractions=False"):
        QUERY.operator(retractions=False)
    with pytest.raises(AfaError, match="expected a snapshot of LastBefore before an operator"):
        QUERY.restore(Query(Tree(Component("a"), Event, window=3)).operator().snapshot())  # type: ignore[arg-type]
    assert isinstance(afa.query(TEXT.replace("~(Register n), ", "").replace(" and n.x > 0", ""), event=Event).operator(), Keyed)
