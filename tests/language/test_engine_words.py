"""What stands around MATCH_RECOGNIZE in one dialect means the same in the words of the engine that runs it."""

from __future__ import annotations

from functools import cache
from typing import Any

import duckdb
import pytest
import sqlglot

import afa
from afa import QueryError
from afa.language.engine_words import in_engine_words

CLAUSE = """MATCH_RECOGNIZE (ORDER BY id MEASURES FIRST(a) AS a, FIRST(b) AS b, FIRST(f) AS f, FIRST(d) AS d, FIRST(s) AS s,
    FIRST(ts) AS t1, LAST(ts) AS t2 PATTERN (x y))"""


@cache
def two_rows() -> Any:
    con = duckdb.connect()
    con.execute("""CREATE TABLE t AS SELECT * FROM (VALUES
        (1, -7, 2, 2.5::DOUBLE, 2.5, NULL::VARCHAR, TIMESTAMP '2024-01-01 10:59:00'),
        (2, 9, 2, 3.5::DOUBLE, 3.5, 'x', TIMESTAMP '2024-01-01 11:01:00')) v(id, a, b, f, d, s, ts)""")
    return con


def shown(select: str, dialect: str) -> Any:
    ((found,),) = afa.duckdb.sql(two_rows(), f"SELECT {select} AS o FROM t {CLAUSE}", dialect=dialect).fetchall()
    return found


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("a / b", {-3: "trino flink risingwave", -3.5: "snowflake oracle databricks spark bigquery duckdb"}),
        ("a / b / b", {-1: "trino flink risingwave", -1.75: "snowflake oracle databricks spark bigquery duckdb"}),
        ("(a / b) * 3 / b", {-4: "trino flink risingwave", -5.25: "snowflake oracle duckdb"}),
        ("a * 1.0 / b", {-3.5: "trino flink risingwave oracle duckdb"}),
        ("f / b", {1.25: "trino flink risingwave oracle duckdb"}),
        ("SUM(a) / COUNT(*)", {-7: "trino flink duckdb"}),
        ("CAST(f AS INT)", {3: "trino oracle snowflake bigquery", 2: "duckdb risingwave databricks spark flink"}),
        ("CAST(f + 1 AS INT)", {4: "trino oracle snowflake bigquery duckdb risingwave", 3: "databricks spark flink"}),
        ("CAST(d AS INT)", {3: "trino oracle snowflake duckdb", 2: "databricks spark flink"}),
        ("CAST('12' AS INT)", {12: "trino snowflake databricks flink duckdb"}),
        ("GREATEST(a, NULLIF(b, 2))", {None: "trino oracle snowflake bigquery flink", -7: "duckdb risingwave spark databricks"}),
        ("LEAST(b, NULLIF(a, -7), 5)", {None: "trino oracle snowflake bigquery flink", 2: "duckdb risingwave spark databricks"}),
        ("'a' || s", {"a": "oracle", None: "trino snowflake duckdb spark"}),
        ("COALESCE(s || s, 'none')", {"none": "oracle trino duckdb"}),
        ("SUBSTR('hello', 0, 2)", {"he": "oracle snowflake databricks spark bigquery", "": "trino", "h": "duckdb risingwave"}),
        ("EXTRACT(DAYOFWEEK FROM t1)", {2: "databricks spark bigquery", 1: "snowflake duckdb"}),
        ("DATE_DIFF('hour', t1, t2)", {0: "trino", 1: "duckdb"}),
        ("DATEDIFF(HOUR, t1, t2)", {0: "databricks", 1: "snowflake"}),
        ("TIMESTAMP_DIFF(t2, t1, HOUR)", {0: "bigquery"}),
        ("TIMESTAMPDIFF(MINUTE, t1, t2)", {2: "flink databricks spark snowflake"}),
        ("TIMESTAMPDIFF(HOUR, t1, t2)", {0: "flink databricks spark", 1: "snowflake"}),
        ("TO_CHAR(t1, 'YYYY-MM-DD HH24:MI')", {"2024-01-01 10:59": "oracle snowflake"}),
    ],
)
def test_what_dialects_do_differently(select: str, expected: dict[Any, str]) -> None:
    for value, dialects in expected.items():
        for dialect in dialects.split():
            assert shown(select, dialect) == value, dialect


def test_hints_and_names_of_oracle() -> None:
    con = duckdb.connect()
    con.execute('CREATE TABLE t AS SELECT * FROM (VALUES (1, 5), (2, 6)) v(id, "a#")')
    text = """SELECT /*+ PARALLEL(4) */ box#, n$ FROM t MATCH_RECOGNIZE (ORDER BY id
        MEASURES MATCH_NUMBER() AS box#, SUM(a#) AS n$ PATTERN (x+)) WHERE box# = 1"""
    found = afa.duckdb.sql(con, text, dialect="oracle")
    assert (found.columns, found.fetchall()) == (["box#", "n$"], [(1, 11)])


def test_a_row_in_front_is_computed_in_the_words_of_the_dialect() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 7), (2, 5), (3, 9)) v(id, n)")
    text = """SELECT k FROM (SELECT id, n / 2 AS k FROM t) MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(k) AS k
        PATTERN (x+) DEFINE x AS from_base(CAST(k AS VARCHAR), 10) > 2)"""
    with pytest.raises(QueryError, match="from_base"):
        afa.duckdb.sql(con, text, dialect="trino")
    found = afa.duckdb.sql(con, text.replace("from_base(CAST(k AS VARCHAR), 10)", "k"), dialect="trino").fetchall()
    assert sorted(found) == [(3,), (4,)]


def test_what_has_no_name_is_called_by_its_words() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 7), (2, 5)) v(id, a)")
    text = "SELECT m.n / 2, CAST(n AS INT), n FROM t MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n PATTERN (x+)) AS m"
    assert afa.duckdb.sql(con, text, dialect="trino").columns == ["m.n / 2", "CAST(n AS INT)", "n"]


@pytest.mark.parametrize(
    ("text", "dialect", "said"),
    [
        ("DATEDIFF('hour', a, b)", "snowflake", "DATEDIFF(HOUR, DATE_TRUNC('HOUR', a), DATE_TRUNC('HOUR', b))"),
        ("DATE_DIFF('hour', a, b)", "trino", "DATEDIFF(HOUR, a, b)"),
        ("GREATEST(a, b)", "oracle", "CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE GREATEST(a, b) END"),
        ("DAYOFWEEK(a)", "snowflake", "(DAYOFWEEK(a) + -1)"),
        ("CAST(a AS INT)", "flink", "CAST(a AS INT)"),
    ],
)
def test_words_of_spark(text: str, dialect: str, said: str) -> None:
    node = sqlglot.parse_one(text, read=None if dialect == "flink" else dialect)
    assert in_engine_words(node, dialect, "spark").sql("spark") == said


def test_spark_rounds_and_cuts_off_by_types() -> None:
    whole = in_engine_words(sqlglot.parse_one("CAST(a AS INT)", read="trino"), "trino", "spark").sql("spark")
    assert "'DECIMAL') THEN CAST(ROUND(CAST(a AS DOUBLE)) AS INT) ELSE CAST(a AS INT)" in whole
    assert "RINT(" in in_engine_words(sqlglot.parse_one("CAST(a AS INT)"), "duckdb", "spark").sql("spark")
    cut = in_engine_words(sqlglot.parse_one("a / b", read="trino"), "trino", "spark").sql("spark")
    assert cut.startswith("CASE WHEN UPPER(TYPEOF(a)) IN ('TINYINT', 'SMALLINT', 'INT', 'BIGINT')")
    assert cut.endswith("THEN CAST(a AS BIGINT) DIV CAST(b AS BIGINT) ELSE a / b END")


def test_divisions_within_divisions_are_bounded() -> None:
    with pytest.raises(QueryError, match="expected a statement of fewer divisions"):
        shown(" / ".join(["a"] * 40), "trino")
