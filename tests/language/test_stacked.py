"""Several MATCH_RECOGNIZE over one another; the long run: ``python -m tests.worlds sql-stacked --worlds 20000``."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa import AfaError, Chain, ChangeError, Punctuation, SnapshotError, insert, retract
from afa.replay import replay
from tests.language import stacked_worlds
from tests.language.sql_by_duckdb import answered, plain
from tests.language.stacked_worlds import WORLDS, Level
from tests.strategies import Seeded


class Tick(NamedTuple):
    k: str
    x: int
    at: afa.Instant | None = None


INNER = """SELECT * FROM t MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY at MEASURES FIRST(at) AS t0, LAST(at) AS t1, COUNT(*) AS n
    PATTERN (A B+) WITHIN 10 DEFINE B AS x < PREV(x))"""
OUTER = """ MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY t1 MEASURES COUNT(*) AS runs, SUM(n) AS total, LAST(t1) AS t2
    PATTERN (C D+) WITHIN 20 DEFINE D AS n >= PREV(n))"""
STATEMENT = f"SELECT * FROM ({INNER}) {OUTER}"
ROWS = [("a", x, le) for le, x in enumerate((5, 4, 6, 5, 4, 7, 6, 5, 4, 9, 8, 7, 6, 5, 9), 1)]


def ticks() -> list[Any]:
    return [insert(Tick(k, x), le) for k, x, le in ROWS]


def frame() -> dict[str, list[Any]]:
    return {name: [row[i] for row in ROWS] for i, name in enumerate(("k", "x", "at"))}


def net(*outs: Any) -> Counter[Any]:
    found = Counter[Any]()
    for out in outs:
        for each in out:
            if not isinstance(each, Punctuation):
                found[each[:3]] += each.diff
    return Counter({each: n for each, n in found.items() if n})


# -- against brute force -----------------------------------------------------------------------------------------------------------


def test_statements(turns: str) -> None:
    """Two levels and three, with SELECT and WHERE between, ALL ROWS, keys that differ."""
    more_than = {"shown": 300, "shown by three levels": 30, "retractions": 150, "snapshots": 10, "several at once": 2}
    seen = WORLDS.run("sample", range(16), turns, more_than=more_than, family=4)
    assert seen["compared"] > 20 * seen["not compared"]
    texts = [stacked_worlds.stack(WORLDS.generate("sample", i, family=4)).text for i in range(0, 16, 4)]
    for word in ("WHERE", "ALL ROWS", "TO NEXT ROW", "PARTITION BY"):
        assert any(word in text for text in texts), word


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one in the middle: a row that is lost between two levels."""
    right = Level.rows
    monkeypatch.setattr(Level, "rows", lambda self, *rest: [row for row in right(self, *rest) if row.le % 5])
    numbered = (WORLDS.generate("sample", i, family=4) for i in range(12))
    assert any(WORLDS.failure(here, "interpreted") for here in numbered)


def test_find_is_what_duckdb_and_brute_force_make_of_each_level() -> None:
    """In any order that a frame may have, which a stream has not: columns that tie are told apart by others."""
    choose, compared = Seeded("stacked orders"), 0
    for order in ("t1", "t0", "n, t1", "n DESC, t1 DESC", "low, t1", "t1 DESC"):
        text = STATEMENT.replace("COUNT(*) AS n", "COUNT(*) AS n, MIN(x) AS low").replace("ORDER BY t1", f"ORDER BY {order}")
        text = text.replace("WITHIN 10", "").replace("WITHIN 20", "").replace("total,", "total, FIRST(t0) AS begun,")
        for between in ("", " WHERE n > 2"):
            rows = [{"k": choose.one("ab"), "x": choose.number(0, 9), "at": at} for at in range(60)]
            whole = text.replace(f"({INNER})", "?").replace("DEFINE B AS x < PREV(x))", f"DEFINE B AS x < PREV(x)){between}")
            columns, wanted = answered(whole, {"t": rows})
            found = afa.find(whole, pa.Table.from_pylist(rows), time="at").to_pylist()
            assert Counter(tuple(plain(row[name]) for name in columns) for row in found) == wanted, whole
            compared += len(found)
    assert compared > 30


# -- by hand -----------------------------------------------------------------------------------------------------------------------


def test_a_late_row_takes_back_what_stands_on_it(engine: Any) -> None:
    op = afa.sql(STATEMENT, event=Tick).operator(engine=engine)
    first = op.push_many(ticks())
    assert [(each.payload[:2], each.le, each.re) for each in first] == [((4, 14), 14, 22)]  # falls of 2, 3, 4 and 5 rows
    gone = op.push(retract(Tick("a", 6), 7))  # the fall of four rows is one of three
    assert [(each.payload[:2], each.le, each.diff) for each in gone] == [((4, 14), 14, -1), ((4, 13), 14, 1)]
    late = op.push(insert(Tick("a", 6), 7))
    assert net(first, gone, late) == net(first)
    assert isinstance(op, Chain)
    assert [each.outputs - each.retractions for each in op.statistics] == [4, 1]
    assert op.push(Punctuation(40)) == [Punctuation(40 - 10 + 1 - 20 + 1)]


def test_a_match_lives_as_an_event_for_the_outer_window(engine: Any) -> None:
    """Without WITHIN for ever, however short its own lifetime is."""
    text = STATEMENT.replace("WITHIN 10", "WITHIN 3").replace("WITHIN 20", "").replace("AS n >= PREV(n)", "AS true")
    op = afa.sql(text.replace("AS true", "AS n > 0"), event=Tick).operator(engine=engine)
    out = op.push_many([insert(Tick("a", x), le) for le, x in ((1, 2), (2, 1), (1000, 2), (1001, 1))])
    assert [(each.payload.runs, each.le, each.re) for each in out] == [(2, 1001, afa.FOREVER)]


def test_each_match_is_a_row_also_where_two_show_the_same(engine: Any) -> None:
    """Falls that end at one row: SKIP TO NEXT ROW has two of them, which agree in all columns."""
    text = """SELECT * FROM (SELECT t1 FROM t MATCH_RECOGNIZE (
          PARTITION BY k ORDER BY at MEASURES LAST(at) AS t1 AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+) DEFINE B AS x < PREV(x)))
        MATCH_RECOGNIZE (ORDER BY t1 MEASURES COUNT(*) AS n ALL ROWS PER MATCH PATTERN (C D))"""
    rows = [insert(Tick("a", x), le) for le, x in ((1, 3), (2, 2), (3, 1))]
    op = afa.sql(text, event=Tick, ties="value").operator(engine=engine)
    assert net(op.push_many(rows)) == Counter({((3, 1), 3, afa.FOREVER): 1, ((3, 2), 3, afa.FOREVER): 1})
    table = pa.table({"k": ["a"] * 3, "x": [3, 2, 1], "at": [1, 2, 3]})
    assert [row["n"] for row in afa.find(afa.sql(text, ties="value"), table, time="at").to_pylist()] == [1, 2]
    alone = afa.sql(text, event=Tick).operator(engine=engine)
    saved = alone.snapshot()
    with pytest.raises(ChangeError, match=r'apart but got Match\(t1=3\) and Match\(t1=3\) at le=3: .* or say ties="value"'):
        alone.push_many(rows)
    assert alone.snapshot() == saved


@pytest.mark.parametrize(
    "over",
    [
        f"SELECT * FROM ({INNER}) {OUTER}",
        f"SELECT * FROM ({INNER}) AS m {OUTER.replace('BY k', 'BY m.k')}",
        f"WITH falls AS ({INNER}) SELECT * FROM falls {OUTER}",
        f"WITH falls AS ({INNER}), some AS (SELECT k, t1, n FROM falls WHERE n > 1) SELECT * FROM some {OUTER}",
        f"SELECT * FROM {INNER.removeprefix('SELECT * FROM ')} {OUTER}",
        f"SELECT * FROM ({INNER.removeprefix('SELECT * FROM ')}) {OUTER}",
        f"SELECT * FROM (SELECT n, t1, k FROM (SELECT k, T1, N FROM ({INNER}))) {OUTER}",
        f"SELECT * FROM (SELECT k, size AS n, t1 FROM (SELECT k, n * 1 AS size, t1 FROM ({INNER}))) {OUTER}",
    ],
)
def test_ways_to_write_it(over: str) -> None:
    assert net(afa.sql(over, event=Tick).operator().push_many(ticks())) == net(
        afa.sql(STATEMENT, event=Tick).operator().push_many(ticks())
    )


def test_keys_of_both_differ(engine: Any) -> None:
    """The outer one sees the matches of all keys, or cuts them by what the inner one has found."""
    rows = [insert(Tick(k, x), 2 * le + (k == "b")) for k in "ab" for le, x in enumerate((2, 1, 3, 2, 1), 1)]
    for by, key, runs in (("", None, 4), ("PARTITION BY n", 2, 2)):
        text = (
            STATEMENT.replace("AFTER", "")
            .replace("PARTITION BY k ORDER BY t1", f"{by} ORDER BY t1")
            .replace("n >= PREV(n)", "n > 0")
        )
        out = net(afa.sql(text, event=Tick).operator(engine=engine).push_many(rows))
        assert {each[0].runs for each in out} == {runs}
        op = afa.sql(text, event=Tick).operator(engine=engine)
        assert key in {each.key for each in op.push_many(rows)}


def test_frames_files_and_tables() -> None:
    query, expected = afa.sql(STATEMENT, event=Tick), {"k": ["a"], "runs": [4], "total": [14], "t2": [14], "le": [14], "re": [22]}
    found = afa.find(STATEMENT, frame(), time="at")
    assert {name: column.tolist() for name, column in found.items()} == expected
    table = pa.table(frame())
    assert afa.find(query, table, time="at").to_pydict() == expected
    told = query.operator().push_many(table, time="at")
    assert told.to_pydict() == {**expected, "diff": [1]}
    pandas = table.to_pandas()
    assert query.operator().push_many(pandas, time="at")["total"].tolist() == [14]
    assert afa.find(STATEMENT, pandas, time="at", engine="interpreted")["t2"].tolist() == [14]


def test_times_leave_as_they_came(tmp_path: Path) -> None:
    text = STATEMENT.replace("WITHIN 10", "WITHIN INTERVAL '0.010' SECOND").replace("WITHIN 20", "WITHIN INTERVAL '0.020' SECOND")
    table = pa.table({**frame(), "at": pa.array(frame()["at"], pa.timestamp("ms"))})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(AfaError, match="expected a pattern of one operator"):
        replay(afa.sql(text, event=table), tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        found = afa.find(text, source)
        assert (found.schema.field("t2").type, found["t2"].cast(pa.int64()).to_pylist()) == (pa.timestamp("ms"), [14])


def test_an_order_that_is_no_time() -> None:
    """What may be NULL, or counts, is a rank in a frame."""
    text = STATEMENT.replace("ORDER BY t1", "ORDER BY n").replace("WITHIN 20", "")
    assert afa.find(text, frame(), time="at")["total"].tolist() == [14]
    empty = text.replace("PATTERN (A B+)", "PATTERN (B*)").replace("ORDER BY n", "ORDER BY t1")
    found = afa.find(afa.sql(empty, event=Tick, ties="value"), frame(), time="at")
    assert found["total"].tolist() == [10, 0]  # behind falls of 1, 2, 3 and 4 rows come empty matches, which have no time


def test_a_statement_travels_and_tells_of_itself() -> None:
    query = afa.sql(STATEMENT, event=Tick)
    assert repr(query) == "StackedQuery(Query(A B by k within 10), Query(C D by k within 20))"
    again = pickle.loads(pickle.dumps(query))
    assert net(again.operator().push_many(ticks())) == net(query.operator().push_many(ticks()))
    assert [each.states for each in query.explain()] == [link.explain().states for link in query.links]
    assert [link.key for link in query.links] == ["k", "k"]


# -- refused -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("t0", r"line 4, column 29: expected ORDER BY with the time of the last row .* but got 't0'; LAST\(at\) in MEASURES"),
        ("n, t1", r"expected ORDER BY with the time, .* but got ORDER BY n, t1; afa.find\(query, frame\) takes it"),
        ("t1 DESC", r"expected ORDER BY with the time, .* but got ORDER BY t1 desc"),
    ],
)
def test_an_order_that_no_stream_has(order: str, words: str) -> None:
    query = afa.sql(STATEMENT.replace("BY t1", f"BY {order}").replace("WITHIN 20", ""), event=Tick)
    with pytest.raises(AfaError, match=words):
        query.operator()
    with pytest.raises(AfaError, match=words):
        query.restore(b"")


@pytest.mark.parametrize(
    ("measure", "is_time"),
    [
        ("LAST(B.at)", True),
        ("B.at", True),
        ("FINAL LAST(at)", True),
        ("MAX(at)", True),
        ("MAX(B.at)", True),
        ("LAST(U.at)", True),
        ("A.at", False),
        ("LAST(at, 1)", False),
        ("MIN(at)", False),
        ("LAST(x)", False),
    ],
)
def test_what_is_the_time_of_a_match(measure: str, is_time: bool) -> None:
    text = STATEMENT.replace("LAST(at) AS t1", f"{measure} AS t1").replace("WITHIN 10 DEFINE", "WITHIN 10 SUBSET U = (A, B) DEFINE")
    query = afa.sql(text, event=Tick)
    if is_time:
        assert net(query.operator().push_many(ticks()))
    else:
        with pytest.raises(AfaError, match="expected ORDER BY with the time"):
            query.operator()


def test_the_time_of_rows() -> None:
    """Of ALL ROWS it is that of the row, not of the match."""
    text = STATEMENT.replace("COUNT(*) AS n", "COUNT(*) AS n ALL ROWS PER MATCH").replace("LAST(at) AS t1", "FINAL LAST(at) AS t1")
    with pytest.raises(AfaError, match="but got 't1'"):
        afa.sql(text, event=Tick).operator()
    out = net(afa.sql(text.replace("BY t1", "BY at"), event=Tick).operator().push_many(ticks()))
    assert {each[0].runs for each in out} == {2, 3, 4, 5}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (STATEMENT.replace("ORDER BY t1", "ORDER BY t3"), "expected a column of the table in ORDER BY but got 't3'"),
        (STATEMENT.replace("SUM(n)", "SUM(m)"), "expected a field of Match but got 'm'; its fields: k, t0, t1, n"),
        (STATEMENT.replace("SELECT * FROM t", "SELECT t1, n FROM t"), "expected a field of Match but got 'k'; its fields: t1, n"),
        (STATEMENT.replace("SUM(n)", "SUM(hidden_0)"), "expected a field of Match but got 'hidden_0'"),
        (STATEMENT.replace("COUNT(*) AS n", "COUNT(*) AS n, ARRAY_AGG(x) AS xs"), "an array, xs; leave it out of SELECT"),
        (STATEMENT.replace("ORDER BY t1 ", ""), "expected ORDER BY, which says which row comes first, but got none"),
        (
            STATEMENT.replace("SELECT * FROM t", "SELECT DISTINCT t1, n, k FROM t"),
            "but got DISTINCT; that takes a relational engine",
        ),
        (STATEMENT.replace("DEFINE D", "DEFINE E"), r"line 5, column 37: expected a variable of the pattern in DEFINE"),
    ],
)
def test_a_text_that_is_refused(text: str, words: str) -> None:
    with pytest.raises(AfaError, match=words):
        afa.sql(text, event=Tick)


def test_events_without_a_time() -> None:
    class Bare(NamedTuple):
        k: str
        x: int

    with pytest.raises(AfaError, match="expected a field of Bare with the time, annotated"):
        afa.sql(STATEMENT.replace("FIRST(at) AS t0, LAST(at) AS t1", "LAST(x) AS t1"), event=Bare)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda query: query.automaton, "expected one MATCH_RECOGNIZE here but got StackedQuery"),
        (lambda query: query.changes_to(query), "to change it while it runs, but got StackedQuery"),
        (lambda query: query.operator(members="le"), "but got members='le'"),
        (lambda query: query.operator(window=3), "but got window=3"),
        (lambda query: query.operator(key="x"), "expected the pattern's own key='k' but got key='x'"),
        (lambda query: query.operator_by("x"), "expected one MATCH_RECOGNIZE, by 'x'"),
        (lambda query: afa.find(query, frame(), time="at", members="le"), "but got members='le'"),
        (
            lambda query: afa.backtest({"q": query}, frame(), time="at"),
            "a pattern of one operator and of certain times but got Chain",
        ),
        (lambda query: afa.Reasons(query.operator()), "expected an Operator or a Keyed but got Chain"),
    ],
)
def test_doors_that_take_one(call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(AfaError, match=words):
        call(afa.sql(STATEMENT, event=Tick))


def test_a_snapshot_of_another_statement() -> None:
    op = afa.sql(STATEMENT, event=Tick).operator()
    op.push_many(ticks())
    for other in (STATEMENT.replace("n >= PREV", "n > PREV"), STATEMENT.replace("x < PREV", "x <= PREV"), INNER):
        with pytest.raises(SnapshotError, match="expected a snapshot"):
            afa.sql(other, event=Tick).restore(op.snapshot())
    with pytest.raises(SnapshotError):
        afa.sql(STATEMENT, event=Tick).restore(op.snapshot()[:-9])
