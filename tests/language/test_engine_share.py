"""What the engine around computes for a MATCH_RECOGNIZE: names, subqueries, fields, rows that are not there, hostile text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import pytest

import afa
from afa import AfaError
from afa.language.engine_share import engine_share
from afa.language.sql_statement import statement_of


@pytest.fixture
def con() -> Any:
    con = duckdb.connect()
    con.execute(
        """CREATE TABLE t AS SELECT * FROM (VALUES ('A', 1, 9, 'x', {'low': 100}, 5), ('A', 2, 7, 'y', {'low': 200}, 6),
             ('A', 3, 8, 'z', {'low': 300}, 7)) v(sym, ts, price, name, b, low);
           CREATE TABLE s AS SELECT * FROM (VALUES ('A', 8), ('B', 100)) v(sym, p);
           CREATE TABLE fine AS SELECT * FROM (VALUES (1, 9007199254740993::HUGEINT, {'name': 'p'}),
             (2, 9007199254740992::HUGEINT, {'name': 'q'})) v(i, huge, a)"""
    )
    return con


def statement(measures: str, **at: str) -> str:
    """A statement; ``head``, ``rows``, ``pattern``, ``define``: what stands at other places."""
    clauses = f"PARTITION BY sym ORDER BY ts MEASURES {measures} {at.get('rows', '')} PATTERN ({at.get('pattern', 'a b')})"
    define = at.get("define", "b AS price < PREV(price)")
    return f"{at.get('head', 'SELECT * FROM t')} MATCH_RECOGNIZE ({clauses} DEFINE {define})"


NOTHING = {"pattern": "a c? b", "define": "b AS price < PREV(price), c AS false"}
RIGHT: dict[str, tuple[str, list[Any]]] = {
    "a subquery with names of its own": (statement("(SELECT max(b.p) FROM s a JOIN s b ON a.sym = b.sym) AS v"), [("A", 100)]),
    "a field of a column that is called as a variable": (
        statement("LAST(a.b.low) AS v, hash(a.b.low) = hash(100) AS w"),
        [("A", 100, True)],
    ),
    "a table that is called as a variable": (statement("LAST(b.b.low) AS v", head="SELECT * FROM t b"), [("A", 200)]),
    "fields that hold fields": (
        statement("LAST(a.deep.b.low) AS v", head="SELECT * FROM (SELECT *, {'b': b} AS deep FROM t)"),
        [("A", 100)],
    ),
    "a view": (
        statement("LAST(price) IN (SELECT p FROM big) AS v", head="WITH big AS (SELECT 7 AS p) SELECT * FROM t"),
        [("A", True)],
    ),
    "a view that hides a table": (
        statement("b.price IN (SELECT p FROM s) AS v", head="WITH s AS (SELECT 7 AS p) SELECT * FROM t"),
        [("A", True)],
    ),
    "a function of a row that is not there": (
        statement("concat_ws('-', c.name, 'n') AS v, [c.price] IS NULL AS w", **NOTHING),
        [("A", "n", False)],
    ),
    "the same in DEFINE": (
        statement("1 AS v", **NOTHING).replace("price < PREV", "concat_ws('-', c.name, 'n') = 'n' AND price < PREV"),
        [("A", 1)],
    ),
    "a field of a row that is not there": (
        statement("1 AS v", **NOTHING).replace("price < PREV", "c.b.low IS NULL AND price < PREV"),
        [("A", 1)],
    ),
    "empty matches": (statement("COUNT(*) - (SELECT max(p) FROM s) AS v", pattern="a*", define="a AS false"), [("A", -100)] * 3),
    "rows of no match": (
        statement(
            "concat_ws('-', LAST(name), 'z') AS v, hash(LAST(price)) IS NULL AS w", rows="ALL ROWS PER MATCH WITH UNMATCHED ROWS"
        ),
        [("A", 1, "x-z", False), ("A", 2, "y-z", False), ("A", 3, None, None)],
    ),
    "CLASSIFIER of a variable that is called as a column": (
        statement("list_value(LISTAGG(CLASSIFIER(b) || b.name, ','))[1] AS v"),
        [("A", "by")],
    ),
    "CLASSIFIER of a variable that is called as a measure": (
        statement("printf('%d', LAST(price)) AS a, CLASSIFIER(a) AS v"),
        [("A", "7", "a")],
    ),
    "constants alone": (statement("list_value(7)[1] AS v").replace("PARTITION BY sym", ""), [(7,)]),
    "a column goes before a measure": (statement("printf('%d', LAST(price)) AS low, low AS w"), [("A", "7", 6)]),
    "measures are nothing to subqueries": (
        statement("printf('%d', LAST(price)) AS p, 8 IN (SELECT p FROM s) AS v, p || '!' AS w"),
        [("A", "7", True, "7!")],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_the_engine_computes(con: Any, name: str) -> None:
    text, expected = RIGHT[name]
    assert [row[: len(expected[0])] for row in sorted(afa.duckdb.sql(con, text).fetchall(), key=str)] == expected


def test_decimals_are_exact(con: Any) -> None:
    con.execute("CREATE TABLE money AS SELECT * FROM (VALUES (1, 0.10::DECIMAL(10, 2)), (2, 0.20), (3, 0.10), (4, 0.30)) v(i, amt)")
    clauses = """ORDER BY i MEASURES LAST(amt) + 1 AS a, MAX(amt) AS b, FIRST(amt) * LAST(amt) AS c, SUM(amt) AS d,
            SUM(amt) FILTER (WHERE i > 1) * 2 AS e, FINAL SUM(amt) AS f
        PATTERN (A B+) DEFINE A AS amt * 3 = 0.3, B AS amt > PREV(amt)"""
    found = afa.duckdb.sql(con, f"SELECT * FROM money MATCH_RECOGNIZE ({clauses})")
    assert found.fetchall() == [
        (Decimal("1.20"), Decimal("0.20"), Decimal("0.0200"), Decimal("0.30"), Decimal("0.40"), Decimal("0.30")),
        (Decimal("1.30"), Decimal("0.30"), Decimal("0.0300"), Decimal("0.40"), Decimal("0.80"), Decimal("0.40")),
    ]


def test_decimals_of_18_digits_are_exact_in_tables(con: Any) -> None:
    """Floats don't tell these prices apart."""
    assert float("90071992547409.93") == float("90071992547409.94")
    con.execute(
        """CREATE TABLE large AS SELECT * FROM (VALUES (1, 90071992547409.92::DECIMAL(18, 2)), (2, 90071992547409.93),
             (3, 90071992547409.94), (4, 90071992547409.93), (5, NULL)) v(i, p)"""
    )
    clauses = """ORDER BY i
        MEASURES LAST(p) AS a, MAX(p) AS b, SUM(p) AS c, LAST(p) - FIRST(p) AS d, MAX_BY(i, p) AS e, SUM(p) * 2 AS f
        PATTERN (A B+) DEFINE B AS p > PREV(p)"""
    price = Decimal("90071992547409.94")
    found = afa.duckdb.sql(con, f"SELECT * FROM large MATCH_RECOGNIZE ({clauses})")
    assert found.fetchall() == [(price, price, 3 * price - Decimal("0.03"), Decimal("0.02"), 3, 6 * price - Decimal("0.06"))]
    kinds = ["DECIMAL(18,2)", "DECIMAL(18,2)", "DECIMAL(38,2)", "DECIMAL(19,2)", "BIGINT", "DECIMAL(38,2)"]
    assert list(map(str, found.types)) == kinds
    clauses = "ORDER BY i MEASURES A.i AS a PATTERN (A B) DEFINE A AS i > 1, B AS {}"
    for define in ("LAST(A.p) <> B.p", "NOT B.p BETWEEN A.p AND FIRST(A.p)"):
        assert afa.duckdb.sql(con, f"SELECT * FROM large MATCH_RECOGNIZE ({clauses.format(define)})").fetchall() == [(2,)]


def test_rows_are_those_of_the_variable_that_is_named_last_in_define(con: Any) -> None:
    clauses = "MEASURES LAST(printf('%d', B.price)) AS v, LAST(C.name) AS w PATTERN (B C) DEFINE C AS true, B AS true"
    assert afa.duckdb.sql(con, f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts {clauses})").fetchall() == [
        ("A", "9", "y")
    ]


@pytest.mark.parametrize(
    "define",
    [
        "B AS COUNT(CASE WHEN A.name = 'x' THEN A.amt ELSE 0 END) = 1",
        "B AS LAST(printf('%d', A.price)) = '9'",
        "B AS SUM(A.amt) + SUM(B.amt) = 0.3",
        "B AS list_value(B.amt)[1] - A.amt = 0.1",
        "B AS MIN(list_value(B.price)[1]) FILTER (WHERE B.name = 'y') = 7 AND MAX(list_value(B.ts)[1]) = MIN(list_value(B.ts)[1])",
    ],
)
def test_what_the_engine_computes_within_aggregates_of_define(con: Any, define: str) -> None:
    con.execute("CREATE TABLE paid AS SELECT *, (ts / 10)::DECIMAL(4, 2) AS amt FROM t")
    clauses = f"MEASURES A.ts AS v PATTERN (A B) DEFINE {define}"
    assert afa.duckdb.sql(con, f"SELECT * FROM paid MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts {clauses})").fetchall() == [
        ("A", 1)
    ]


@pytest.mark.parametrize("key", ["huge", "HUGE", "fine.Huge", "upper(a.name)"])
def test_keys_are_told_apart_however_their_case_is(con: Any, key: str) -> None:
    for variable in "az":
        text = f"SELECT c FROM fine MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY i MEASURES COUNT(*) AS c PATTERN ({variable}+))"
        assert afa.duckdb.sql(con, text).fetchall() == [(1,), (1,)]


GROWS = "printf('%d', LAST(price)) AS m0, " + ", ".join(f"concat_ws('', m{i}, m{i}) AS m{i + 1}" for i in range(20))
REFUSED = {
    "a row of the pattern in a subquery": (
        statement("(SELECT max(p) FROM s WHERE s.sym = a.sym) AS v"),
        "what needs no row of a variable",
    ),
    "the same in DEFINE": (
        statement("1 AS v", define="b AS EXISTS (SELECT 1 FROM s WHERE p = a.price)"),
        "within a subquery .* but got a.price",
    ),
    "in a function within": (
        statement("list_transform(ARRAY_AGG(price), v -> v + a.price) AS z"),
        "within a subquery or x -> .. but got",
    ),
    "the name of a column": (
        statement("printf('%d', LAST(price)) AS price", rows="ALL ROWS PER MATCH"),
        "a name that no column has",
    ),
    "the name of the key": (statement("printf('%d', LAST(price)) AS sym"), "a name that no column has in MEASURES but got 'sym'"),
    "a name twice": (
        statement("LAST(price) AS v, printf('%d', LAST(price)) AS V"),
        "a name that no column has in MEASURES but got 'V'",
    ),
    "a name of ours": (statement("hash(name) = 3 AS v, LAST(ts) AS afa_by_0"), "got 'afa_by_0'"),
    "several rows": (statement("1 AS v", define="a AS unnest([price]) > 0"), "expected one value but got unnest"),
    "several rows of a match": (statement("unnest([FIRST(price), LAST(price)]) AS v"), "expected one value but got unnest"),
    "several columns": (statement("COLUMNS(*) AS v"), "expected one value but got COLUMNS"),
    "text that grows": (statement(GROWS), "MEASURES of at most 3,000 parts"),
    "no such function": (
        statement("nosuch(LAST(price)) AS v"),
        r"(?s)MEASURES but got nosuch\(LAST\(price\)\): what DuckDB refuses.*nosuch",
    ),
    "FINAL": (statement("FINAL printf('%d', LAST(price)) AS z"), "an expression over rows but got"),
    "a match in a clause": (
        statement("1 AS x", define="a AS price = (SELECT max(low) FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (z z)))"),
        "expected no MATCH_RECOGNIZE within a clause of another",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(con: Any, name: str) -> None:
    text, said = REFUSED[name]
    with pytest.raises(AfaError, match=said):
        afa.duckdb.sql(con, text).fetchall()


def test_other_texts_have_other_names() -> None:
    """So that a stream which is started anew with another text does not go on with the state of the first one."""

    def names(measures: str, define: str = "b AS price < 1") -> list[str]:
        of = statement_of(statement(measures, define=define), "duckdb")
        match, front, _ = engine_share(of.matches["#0"], of.text)
        return [*front, *(each.name.said for each in match.measures)]

    assert names("printf('<%d>', LAST(x)) AS v") != names("printf('[%d]', LAST(x)) AS v")
    assert names("1 AS v", "b AS hash(x) = hash(1)") != names("1 AS v", "b AS hash(x) = hash(2)")
    assert names("printf('<%d>', LAST(x)) AS v") == names("printf('<%d>', LAST(x)) AS v")
