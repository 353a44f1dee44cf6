"""SQL's functions, on both engines: against DuckDB over random rows, by hand where dialects differ, and what is refused."""

from __future__ import annotations

import math
import random
import re
from datetime import date, datetime, timezone
from typing import Any, NamedTuple

import pytest

import afa
from afa import insert
from afa.errors import QueryError


class Row(NamedTuple):
    ts: afa.Instant
    p: int
    q: int
    f: float
    s: str
    j: int | None = None
    os: str | None = None
    g: float | None = None


BY_DUCKDB = """
    sqrt(abs(f)); ln(abs(f) + 1); log(abs(f) + 1); log10(abs(f) + 1); log2(abs(f) + 1); exp(f / 100); power(abs(f), 1.5)
    sin(f); cos(f); tan(f); atan(f); atan2(f, p); degrees(f); radians(f); pi(); log(3, abs(f) + 1)
    floor(f); ceil(f); trunc(f); round(f); round(f, 2); round(f, 1); round(p); floor(p); sign(f); sign(p); abs(p); abs(f)
    mod(p, q); mod(f, 2); p % q; mod(p, 3); p / 2; p / 4.0; (p * p + 1) / q
    greatest(p, q, 3); least(p, q); greatest(p, j); least(j, p, 2); greatest(s, 'ab'); coalesce(j, p); nullif(p, q); nullif(j, p)
    if(p > q, 1, 2); case when p > q then f end; case p when 1 then 'a' when 2 then 'b' else 'c' end
    lower(s); upper(s); length(s); length(os) + p; substr(s, 2); substr(s, 2, 1); substring(s, 1, 2); substr(s, 0, 2); trim(s)
    ltrim(s); rtrim(s); rtrim(s, 'b'); s || 'x'; s || os; concat(s, os, '!')
    s like 'a%'; s like '%b_'; s like 'a_%'; s not like '%a%b%'; s ilike 'A%'; s ilike '%B_'; s like 'a!%%' escape '!'; os like 'a_'
    starts_with(s, 'a'); contains(s, 'b')
    p in (1, 2, 3); p in (1, q); p in (j, 1); p not in (j, 1); j in (1, 2); p in (1, null); p between 1 and q
    p is distinct from j; p is not distinct from j; j is null; p = j; not (p = j); p > 1 and j > 1; p > 1 or j > 1; f > g
    g is not null and g > 0; (p > 1) is not true
    cast(f as int); cast(p as double); cast(p as varchar); cast(s as varchar); cast(p > q as varchar); cast(p > q as int)
    year(ts); month(ts); day(ts); hour(ts); minute(ts); second(ts); quarter(ts); dayofyear(ts); extract(year from ts)
    extract(hour from ts); extract(epoch from ts); date_trunc('hour', ts); date_trunc('day', ts); date_trunc('month', ts)
    date_trunc('year', ts); date_trunc('week', ts); datediff('day', timestamp '2024-01-15 12:00:00', ts)
    datediff('month', timestamp '2020-02-29', ts); datediff('second', ts, timestamp '2020-02-29'); datediff('year', ts, ts)
    ts > timestamp '2010-01-01 00:00:00'; ts - interval '1' hour; ts + interval '3' day; cast(ts as date) = date '2004-01-01'
    ts < date '2014-06-01'; cast('1999-12-31' as date); cast(j > 1 as varchar); cast(ts > null as varchar)
    datediff('week', timestamp '2024-01-03 12:00:00', ts); datediff('week', ts, date '2024-01-01'); datediff('week', ts, ts)
    (ts - timestamp '2009-01-01 00:00:00') / 2 < interval '500' day; extract(epoch from ts - timestamp '2009-01-01 00:00:00')
"""
EXPRESSIONS = [each.strip() for line in BY_DUCKDB.strip().splitlines() for each in line.split(";")]
FLOATS = [0.5, -0.5, 1.5, 2.5, -2.5, 3.14159, 0.0, -7.25, 123.456]


def rows() -> list[Row]:
    rng = random.Random(5)
    first = int(datetime(1995, 1, 1, tzinfo=timezone.utc).timestamp())
    times = sorted(first + rng.randrange(30 * 365 * 86_400) for _ in range(40))
    texts = ["", "a", "ab", "acb", "a%b", " a b ", "Ab", "abcb", "aab"]
    return [
        Row(
            ts, rng.randrange(1, 5) if rng.random() < 0.7 else rng.randint(-9, 9), rng.choice([1, 2, 3, -2, 7]),
            rng.choice([*FLOATS, rng.uniform(-100, 100)]), rng.choice(texts), rng.choice([None, 1, 2, 3]),
            rng.choice([None, "ab", "", "ax"]), rng.choice([None, 0.5, -1.0]),
        )
        for ts in times
    ]  # fmt: skip


ROWS = rows()


def query(expression: str, dialect: str | None = None, define: str = "TRUE", tick: str | None = "s") -> Any:
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES {expression} AS v, a.ts AS at, a.p AS p0 PATTERN (a)
        DEFINE a AS {define})"""
    return afa.sql(text, event=Row, tick=tick, dialect=dialect)


def shown(made: Any, engine: str, events: list[Row]) -> list[Any]:
    op = made.operator(engine=engine)
    return [out.payload.v for row in events for out in op.push(insert(row, row.ts))]


def value(expression: str, dialect: str | None = None, row: Row = ROWS[0], **options: Any) -> Any:
    """The value of an expression, which both engines say."""
    found = [shown(query(expression, dialect, **options), engine, [row]) for engine in ("auto", "interpreted")]
    assert repr(found[0]) == repr(found[1])
    return found[0][0]


def plain(found: Any) -> Any:
    if isinstance(found, datetime):
        return int(found.replace(tzinfo=timezone.utc).timestamp())
    return int(datetime(found.year, found.month, found.day, tzinfo=timezone.utc).timestamp()) if isinstance(found, date) else found


@pytest.fixture(scope="module")
def table() -> Any:
    duckdb = pytest.importorskip("duckdb")
    con = duckdb.connect()
    con.execute("create table t (ts timestamp, p bigint, q bigint, f double, s varchar, j bigint, os varchar, g double)")
    for row in ROWS:
        moment = datetime.fromtimestamp(row.ts, timezone.utc).replace(tzinfo=None)
        con.execute("insert into t values (?, ?, ?, ?, ?, ?, ?, ?)", [moment, *row[1:]])
    return con


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_are_duckdb_s(expression: str, table: Any) -> None:
    wanted = [plain(found) for (found,) in table.execute(f"select {expression} from t order by ts").fetchall()]
    made = query(expression, "duckdb")
    found = shown(made, "interpreted", ROWS)
    near = [pytest.approx(each, rel=1e-14) if isinstance(each, float) else each for each in wanted]
    assert found == near
    engine = "auto" if expression.startswith("greatest(s") else "compiled"  # two texts are compared by Python
    assert repr(shown(made, engine, ROWS)) == repr(found)
    asked = expression.startswith("cast(") is False and all(each is None or type(each) is bool for each in wanted)
    if asked:  # as a condition, too: what is unknown does not hold
        for engine in ("auto", "interpreted"):
            assert shown(query("a.p", "duckdb", expression), engine, ROWS) == [r.p for r, each in zip(ROWS, wanted) if each]


SPECIAL = Row(86_400, 7, 2, -1.5, "a\\b", None, None, None)


@pytest.mark.parametrize(
    ("expression", "dialect", "expected"),
    [
        ("p / q", "trino", 3),
        ("-p / q", "trino", -3),
        ("p / q", "snowflake", 3.5),
        ("p / (q - 2)", "spark", None),
        ("mod(p, q - 2)", "spark", None),
        ("-p % q", "databricks", -1),
        ("cast(f as int)", "snowflake", -2),
        ("cast(f as int)", "duckdb", -2),
        ("cast(f - 1.0 as int)", "duckdb", -2),
        ("cast(f - 1.0 as int)", "snowflake", -3),
        ("cast(f as int)", "spark", -1),
        ("round(f + 4)", "risingwave", 2.0),
        ("round(f + 4)", None, 3.0),
        ("round(p, -1)", None, 10.0),
        ("greatest(p, j)", "oracle", None),
        ("greatest(p, j)", "duckdb", 7),
        ("greatest(p, q)", None, 7),
        ("concat(s, os)", "trino", None),
        ("concat(s, os)", "duckdb", "a\\b"),
        ("concat(s, 'x')", None, "a\\bx"),
        ("s || os", None, None),
        ("s || os", "oracle", "a\\b"),
        ("sqrt(f)", "trino", math.nan),
        ("ln(p - 7)", "trino", -math.inf),
        ("ln(p - 7)", "spark", None),
        ("asin(p)", "trino", math.nan),
        ("log(p)", "spark", math.log(7)),
        ("log(p)", "duckdb", math.log10(7)),
        *(("log(2, 8)", each, 3.0) for each in ("trino", "oracle", "snowflake", "flink", "duckdb", "spark", "databricks")),
        ("log(8, 2)", "bigquery", 3.0),
        ("log(8, 10)", "bigquery", math.log10(8)),
        ("log(f * -2, 2)", "bigquery", math.log2(3.0)),
        ("cast(j > 1 as varchar)", "trino", None),
        ("cast(p > 1 as varchar)", "trino", "true"),
        ("greatest_ignore_nulls(p, j)", "snowflake", 7),
        ("least_ignore_nulls(j, p, q)", None, 2),
        ("least(j, p)", "snowflake", None),
        ("substr(s, 0, 2)", "trino", ""),
        ("substr(s, 0, 2)", "oracle", "a\\"),
        ("substr(s, 0, 2)", "duckdb", "a"),
        ("s like 'a\\\\b'", "snowflake", True),
        ("s like 'a\\\\\\\\b'", "spark", True),
        ("regexp_like(s, 'a')", "trino", True),
        ("regexp_like(s, 'a')", "snowflake", False),
        ("regexp_like(s, '^A.b$', 'i')", None, True),
        ("datediff('hour', ts, ts + 90 * 60)", "duckdb", 1),
        ("datediff('hour', ts + 30 * 60, ts + 75 * 60)", "duckdb", 1),
        ("datediff(hour, ts + 30 * 60, ts + 75 * 60)", "databricks", 0),
        ("datediff(hour, ts + 150 * 60, ts)", "databricks", -2),
        ("datediff(hour, ts + 30 * 60, ts + 75 * 60)", "spark", 0),
        ("datediff(hour, ts + 150 * 60, ts)", "spark", -2),
        ("datediff(day, ts + 3600, ts + 86400)", "spark", 0),
        ("datediff(day, ts + 3600, ts + 86400)", "databricks", 0),
        ("datediff(ts + 86400, ts + 3600)", "spark", 1),
        ("datediff(ts + 86400, ts + 3600)", "databricks", 1),
        ("date_diff(ts, ts - 3600, day)", "bigquery", 1),
        ("datediff('week', ts + 2 * 86400, ts + 3 * 86400)", "snowflake", 1),  # from Sunday to Monday
        ("datediff('week', ts + 86400, ts + 2 * 86400)", "snowflake", 0),  # from Saturday to Sunday
        ("datediff('week', ts - 86400, ts)", "duckdb", 0),  # from Thursday to Friday
        ("date_diff('week', ts + 2 * 86400, ts + 3 * 86400)", "trino", 0),
        ("datediff('second', ts, ts + 5)", None, 5),
        ("dateadd(hour, -1, ts)", None, 86_400 - 3_600),
        ("date_diff('hour', ts, ts + 7199)", "trino", 1),
        ("timestamp '1970-01-02 00:00:00' = ts", "trino", True),
        ("timestamp '1970-01-02 00:00:00' = ts", "oracle", True),
        ("date '1970-01-02' = ts", "oracle", True),
        ("to_date('1970-01-02', 'YYYY-MM-DD') = ts", "oracle", True),
        ("s not like 'x%'", "duckdb", True),
        ("s not ilike 'A%' escape '!'", "trino", False),
        ("s = 'a\\b' -- \\ is // here\n", "trino", True),
        ("s = 'a\\\\b'", "bigquery", True),
        ("p + 1 /* \\ // */ -- \\ //\n", None, 8),
        ("p + 1 // half\n", "snowflake", 8),
        ("trim(both 'a' from s)", "trino", "\\b"),
        ("nvl(j, 5)", "oracle", 5),
        ("year(ts) + hour(ts)", "spark", 1970),
        ("p // -2", "duckdb", -3),
        ("regexp_matches(s, 'b$')", "duckdb", True),
        ("p between symmetric 9 and 1", None, True),
        ("nvl2(j, 1, 2)", None, 2),
        ("nullif(p, 7)", None, None),
        ("not (p is distinct from j)", None, False),
        ("p div -2", None, -3),
        ("interval '1 02:03' day to minute", None, 93_780),
        ("timestamp '1970-01-02 01:00:00+01:00' = ts", None, True),
        ("cast('42' as int) + 1", None, 43),
        ("cast(substr('x17', 2) as int) + 1", None, 18),
        ("extract(second from ts)", None, 0),
        ("ts - (ts - interval '36' hour)", "oracle", 1.5),
        ("ts + 1", "oracle", 172_800),
        ("ts - 0.5", "oracle", 43_200),
        ("ts + interval '1' hour", "oracle", 90_000),
        ("ts - (-interval '1' hour)", "oracle", 90_000),
        ("ts + interval '1' hour * 2", "oracle", 93_600),
        ("1 + ts", "oracle", 172_800),
        ("ts - date '1970-01-01'", "oracle", 1.0),
        ("ts - (date '1970-01-01' + 3)", "oracle", -2.0),
        ("(date '1970-01-01' + 3) - ts", "oracle", 2.0),
        ("date '1970-01-05' - date '1970-01-02'", "oracle", 3.0),
        ("date '1970-01-05' - 2", "oracle", 172_800),
        ("coalesce(ts, date '1970-01-05') - 1", "oracle", 0),
        ("greatest(ts, date '1970-01-05') - ts", "oracle", 3.0),
        ("case when p > 1 then ts end + 1", "oracle", 172_800),
        ("max(ts) - min(ts - 1)", "oracle", 1.0),
        ("max(ts) - 1", "oracle", 0),
        ("any_value(ts) + 1", "oracle", 172_800),
        ("max_by(ts, p) + 1", "oracle", 172_800),
        ("last(ts + 1) - first(ts)", "oracle", 1.0),
        ("ts + (ts - date '1970-01-01')", "oracle", 172_800),
        ("ts + 2 * (ts - date '1970-01-01')", "oracle", 259_200),
        ("(ts - date '1970-01-01') / 2 = 0.5", "oracle", True),
        ("(ts - date '1970-01-01') = interval '1' day", "oracle", True),
        ("(ts - date '1970-01-01') / 2 = interval '12' hour", "duckdb", True),
        ("cast(ts + interval '90' minute as date) - ts = interval '90' minute", "oracle", True),
        ("cast(ts as timestamp(0)) = ts", "trino", True),
        ("ts + 1", None, 86_401),
        ("sum(sqrt(abs(f) * 4 + 3))", None, 3.0),
        ("count_if(s like 'a_b')", None, 1),
        ("last(length(s) + 1)", None, 4),
        ("max(upper(s))", None, "A\\B"),
    ],
)  # fmt: skip
def test_what_dialects_do_differently(expression: str, dialect: str | None, expected: Any) -> None:
    found = value(expression, dialect, SPECIAL)
    assert repr(found) == repr(expected)


REFUSED = {
    "p / q": "write one as 2.0, or CAST, or say dialect=",
    "cast(f as int)": "beside 'cast(f as int)': some dialects round, others cut off; FLOOR, CEIL, ROUND say which",
    "greatest(p, j)": "expected dialect= beside 'greatest(p, j)': some dialects leave NULL out, in others all is NULL; say one of",
    "concat(s, os)": "some dialects leave NULL out",
    "log(p)": "its base is 10 in some dialects, e in others; LN(x) says it; say one of bigquery, spark, databricks, flink, duckdb",
    "log(2, 8)": "in BigQuery the base comes last, elsewhere first; say it, or LN(x) / LN(base)",
    "substr(s, 0)": "what stands at 0 differs",
    "substr(s, -1)": "expected a start from 1 and a length from 0 in SUBSTR but got 'substr(s, -1)'",
    "substr(s, p)": "expected a constant whole number but got 'p'",
    "s like 'a\\\\b'": "expected dialect= beside a text with \\ but got none: some dialects read \\ as an escape, others as it is",
    "s = 'C:\\temp'": "or write LIKE .. ESCAPE",
    "s = 'it\\'s'": "beside a text with \\",
    "s = 'a\\' or s = 'b'": "beside a text with \\",
    "regexp_like(s, '^\\d+$')": "beside a text with \\",
    "p // -2": "expected dialect= beside // but got none: a comment in Snowflake, a division elsewhere",
    "p + 1 // half\n": "say it, or -- or FLOOR(x / y)",
    "s like 'a!b' escape '!'": "expected a pattern that can be read but got",
    "s like 'ab' escape 'xy'": "expected one character in ESCAPE",
    "regexp_like(s, 'a')": "in some dialects the whole text must match",
    "regexp_like(s, '^($')": "missing ): ^($",
    "regexp_like(s, '^a$', 'x')": "expected the flag 'i' or 'c'",
    "datediff('hour', ts, ts)": "some dialects count the beginnings of units",
    "datediff('century', ts, ts)": "expected ",
    "date_trunc('quarter', ts)": "expected a unit of whole ticks (s) but got QUARTER",
    "extract(week from ts)": "expected a part of a time, YEAR, QUARTER",
    "timestamp '2024-01-01 10:00:00.5'": "expected a whole number of ticks (s) but got '2024-01-01 10:00:00.5'",
    "date '2024-13-01'": "expected a date or a time, '2024-01-31 10:00:00', but got '2024-13-01'",
    "cast(f as varchar)": "expected an int or a text but got a float",
    "cast(s as date)": "expected CAST to INT, DOUBLE, DECIMAL(p, s), VARCHAR, DATE or TIMESTAMP",
    "upper(p)": "expected a text but got 'p', an int",
    "sqrt(s)": "expected a number but got 's', a text",
    "atan2(s, p)": "expected numbers but got",
    "greatest(p, s)": "expected values of one type",
    "iff(p, 1, 2)": "expected a condition but got 'p', an int",
    "extract(day from ts - date '1970-01-01')": "but got \"ts - date '1970-01-01'\", the time between two",
    "extract(day from p - q)": "the time between two; compare it with an INTERVAL, or count units by DATEDIFF",
    "extract(hour from interval '3' day)": "expected a time but got \"interval '3'\"",
    "day((ts - last(ts)) / 2.0)": "expected a time but got",
    "date_trunc('day', max(ts) - min(ts))": "expected a time but got",
    "date(interval '1' day + interval '1' hour)": "expected a time but got",
    "cast(ts - first(ts) as date)": "expected a time but got",
    "round(ts)": "expected a number but got 'round(ts)', of a time; DATE_TRUNC says the unit",
    "floor(max(ts))": "of a time; DATE_TRUNC says the unit",
    "interval 2*3 hour": "expected a number in INTERVAL but got '2*3'",
    "interval (2) hour": "expected a number in INTERVAL but got",
    "interval floor(1.5) hour": "expected a number in INTERVAL but got 'floor(1.5)'",
    "sum(s) filter (where p > 1)": "expected numbers in SUM but got",
    "min(p > 1) filter (where p > 1)": "expected numbers in MIN but got",
    "interval '1:2:3' minute to second": "expected INTERVAL 'd h:m:s' DAY TO SECOND",
    "round(f, p)": "expected a number of digits in ROUND",
    "f div 2": "expected a division of ints",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_refused(expression: str) -> None:
    with pytest.raises(QueryError, match=r"line \d+, column \d+: .*" + re.escape(REFUSED[expression])):
        query(expression)


@pytest.mark.parametrize("expression", ["timestamp '2024-01-01 10:00:00'", "hour(ts)", "cast(ts as date)", "date_trunc('day', ts)"])
def test_times_need_a_tick(expression: str) -> None:
    with pytest.raises(QueryError, match=r"expected tick= beside .*, a time: what one int of a time counts; say tick='ms'"):
        query(expression, tick=None)


def test_fractions_of_a_second_in_small_ticks() -> None:
    assert value("timestamp '1970-01-01 00:00:00.123456'", tick="us") == 123_456
    assert value("extract(second from ts)", "duckdb", SPECIAL._replace(ts=1_500), tick="ms") == 1
    assert value("extract(second from ts)", "risingwave", SPECIAL._replace(ts=1_500), tick="ms") == 1.5
    assert value("extract(second from ts)", "spark", SPECIAL._replace(ts=1_500), tick="ms") == 1.5
    assert value("second(ts)", "spark", SPECIAL._replace(ts=1_500), tick="ms") == 1
    with pytest.raises(QueryError, match="in some dialects it has a fraction"):
        query("extract(second from ts)", tick="ms")
    assert value("cast(ts as timestamp(3))", "trino", SPECIAL, tick="ms") == SPECIAL.ts
    for expression, dialect in (
        ("cast(ts as timestamp(2))", "trino"), ("cast('2024-01-01 10:00:00.123' as timestamp(0))", "duckdb"),
        ("ts > cast(ts as timestamp(0))", "oracle"),
    ):  # fmt: skip
        with pytest.raises(QueryError, match=r"expected as many digits of a second as a tick has \(ms\) but got [02] in"):
            query(expression, dialect, tick="ms")
    with pytest.raises(QueryError, match="but got 3 in"):
        query("cast(ts as timestamp)", "trino", tick="us")


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_out_of_its_domain_a_function_is_a_fault(engine: str) -> None:
    op = query("a.p", define="sqrt(f) > 1").operator(engine=engine)
    with pytest.raises(ValueError, match="math domain error"):
        op.push(insert(SPECIAL, 86_400))
    assert [out.payload.v for out in op.push(insert(SPECIAL._replace(f=4.0, ts=86_401), 86_401))] == [7]
