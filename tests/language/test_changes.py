"""From one query to another in a running operator: what goes on, what ends; and what `explain` tells."""

from __future__ import annotations

import pickle
import random
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Keyed, Operator, insert, retract
from afa.expression.nodes import And, Compare, Const, Expr, FieldRead, Or
from afa.language.pattern import ANY, NEXT, PARTITION, Component, Gap, Repeat, Seq, Tree
from afa.language.query import Query
from afa.language.terms import Aggregate, Ref
from tests.language import by_hand
from tests.language.oracle import Event, matches


class Tick(NamedTuple):
    type: str
    x: int
    at: afa.Instant | None = None


X = FieldRead("e", "x")


def above(n: int) -> Expr:
    return Compare(">=", X, Const(n))


def rising(condition: Expr, strategy: str = NEXT, **options: Any) -> Tree:
    """a+ that does not fall, of which each satisfies a condition; then b."""
    rest = (Compare(">=", X, Ref("a", "last", "x")),)
    a = Repeat(Component("a", "a", where=(condition,), rest=rest), 1, None, Gap(strategy))
    returns = (("first", Ref("a", "first", "x")), ("n", Aggregate("a", "count")))
    return Tree(Seq((a, Component("b", "b")), (Gap(strategy),)), Tick, "type", window=12, returns=returns, **options)


def before(t: int) -> Expr:
    return Compare("<", FieldRead("e", "at"), Const(t))


@pytest.mark.parametrize("strategy", [PARTITION, NEXT, ANY])
def test_a_threshold_changes_from_the_present_on(strategy: str, engine: str) -> None:
    """The operator, swapped, is one query whose threshold depends on the time of the event; late events see what was in force."""
    found = 0
    for seed in range(6):
        rng = random.Random(seed)
        events = [Event(Tick(rng.choice("aaab"), rng.randint(0, 4), le), le) for le in rng.sample(range(30), 16)]
        one, other = Query(rising(above(1), strategy)), Query(rising(above(3), strategy))
        op = one.operator(engine=engine)
        arrivals: list[Any] = [insert(event.payload, event.le) for event in events]
        half = arrivals[: len(arrivals) // 2]
        present = 1 + max(change.le for change in half)
        told = one.changes_to(other)
        assert (told.stays, told.goes, told.comes) == (("a+",), (), ())
        held = by_hand.net(op, half)
        held.update(by_hand.net(_Swapped(op, told.arcs), arrivals[len(half) :]))
        merged = Or((And((before(present), above(1))), And((Compare(">=", FieldRead("e", "at"), Const(present)), above(3)))))
        want = matches(rising(merged, strategy), events)
        assert {match for match, n in held.items() if n} == want, seed
        op._check()
        found += len(want)
    assert found


class _Swapped(Operator):
    """An operator whose arcs change before its first event."""

    def __init__(self, op: Any, arcs: Any) -> None:
        self._op = op
        for change in arcs:
            assert op.push_arc(change) == []

    def push(self, change: Any) -> Any:
        return self._op.push(change)


def run(op: Operator | Keyed, text: str, le: int) -> list[tuple[Any, ...]]:
    """Push events, one a tick, a letter the type."""
    out = []
    for i, letter in enumerate(text):
        out += [(*change.payload, change.le) for change in op.push(insert(Tick(letter, 1), le + i))]
    return out


def chain(*names: str, strategy: str = NEXT, returns: Any = ()) -> Tree:
    parts = tuple(Component(name, name) for name in names)
    last = (("n", Const(1)),) if returns == () else returns
    return Tree(Seq(parts, (Gap(strategy),) * (len(parts) - 1)), Tick, "type", window=50, returns=last)


def test_a_component_more(engine: str) -> None:
    one, other = Query(chain("a", "b")), Query(chain("a", "b", "c"))
    told = one.changes_to(other)
    assert (told.stays, told.goes, told.comes) == (("a",), (), ("b",))
    assert str(told).splitlines()[-2:] == ["partial matches go on in: a", "partial matches begin in: b"]
    op = one.operator(engine=engine)
    assert run(op, "a", 1) == []
    op.push_many([*told.arcs])
    assert run(op, "bxc", 2) == [(1, 4)]
    back = other.changes_to(one)
    assert (back.stays, back.goes) == (("a",), ("b",))
    run(op, "ab", 10)
    op.push_many([*back.arcs])
    assert run(op, "c", 12) == []  # what rested in b has ended
    assert run(op, "ab", 13) == [(1, 14)]


def test_a_strategy(engine: str) -> None:
    one, other = Query(chain("a", "b", "c", strategy=ANY)), Query(chain("a", "b", "c", strategy=PARTITION))
    told = one.changes_to(other)
    assert told.stays == ("a", "b")
    assert [(change.diff, change.payload.kind) for change in told.arcs] == [(-1, "skip"), (-1, "skip")]
    op = one.operator(engine=engine)
    run(op, "axb", 1)
    op.push_many([*told.arcs])
    assert run(op, "c", 4) == [(1, 4)]
    assert run(op, "abxc", 10) == []


def test_what_holds_other_values_is_another_state() -> None:
    shows = (("n", Ref("a", "one", "x")),)
    one, other = Query(chain("a", "b", returns=shows)), Query(chain("a", "b", returns=(("n", Ref("b", "one", "x")),)))
    told = one.changes_to(other)
    assert (told.stays, told.goes, told.comes) == ((), ("a",), ("a 2",))
    op = one.operator()
    op.push(insert(Tick("a", 7), 1))
    op.push_many([*told.arcs])
    assert op.push(insert(Tick("b", 8), 2)) == []
    op.push(insert(Tick("a", 7), 3))
    assert [tuple(change.payload) for change in op.push(insert(Tick("b", 8), 4))] == [(8,)]
    assert [tuple(change.payload) for change in op.push(retract(Tick("a", 7), 3))] == [(8,)]


def test_the_next_change_begins_with_the_query_as_it_runs() -> None:
    shows = {name: (("n", Ref(name, "one", "x")),) for name in ("a", "b")}
    one, other = (Query(chain("a", "b", returns=shows[name])) for name in "ab")
    told = one.changes_to(other)
    assert (told.query == other, told.query.automaton.states) == (False, ("start", "a 2", "F"))
    assert pickle.loads(pickle.dumps(told.query)) == told.query
    op = one.operator()
    op.push_many([*told.arcs])
    back = told.query.changes_to(one)
    assert (back.stays, back.goes, back.comes) == ((), ("a 2",), ("a",))
    op.push_many([*back.arcs])
    op.push(insert(Tick("a", 7), 3))
    assert [tuple(change.payload) for change in op.push(insert(Tick("b", 8), 4))] == [(7,)]
    assert one.changes_to(Query(chain("a", "b", returns=shows["a"]))).query == one


def test_equal_queries_change_nothing() -> None:
    assert Query(chain("a", "b")).changes_to(Query(chain("a", "b"))).arcs == ()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (rising(above(1), key=("x",)), r"expected a query with the same key for a running operator, \(\), but got \('x',\)"),
        (chain("a", "b"), "expected a query with the same window for a running operator"),
        (by_hand.stages(NEXT), "expected a query with the same event class"),
        (
            Tree(rising(above(1)).pattern, Tick, "type", window=12),
            "expected a query with the same register .*: make a new",
        ),
    ],
)
def test_what_can_not_change(other: Tree, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        Query(rising(above(1))).changes_to(Query(other))


def test_only_queries() -> None:
    with pytest.raises(AfaError, match="expected a Query but got 'a b'"):
        Query(chain("a", "b")).changes_to("a b")  # type: ignore[arg-type]


# -- explain -----------------------------------------------------------------------------------------------------------------------


def test_explain() -> None:
    assert str(Query(by_hand.thefts(NEXT)).explain()).splitlines()[:4] == [
        "state a+: skips by next: not e.type == 'shelf'; holds n",
        "state a+~n: skips by next: not e.type == 'shelf' and not (e.type == 'register' and e.place == r.place); holds place, n",
        "field place: int, a: last(place), shown",
        "field n: int, a: count(), shown",
    ]


@pytest.mark.parametrize(
    ("tree", "kind", "why"),
    [
        (by_hand.mappers(ANY), "exponential", ("RETURN mean",)),
        (by_hand.imbalance(ANY), "by value", ("e.val >= r.top", "RETURN top")),
        (by_hand.pulls(ANY), "by value", ("RETURN n",)),
        (by_hand.rising(ANY, "p1"), "by value", ("RETURN n",)),
    ],
)
def test_what_a_repetition_costs(tree: Tree, kind: str, why: tuple[str, ...]) -> None:
    (cost,) = Query(tree).explain().costs
    assert (cost.kind, cost.why) == (kind, why)


def test_a_negation_at_the_end_is_told() -> None:
    tree = Tree(Component("a", "a"), Tick, "type", window=9, after=(Component("b", "b"),), returns=(("x", Ref("a", "one", "x")),))
    assert str(Query(tree).explain()).splitlines()[0] == (
        "state wait: waits for the window's end, skips not e.type == 'b'; holds match_at"
    )


def test_flat_and_other_strategies() -> None:
    a = Repeat(Component("a", "a"), 1, None, Gap(ANY))
    flat = Tree(Seq((a, Component("b", "b")), (Gap(ANY),)), Tick, "type", window=9, returns=(("x", Ref("a", "first", "x")),))
    assert str(Query(flat).explain()).splitlines()[-2] == "cost of a under any: flat: nothing of what it takes is read later"
    assert Query(by_hand.mappers(NEXT)).explain().costs == ()


def test_warnings() -> None:
    tied, endless = Query(rising(above(1))).explain().warnings, Query(Tree(Component("a"), Tick, "type")).explain().warnings
    assert "events of one instant are alternatives" in tied[0]
    assert endless == ("without WITHIN a match never expires: what has begun is held for ever",)
    assert Query(rising(above(1), order="x")).explain().warnings == ()


# -- scans (AFTER MATCH SKIP) ------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    kind: str
    x: int | None
    at: afa.Instant | None = None


def scan(define: str, measures: str = "LAST(b.x) AS n", rows: str = "ONE ROW", pattern: str = "a b* c") -> Query:
    return afa.sql(
        f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES {measures} {rows} PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN ({pattern}) WITHIN 50 DEFINE a AS kind = 'a', {define}, c AS kind = 'c')""",
        event=Row,
    )


def told_by(op: Any, text: str, le: int) -> list[tuple[Any, int]]:
    """Push rows side by side, a letter and a digit each; what comes: n, LE."""
    rows = [insert(Row(kind, int(x)), le + i) for i, (kind, x) in enumerate(zip(text[::2], text[1::2]))]
    return [(change.payload.n, change.le) for change in op.push_many(rows)]


@pytest.mark.parametrize("reads", ["x > a.x", "x > PREV(x)", "x >= MAX(b.x)"])
def test_conditions_of_a_scan_may_read_less(reads: str, engine: str) -> None:
    """What has begun goes on; and by the query as it then runs there is a way back."""
    one, other = scan(f"b AS kind = 'b' AND {reads}"), scan("b AS kind = 'b' AND x < 9")
    told = one.changes_to(other)
    assert (told.stays, told.goes, told.comes) == (("a", "b+"), (), ())
    assert told.query.changes_to(other).arcs == other.changes_to(scan("b AS kind = 'b' AND x < 9")).arcs == ()
    assert pickle.loads(pickle.dumps(told.query)) == told.query
    op = one.operator(engine=engine)
    assert told_by(op, "a3b4b9c0", 1) == [(9, 4)]
    assert told_by(op, "a3b4", 5) == []
    op.push_many([*told.arcs])
    op._check()
    assert told_by(op, "b1c0a3b9c0", 7) == [(1, 8)]
    op = one.restore(op.snapshot(), arcs=[change.payload for change in told.arcs], engine=engine)
    assert told_by(op, "a3b4", 12) == []
    back = told.query.changes_to(one)
    op.push_many([*back.arcs])
    op._check()
    assert told_by(op, "b9c0a3b4b9c0", 14)[-1:] == [(9, 19)]


@pytest.mark.parametrize(
    ("define", "other", "options", "message"),
    [
        ("b AS x > 0", "b AS x > a.x", {}, r"holds for them \(nothing\) but got one that reads a: last\(x\) or None: make a"),
        (
            "b AS x > LAST(a.x) AND x > PREV(x)",
            "b AS x > SUM(b.x)",
            {},
            r"holds for them \(any: last\(x\) or None, a: last\(x\) or None\) but got one that reads b: sum\(x\): make",
        ),
        (
            "b AS x > 0",
            "b AS kind = 'b'",
            {"measures": "SUM(b.x) AS n"},
            "or which of their values conditions say are not missing",
        ),
        (
            "b AS x > 0",
            "b AS kind = 'b'",
            {"measures": "SUM(b.x) AS n", "rows": "ALL ROWS"},
            "or which of their values conditions say are not missing",
        ),
    ],
)
def test_conditions_of_a_scan_that_need_more(define: str, other: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        scan(define, **options).changes_to(scan(other, **options))


def test_what_a_scan_shows_does_not_depend_on_what_conditions_read() -> None:
    one, other = (scan(f"b AS x > 0, d AS {each}", "c.x AS n", pattern="a (b? d)+ c") for each in ("x > SUM(b.x)", "x > 3"))
    assert one.changes_to(other).goes == ("d+ strict",)
