"""COUNT(DISTINCT), ARRAY_AGG and LISTAGG of SQL: values over all rows of a match. Random ones: the worlds ``sql-whole``."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import FOREVER, AfaError, Punctuation, SnapshotError, insert, retract
from afa.language import gathered
from tests.forged import forged


class Row(NamedTuple):
    k: str
    s: str | None
    v: int | None
    at: afa.Instant | None = None


ROWS = [insert(Row("k", s, v), le) for le, (s, v) in enumerate([("x", 0), ("y", 2), (None, 3), ("y", 2), ("z", 0), ("q", None)], 1)]


def sql(measures: str, rows: str = "", *, pattern: str = "A B+", define: str = "B AS v > 0", **at: Any) -> Any:
    text = (
        f"SELECT {at.pop('select', '*')} FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES {measures} {rows} "
        f"PATTERN ({pattern}) {at.pop('within', 'WITHIN 100')} {at.pop('subset', '')} DEFINE {define}) {at.pop('tail', '')}"
    )
    return afa.sql(text, event=Row, **at)


def shown(query: Any, engine: str, rows: list[Any] | None = None) -> list[Any]:
    return [tuple(each.payload) for each in query.operator(engine=engine).push_many(ROWS if rows is None else rows)]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("COUNT(DISTINCT B.v)", 2),
        ("COUNT(DISTINCT v)", 3),
        ("COUNT(DISTINCT A.s)", 1),
        ("COUNT(DISTINCT B.v * 0)", 1),
        ("COUNT(DISTINCT B.v) + COUNT(B.v)", 5),
        ("COUNT(DISTINCT v) > 2", True),
        ("ARRAY_AGG(B.s)", ("y", None, "y")),
        ("ARRAY_AGG(B.s) IGNORE NULLS", ("y", "y")),
        ("ARRAY_AGG(v * 2)", (0, 4, 6, 4)),
        ("ARRAY_AGG(CLASSIFIER())", ("A", "B", "B", "B")),
        ("ARRAY_AGG(B.s) FILTER (WHERE B.v = 3)", (None,)),
        ("ARRAY_AGG(B.s) FILTER (WHERE B.v = 9)", None),
        ("ARRAY_AGG(8 / v) FILTER (WHERE v <> 0)", (4.0, 8 / 3, 4.0)),
        ("LISTAGG(s, ', ')", "x, y, y"),
        ("STRING_AGG(U.s, '')", "xyy"),
        ("LISTAGG(s, '-') WITHIN GROUP (ORDER BY at)", "x-y-y"),
        ("LISTAGG(s, '-') WITHIN GROUP (ORDER BY at) FILTER (WHERE v > 2)", None),
        ("FINAL LISTAGG(B.s, '-') WITHIN GROUP (ORDER BY at)", "y-y"),
        ("LISTAGG(CAST(v AS VARCHAR), '+' )", "0+2+3+2"),
        ("LISTAGG(s, '') || '!'", "xyy!"),
    ],
)
def test_values_of_a_match(engine: str, measure: str, expected: Any) -> None:
    assert shown(sql(f"{measure} AS x", subset="SUBSET U = (A, B)", dialect="duckdb"), engine) == [(expected,)]


@pytest.mark.parametrize(
    ("dialect", "arrays", "texts"),
    [
        ("trino", [("y", None, "y"), None], ["yy", None]),
        ("flink", [("y", None, "y"), None], ["y,y", None]),
        ("duckdb", [("y", None, "y"), None], ["y,y", None]),
        ("oracle", [("y", "y"), None], ["yy", None]),
        ("snowflake", [("y", "y"), ()], ["yy", ""]),
        ("spark", [("y", "y"), ()], ["yy", None]),
    ],
)
def test_null_in_dialects(engine: str, dialect: str, arrays: list[Any], texts: list[Any]) -> None:
    measures = "ARRAY_AGG(B.s) AS a, ARRAY_AGG(C.s) AS b, LISTAGG(B.s) AS c, LISTAGG(C.s) AS d"
    found = shown(sql(measures, pattern="A B+ C?", define="B AS v > 0, C AS v > 100", dialect=dialect), engine)
    assert found == [(*arrays, *texts)]


def test_running_and_final(engine: str) -> None:
    query = sql("LISTAGG(s, '') AS r, FINAL LISTAGG(s, '') AS f, COUNT(DISTINCT v) AS n", "ALL ROWS PER MATCH", select="r, f, n")
    assert shown(query, engine) == [("x", "xyy", 1), ("xy", "xyy", 2), ("xy", "xyy", 3), ("xyy", "xyy", 3)]


def test_rows_without_a_match(engine: str) -> None:
    query = sql("COUNT(DISTINCT v) AS n, ARRAY_AGG(v) AS a", "ALL ROWS PER MATCH WITH UNMATCHED ROWS", select="n, a")
    assert shown(query, engine)[-2:] == [(None, None)] * 2
    empty = sql("COUNT(DISTINCT v) AS n, LISTAGG(s, ',') AS a", pattern="B*")
    assert shown(empty, engine) == [(0, None), (2, "y,y"), (0, None), (0, None)]


def test_where_select_and_distinct_behind(engine: str) -> None:
    assert shown(sql("COUNT(DISTINCT v) AS n, ARRAY_AGG(v) AS a", tail="WHERE n > 3"), engine) == []
    assert shown(sql("COUNT(DISTINCT v) AS n, ARRAY_AGG(v) AS a", select="n * 10 AS m, a", tail="WHERE n > 2"), engine) == [
        (30, (0, 2, 3, 2))
    ]
    assert shown(sql("ARRAY_AGG(s) AS a", "ALL ROWS PER MATCH", select="DISTINCT a"), engine)[-1] == (("x", "y", None, "y"),)


def test_a_measure_raises_of_its_match_alone(engine: str) -> None:
    """Of the first row of the match 1 / COUNT(B.v) would be a division by 0."""
    assert shown(sql("8.0 / COUNT(B.v) AS x, ARRAY_AGG(v) AS a"), engine) == [(8 / 3, (0, 2, 3, 2))]


def test_late_rows_and_retractions(engine: str) -> None:
    operator = sql("ARRAY_AGG(v) AS a, COUNT(DISTINCT s) AS n").operator(engine=engine)
    assert [
        tuple(each.payload) for each in operator.push_many([insert(Row("k", "x", v), le) for le, v in ((1, 0), (5, 2), (9, 3))])
    ] == [((0, 2, 3), 1)]
    out = operator.push(insert(Row("k", "w", 7), 7))  # between, so that neither lifetime nor ends change
    assert [(tuple(each.payload), each.le, each.re, each.diff) for each in out] == [
        (((0, 2, 3), 1), 9, 101, -1),
        (((0, 2, 7, 3), 2), 9, 101, 1),
    ]
    out = operator.push_many([retract(Row("k", "w", 7), 7), insert(Row("k", "x", 8), 7)])
    assert [tuple(each.payload) for each in out] == [((0, 2, 7, 3), 2), ((0, 2, 8, 3), 1)]
    operator._check()


def test_snapshots(engine: str) -> None:
    query = sql("ARRAY_AGG(v) AS a, LISTAGG(s, ',') AS t", select="DISTINCT a, t")
    operator = query.operator(engine=engine)
    operator.push_many(ROWS)
    again = query.restore(operator.snapshot(), engine="interpreted" if engine == "compiled" else "compiled")
    late = insert(Row("k", "late", 9), 2), insert(Row("l", "x", 0), 3), Punctuation(FOREVER)
    late = (insert(Row("l", "x", 0), 3), insert(Row("l", "y", 1), 4), retract(Row("k", None, 3), 3), Punctuation(FOREVER))
    assert again.push_many(list(late)) == operator.push_many(list(late))
    other = sql("ARRAY_AGG(v) AS a, LISTAGG(s, ';') AS t", select="DISTINCT a, t")
    with pytest.raises(AfaError):
        other.restore(query.operator().snapshot())


def test_what_is_final_is_forgotten(engine: str) -> None:
    operator = sql("ARRAY_AGG(v) AS a", within="WITHIN 10").operator(engine=engine)
    operator.push_many(ROWS)
    stage = operator.stage
    assert len(stage.waiting()) == 4
    operator.push(Punctuation(30))
    assert stage.waiting() == []


def test_tables_and_frames() -> None:
    table = pa.table({"k": ["k"] * 4, "s": ["x", "y", None, "y"], "v": [0, 2, 3, 2], "at": [1, 2, 3, 4]})
    text = (
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES ARRAY_AGG(B.v) AS a, ARRAY_AGG(B.s) AS t, "
        "COUNT(DISTINCT B.v) AS n, ARRAY_AGG(C.v) AS c PATTERN (A B+ C?) DEFINE B AS v > 0, C AS v > 9)"
    )
    query = afa.sql(text, event=table)
    assert query.shown.describe() == "Match(a: list[int] | None, t: list[str] | None, n: int, c: list[int] | None)"
    found = afa.find(query, table)
    assert found.schema.field("a").type == pa.list_(pa.int64())
    assert found.schema.field("t").type == pa.list_(pa.string())
    assert found.select(["a", "t", "n", "c"]).to_pylist() == [{"a": [2, 3, 2], "t": ["y", None, "y"], "n": 2, "c": None}]
    assert afa.find(query, table.to_pandas())["a"].tolist() == [(2, 3, 2)]
    out = query.operator(speculation=0).push_many([table.rename_columns(["k", "s", "v", "le"]), Punctuation(FOREVER)])
    assert out is not None


def test_a_long_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of a match of many rows shows each value once; what all of its rows show is bounded."""
    n = 10_000
    table = pa.table({"at": pa.array(range(n), pa.int64()), "v": pa.array([i % 7 for i in range(n)], pa.int64())})
    text = "SELECT a FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES {} AS a {} PATTERN (A+) DEFINE A AS v >= 0)"
    (found,) = afa.find(afa.sql(text.format("ARRAY_AGG(v)", ""), event=table), table)["a"].to_pylist()
    assert found == [i % 7 for i in range(n)]
    monkeypatch.setattr(gathered, "MOST", 1_000)
    few = table.slice(0, 30)
    assert len(afa.find(afa.sql(text.format("ARRAY_AGG(v)", "ALL ROWS PER MATCH"), event=few), few)) == 30
    for measure in ("ARRAY_AGG(v)", "FINAL ARRAY_AGG(v)", "LISTAGG(CAST(v AS VARCHAR), ',')"):
        running = afa.sql(text.format(measure, "ALL ROWS PER MATCH"), event=table)
        with pytest.raises(
            afa.BudgetError, match=r"expected at most 1,000 values in what the rows of a match show of .* of [0-9,]+ rows"
        ):
            afa.find(running, table)
    counts = afa.sql(text.format("COUNT(DISTINCT v)", "ALL ROWS PER MATCH"), event=table)
    assert afa.find(counts, table)["a"].to_pylist()[5:9] == [6, 7, 7, 7]


def test_explain_tells_what_is_held() -> None:
    (told,) = sql("ARRAY_AGG(v) AS a, COUNT(DISTINCT v) AS n").explain().warnings
    assert told == (
        "ARRAY_AGG, COUNT(DISTINCT ..): all rows of a match are held behind the operator until it is final; "
        "each row by which a match grows makes its values anew, from all of its rows"
    )
    told = sql("LISTAGG(s, ',') AS a", within="").explain().warnings[-1]
    assert told.endswith("; without WITHIN each match is held for that, until the last watermark")


class Timed(NamedTuple):
    k: str
    at: afa.Instant | None = None


@pytest.mark.parametrize(
    ("measures", "more", "message"),
    [
        ("COUNT(DISTINCT s, v) AS x", {}, "expected COUNT(DISTINCT x) of one value but got 'COUNT(DISTINCT s, v)'"),
        ("COUNT(DISTINCT B.*) AS x", {}, "expected COUNT(DISTINCT x) of one value"),
        ("SUM(DISTINCT v) AS x", {}, "expected DISTINCT in COUNT(DISTINCT x) alone but got 'SUM(DISTINCT v)'"),
        ("ARRAY_AGG(DISTINCT v) AS x", {}, "expected DISTINCT in COUNT(DISTINCT x) alone but got"),
        ("LISTAGG(DISTINCT s, ',') AS x", {}, "expected DISTINCT in COUNT(DISTINCT x) alone but got"),
        ("LISTAGG(v, ',') AS x", {}, "expected a text in LISTAGG but got \"LISTAGG(v, ',')\"; write CAST(x AS VARCHAR)"),
        ("LISTAGG(s) AS x", {}, "expected dialect= beside 'LISTAGG(s)': what separates texts differs"),
        ("LISTAGG(s, s) AS x", {}, "expected a constant text but got 's'"),
        (
            "LISTAGG(s, ',') WITHIN GROUP (ORDER BY v) AS x",
            {},
            "expected the order of MATCH_RECOGNIZE's ORDER BY, in which rows are",
        ),
        ("LISTAGG(s, ',') WITHIN GROUP (ORDER BY at DESC) AS x", {}, "expected the order of MATCH_RECOGNIZE's ORDER BY"),
        ("ARRAY_AGG(s ORDER BY v) AS x", {}, "expected the order of MATCH_RECOGNIZE's ORDER BY"),
        ("SUM(v) WITHIN GROUP (ORDER BY at) AS x", {}, "expected WITHIN GROUP behind LISTAGG or ARRAY_AGG but got"),
        ("LISTAGG(s, ',' ON OVERFLOW TRUNCATE) AS x", {"dialect": "trino"}, "; a text has no bound here"),
        ("ARRAY_AGG(A.v + B.v) AS x", {}, "expected columns of one variable"),
        ("ARRAY_AGG(SUM(v)) AS x", {}, "expected columns of one row in"),
        ("SUM(COUNT(DISTINCT v)) AS x", {}, "expected columns of one row in"),
        ("ARRAY_AGG(v) > 1 AS x", {}, "of an array and an int"),
        ("ARRAY_AGG(v) || 'x' AS x", {}, "expected a text but got"),
        ("ARRAY_AGG(at) AS x", {}, "expected values that are no times in ARRAY_AGG but got at"),
        ("v AS x", {"define": "B AS ARRAY_AGG(v) IS NULL"}, "expected another aggregate in DEFINE but got 'ARRAY_AGG(v)'"),
        ("ARRAY_AGG(v) AS x", {"select": "COUNT(DISTINCT x) AS y"}, "got COUNT(DISTINCT x); that takes a relational engine"),
        ("ARRAY_AGG(v) AS x", {"select": "LISTAGG(x, ',') AS y"}, "got LISTAGG(x, ','); that takes a relational engine"),
        (
            "ARRAY_AGG(v) AS x",
            {"rows": "ALL ROWS PER MATCH", "pattern": "A {- B+ -}"},
            "expected a pattern without {- -} beside COUNT",
        ),
    ],
)
def test_what_is_refused(measures: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError) as caught:
        sql(measures, **more)
    assert message in str(caught.value)


def test_what_goes_with_no_rows_of_matches() -> None:
    query = sql("COUNT(DISTINCT v) AS n")
    with pytest.raises(AfaError, match="can't be combined with ALL ROWS PER MATCH"):
        query.operator(members="v")
    operator = query.operator()
    (match,) = operator.push_many(ROWS)
    with pytest.raises(AfaError, match=r"expected ONE ROW PER MATCH, without COUNT\(DISTINCT \.\.\), ARRAY_AGG and LISTAGG"):
        operator.lineage(match)
    tree = dataclasses.replace(query.tree, skip=None)
    with pytest.raises(AfaError, match=r"expected a query that chooses \(AFTER MATCH SKIP\) with MATCH_NUMBER\(\), COUNT"):
        type(query)(tree)


def test_keys_of_which_nothing_is_held_are_forgotten(engine: str) -> None:
    query, sizes = sql("ARRAY_AGG(v) AS a", pattern="A B", define="B AS v = 2", within="WITHIN 10"), []
    op = query.operator(engine=engine)
    for i in range(3000):
        op.push_many([insert(Row(f"s{i}", "x", n), 10 * i + n) for n in (1, 2)])
        op.push(Punctuation(10 * i))
        if i in (200, 2999):
            sizes.append(len(op.snapshot()))
    assert sizes[1] < sizes[0] + 20
    assert len(op.stage.keys) < 3
    assert len(op.stage._names) < 1500
    again = query.restore(op.snapshot(), engine=engine)
    for each in (op, again):
        assert [(c.payload, c.diff) for c in each.push(retract(Row("s2999", "x", 2), 29992))] == [(((1, 2),), -1)]
        assert each.push(Punctuation(FOREVER)) == [Punctuation(FOREVER)]
        assert not each.stage.keys
    with pytest.raises(SnapshotError, match="expected how many matches of each key are final"):
        query.restore(forged(op.snapshot(), (1, 2), [["s1", 1]]))


def test_a_late_match_leaves_those_behind_it_alone() -> None:
    op = sql("ARRAY_AGG(v) AS a", pattern="A B", define="A AS v = 0, B AS v = 1", within="WITHIN 1000000").operator()
    op.push_many([insert(Row("k", "x", i % 2), 1000 + i) for i in range(16_000)])
    began = time.process_time()
    for i in range(200):
        (change,) = op.push_many([insert(Row("k", "x", v), 4 * i + v) for v in (0, 1)])
        assert (change.le, change.payload) == (4 * i + 1, ((0, 1),))
    assert time.process_time() - began < 0.6  # a tenth of that; where those behind it are gone through, over a second
