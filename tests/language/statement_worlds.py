"""Random whole statements by DuckDB: joins, groups, windows, unions, CTEs around a random MATCH_RECOGNIZE.

Each must answer what DuckDB answers where a table stands in place of MATCH_RECOGNIZE: that of what `row_matcher` shows of the rows
in front, which DuckDB reads, too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

import afa
from afa import FOREVER, AfaError
from tests.language.row_matcher import Cat, Clauses, Rep, Var
from tests.language.row_values import TableRow
from tests.language.whole_queries import DECIMALS, Row, Statement, features, query
from tests.strategies import Seeded
from tests.worlds.kind import RefusedError, Seen, TooManyError, Worlds

PATIENCE = 40_000
AROUND = frozenset(
    {
        "inline view",
        "projection",
        "CTE",
        "WHERE",
        "SELECT expressions",
        "DISTINCT",
        "qualified",
        "backticks",
        "ARRAY_AGG",
        "computed",
    }
)
FRONTS = {
    "t": "",
    "(SELECT * FROM t WHERE v < 3) t": "",
    "(SELECT t.* FROM t JOIN s ON s.kind = t.kind) t": "",
    "(SELECT * FROM t WHERE v < 2 UNION ALL SELECT * FROM t WHERE v >= 2) t": "",
    "(SELECT * EXCLUDE (first) FROM (SELECT *, min(n) OVER (PARTITION BY kind) AS first FROM t) WHERE n > first) t": "",
    "u": "u AS (SELECT * FROM t WHERE kind <> 'y')",
    "w": "u AS (SELECT * FROM t WHERE v IS NOT NULL), w AS (SELECT u.* FROM u SEMI JOIN s USING (kind))",
    "(WITH t AS (SELECT * FROM u WHERE n > 3) SELECT * FROM t) t": "u AS (SELECT * FROM t WHERE v < 3)",
}
"""What stands in front, with the CTEs that it names."""
TEMPLATES = (
    "{with} SELECT * FROM {m} AS m",
    "{with} FROM {m} AS m SELECT m.m0, count(*) AS c GROUP BY ALL",
    "{with} SELECT m.*, s.w FROM {m} AS m JOIN s ON CAST(m.m0 AS VARCHAR) = s.text",
    "{with} SELECT m.m0, s.kind FROM s LEFT JOIN {m} AS m ON CAST(m.m0 AS VARCHAR) = s.text WHERE s.w > 0",
    "{with} SELECT CAST(m0 AS VARCHAR) FROM {m} AS m UNION ALL SELECT text FROM s",
    "{with} SELECT m0 || ' of' AS said, length(CAST(m0 AS VARCHAR)) AS n FROM {m} AS m",
    "{with} SELECT CAST(m0 AS VARCHAR) AS said, count(*) AS c FROM {m} AS m GROUP BY ALL",
    "{with} SELECT CAST(m0 AS VARCHAR) FROM {m} AS m EXCEPT SELECT text FROM s",
    "{with} SELECT DISTINCT m0 FROM {m} AS m WHERE m0 IS NOT NULL",
    "{with} SELECT m0, rank() OVER (ORDER BY m0 NULLS LAST) AS r FROM {m} AS m QUALIFY r < 4",
    "{with} SELECT a.m0, count(*) FROM {m} AS a CROSS JOIN {m} AS b GROUP BY a.m0",
    "{with_more} found AS (SELECT m0 AS x FROM {m} AS m) SELECT x, (SELECT count(*) FROM found) AS c FROM found",
    "{with} SELECT kind, w FROM s WHERE EXISTS (SELECT 1 FROM {m} AS m) OR w IN (SELECT count(*) FROM {m} AS m)",
    "SELECT * FROM ({with} SELECT max(m0) AS most, min(m0) AS least FROM {m} AS m HAVING count(*) > 0) AS x, s",
    "{with} SELECT c, i, CAST(y AS VARCHAR) AS y FROM {over} AS o",
    "{with} SELECT o.c, count(*) FROM {over} AS o LEFT JOIN {m} AS m ON true GROUP BY o.c",
)
OVER = "(SELECT m0 AS x, row_number() OVER (ORDER BY m0 NULLS FIRST) AS i FROM {m} AS m)"
"""The rows of one MATCH_RECOGNIZE over another."""
OVER_CLAUSES = (
    "MATCH_RECOGNIZE (ORDER BY i MEASURES COUNT(*) AS c, FIRST(i) AS i, LAST(x) AS y PATTERN (A B+) DEFINE B AS x IS NOT NULL)"
)
OVER_MATCHER = Clauses(
    Cat((Var("A"), Rep(Var("B"), 1, None))),
    {"B": lambda seen: seen.rows[seen.picks[-1].at].of.x is not None},
    (
        lambda seen: len(seen.picks),
        lambda seen: seen.rows[seen.picks[0].at].le,
        lambda seen: seen.rows[seen.picks[-1].at].of.x,
    ),
)


class World(NamedTuple):
    """A statement: that of a seed and a number, in front of it and around it; rows as of `Row`, with their lists."""

    seed: str
    family: int
    front: str
    template: str
    rows: tuple[Row, ...]
    engine: bool = False  # whether columns of a row, and measures, stand within functions that only the engine has


class OverRow(NamedTuple):
    x: Any


def numbered(seed: str, number: int) -> World:
    """The world of a number."""
    choose = Seeded(f"statements/{seed}/{number}")
    places = [(le, seq) for le in range(1, 19) for seq in range(2)]
    rows = [
        Row(
            choose.one(("k", "l", None)),
            None if choose.chance(3) else choose.one("xyz"),
            v := None if choose.chance(8) else choose.number(0, 3),
            v and v / 2,
            None if choose.chance(8) else choose.one(DECIMALS),
            2 * le + seq,
            seq,
            le,
        )
        for le, seq in places
        if choose.chance(65)
    ]
    return World(seed, number // 2, choose.one(tuple(FRONTS)), choose.one(TEMPLATES), tuple(rows), choose.chance(40))


class Asked(NamedTuple):
    """A world, asked of DuckDB: the statement, what it answers, and the database."""

    text: str
    wanted: Counter[Any]
    con: Any
    shown: int


def asked(of: World) -> Asked:
    """What a statement must answer; `TooManyError`: there is more than brute force can do."""
    try:
        statement = query(of.seed, of.family, features() - AROUND)[0]
    except AfaError as error:
        raise RefusedError(str(error)) from None
    said = by_engine(statement) if of.engine else statement
    clauses = said.text.removeprefix("SELECT * FROM t ").replace("<1>", "[1]")  # names stand in brackets before
    con = database(of.rows)
    named = FRONTS[of.front]
    text = filled(of.template, named, f"{of.front} {clauses}", f"{OVER} {OVER_CLAUSES}")
    front = con.sql(f"{'WITH ' + named if named else ''} SELECT * FROM {of.front}").fetchall()
    shown = judged(statement, [Row(*row[:-1]) for row in front])
    con.register("judged", shown)
    over = con.sql(OVER.format(m="judged").removeprefix("(").removesuffix(")"))
    found = OVER_MATCHER.answer([TableRow(OverRow(x), i, FOREVER) for x, i in over.fetchall()])
    values = [of for (_, of, _, _), n in found.items() for _ in range(n)]
    kinds = [pa.int64(), pa.int64(), over.to_arrow_table().schema.field("x").type]
    columns = [pa.array([of[i] for of in values], kind) for i, kind in enumerate(kinds)]
    con.register("judged_over", pa.table(columns, ["c", "i", "y"]))
    return Asked(text, bag(con.sql(filled(of.template, named, "judged", "judged_over"))), con, len(shown))


def check(of: World, engine: str) -> Seen:
    """Ask both; what was met."""
    try:
        text, wanted, con, shown = asked(of)
    except TooManyError:
        return Seen({"not compared": 1})
    answer = bag(afa.duckdb.sql(con, text, tick="s", engine=engine))
    assert answer == wanted, f"missing {wanted - answer}, too much {answer - wanted}\n{text}"
    there = {"compared": 1, "rows": sum(answer.values()), "shown": shown, of.template: 1, of.front: 1}
    return Seen({**there, "by the engine": shown * of.engine})


def by_engine(statement: Statement) -> Statement:
    """A statement that means the same, with lists of one value in place of columns of a row, and of measures."""
    define = {name: re.sub(r"(?<!\.)\[v\]", "list_value([v])<1>", text) for name, text in statement.define.items()}
    return replace(statement, define=define, measures=tuple(f"list_value({each})<1>" for each in statement.measures))


def filled(template: str, named: str, match: str, over: str) -> str:
    """A statement with these in place of MATCH_RECOGNIZE."""
    with_, more = (f"WITH {named}", f"WITH {named},") if named else ("", "WITH")
    return template.replace("{with}", with_).replace("{with_more}", more).replace("{over}", over).replace("{m}", match)


def database(rows: tuple[Row, ...]) -> Any:
    """The tables t, of rows, and s."""
    con = duckdb.connect()
    con.execute(
        'CREATE TABLE t ("key" VARCHAR, kind VARCHAR, v INTEGER, f DOUBLE, d DECIMAL(9, 2), n INTEGER, seq BIGINT, "at" BIGINT, '
        "tags BIGINT[]);"
        "CREATE TABLE s AS SELECT * FROM (VALUES ('x', 1, '1'), ('y', 2, '2'), ('z', 0, '5'), ('o', 3, 'A'), ('d', 4, '0.70')) "
        "AS s(kind, w, text)"
    )
    if rows:
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [(*row, [row.n]) for row in rows])
    return con


def judged(statement: Any, rows: list[Row]) -> pa.Table:
    """The table of what a matcher that tries everything shows of rows, with SQL's columns."""
    clauses = statement.clauses
    found = clauses.answer([TableRow(row, row.at or 0, FOREVER) for row in rows], PATIENCE)
    names = [f"m{i}" for i in range(len(clauses.measures))]
    keys = ["key"] if statement.texts["key"] else []
    shown: list[dict[str, Any]] = []
    for (key, values, _, _), n in found.items():
        of, measures = (None, values) if clauses.rows == "one" else values
        held = {"key": key} if of is None else {**of._asdict(), "tags": [of.n]}
        shown += [{**held, **dict(zip(names, measures))}] * n
    columns = [*keys, *names]
    if clauses.rows != "one":
        order = [*keys, "at", "seq"]
        columns = [*order, *names, *(name for name in (*Row._fields, "tags") if name not in order)]
    return pa.table({name: wide(pa.array([row[name] for row in shown])) for name in columns})


def wide(column: pa.Array) -> pa.Array:
    """A column whose DECIMALs have a digit before the point, which DuckDB shows then."""
    return column.cast(pa.decimal128(38, column.type.scale)) if pa.types.is_decimal(column.type) else column


def bag(relation: Any) -> Counter[Any]:
    """The rows of an answer, with the names of its columns."""
    return Counter((tuple(relation.columns), *map(plain, row)) for row in relation.fetchall())


def plain(value: Any) -> Any:
    """A value that can be compared, and hashed."""
    if isinstance(value, list):
        return tuple(map(plain, value))
    if isinstance(value, float | Decimal):
        value = float(value)
        return "nan" if math.isnan(value) else round(value, 9)
    return value


def smaller(of: World) -> Iterator[World]:
    """The same with less of it."""
    for i in range(len(of.rows)):
        yield of._replace(rows=of.rows[:i] + of.rows[i + 1 :])
    for template in (TEMPLATES[0],):
        if of.template != template:
            yield of._replace(template=template)
    if of.engine:
        yield of._replace(engine=False)
    if of.front != "t":
        yield of._replace(front="t")


WORLDS = Worlds("sql-statements", generate=numbered, check=check, smaller=smaller)
