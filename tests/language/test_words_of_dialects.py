"""Words that the users of one dialect write in the clauses of MATCH_RECOGNIZE, and what shows no column."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import afa
from afa import QueryError

ROWS = "(1, 7, 'a'), (2, 9, 'b'), (3, 2, 'a'), (4, 5, 'a'), (5, 1, 'b')"


def answered(dialect: str, measures: str, define: str, *, pattern: str = "x+", rows: str = "", select: str = "*") -> list[Any]:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {ROWS}) v(id, a, s)")
    measures = f"MEASURES {measures}" if measures else ""
    text = f"SELECT {select} FROM t MATCH_RECOGNIZE (ORDER BY id {measures} {rows} PATTERN ({pattern}) DEFINE {define})"
    return sorted(afa.duckdb.sql(con, text, dialect=dialect).fetchall(), key=repr)


@pytest.mark.parametrize(
    ("dialect", "measures", "define", "expected"),
    [
        ("snowflake", "FIRST_VALUE(a) AS f, last_value(id) AS l", "x AS a >= FIRST_VALUE(a)", [(1, 5), (2, 4), (7, 2)]),
        ("snowflake", "COUNT(*) AS n", "x AS a > 2, unused AS a > PREV(a)", [(1,), (2,)]),
        ("oracle", "COUNT(*) AS n", "x AS a = ANY (7, 9)", [(2,)]),
        ("oracle", "COUNT(*) AS n", "x AS a <> ALL (7, 2)", [(1,), (2,)]),
        ("oracle", "NEXT(FINAL LAST(a)) - FIRST(a) AS d", "x AS a > 2", [(-4,), (-5,)]),
        ("duckdb", "{'first': FIRST(a), 'last': [LAST(a), 1]} AS m, COUNT(*) AS n", "x AS a > 2 AND [1, 2][2] = 2",
         [({"first": 5, "last": [5, 1]}, 1), ({"first": 7, "last": [9, 1]}, 2)]),
    ],
)  # fmt: skip
def test_words(dialect: str, measures: str, define: str, expected: list[Any]) -> None:
    assert answered(dialect, measures, define) == expected


def test_a_row_behind_the_last_one_of_the_match_in_each_of_its_rows() -> None:
    found = answered(
        "oracle", "NEXT(FINAL LAST(a)) AS n, PREV(LAST(a)) AS p", "x AS a > 2", rows="ALL ROWS PER MATCH", select="id, n, p"
    )
    assert found == [(1, 2, None), (2, 2, 7), (4, 1, 2)]


def test_matches_that_show_no_column_are_counted() -> None:
    assert answered("duckdb", "", "x AS a > 2", select="COUNT(*)") == [(2,)]
    assert answered("trino", "", "x AS a > 2", select="'one' AS one") == [("one",), ("one",)]
    with pytest.raises(
        QueryError, match=r"expected MEASURES or PARTITION BY, of which SELECT \* shows the columns, but got neither"
    ):
        answered("trino", "", "x AS a > 2")


@pytest.mark.parametrize(
    ("dialect", "measures", "define", "said"),
    [
        (
            "trino",
            "SUM(MATCH_NUMBER()) AS n",
            "x AS a > 2",
            "expected values of rows but got .*, of a match; write MATCH_NUMBER",
        ),
        ("trino", "FIRST_VALUE(a) AS f", "x AS a > 2", "FIRST_VALUE"),
        ("trino", "COUNT(*) AS n", "x AS a > 2, unused AS a > 3", "expected a variable of the pattern in DEFINE but got 'unused'"),
        ("trino", "1 AS n", "x AS ARRAY_AGG(CLASSIFIER()) = ARRAY['X', 'Y']", "expected another aggregate in DEFINE but got"),
    ],
)
def test_refused(dialect: str, measures: str, define: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        answered(dialect, measures, define)


def test_a_partition_of_oracle_is_not_left_out() -> None:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {ROWS}) v(id, a, s)")
    text = "SELECT * FROM t PARTITION (p1) MATCH_RECOGNIZE (ORDER BY a MEASURES LAST(a) AS n PATTERN (x+))"
    for way in (lambda: afa.duckdb.sql(con, text, dialect="oracle"), lambda: afa.sql(text, dialect="oracle")):
        with pytest.raises(QueryError, match=r"expected a table but got PARTITION \(..\), a part of one"):
            way()
