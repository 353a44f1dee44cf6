"""Lineages of a few matches, worked out by hand; what is refused, and how; windows and counts that recursion would not survive."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from afa import (
    FOREVER,
    AfaError,
    Arc,
    Automaton,
    Change,
    ChangeError,
    Keyed,
    Operator,
    Punctuation,
    Query,
    insert,
    query,
    retract,
    sql,
)
from afa.lineage import Lineage
from speculation import Cleanse
from tests.automata import Total


class Ev(NamedTuple):
    kind: str
    val: int = 0


ANY = [
    Arc("0", "a", "kind == 'a'"),
    Arc("a", "a", "True", name="wait a"),
    Arc("a", "b", "kind == 'b'"),
    Arc("b", "b", "True", name="wait b"),
    Arc("b", "b", "kind == 'b'", select="b", name="more b"),
    Arc("b", "c", "kind == 'c'"),
]
MANY = Automaton(start="0", final={"c"}, arcs=ANY, event=Ev)
"""Any a, then any one or more b, then c."""


def pushed(op: Any, text: str) -> list[Any]:
    """Push ``a1 b2 ..``: kinds and LEs; what came out."""
    return op.push_many([insert(Ev(word[0]), int(word[1:])) for word in text.split()])


def words(path: Any) -> str:
    return " ".join(f"{component}{change.le}" for component, change in path)


def paths(found: Lineage) -> list[str]:
    return [words(path) for path in found.paths()]


def test_paths_in_their_order(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine)
    (match,) = pushed(op, "a1 b2 b3 c4")
    found = op.lineage(match)
    assert paths(found) == ["a1 b2 b3 c4", "a1 b3 c4", "a1 b2 c4"]
    assert found.count() == 3
    assert {component: [change.le for change in changes] for component, changes in found.events().items()} == {
        "a": [1], "b": [2, 3], "c": [4],
    }  # fmt: skip
    assert next(found.paths())[0] == ("a", Change(Ev("a"), 1, 61, 1, None))


def test_a_lineage_tells_what_was_so_when_it_was_asked_for(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine)
    (match,) = pushed(op, "a1 b3 c5")
    before, running = op.lineage(match), op.lineage(match).paths()
    assert pushed(op, "b2") == []  # the match stays as it is; its paths do not
    assert paths(op.lineage(match)) == ["a1 b2 b3 c5", "a1 b3 c5", "a1 b2 c5"]
    op.push(retract(Ev("b"), 3))
    op.push(retract(Ev("c"), 5))
    assert paths(before) == ["a1 b3 c5"]
    assert [words(path) for path in running] == ["a1 b3 c5"]
    with pytest.raises(ChangeError, match=r"expected a match in force but got NoRegister\(\) from 5 to 61; none is in force"):
        op.lineage(match)


def test_asking_changes_nothing(engine: Any) -> None:
    """Not a key at rest, nor one that has grown; not what a snapshot says."""
    op = Keyed(MANY, key="val", window=60, engine=engine)
    out = op.push_many([insert(Ev(kind, key), le) for key in range(9) for le, kind in enumerate("a" + "bx" * key + "bc", 1)])
    before, held = op.snapshot(), op.statistics
    for match in out:
        found = op.lineage(match)
        assert found.count() == len(list(found.paths())) == 2 ** (match.key + 1) - 1
        with pytest.raises(ChangeError):
            op.lineage(match._replace(le=match.le + 1))
    op._check()
    assert (op.snapshot(), op.statistics) == (before, held)


def test_alternatives_copies_and_lifetimes(engine: Any) -> None:
    """Of a multi-event one is taken; copies are one event; another RE is another event, and here another match."""
    op = Operator(MANY, window=60, engine=engine)
    out = op.push_many([insert(Ev("a"), 1), *[insert(Ev("b", v), 2) for v in (3, 1, 1)], insert(Ev("c"), 4), insert(Ev("c"), 4, 7)])
    short, whole = sorted(out, key=lambda match: match.re)
    told = [[change.payload.val for component, change in path if component == "b"] for path in op.lineage(whole).paths()]
    assert told == [[1], [3]]
    assert [path[-1][1].re for path in op.lineage(short).paths()] == [7, 7]


def test_several_runs_make_one_match(engine: Any) -> None:
    """All lifetimes end at 9: what began at 1 and what began at 2 is the same match, and its paths are those of both."""
    op = Operator(MANY, engine=engine)
    (match,) = op.push_many([insert(Ev(kind), le, 9) for le, kind in enumerate("aabc", 1)])
    assert paths(op.lineage(match)) == ["a2 b3 c4", "a1 b3 c4"]


def test_two_ways_with_the_same_events_are_one_path(engine: Any) -> None:
    twice = [Arc("0", "x", "kind == 'a'", select="a"), Arc("0", "y", "kind == 'a'", select="a"),
             Arc("x", "z", "kind == 'b'", select="b"), Arc("y", "z", "kind == 'b'", select="b")]  # fmt: skip
    op = Operator(Automaton(start="0", final={"z"}, arcs=twice, event=Ev), window=9, engine=engine)
    (match,) = pushed(op, "a1 b2")
    assert paths(op.lineage(match)) == ["a1 b2"]
    assert op.lineage(match).count() == 1


def test_components(engine: Any) -> None:
    """An ignorable arc that selects takes; one that does not passes over, as does ``select=""``; what notes has a transfer."""
    add = "r._replace(total=r.total + e.val)"
    arcs = [
        Arc("0", "s", "kind == 'a'", select="first"),
        Arc("s", "s", "kind == 'm'", add),
        Arc("s", "s", "kind == 'n'", add, select=""),
        Arc("s", "s", "kind == 'i'", select="still"),
        Arc("s", "s", "kind == 'p'", name="passed"),
        Arc("s", "f", "kind == 'b'"),
    ]
    op = Operator(Automaton(start="0", final={"f"}, arcs=arcs, event=Ev, register=Total()), window=60, engine=engine)
    (match,) = op.push_many([insert(Ev(kind, 2), le) for le, kind in enumerate("amnipb", 1)])
    assert match.payload == Total(4)
    assert paths(op.lineage(match)) == ["first1 s2 still4 f6"]


def test_epsilon_arcs_and_time_outs_take_no_event(engine: Any) -> None:
    arcs = [Arc("0", "a", "kind == 'a'"), Arc.epsilon("a", "e"), Arc.timeout("e", "t", "r.total + 5"), Arc("t", "f", "kind == 'b'")]
    op = Operator(Automaton(start="0", final={"t", "f"}, arcs=arcs, event=Ev, register=Total()), window=60, engine=engine)
    first = pushed(op, "a1 b9")
    assert [(match.le, paths(op.lineage(match))) for match in first] == [(5, ["a1"]), (9, ["a1 f9"])]


def test_the_empty_path(engine: Any) -> None:
    """All events were passed over."""
    op = Operator(Automaton(start="0", final={"0"}, arcs=[Arc("0", "0", "kind == 'a'")], event=Ev), window=9, engine=engine)
    (match,) = pushed(op, "a1")
    found = op.lineage(match)
    assert (list(found.paths()), found.count(), found.events(), found.table().num_rows) == ([()], 1, {}, 0)


def test_arcs_that_came_later(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine)
    pushed(op, "a1 x2 c4")
    (match,) = op.push_arc(insert(Arc("a", "b", "kind == 'x'", select="odd", name="odd"), 2, 3))
    assert paths(op.lineage(match)) == ["a1 odd2 c4"]


def test_keys(engine: Any) -> None:
    op = Keyed(MANY, key="val", window=60, engine=engine, threads=2)
    out = op.push_many([insert(Ev(kind, key), le) for le, kind in enumerate("abc", 1) for key in (1, 2)])
    for match in out:
        (path,) = op.lineage(match).paths()
        assert {change.key for _, change in path} == {change.payload.val for _, change in path} == {match.key}
    with pytest.raises(ChangeError, match="expected a match in force but got"):
        op.lineage(out[0]._replace(key=None))
    with pytest.raises(ChangeError, match="none is in force of key 7"):
        op.lineage(out[0]._replace(key=7))


def test_any_payload() -> None:
    op = Operator(
        Automaton(start="0", final={"2"}, arcs=[Arc("0", "1", lambda e, r: e == "a"), Arc("1", "2", lambda e, r: e == "b")])
    )
    (match,) = op.push_many([insert("a", 1), insert("b", 2)])
    found = op.lineage(match)
    assert [words(path) for path in found.paths()] == ["11 22"]
    with pytest.raises(AfaError, match=r"expected events of scalar fields .* but got None"):
        found.table()


def test_aggregates_over_all_paths(engine: Any) -> None:
    """Paths: a1 b2 c4, a1 b3 c4, a1 b2 b3 c4."""
    op = Operator(MANY, window=60, engine=engine)
    (match,) = op.push_many([insert(Ev(kind, val), le) for le, kind, val in zip((1, 2, 3, 4), "abbc", (5, 7, -1, 0))])
    found = op.lineage(match)
    assert found.aggregate() == (3, 10, None, None, None)
    assert found.aggregate("val") == (3, 10, 27, -1, 7)
    assert found.aggregate("val", component="b") == (3, 4, 12, -1, 7)
    assert found.aggregate("val", "c")._asdict() == {"paths": 3, "count": 3, "sum": 0, "min": 0, "max": 0}
    with pytest.raises(AfaError, match="expected one of the components 'a', 'b', 'c' but got component='d'"):
        found.aggregate("val", component="d")
    with pytest.raises(AfaError, match=r"expected a field of numbers, of Ev\(kind: str, val: int\), but got field='price'"):
        found.aggregate("price")
    with pytest.raises(AfaError, match="but got field='kind'"):
        found.aggregate("kind")


class Real(NamedTuple):
    kind: str
    val: float | None


def test_aggregates_of_floats(engine: Any) -> None:
    """As if added exactly and rounded once; None is left out; NaN and infinities are what they are in floats."""
    many = Automaton(start="0", final={"c"}, arcs=ANY, event=Real)

    def told(*values: float | None) -> Any:
        op = Operator(many, window=60, engine=engine)
        kinds = ["a", *"b" * len(values), "c"]
        out = op.push_many([insert(Real(kind, val), le) for le, (kind, val) in enumerate(zip(kinds, [None, *values, None]))])
        return op.lineage(out[0]).aggregate("val")

    assert told(None) == (1, 0, None, None, None)
    assert told(0.1) == (1, 1, 0.1, 0.1, 0.1)
    assert told(0.1, 0.2, 0.3) == (7, 12, float(4 * sum(map(Fraction, (0.1, 0.2, 0.3)))), 0.1, 0.3)
    assert told(1e308, 1e308) == (3, 4, math.inf, 1e308, 1e308)
    assert told(math.inf, 1.0, None) == (7, 8, math.inf, 1.0, math.inf)
    assert repr(told(math.inf, -math.inf).sum) == repr(told(math.nan, 1.0).min) == "nan"


def test_aggregates_of_any_payload() -> None:
    arcs = [Arc("0", "1", lambda e, r: e == 5), Arc("1", "2", lambda e, r: e == 7)]
    op = Operator(Automaton(start="0", final={"2"}, arcs=arcs))
    (match,) = op.push_many([insert(5, 1), insert(7, 2)])
    with pytest.raises(AfaError, match=r"expected a number in field='real_' of the event . but got no such field"):
        op.lineage(match).aggregate("real_")
    assert op.lineage(match).aggregate("real") == (1, 2, 12, 5, 7)


# -- refused ---------------------------------------------------------------------------------------------------------------------


def test_what_is_not_in_force(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine)
    (match,) = pushed(op, "a1 b2 c4")
    with pytest.raises(ChangeError, match=r"in force but got NoRegister\(\) from 5 to 61; near it: NoRegister\(\) from 4 to 61"):
        op.lineage(match._replace(le=5))
    with pytest.raises(ChangeError, match="its le and re but got le=4, re=None"):
        op.lineage(match._replace(re=None))
    with pytest.raises(ChangeError, match="expected a match, a Change as the operator announced it, but got 7"):
        op.lineage(7)  # type: ignore[arg-type]
    with pytest.raises(ChangeError, match="a match without a key, of an Operator, but got key=1"):
        op.lineage(match._replace(key=1))
    with pytest.raises(ChangeError, match=r"expected NoRegister\(\) but got \(1,\)"):
        op.lineage(match._replace(payload=(1,)))


def test_what_a_promise_has_dropped(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine)
    pushed(op, "a1 b2")
    op.push(Punctuation(3))
    (match,) = pushed(op, "c4")
    with pytest.raises(AfaError, match="which began at le=1, before the promise of 3: what came before that is dropped"):
        op.lineage(match)
    op.push(Punctuation(9))
    with pytest.raises(ChangeError, match="at le=4: it is final, and forgotten"):
        op.lineage(match)


def test_promises_by_condition(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine, retractions=False)
    (match,) = pushed(op, "a1 b2 c4")
    op.push(Punctuation(2, where="kind == 'x'"))
    with pytest.raises(AfaError, match="before the promise of 2"):
        op.lineage(match)
    (later,) = (found for found in pushed(op, "a5 b6 c7") if found.re == 65)
    assert paths(op.lineage(later)) == ["a5 b6 c7"]


def test_payloads_that_are_not_kept() -> None:
    op = Operator(MANY, window=60, retractions=False, keep_payloads=False)
    (match,) = pushed(op, "a1 b2 c4")
    with pytest.raises(AfaError, match="keeps payloads, for the lineage of a match, but got keep_payloads=False"):
        op.lineage(match)


def test_functions_that_are_not_pure() -> None:
    answers = iter([True, True])
    arcs = [Arc("0", "1", lambda e, r: next(answers, False)), Arc("1", "2", lambda e, r: next(answers, False))]
    op = Operator(Automaton(start="0", final={"1"}, arcs=arcs, event=Ev), engine="interpreted")
    (match,) = pushed(op, "a1")
    next(answers, None)
    with pytest.raises(AfaError, match="fences, transfers and at must be pure"):
        op.lineage(match).count()


# -- queries and stages ----------------------------------------------------------------------------------------------------------


def trade(text: str) -> Query:
    return query(text, event=Ev, type="kind")


def test_a_query_by_its_components(engine: Any) -> None:
    op = trade("PATTERN SEQ(a x, b+ y[], c z) WHERE skip_till_any_match(x, y[], z) { x.val < 9 } WITHIN 60 RETURN x.val").operator(
        engine=engine
    )
    (match,) = pushed(op, "a1 b2 q3 b4 c5")
    assert paths(op.lineage(match)) == ["x1 y2 y4 z5", "x1 y4 z5", "x1 y2 z5"]


def test_a_negation_at_the_start(engine: Any) -> None:
    """The stage in front adds a field to the events; they are told as they came."""
    op = trade("PATTERN SEQ(~(n u), a x, b y) WHERE skip_till_next_match(x, y) { x.val < 9 } WITHIN 60 RETURN x.val").operator(
        engine=engine
    )
    (match,) = pushed(op, "a1 b2")
    (path,) = op.lineage(match).paths()
    assert [change.payload for _, change in path] == [Ev("a"), Ev("b")]


class At(NamedTuple):
    kind: str
    at: int


def test_the_match_that_skip_has_chosen(engine: Any) -> None:
    """Two matches show the same and have the same lifetime; only the chosen one is told."""
    text = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(b.at) AS last AFTER MATCH SKIP PAST LAST ROW PATTERN (a b+) "
        "DEFINE a AS kind = 'a' OR kind = 'b', b AS kind = 'b')"
    )
    op = sql(text, event=At).operator(engine=engine)
    out = op.push_many([insert(At(kind, le), le) for le, kind in enumerate("abb", 1)])
    told = [(match.payload, paths(op.lineage(match))) for match in out]
    assert told == [((3,), ["a1 b2 b3"])]
    with pytest.raises(
        ChangeError, match=r"a match in force but got Match\(last=2\) from 2 to .*; near it: Match\(last=3\) from 3"
    ):
        op.lineage(out[0]._replace(payload=(2,), le=2))


def test_behind_a_stage_that_holds_back(engine: Any) -> None:
    op = Cleanse(0).after(Operator(MANY, window=60, engine=engine))
    pushed(op, "a1 b2 c4")
    assert paths(op.lineage(Change((), 4, 61))) == ["a1 b2 c4"]


# -- sizes -----------------------------------------------------------------------------------------------------------------------


def walked(found: Lineage, n: int) -> Iterator[Any]:
    for _, path in zip(range(n), found.paths()):
        yield path


def test_more_paths_than_anybody_goes_through(engine: Any) -> None:
    """``2 ** n - 1`` of them, counted in one pass."""
    n = 300
    op = Operator(MANY, window=10 * n, engine=engine)
    (match,) = op.push_many([insert(Ev("a"), 0), *(insert(Ev("b"), le) for le in range(1, n + 1)), insert(Ev("c"), n + 1)])
    found = op.lineage(match)
    assert found.count() == 2**n - 1
    assert math.log10(found.count()) > 90
    assert [len(path) for path in walked(found, 3)] == [n + 2, n + 1, n + 1]
    assert found.table().num_rows < 4 * n
    assert found.aggregate("val", "b") == (2**n - 1, n * 2 ** (n - 1), 0, 0, 0)


def test_a_window_of_many_steps() -> None:
    """No recursion: a path of 3,002 events, and one over as many steps that are all passed over."""
    n = 3_000
    op = Operator(MANY, window=10 * n, engine="compiled")
    kinds = ["a", *["b"] * n, "c"]
    out = op.push_many({"kind": kinds, "val": [0] * (n + 2), "le": list(range(n + 2))})
    found = op.lineage(Change((), int(out["le"][0]), int(out["re"][0])))
    assert len(next(found.paths())) == n + 2
    assert found.count().bit_length() == n
    far = Operator(MANY, window=10 * n, engine="compiled")
    kinds = ["a", "b", *["x"] * n, "c"]
    out = far.push_many({"kind": kinds, "val": [0] * (n + 3), "le": list(range(n + 3))})
    assert paths(far.lineage(Change((), int(out["le"][0]), int(out["re"][0])))) == [f"a0 b1 c{n + 2}"]


def test_without_a_window(engine: Any) -> None:
    op = Operator(MANY, engine=engine)
    (match,) = pushed(op, "a1 b2 c4")
    assert match.re == FOREVER
    assert paths(op.lineage(match)) == ["a1 b2 c4"]
