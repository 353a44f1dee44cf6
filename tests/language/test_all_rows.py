"""ALL ROWS PER MATCH: worked examples, tables, frames, files, snapshots, and what is refused. Random ones: `row_worlds`."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import afa
from afa import AfaError, AutomatonError, Change, Int64Error, Punctuation, QueryError, SnapshotError, insert, retract
from afa.language.pattern import NEXT, Component, Gap, Seq, Tree
from afa.language.terms import Aggregate, Ref
from afa.scan import orbits
from afa.scan.attempts import derive
from speculation import Cleanse
from tests.language import row_worlds


class Ticker(NamedTuple):
    symbol: str
    price: int
    tstamp: afa.Instant | None = None


# The prices of ACME, 1 to 20 April 2011, in Oracle's Database Data Warehousing Guide, "SQL for Pattern Matching"
ACME = (12, 17, 19, 21, 25, 12, 15, 20, 24, 25, 19, 15, 25, 25, 14, 12, 14, 24, 23, 22)
ORACLE = """
SELECT * FROM Ticker MATCH_RECOGNIZE (
     PARTITION BY symbol
     ORDER BY tstamp
     MEASURES {measures}
     ALL ROWS PER MATCH
     AFTER MATCH SKIP TO LAST up
     PATTERN (strt down+ up+) {within}
     DEFINE
        down AS down.price < PREV(down.price),
        up AS up.price > PREV(up.price)
     ) MR
"""
# Example 20-2, without MATCH_NUMBER: tstamp, start, bottom, end, variable, price
SHAPES = [
    (5, 5, 6, 10, "strt", 25), (6, 5, 6, 10, "down", 12), (7, 5, 6, 10, "up", 15), (8, 5, 6, 10, "up", 20),
    (9, 5, 6, 10, "up", 24), (10, 5, 6, 10, "up", 25), (10, 10, 12, 13, "strt", 25), (11, 10, 12, 13, "down", 19),
    (12, 10, 12, 13, "down", 15), (13, 10, 12, 13, "up", 25), (14, 14, 16, 18, "strt", 25), (15, 14, 16, 18, "down", 14),
    (16, 14, 16, 18, "down", 12), (17, 14, 16, 18, "up", 14), (18, 14, 16, 18, "up", 24),
]  # fmt: skip
# Example 20-3: up_days, total_days, cnt_days, price_dif
COUNTS = [
    (4, 6, 1, 0), (4, 6, 2, -13), (4, 6, 3, -10), (4, 6, 4, -5), (4, 6, 5, -1), (4, 6, 6, 0), (1, 4, 1, 0), (1, 4, 2, -6),
    (1, 4, 3, -10), (1, 4, 4, 0), (2, 5, 1, 0), (2, 5, 2, -11), (2, 5, 3, -13), (2, 5, 4, -11), (2, 5, 5, -1),
]  # fmt: skip
START = "strt.tstamp AS start_at, FINAL LAST(down.tstamp) AS bottom, FINAL LAST(up.tstamp) AS end_at, CLASSIFIER() AS var"
DAYS = (
    "FINAL COUNT(up.tstamp) AS up_days, FINAL COUNT(tstamp) AS total_days, RUNNING COUNT(tstamp) AS cnt_days, "
    "price - strt.price AS price_dif"
)


def net(out: list[Any]) -> list[Change]:
    """What a stream of changes comes to, by LE, then as it came."""
    held: Counter[Change] = Counter()
    for change in out:
        if isinstance(change, Change):
            held[change._replace(diff=1)] += change.diff
    assert all(n in (0, 1) for n in held.values())
    return sorted((change for change, n in held.items() if n), key=lambda change: (change.re, change.le))


@pytest.mark.parametrize("within", ["", "WITHIN 100"])
@pytest.mark.parametrize("step", [1, 7, 9])  # in order, and two other orders
def test_oracles_examples(engine: str, within: str, step: int) -> None:
    order = [1 + (i * step) % 20 for i in range(20)]
    assert sorted(order) == list(range(1, 21))
    query = afa.sql(ORACLE.format(measures=START, within=within), event=Ticker)
    op = query.operator(engine=engine)
    found = net([change for day in order for change in op.push(insert(Ticker("ACME", ACME[day - 1]), day))])
    rows = sorted((change.le, *change.payload[1:5], change.payload.price) for change in found)
    assert rows == sorted(SHAPES)
    assert query.shown.describe().startswith("Row(tstamp: int, start_at: int")  # the column of ORDER BY, measures, the others
    counted = afa.sql(ORACLE.format(measures=DAYS, within=within), event=Ticker).operator(engine=engine)
    found = net(counted.push_many([insert(Ticker("ACME", ACME[day - 1]), day) for day in order]))
    assert sorted((c.le, *c.payload[1:5]) for c in found) == sorted((a[0], *b) for a, b in zip(SHAPES, COUNTS))


class Tick(NamedTuple):
    key: str
    x: float
    id: int = 0


def falls(
    measures: str = "CLASSIFIER() AS c", select: str = "*", pattern: str = "a d+", rows: str = "ALL ROWS PER MATCH", more: str = ""
) -> str:
    rises = ", u AS x > PREV(x)" if "u" in pattern else ""
    return f"""SELECT {select} FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES {measures} {rows} {more}
        PATTERN ({pattern}) WITHIN 10 DEFINE d AS x < PREV(x){rises})"""


def rows(out: list[Any]) -> list[Any]:
    return [(c.diff, c.le, c.re, *c.payload) for c in out if isinstance(c, Change)]


def test_only_the_difference_of_rows_comes(engine: str) -> None:
    """A match that grows tells its new row; one whose event changes tells this row; one that is broken withdraws its rows."""
    op = afa.sql(falls(), event=Tick).operator(engine=engine)
    assert op.push(insert(Tick("k", 9), 1)) == []
    assert rows(op.push(insert(Tick("k", 7), 3))) == [(1, 1, 11, "a", 9.0, 0), (1, 3, 11, "d", 7.0, 0)]
    assert rows(op.push(insert(Tick("k", 5), 5))) == [(1, 5, 11, "d", 5.0, 0)]
    assert rows(op.push_many([retract(Tick("k", 7), 3), insert(Tick("k", 7, 4), 3)])) == [
        (-1, 3, 11, "d", 7.0, 0),
        (1, 3, 11, "d", 7.0, 4),
    ]
    assert rows(op.push_many([retract(Tick("k", 7, 4), 3), insert(Tick("k", 7, 4), 4)])) == [
        (-1, 3, 11, "d", 7.0, 4),
        (1, 4, 11, "d", 7.0, 4),
    ]
    assert rows(op.push(insert(Tick("k", 5, 1), 2)))[:1] == [(-1, 4, 11, "d", 7.0, 4)]  # the fall ends at 2
    assert op.statistics.matches == 4  # rows
    assert rows(op.push(retract(Tick("k", 9), 1)))[0] == (-1, 1, 11, "a", 9.0, 0)


def test_one_by_one_in_a_batch(engine: str) -> None:
    query = afa.sql(falls("COUNT(*) AS n, FINAL COUNT(*) AS m"), event=Tick)
    changes: list[Any] = [insert(Tick("k", x), le) for le, x in ((1, 9), (4, 5), (2, 7), (3, 8))] + [Punctuation(20)]
    single, many = query.operator(engine=engine), query.operator(engine=engine)
    expected = [change for each in changes for change in single.push(each)]
    assert many.push_many(changes, net=False) == expected
    table = {"key": ["k"] * 4, "x": [9.0, 5, 7, 8], "id": [0] * 4, "le": [1, 4, 2, 3]}
    columns = query.operator(engine=engine).push_many(pa.table(table), net=False)
    assert columns["diff"].to_pylist() == [change.diff for change in expected if isinstance(change, Change)]
    assert columns.column_names == ["key", "n", "m", "x", "id", "le", "re", "diff"]
    assert query.operator(engine=engine).push_many(changes) == [
        *net([change for change in expected if isinstance(change, Change)]),
        Punctuation(11),
    ]


def test_hidden_rows_count_and_are_not_shown(engine: str) -> None:
    text = falls("COUNT(*) AS n", "n, c, x AS value", "a {- d+ -} u").replace("COUNT(*) AS n", "COUNT(*) AS n, CLASSIFIER() AS c")
    op = afa.sql(text, event=Tick).operator(engine=engine)
    out = op.push_many([insert(Tick("k", x), le) for le, x in ((1, 9), (2, 7), (3, 5), (4, 6))])
    assert rows(out) == [(1, 1, 11, 1, "a", 9.0), (1, 4, 11, 4, "u", 6.0)]
    assert type(out[0].payload)._fields == ("n", "c", "value")


def test_rows_that_several_matches_show_come_as_often(engine: str) -> None:
    """Without WITHIN all lifetimes end at FOREVER: a row of two overlapping matches that looks the same in both is there twice."""
    text = """SELECT x FROM t MATCH_RECOGNIZE (ORDER BY at ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (a b)
              DEFINE b AS x > PREV(x))"""

    class At(NamedTuple):
        x: int
        at: afa.Instant | None = None

    op = afa.sql(text, event=At).operator(engine=engine)
    op.push(insert(At(1), 1))
    assert [(c.diff, c.le) for c in op.push(insert(At(2), 2))] == [(1, 1), (1, 2)]
    assert [(c.diff, c.le) for c in op.push(insert(At(3), 3))] == [(1, 2), (1, 3)]
    assert [(c.diff, c.le) for c in op.push(retract(At(1), 1))] == [(-1, 1), (-1, 2)]
    assert op.push_many([Punctuation(99), insert(At(3), 100)]) == []
    assert [(c.diff, c.le) for c in op.push(insert(At(4), 101))] == [(1, 100), (1, 101)]
    assert op.statistics[:4:3] == (3, 2)  # of the row at 3, which may still begin a match, nothing is shown any more


def test_what_is_final_is_forgotten(engine: str) -> None:
    op = afa.sql(falls(), event=Tick).operator(engine=engine)
    op.push_many([insert(Tick("k", x), le) for le, x in ((1, 9), (3, 7))])
    assert op.push(Punctuation(9)) == [Punctuation(0)]  # rows below the promise may be shown otherwise, by one at or behind it
    assert op.statistics.matches == 2
    again = afa.sql(falls(), event=Tick).restore(op.snapshot(), engine=engine)
    assert again.statistics.matches == 2
    for each in (op, again, copy.deepcopy(op)):
        assert each.push(Punctuation(12)) == [Punctuation(3)]
        assert each.statistics.state_size == 0
        assert [c.le for c in each.push_many([insert(Tick("k", x), le) for le, x in ((13, 9), (14, 7))])] == [13, 14]
        assert each.push(Punctuation(afa.FOREVER)) == [Punctuation(afa.FOREVER)]
        assert each.statistics.state_size == 0


def test_a_change_derives_some_rows_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many the key holds."""
    op = afa.sql(falls().replace("WITHIN 10", "WITHIN 9999"), event=Tick).operator(engine="interpreted")
    op.push_many([insert(Tick("k", le % 3), le) for le in range(3000)])
    derived = []
    monkeypatch.setattr(orbits, "derive", lambda row, *rest: derived.append(row.le) or derive(row, *rest))
    assert [c.diff for c in op.push_many([retract(Tick("k", 1), 1501), insert(Tick("k", 1, 7), 1501)])] == []  # of no match
    assert [c.diff for c in op.push_many([retract(Tick("k", 2), 1502), insert(Tick("k", 2, 7), 1502)])] == [-1, 1]
    assert derived
    assert set(derived) <= set(range(1501, 1505))


def test_a_snapshot_of_a_query_that_chooses_in_another_way(engine: str) -> None:
    past, following = (
        afa.sql(falls("COUNT(*) AS n", more=f"AFTER MATCH SKIP {skip}"), event=Tick) for skip in ("PAST LAST ROW", "TO NEXT ROW")
    )
    op = past.operator(engine=engine)
    op.push_many([insert(Tick("k", x), le) for le, x in ((1, 9), (3, 7))])
    with pytest.raises(
        SnapshotError, match=r"expected a snapshot of .* but got one of .* one that chooses or shows otherwise \(PATT"
    ):
        following.restore(op.snapshot(), engine=engine)
    assert past.restore(op.snapshot(), engine=engine).snapshot() == op.snapshot()


def test_final_rows_alone(engine: str) -> None:
    """A `Cleanse` behind it shows final rows only."""
    op = Cleanse(0).after(afa.sql(falls(), event=Tick).operator(engine=engine))
    assert op.push_many([insert(Tick("k", x), le) for le, x in ((1, 9), (3, 7))]) == []
    assert rows(op.push(Punctuation(14))) == [(1, 1, 11, "a", 9.0, 0), (1, 3, 11, "d", 7.0, 0)]


def test_find(engine: str) -> None:
    frame = {"key": np.array(["k"] * 4), "x": np.array([9.0, 5, 7, 1]), "id": np.arange(4), "at": np.array([1, 3, 2, 30])}
    found = afa.find(afa.sql(falls("FINAL LAST(d.x) AS low"), event=Tick), frame, time="at", engine=engine)
    assert {name: column.tolist() for name, column in found.items()} == {
        "key": ["k"] * 3, "low": [5.0] * 3, "x": [9.0, 7.0, 5.0], "id": [0, 2, 1], "le": [1, 2, 3], "re": [11] * 3,
    }  # fmt: skip


def test_times_leave_as_times(engine: str) -> None:
    """Whatever is the LE of an event: of the row, of the first one, of the whole match."""
    measures = "FIRST(tstamp) AS first_at, FINAL LAST(tstamp) AS last_at, MAX(tstamp) AS so_far"
    query = afa.sql(ORACLE.format(measures=measures, within="WITHIN INTERVAL '1' HOUR"), event=Ticker, tick="s")
    at = np.array([1, 2, 3]).astype("datetime64[s]")
    found = query.operator(engine=engine).push_many(pa.table({"symbol": ["A"] * 3, "price": [9, 5, 6], "tstamp": at}))
    for name, times in (("tstamp", at), ("first_at", at[[0, 0, 0]]), ("last_at", at[[2, 2, 2]]), ("so_far", at), ("le", at)):
        assert found[name].to_numpy().tolist() == times.astype(found[name].to_numpy().dtype).tolist(), name


def test_a_refused_call_leaves_no_trace(engine: str) -> None:
    query = afa.sql(falls("SUM(id) AS total, 1 / (x - 3) AS odd"), event=Tick)
    op = query.operator(engine=engine)
    op.push_many([insert(Tick("k", 9, 2**62), 1), insert(Tick("k", 8, 0), 2)])
    before = op.statistics, op.snapshot()
    with pytest.raises(Int64Error, match=r"(?s)total.*MEASURES, in the match from 1 to 3.{1,2}of key 'k'"):
        op.push(insert(Tick("k", 7, 2**62), 3))
    with pytest.raises(ZeroDivisionError, match="MEASURES, in the match from 1 to 3"):
        op.push(insert(Tick("k", 3), 3))
    assert (op.statistics, op.snapshot()) == before
    assert rows(op.push(insert(Tick("k", 7), 3)))[0][:2] == (1, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (falls(rows="ALL ROWS PER MATCH WITH ALL ROWS"), "expected"),
        (falls("LAST(d.x) AS x"), "expected a name that no column has in MEASURES but got 'x'"),
        (falls(select="c, y"), r"expected \* or names of MEASURES and columns in SELECT but got 'y'"),
        (
            falls().replace("d AS x", "d AS MATCH_NUMBER() > 3 AND x"),
            "a match has its number once",
        ),
        (falls("FINAL CLASSIFIER() AS n"), "expected FINAL before FIRST, LAST or an aggregate but got FINAL"),
        (falls("FINAL x - 1 AS n"), "expected FINAL before FIRST, LAST or an aggregate but got FINAL x - 1"),
        (falls("1 + FINAL x AS n"), "expected"),
        (falls("FINAL SUM() AS n"), r"what can't be read at '\)'; write what the function is of in its parentheses"),
        (falls().replace("d AS x", "d AS FINAL MAX(x) > 3 AND x"), "expected what is known when a row comes in DEFINE"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        afa.sql(text, event=Tick)


@pytest.mark.parametrize("rows", ["SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES"])
def test_no_match_is_empty(rows: str) -> None:
    assert afa.sql(falls(rows=f"ALL ROWS PER MATCH {rows}"), event=Tick) == afa.sql(falls(), event=Tick)


def test_final_in_one_row_is_what_it_is(engine: str) -> None:
    plain, final = (f"{word} LAST(d.x) - {word} FIRST(d.x) AS by, {word} COUNT(*) AS n" for word in ("", "FINAL"))
    one = [afa.sql(falls(each, rows="ONE ROW PER MATCH"), event=Tick) for each in (plain, final)]
    assert one[0] == one[1]


def test_options_that_do_not_fit() -> None:
    query = afa.sql(falls(), event=Tick)
    for name, value in (("members", "x"), ("tell", "lineage"), ("collapse", True), ("having", "sum(x) > 1")):
        with pytest.raises(AfaError, match=f"{name}=.* can't be combined with ALL ROWS PER MATCH because its rows are the events"):
            query.operator(**{name: value})
    op = query.operator()
    out = op.push_many([insert(Tick("k", x), le) for le, x in ((1, 9), (3, 7))])
    for ask in (op.lineage, op.collapsed):
        with pytest.raises(AfaError, match=r"expected ONE ROW PER MATCH, .* for the lineage of a match but got Change"):
            ask(out[0])
    with pytest.raises(AfaError, match=r"expected a query that chooses and shows alike.* \(other MEASURES.*; values shown "):
        query.changes_to(afa.sql(falls("COUNT(*) AS n"), event=Tick))


def test_matches_of_other_arcs(engine: str) -> None:
    query = afa.sql(falls(), event=Tick)
    op = query.operator(engine=engine)
    (final,) = query.automaton.final
    before = op.snapshot()
    for arc in (
        afa.Arc(query.automaton.start, final, "True", name="mine", select="a"),
        afa.Arc(query.automaton.start, "a", "True", name="mine", select="d"),
        afa.Arc.skip("a", "True", name="mine"),
        afa.Arc.epsilon("a", final, name="mine"),
    ):
        with pytest.raises(
            AutomatonError, match=r"expected an arc between places that follow each other in the pattern.* but got .*mine"
        ):
            op.push_arc(insert(arc, le=0))
    assert op.snapshot() == before
    (begin,) = (arc for arc in query.automaton.arcs if arc.src == query.automaton.start)
    op.swap(begin.name, fence="x > 5", at=0)
    assert op.push_many([insert(Tick("k", x), le) for le, x in ((1, 4), (2, 3))]) == []
    assert rows(op.push_many([insert(Tick("k", x), le) for le, x in ((3, 9), (4, 3))])) == [
        (1, 3, 13, "a", 9.0, 0), (1, 4, 13, "d", 3.0, 0)
    ]  # fmt: skip


def test_a_query_that_changes(engine: str) -> None:
    query, deeper = (afa.sql(falls().replace("x < PREV(x)", f"x < PREV(x) - {n}"), event=Tick) for n in (0, 3))
    op = query.operator(engine=engine)
    op.push_many([insert(Tick("k", x), le) for le, x in ((1, 9), (2, 7))])
    op.push_many([*query.changes_to(deeper).arcs])
    assert op.push(insert(Tick("k", 6), 3)) == []
    assert rows(op.push(insert(Tick("k", 1), 4))) == [(1, 3, 13, "a", 6.0, 0), (1, 4, 13, "d", 1.0, 0)]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"skip": None}, r"expected a query that chooses \(AFTER MATCH SKIP\)"),
        ({"gap": Gap(NEXT)}, "expected neighbours with nothing between them where a query chooses"),
        ({"ties": True}, r"expected a total order of rows \(ties=False\)"),
    ],
)
def test_trees_whose_rows_can_not_be_told(more: dict[str, Any], message: str) -> None:
    options = {"skip": "past last row", "ties": False, "gap": Gap("partition")} | more
    pattern = Seq((Component("a"), Component("b")), (options.pop("gap"),))
    tree = Tree(pattern, Tick, None, ("key",), None, 9, returns=(("x", Ref("", "last", "x")),), rows=(), **options)
    with pytest.raises(AfaError, match=message):
        afa.Query(tree)


def test_worlds(turns: str) -> None:
    """A sample; the long run: ``python -m tests.worlds rows``."""
    seen = row_worlds.WORLDS.run("sample", range(30), turns, more_than={"matches": 37, "retractions": 25})
    assert seen["declined"] < 3, seen


def test_a_snapshot_of_rows_that_show_something_else(engine: str) -> None:
    """They would withdraw rows that were never told."""
    op = afa.sql(falls("COUNT(*) AS n"), event=Tick).operator(engine=engine)
    op.push_many([insert(Tick("k", x), le) for le, x in ((1, 9), (3, 7))])
    with pytest.raises(
        SnapshotError, match=r"expected a snapshot of .* but got one of .* one that .* shows otherwise \(.*MEASURES\)"
    ):
        afa.sql(falls("FIRST(x) AS n"), event=Tick).restore(op.snapshot(), engine=engine)
    one = afa.sql(falls("COUNT(*) AS n").replace("ALL ROWS PER MATCH", "ONE ROW PER MATCH"), event=Tick)
    with pytest.raises(SnapshotError, match=r"expected a snapshot of .* but got one of .* one that .* shows otherwise"):
        one.restore(op.snapshot(), engine=engine)
    with pytest.raises(SnapshotError, match=r"expected a snapshot of .* but got one of .* one that .* shows otherwise"):
        afa.sql(falls("COUNT(*) AS n"), event=Tick).restore(one.operator(engine=engine).snapshot(), engine=engine)


class Reading(NamedTuple):
    x: int
    y: int | None = None
    at: afa.Instant | None = None


ENDS = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES x - FINAL AVG(x) AS off, FINAL LAST(b.x) AS b,
    FINAL MAX(b.y) AS most, SUM(x) AS n, 12.0 / (FINAL COUNT(*) - 3) AS d, FINAL FIRST(at) AS begun, {more}
    ALL ROWS PER MATCH PATTERN (a b* {{- c -}}) WITHIN 50 DEFINE b AS x > PREV(x), c AS x < PREV(x))"""


def test_values_as_of_the_end_beside_others(engine: str) -> None:
    """In one value, too; where the last row is hidden; where one may be missing. What would raise as of an earlier row does not."""
    query = afa.sql(ENDS.format(more="CLASSIFIER() AS v"), event=Reading)
    op = query.operator(engine=engine)
    assert type(op._core.engine).__name__ == ("CompiledEngine" if engine == "compiled" else "ScanEngine")
    out = op.push_many([insert(Reading(x, y), le) for le, (x, y) in enumerate([(3, None), (4, 1), (7, None), (1, 5)], 1)])
    assert [tuple(change.payload) for change in out] == [  # type: ignore[union-attr]
        (1, -0.75, 7, 1, 3, 12.0, 1, "a", 3, None),
        (2, 0.25, 7, 1, 7, 12.0, 1, "b", 4, 1),
        (3, 3.25, 7, 1, 14, 12.0, 1, "b", 7, None),
    ]
    op._check()
    (row,) = op.push_many([insert(Reading(x), le) for le, x in ((20, 3), (21, 1))])
    assert tuple(row.payload) == (20, 1.0, None, None, 3, -12.0, 20, "a", 3, None)  # type: ignore[union-attr]
    assert type(query.restore(op.snapshot(), engine=engine)._core.engine) is type(op._core.engine)


def test_values_as_of_the_end_that_raise(engine: str) -> None:
    op = afa.sql(ENDS.format(more="1 AS v"), event=Reading).operator(engine=engine)
    before = op.snapshot()
    with pytest.raises(ZeroDivisionError, match="MEASURES, in the match from 1 to 3"):
        op.push_many([insert(Reading(x), le) for le, x in enumerate([3, 4, 1], 1)])
    assert op.snapshot() == before


def test_values_that_python_tells() -> None:
    """The largest of texts has no native form: refused where Python is to run nothing, as of other arcs."""
    pattern = Seq((Component("a"), Component("b")), (Gap("partition"),))
    tree = Tree(
        pattern, Tick, None, ("key",), None, 9, returns=(("x", Aggregate("", "max", "key")),), skip="past last row", ties=False
    )
    with pytest.raises(AutomatonError, match=r'expected arcs that compile for engine="compiled" but got arc .* max'):
        afa.Query(tree).operator(engine="compiled")
    op = afa.Query(tree).operator()
    assert [change.payload.x for change in op.push_many([insert(Tick("k", 1), 1), insert(Tick("k", 2), 2)])] == ["k"]  # type: ignore[union-attr]
