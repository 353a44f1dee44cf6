"""Whole statements by DuckDB: what stands around MATCH_RECOGNIZE is DuckDB's, its answer has SQL's columns."""

from __future__ import annotations

import gc
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import afa
from afa import AfaError, QueryError
from tests.language import statement_worlds
from tests.language.statement_worlds import WORLDS

MEASURED = "MEASURES LAST(down.price) AS low"
PATTERN = "PATTERN (s down+ up) DEFINE down AS price < PREV(price), up AS price > PREV(price)"
FALL = f'MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY "at" {MEASURED} {PATTERN})'
ROWS = FALL.replace("PATTERN", "ALL ROWS PER MATCH PATTERN")


@pytest.fixture
def con() -> Any:
    con = duckdb.connect()
    con.execute(
        """CREATE TABLE ticks AS SELECT * FROM (VALUES ('A', 1, 9, [1], 1.50), ('A', 2, 7, [2], 2.25), ('A', 3, 8, NULL, NULL),
           (NULL, 1, 5, [4], 1), (NULL, 2, 4, [5], 1), (NULL, 3, 6, [6], 1)) t(symbol, "at", price, tags, exact)"""
    )
    return con


def test_random_statements(turns: str) -> None:
    seen = WORLDS.run("some", range(55), turns, more_than={"compared": 45, "rows": 75, "shown": 150})
    assert all(seen[template] for template in (*statement_worlds.TEMPLATES, *statement_worlds.FRONTS))


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = statement_worlds.judged
    monkeypatch.setattr(statement_worlds, "judged", lambda statement, rows: right(statement, rows).slice(1))
    assert any(WORLDS.failure(WORLDS.generate("planted", i), "interpreted") for i in range(20))


def test_columns_are_those_of_sql(con: Any) -> None:
    found = afa.duckdb.sql(con, f"SELECT * FROM ticks {FALL} ORDER BY ALL")
    assert (found.columns, found.fetchall()) == (["symbol", "low"], [("A", 7), (None, 4)])
    found = afa.duckdb.sql(con, f"FROM ticks {ROWS} AS m WHERE symbol = 'A' ORDER BY ALL")
    assert found.columns == ["symbol", "at", "low", "price", "tags", "exact"]
    kinds = dict(zip(found.columns, found.types))
    assert {name: kinds[name] for name in con.table("ticks").columns} == dict(
        zip(con.table("ticks").columns, con.table("ticks").types)
    )
    assert [row[:5] for row in found.fetchall()] == [("A", 1, None, 9, [1]), ("A", 2, 7, 7, [2]), ("A", 3, 7, 8, None)]


def test_keys_and_columns_leave_in_the_type_in_which_they_came(con: Any) -> None:
    con.execute(
        """CREATE TABLE kinds AS SELECT * FROM (VALUES
           (1, 9007199254740993::HUGEINT, 1.10::DECIMAL(10, 2), 1.00000000000000000001::DECIMAL(38, 20), 'a'::ENUM('b', 'a'),
            '{}'::JSON),
           (2, 9007199254740992, 1.20, 1.00000000000000000002, 'b', '[1]'), (3, NULL, NULL, NULL, NULL, NULL),
           (4, 9007199254740993, 1.10, 1.00000000000000000001, 'a', '{}')) t(i, huge, exact, wide, word, json)"""
    )
    con.execute(
        """CREATE VIEW all_kinds AS SELECT *, nullif('6ba7b810-9dad-11d1-80b4-00c04fd430c' || i % 3, '2')::UUID AS u,
           18446744073709551615::UBIGINT - (i % 3 = 0)::UBIGINT AS large, DATE '2024-01-01' + (i % 3)::INTEGER AS day,
           TIME '10:00:00' AS clock,
           TIMESTAMP_S '2024-01-01' + INTERVAL (i % 3) SECOND AS second, TIMESTAMPTZ '2024-01-01 00:00:00+00' AS zoned,
           encode(word) AS bytes, '101'::BIT AS bits, TIMETZ '10:00:00+02' AS there, INTERVAL 1 MONTH AS long FROM kinds"""
    )
    table = con.table("all_kinds")
    kinds = dict(zip(table.columns, table.types))
    for key in kinds.keys() - {"long"}:
        clauses = f"MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY i MEASURES COUNT(*) AS n PATTERN (A+))"
        found = afa.duckdb.sql(con, f"SELECT * FROM all_kinds {clauses}")
        gc.collect()
        wanted = con.sql(f"SELECT {key}, count(*) AS n FROM all_kinds GROUP BY 1")
        assert (found.columns, found.types) == (wanted.columns, wanted.types), key
        assert sorted(found.fetchall(), key=str) == sorted(wanted.fetchall(), key=str), key
    rows = "MATCH_RECOGNIZE (PARTITION BY exact ORDER BY i MEASURES COUNT(*) AS n ALL ROWS PER MATCH PATTERN (A+))"
    found = afa.duckdb.sql(con, f"SELECT * EXCLUDE (n) FROM all_kinds {rows}")
    assert dict(zip(found.columns, found.types)) == kinds
    in_order = ", ".join(kinds)
    assert found.project(in_order).order("i").fetchall() == table.project(in_order).order("i").fetchall()
    with pytest.raises(AfaError, match=r"(?s)column 'long' is month_day_nano_interval"):
        afa.duckdb.sql(con, f"SELECT * FROM all_kinds {rows.replace('exact', 'long')}")
    for inside in ("[huge]", "{'BIT': bits}"):
        with pytest.raises(AfaError, match=r"(HUGEINT|BIT) in column 'held'; cast it"):
            afa.duckdb.sql(con, f"SELECT * FROM (SELECT *, {inside} AS held FROM all_kinds) {rows}")
    enum = "SELECT n FROM (SELECT *, 'BIT'::ENUM('BIT') AS held FROM all_kinds WHERE i < 2)"
    assert afa.duckdb.sql(con, f"{enum} {rows}").fetchall() == [(1,)]


def test_what_a_statement_does_not_name_is_no_matter(con: Any) -> None:
    con.execute("CREATE VIEW beside AS SELECT *, NULL::TIMESTAMP AS ts, 18446744073709551615::UBIGINT AS large FROM ticks")
    for order in ('"at"', '"at" DESC', "price"):
        text = f"MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY {order} MEASURES COUNT(*) AS n PATTERN (A+))"
        assert afa.duckdb.sql(con, f"SELECT * FROM beside {text} ORDER BY ALL").fetchall() == [("A", 3), (None, 3)]
    text = "MATCH_RECOGNIZE (ORDER BY price MEASURES LAST(b.symbol, 2) AS n PATTERN (A b))"
    assert afa.duckdb.sql(con, f"SELECT n FROM beside {text}").fetchall() == [(None,)] * 3
    with pytest.raises(AfaError, match="expected an int64 but got large=18446744073709551615"):
        afa.duckdb.sql(con, "SELECT * FROM beside MATCH_RECOGNIZE (ORDER BY price MEASURES LAST(large) AS l PATTERN (A+))")


def test_quotes_in_names_and_variables_that_columns_are_called_like(con: Any) -> None:
    con.execute('CREATE VIEW quoted AS SELECT price AS "a""b", "at" AS "class", "at" AS le FROM ticks WHERE symbol = \'A\'')
    text = """SELECT "x""y", c, d FROM quoted MATCH_RECOGNIZE (ORDER BY le MEASURES LAST("a""b") AS "x""y", CLASSIFIER(class) AS c,
              CLASSIFIER("le") AS d PATTERN (class "le"+))"""
    assert afa.duckdb.sql(con, text).fetchall() == [(8, "class", "le")]


def test_names_that_no_field_has(con: Any) -> None:
    con.execute(
        'CREATE VIEW odd AS SELECT symbol AS "le", "at" AS "class", price AS "my price", tags AS diff, 1 AS afa_row FROM ticks'
    )
    clauses = """MATCH_RECOGNIZE (PARTITION BY "le" ORDER BY "class" MEASURES LAST(down."my price") AS re, re + 1 AS "and more"
                 ALL ROWS PER MATCH PATTERN (s down) DEFINE down AS "my price" < PREV("my price"))"""
    found = afa.duckdb.sql(con, f"SELECT * FROM odd {clauses} WHERE re IS NOT NULL AND le = 'A'")
    assert found.columns == ["le", "class", "re", "and more", "my price", "diff", "afa_row"]
    assert found.fetchall() == [("A", 2, 7, 8, 7, [2], 1)]


def test_what_the_user_has_stays(con: Any) -> None:
    there = "SELECT table_name FROM information_schema.tables ORDER BY ALL"
    before = con.sql(there).fetchall()
    found = afa.duckdb.sql(con, f"WITH m AS (SELECT * FROM ticks {FALL}) SELECT low FROM m").filter("low > 5")
    gc.collect()
    assert (found.fetchall(), found.fetchall()) == ([(7,)], [(7,)])
    assert con.sql(there).fetchall() == before
    found.create("kept")
    con.execute("DROP TABLE ticks")
    assert con.sql("FROM kept").fetchall() == found.fetchall() == [(7,)]


def test_tables_of_python(con: Any) -> None:
    mine = con.sql("FROM ticks WHERE symbol = 'A'").to_arrow_table()
    assert afa.duckdb.sql(con, f"SELECT low FROM (FROM mine) {FALL} WHERE low < (SELECT max(price) FROM mine)").fetchall() == [(7,)]
    assert len(mine) == 3
    text = afa_text = mine
    for name in ("text", "afa_text", "con"):
        con, other = (mine, con) if name == "con" else (con, con)
        assert afa.duckdb.sql(other, f"SELECT low FROM {name} {FALL}").fetchall() == [(7,)]
    assert text is afa_text


def test_over_one_another(con: Any) -> None:
    over = "MATCH_RECOGNIZE (ORDER BY low DESC MEASURES COUNT(*) AS n, FIRST(symbol) AS symbol PATTERN (a b))"
    found = afa.duckdb.sql(
        con, f"WITH m AS (FROM ticks {FALL}) SELECT o.n, t.price FROM m {over} o JOIN ticks t USING (symbol) ORDER BY 2"
    )
    assert found.fetchall() == [(2, 7), (2, 8), (2, 9)]
    assert afa.duckdb.sql(con, f"SELECT n FROM ticks {FALL} {over}").fetchall() == [(2,)]


def test_views_hide_each_other(con: Any) -> None:
    text = f"""WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3),
        t AS (SELECT * FROM ticks JOIN n ON i = "at")
        SELECT (SELECT count(*) FROM (WITH t AS (SELECT * FROM t WHERE symbol = 'A') SELECT * FROM t {FALL}) AS x), count(*)
        FROM t"""
    assert afa.duckdb.sql(con, text).fetchall() == [(1, 6)]


def test_the_answer_goes_by_the_name_of_the_table(con: Any) -> None:
    assert afa.duckdb.sql(con, f"SELECT ticks.low + 1 FROM ticks {FALL} WHERE ticks.symbol = 'A'").columns == ["(ticks.low + 1)"]
    joined = f"SELECT t.low, ticks.price FROM ticks AS t {FALL} JOIN ticks USING (symbol) ORDER BY ALL"
    assert afa.duckdb.sql(con, joined).fetchall() == [(7, 7), (7, 8), (7, 9)]


def test_ties(con: Any) -> None:
    con.execute("CREATE TABLE pairs AS SELECT 1 AS i, 2 AS v UNION ALL SELECT 1, 2 UNION ALL SELECT 1, 1")
    clauses = "ORDER BY i MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS v >= PREV(v) OR PREV(v) IS NULL"
    text = f"SELECT n FROM pairs MATCH_RECOGNIZE ({clauses})"
    with pytest.raises(AfaError, match=r"ORDER BY tells apart but got Event\(i=1, v=1\) and Event\(i=1, v=2\) at"):
        afa.duckdb.sql(con, text)
    assert afa.duckdb.sql(con, text, ties="value").fetchall() == [(3,)]


def test_missing_values_in_order_by(con: Any) -> None:
    con.execute("CREATE TABLE gaps AS SELECT * FROM (VALUES (1, 5), (NULL, 9), (2, 6)) t(i, v)")
    text = "SELECT * FROM gaps MATCH_RECOGNIZE (ORDER BY i MEASURES LAST(v) AS last, COUNT(*) AS n PATTERN (a+))"
    assert afa.duckdb.sql(con, text).fetchall() == [(9, 3)]


def test_expressions_as_keys_and_orders_are_the_engines(con: Any) -> None:
    con.execute('CREATE TABLE days AS SELECT symbol, price, CAST(DATE \'2024-01-01\' + "at" AS VARCHAR) AS "day" FROM ticks')
    by = "PARTITION BY (d.symbol IS NULL) ORDER BY CAST(d.day AS TIMESTAMP)"
    found = afa.duckdb.sql(con, f"SELECT * FROM days d MATCH_RECOGNIZE ({by} {MEASURED} {PATTERN}) ORDER BY low")
    assert (found.columns, found.fetchall()) == (["low"], [(4,), (7,)])
    by = "PARTITION BY COALESCE(symbol, 'none'), symbol ORDER BY (price), -price"
    rows = f"WITH days AS (FROM days WHERE price < 9) SELECT * FROM days MATCH_RECOGNIZE ({by} {MEASURED} ALL ROWS PER MATCH"
    found = afa.duckdb.sql(con, f"{rows} PATTERN (s{{2,}})) ORDER BY ALL".replace(MEASURED, "MEASURES MATCH_NUMBER() AS n"))
    assert found.columns == ["symbol", "price", "n", "day"]
    assert [row[:3] for row in found.fetchall()] == [("A", 7, 1), ("A", 8, 1), (None, 4, 1), (None, 5, 1), (None, 6, 1)]
    within = f'SELECT * FROM days MATCH_RECOGNIZE (ORDER BY CAST("day" AS DATE), symbol {MEASURED} PATTERN (s down+)'
    text = f"{within} WITHIN INTERVAL '1' DAY DEFINE down AS price < PREV(price)) ORDER BY low"
    assert afa.duckdb.sql(con, text).fetchall() == [(4,), (5,), (6,)]


def test_what_afa_does_not_read_the_engine_computes(con: Any) -> None:
    clauses = """PARTITION BY symbol ORDER BY "at"
        MEASURES printf('%d-%d', FIRST(s.price), LAST(price)) AS span, LAST(list_extract(down.tags, 1) + down."at") AS n,
            span || CASE WHEN hash(symbol) = hash('A') THEN '!' END AS loud,
            FIRST(s.price) - (SELECT min(price) FROM ticks) AS over, COUNT(*) AS n2
        PATTERN (s down+ up) SUBSET both = (s, down)
        DEFINE down AS price < PREV(price) AND list_contains(down.tags, down."at" + CASE WHEN symbol IS NULL THEN 3 ELSE 0 END),
            up AS price > (SELECT min(price) FROM ticks) + PREV(price) - PREV(price)"""
    found = afa.duckdb.sql(con, f"SELECT * FROM ticks MATCH_RECOGNIZE ({clauses}) ORDER BY n")
    assert found.columns == ["symbol", "span", "n", "loud", "over", "n2"]
    assert found.fetchall() == [("A", "9-8", 4, "9-8!", 5, 3), (None, "5-6", 7, None, 1, 3)]
    every = clauses.replace("PATTERN", "ALL ROWS PER MATCH PATTERN")
    found = afa.duckdb.sql(con, f"SELECT * FROM ticks MATCH_RECOGNIZE ({every})")
    assert found.columns == ["symbol", "at", "span", "n", "loud", "over", "n2", "price", "tags", "exact"]
    assert found.order("ALL").fetchall()[1][:5] == ("A", 2, "9-7", 4, "9-7!")
    con.execute("CREATE TABLE boxes AS SELECT symbol, \"at\", {'low': price} AS box FROM ticks")
    fields = f'PARTITION BY symbol ORDER BY "at" MEASURES LAST(down.box.low) AS low {PATTERN.replace("price", "box.low")}'
    assert afa.duckdb.sql(con, f"SELECT low FROM boxes MATCH_RECOGNIZE ({fields}) ORDER BY low").fetchall() == [(4,), (7,)]


def test_measures_have_the_types_of_columns_and_of_the_engine(con: Any) -> None:
    con.execute(
        """CREATE TABLE days AS SELECT symbol, "at", exact, tags, DATE '2024-01-01' + "at"::INT AS "day",
           {'low': price} AS box, price, CAST("at" AS HUGEINT) AS huge,
           TIMESTAMP '2024-01-01 10:00' + INTERVAL ("at") HOUR AS ts, -("at") AS back FROM ticks"""
    )
    measures = """LAST("day") AS d, MAX(ts) AS t, LAST(ts) - FIRST(ts) AS long, DATE_TRUNC('month', FIRST(ts)) AS m,
        CAST(LAST(ts) AS DATE) AS of_day, FIRST(exact) AS exact_one, exact_one + 1 AS more, PREV(LAST(tags)) AS before,
        LAST(box) AS b, LAST(tags)[1] AS tag, LAST(huge) AS h, MIN(symbol) AS least, median(price) AS mid,
        COUNT(*) FILTER (ts > TIMESTAMP '2024-01-01 11:30') AS n"""
    begin = date(2024, 1, 4), datetime(2024, 1, 1, 13), timedelta(hours=2), date(2024, 1, 1), date(2024, 1, 1)
    expected = [
        ("A", *begin, Decimal("1.50"), 2.5, [2], {"low": 8}, None, 3, "A", 8.0, 2),
        (None, *begin, Decimal("1.00"), 2.0, [5], {"low": 6}, 6, 3, None, 5.0, 2),
    ]
    for order in ('"at"', "ts", '"day"', '"day", price', "back DESC"):
        clauses = f"PARTITION BY symbol ORDER BY {order} MEASURES {measures} {PATTERN}"
        found = afa.duckdb.sql(con, f"SELECT * FROM days MATCH_RECOGNIZE ({clauses}) ORDER BY symbol")
        rows = [tuple(x.date() if i == 4 and isinstance(x, datetime) else x for i, x in enumerate(row)) for row in found.fetchall()]
        assert rows == expected, order
    rows = f'ORDER BY "at" MEASURES LAST(ts) - FIRST(ts) AS long, LAST(exact) AS last_one ALL ROWS PER MATCH {PATTERN}'
    text = f'SELECT long, last_one, exact, "day" FROM days MATCH_RECOGNIZE (PARTITION BY symbol {rows})'
    found = afa.duckdb.sql(con, f"{text} WHERE symbol = 'A' ORDER BY long")
    assert found.fetchall()[1] == (timedelta(hours=1), Decimal("2.25"), Decimal("2.25"), date(2024, 1, 3))
    within = PATTERN.replace("DEFINE", "WITHIN INTERVAL '1' HOUR DEFINE")
    with pytest.raises(AfaError, match="expected tick=, what one int of LE counts"):
        afa.duckdb.sql(con, f'SELECT * FROM days MATCH_RECOGNIZE (ORDER BY "at", symbol MEASURES LAST(ts) AS t {within})')


def test_decimals_of_which_afa_calculates_are_decimals(con: Any) -> None:
    con.execute("CREATE TABLE paid AS SELECT * FROM (VALUES (1, 1.50::DECIMAL(5, 2)), (2, 2.00), (3, 0.10)) v(i, d)")
    measures = "MAX(d) FILTER (WHERE i < 3) AS a, COALESCE(MIN(d) FILTER (WHERE i > 9), 0) AS b, ANY_VALUE(d) * 0.5 AS c"
    clauses = f"ORDER BY i MEASURES {measures}, AVG(d) AS e, ARRAY_AGG(d) AS f PATTERN (A+)"
    found = afa.duckdb.sql(con, f"SELECT a, b, c, e, f FROM paid MATCH_RECOGNIZE ({clauses})")
    assert [str(each) for each in found.types] == ["DECIMAL(38,2)", "DECIMAL(38,2)", "DECIMAL(38,3)", "DOUBLE", "DECIMAL(38,2)[]"]
    texts = [["2.00", "0.00", "0.750", "1.2", "[1.50, 2.00, 0.10]"]]
    assert [list(row) for row in con.sql("SELECT a::TEXT, b::TEXT, c::TEXT, e::TEXT, f::TEXT FROM found").fetchall()] == texts
    con.execute("CREATE TABLE huge AS SELECT i, 9e37::DECIMAL(38, 0) AS d FROM (VALUES (1), (2)) v(i)")
    with pytest.raises(AfaError, match=r"expected a of at most 38 digits, a DECIMAL\(38, 0\), but got more"):
        afa.duckdb.sql(con, "SELECT a FROM huge MATCH_RECOGNIZE (ORDER BY i MEASURES SUM(d) AS a PATTERN (A+))")


def test_dialects(con: Any) -> None:
    clauses = FALL.replace('"at"', "at")
    trino = (
        f"SELECT format_datetime(from_unixtime(0), 'yyyy') AS y, try_cast(low AS varchar) AS low FROM ticks {clauses} WHERE low > 5"
    )
    assert afa.duckdb.sql(
        con, trino.replace("format_datetime(from_unixtime(0), 'yyyy') AS y, ", ""), dialect="trino"
    ).fetchall() == [("7",)]
    assert afa.duckdb.sql(
        con, f"SELECT IFF(low > 5, 1, 0) AS x FROM ticks {clauses} ORDER BY x", dialect="snowflake"
    ).fetchall() == [(0,), (1,)]
    with pytest.raises(QueryError, match="expected dialect= as one of"):
        afa.duckdb.sql(con, trino, dialect="mysql")


def test_a_statement_without_matches(con: Any) -> None:
    assert afa.duckdb.sql(con, "SELECT count(*) FROM ticks").fetchall() == [(6,)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"SELECT * FROM nothere {FALL}", r"(?s)line 1, column 15: .* what DuckDB refuses: .*nothere.*\n +\^"),
        (f"SELECT * FROM (SELECT nope FROM ticks) {FALL}", "(?s)line 1, column 15: .*nope"),
        (f"SELECT nope FROM ticks {FALL}", "expected a statement but got what DuckDB refuses: .*nope"),
        (f"SELECT * FROM ticks {FALL.replace('down.price', 'down.prize')}", r"(?s)but got 'prize'.*did you mean 'price'"),
        (f"SELECT * FROM ticks {FALL.replace('PATTERN', 'PETTERN')}", "line 1, column"),
        (f"CREATE TABLE x AS SELECT * FROM ticks {FALL}", "another statement"),
        ("SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A))", "of which SELECT . shows the columns, but got neither"),
        (f"SELECT * FROM ticks {FALL.replace('symbol', 'tags')}", "tags"),
        (
            f"SELECT * FROM ticks {FALL.replace('> PREV', '> nosuch')}",
            r"with price > nosuch\(price\) in them, but got .*name nosuch",
        ),
        (f"SELECT * FROM ticks {FALL.replace('down.price)', 'down.price) + regr_avgx(1, 2)')}", "an expression over rows but got"),
        (
            f"SELECT * FROM ticks {FALL.replace('LAST(down', 'product(down')}",
            r"MEASURES but got product\(down.price\): .*GROUP BY",
        ),
        (f"SELECT * FROM ticks {FALL.replace('> PREV(price)', '> row_number() OVER ()')}", "Window functions"),
    ],
)
def test_refused(con: Any, text: str, said: str) -> None:
    with pytest.raises(AfaError, match=said):
        afa.duckdb.sql(con, text).fetchall()


def test_options_are_those_of_find(con: Any) -> None:
    timed = "WITHIN INTERVAL '5' SECOND DEFINE"
    found = afa.duckdb.sql(con, f"SELECT low FROM ticks {FALL.replace('DEFINE', timed)} ORDER BY 1", tick="s", engine="interpreted")
    assert found.fetchall() == [(4,), (7,)]
    for said in ({"window": 3}, {"members": "le"}, {"key": "symbol"}, {"nothing": True}):
        ((name, value),) = said.items()
        with pytest.raises(AfaError, match=f"expected options of afa.duckdb.sql, engine, .* but got {name}={value!r}"):
            afa.duckdb.sql(con, f"SELECT low FROM ticks {FALL}", **said)
    with pytest.raises(AfaError, match='expected "value" or None but got ties='):
        afa.duckdb.sql(con, f"SELECT low FROM ticks {FALL}", ties="any")


def test_a_large_table_keeps_its_types(con: Any) -> None:
    con.execute("CREATE TABLE many AS SELECT i % 7 AS k, i, (i * 7919) % 1000 AS v, i::DECIMAL(18, 2) AS d FROM range(20000) t(i)")
    text = """SELECT k, count(*), sum(d) FROM many MATCH_RECOGNIZE (PARTITION BY k ORDER BY i MEASURES MATCH_NUMBER() AS n
              ALL ROWS PER MATCH PATTERN (a b) DEFINE b AS v < PREV(v)) GROUP BY k ORDER BY k"""
    table = con.sql("FROM many ORDER BY i").to_arrow_table().to_pylist()
    rows: dict[int, list[Any]] = {k: [] for k in range(7)}
    for row in table:
        rows[row["k"]].append(row)
    expected = []
    for k, of in rows.items():
        i, taken = 0, []
        while i + 1 < len(of):
            if of[i + 1]["v"] < of[i]["v"]:
                taken += of[i : i + 2]
                i += 2
            else:
                i += 1
        expected.append((k, len(taken), sum(row["d"] for row in taken)))
    assert afa.duckdb.sql(con, text).fetchall() == expected
    assert pa.types.is_decimal(afa.duckdb.sql(con, text).to_arrow_table().schema.types[2])


def test_keys_that_the_engine_computes_are_told_apart_exactly(con: Any) -> None:
    con.execute(
        "CREATE TABLE near AS SELECT * FROM (VALUES (1, 9007199254740993), (2, 9007199254740992), (3, 9007199254740993)) t(i, n)"
    )
    text = "SELECT * FROM near MATCH_RECOGNIZE (PARTITION BY n::HUGEINT + 1 ORDER BY i + 1 MEASURES COUNT(*) AS c PATTERN (A+))"
    assert sorted(afa.duckdb.sql(con, text).fetchall()) == [(1,), (2,)]
