"""Whole statements by Spark: tables as SQL has them, beside DuckDB; a stream as changes."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import afa
from afa import AfaError
from tests import lanes
from tests.spark import statements

BEGIN = datetime(2024, 1, 1)
MEASURED = "MEASURES LAST(down.price) AS low"
PATTERN = "PATTERN (s down+ up) DEFINE down AS price < LAST(price, 1), up AS price > LAST(price, 1)"
FALL = f"MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts {MEASURED} {PATTERN})"
TICKS = [("A", 1, 9), ("A", 2, 7), ("A", 3, 8), ("B", 1, 9), ("B", 2, 10), (None, 1, 3), (None, 2, 1), (None, 3, 2)]


@pytest.fixture
def tables(spark: Any) -> Any:
    rows = [(symbol, n, BEGIN + timedelta(seconds=n), price, [n]) for symbol, n, price in TICKS]
    spark.createDataFrame(rows, "symbol string, n int, ts timestamp, price int, `my tags` array<int>").createOrReplaceTempView(
        "ticks"
    )
    spark.createDataFrame([("A", "{x}")], "symbol string, name string").createOrReplaceTempView("stocks")
    yield spark
    there = {table.name for table in spark.catalog.listTables()}
    assert there >= {"ticks", "stocks"}
    assert not [name for name in there if "afa" in name]
    for name in ("ticks", "stocks"):
        spark.catalog.dropTempView(name)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def test_tables(tables: Any) -> None:
    text = f"SELECT m.*, s.name, '{{y}}' AS y, map('a', 1)['a'] FROM ticks {FALL} m LEFT JOIN stocks s USING (symbol)"
    found = afa.spark.sql(tables, text)
    assert found.columns == ["symbol", "low", "name", "y", "map(a, 1)[a]"]
    assert rows(found) == [("A", 7, "{x}", "{y}", 1), (None, 1, None, "{y}", 1)]
    every = (
        FALL.replace("PATTERN", "ALL ROWS PER MATCH PATTERN").replace("ts", "n").replace("AS low", "AS low, MATCH_NUMBER() AS m")
    )
    found = afa.spark.sql(tables, f"WITH u AS (SELECT * FROM ticks WHERE price > 3) SELECT * FROM u {every}")
    assert found.columns == ["symbol", "n", "low", "m", "ts", "price", "my tags"]
    assert [row[:4] + row[5:] for row in rows(found)] == [
        ("A", 1, None, 1, 9, [1]), ("A", 2, 7, 1, 7, [2]), ("A", 3, 7, 1, 8, [3])
    ]  # fmt: skip
    own = FALL.replace("LAST(down.price) AS low", "format_string('%d', LAST(down.price)) AS low").replace(
        "BY symbol", "BY hash(symbol)"
    )
    own = own.replace("< LAST(price, 1)", "< LAST(price, 1) AND element_at(`my tags`, 1) = n")
    assert rows(afa.spark.sql(tables, f"SELECT * FROM ticks {own}")) == [("1",), ("7",)]
    over = "MATCH_RECOGNIZE (ORDER BY low DESC MEASURES COUNT(*) AS c, LAST(low) AS least PATTERN (X+))"
    assert rows(afa.spark.sql(tables, f"SELECT c, least FROM (SELECT low FROM ticks {FALL}) {over}")) == [(2, 1)]
    hidden = f"(WITH stocks AS (SELECT CAST(low AS string) AS name FROM ticks {FALL}) SELECT name FROM stocks)"
    hidden = f"SELECT name FROM {hidden} JOIN stocks s USING (name)"
    assert rows(afa.spark.sql(tables, hidden, dialect="databricks")) == []
    with pytest.raises(AfaError, match=r"(?s)line 1, column 15: .* what Spark refuses: .*nothere"):
        afa.spark.sql(tables, f"SELECT * FROM nothere {FALL}")
    with pytest.raises(AfaError, match='expected "drop" or "raise" but got late='):
        afa.spark.sql(tables, f"SELECT * FROM ticks {FALL}", late="report")


def test_keys_leave_in_the_type_in_which_they_came(tables: Any) -> None:
    of = "SELECT *, CAST(price AS decimal(30, 2)) / 3 AS exact, CAST(ts AS date) AS day, CAST(symbol AS binary) AS bytes FROM ticks"
    tables.sql(of).createOrReplaceTempView("kinds")
    for key in ("exact", "day", "ts", "bytes"):
        clauses = f"MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY n, symbol NULLS LAST MEASURES COUNT(*) AS c PATTERN (X+))"
        found = afa.spark.sql(tables, f"SELECT * FROM kinds {clauses}", buckets=2)
        wanted = tables.sql(f"SELECT {key}, count(*) AS c FROM kinds GROUP BY {key}")
        assert [each.dataType for each in found.schema] == [each.dataType for each in wanted.schema]
        assert rows(found) == rows(wanted)
    tables.catalog.dropTempView("kinds")
    for said in ({"threads": 2}, {"members": "le"}, {"on_fault": "drop"}, {"lateness": "1 second"}):
        with pytest.raises(AfaError, match=f"expected options of .*, but got {next(iter(said))}="):
            afa.spark.sql(tables, f"SELECT low FROM ticks {FALL}", **said)


@lanes.sample(20, 2300)
def test_random_statements(spark: Any, numbers: range) -> None:
    """The same rows as by DuckDB over what a matcher shows that tries everything."""
    seen = statements.run(spark, "spark", numbers)
    for name in ("t", "s"):
        spark.catalog.dropTempView(name)
    assert seen["compared"] > 0.7 * len(numbers)
    assert seen["rows"] > 0.5 * len(numbers)
    assert seen["refused by Spark"] <= 0.1 * len(numbers)


def test_a_stream(tables: Any, tmp_path: Path) -> None:
    spark = tables
    come = tmp_path / "in"
    spark.sql("SELECT symbol, ts, price FROM ticks WHERE n <> 3").coalesce(1).write.parquet(str(come))
    spark.readStream.schema("symbol string, ts timestamp, price int").parquet(str(come)).createOrReplaceTempView("live")
    by_engine = FALL.replace("BY symbol", "BY UPPER(symbol)").replace("LAST(down.price)", "shiftleft(LAST(down.price), 0)")
    text = f"""SELECT m.low * 2 AS twice, s.name FROM (SELECT * FROM live WHERE price > 0) l {FALL} m JOIN stocks s USING (symbol)
               UNION ALL SELECT low, 'all' FROM live {by_engine}"""
    found = afa.spark.sql(spark, text, lateness="10 seconds")
    assert found.columns == ["twice", "name", "le", "re", "diff"]
    running = found.writeStream.format("memory").queryName("found").option("checkpointLocation", str(tmp_path / "at")).start()
    try:
        running.processAllAvailable()
        spark.sql("SELECT symbol, ts, price FROM ticks WHERE n = 3").coalesce(1).write.mode("append").parquet(str(come))
        running.processAllAvailable()
        late = [("A", BEGIN + timedelta(seconds=2, milliseconds=500), 6)]  # so that another row is the lowest
        spark.createDataFrame(late, "symbol string, ts timestamp, price int").write.mode("append").parquet(str(come))
        running.processAllAvailable()
    finally:
        running.stop()
    counted = Counter[Any]()
    for twice, name, le, _, diff in map(tuple, spark.table("found").collect()):
        counted[twice, name, le.second] += diff
    assert +counted == {(12, "{x}", 3): 1, (6, "all", 3): 1, (1, "all", 3): 1}
    assert spark.table("found").where("diff < 0").count() == 2
    for name in ("live", "found"):
        spark.catalog.dropTempView(name)


def test_sums_of_decimals_are_decimals(tables: Any, live: Any) -> None:
    for table in ("ticks", "live"):
        of = f"(SELECT *, CAST(price AS decimal(9, 2)) AS d FROM {table})"
        text = f"SELECT * FROM {of} {FALL.replace('LAST(down.price) AS low', 'SUM(down.d) AS low, FIRST(down.d) AS d')}"
        assert dict(afa.spark.sql(tables, text).dtypes)["low"] == "decimal(38,2)"
    assert all(
        row.low == row.low.quantize(Decimal("0.01")) for row in afa.spark.sql(tables, text.replace("live", "ticks")).collect()
    )


CHANGES = ["le", "re", "diff"]
LOW = f"SELECT low FROM live {FALL}"
OVER = "MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY le MEASURES COUNT(*) AS c PATTERN (X+))"


@pytest.fixture
def live(tables: Any, tmp_path: Path) -> Any:
    come = tmp_path / "live"
    tables.sql("SELECT symbol, ts, price FROM ticks").coalesce(1).write.parquet(str(come))
    tables.readStream.schema("symbol string, ts timestamp, price int").parquet(str(come)).createOrReplaceTempView("live")
    tables.sql("SELECT *, 5 AS diff FROM stocks").createOrReplaceTempView("others")
    yield tables
    for name in ("live", "others"):
        tables.catalog.dropTempView(name)


def test_what_the_select_lists_over_changes_have(live: Any) -> None:
    for text, columns in (
        (f"SELECT symbol, sum(diff) AS n FROM live {FALL} GROUP BY symbol", ["symbol", "n"]),
        (f"WITH m AS ({LOW}), n AS (SELECT * FROM m) SELECT low FROM n", ["low", *CHANGES]),
        (f"WITH m(a) AS ({LOW}) SELECT a FROM m", ["a", *CHANGES]),
        (f"SELECT x.a FROM ({LOW}) AS x(a)", ["a", *CHANGES]),
        (f"WITH m AS ({LOW}) SELECT low FROM m UNION ALL SELECT low + 1 FROM m", ["low", *CHANGES]),
        (f"WITH m AS ({LOW}), n AS (SELECT sum(diff) AS c FROM m) SELECT c FROM n", ["c"]),
        (f"WITH m AS ({LOW}), live AS (SELECT 1 AS m) SELECT m FROM live", ["m"]),
        (f"WITH m AS ({LOW}) SELECT name FROM (WITH m AS (SELECT name FROM stocks) SELECT * FROM m)", ["name"]),
        (f"SELECT c FROM (SELECT symbol, sum(diff) AS c FROM live {FALL} GROUP BY symbol)", ["c"]),
        (f"SELECT s.*, m.low FROM live {FALL} m JOIN stocks s USING (symbol)", ["symbol", "name", "low", *CHANGES]),
        (f"SELECT o.name, m.low FROM live {FALL} m JOIN others o USING (symbol)", ["name", "low", *CHANGES]),
        (f"SELECT m.low, name FROM (SELECT low, symbol FROM live {FALL}) m JOIN others USING (symbol)", ["low", "name", *CHANGES]),
        (f"SELECT * EXCEPT (diff) FROM live {FALL}", ["symbol", "low", *CHANGES]),
        (f"SELECT low, (SELECT min(n) FROM ticks) AS x FROM live {FALL}", ["low", "x", *CHANGES]),
        (f"SELECT a.low, a.diff * b.diff AS diff FROM live {FALL} a JOIN live {FALL} b USING (symbol)", ["low", "diff"]),
    ):
        assert afa.spark.sql(live, text, lateness="10 seconds").columns == columns, text


def test_what_reads_changes_as_rows_is_refused(live: Any) -> None:
    for text, said in (
        (f"SELECT count(*) FROM live {FALL}", r"(?s)got count\(\*\): .*SUM\(diff\)"),
        (f"WITH m AS ({LOW}), n AS (SELECT count(*) AS c FROM m) SELECT c FROM n", r"got count\(\*\)"),
        (f"WITH m AS ({LOW}) SELECT c FROM stocks JOIN (SELECT count(low) AS c FROM (SELECT low FROM m))", r"got count\(low\)"),
        (f"SELECT DISTINCT low, diff FROM live {FALL}", "got DISTINCT: "),
        (f"{LOW} LIMIT 1", "got LIMIT: "),
        (f"SELECT low FROM live {FALL} TABLESAMPLE (10 PERCENT)", "got TABLESAMPLE: "),
        (f"{LOW} UNION {LOW}", "got UNION: "),
        (f"WITH m AS ({LOW}) SELECT name FROM stocks EXCEPT SELECT low FROM m", "got EXCEPT: "),
        (f"SELECT name FROM stocks WHERE EXISTS (SELECT 1 FROM live {FALL})", "got EXISTS: "),
        (f"WITH m AS ({LOW}) SELECT name FROM stocks WHERE name IN (SELECT low FROM m)", r"got name IN \(SELECT low FROM m\): "),
        (f"WITH m AS ({LOW}) SELECT name, (SELECT low FROM m) AS x FROM stocks", r"got \(SELECT low FROM m\) AS x: "),
        (f"SELECT c FROM (SELECT * FROM live {FALL}) {OVER}", "one MATCH_RECOGNIZE in a stream but got another one"),
        (f"WITH m AS (SELECT * FROM live {FALL}) SELECT c FROM m {OVER}", "one MATCH_RECOGNIZE in a stream but got another one"),
        (f"SELECT a.low FROM live {FALL} a JOIN live {FALL} b USING (symbol)", "in a join but got two: multiply"),
        (f"WITH m AS ({LOW}) SELECT a.low FROM m a JOIN m b USING (low)", "in a join but got two: multiply"),
        (f"SELECT low AS diff FROM live {FALL}", "another name than diff in a stream, .* but got low AS diff"),
        (f"SELECT o.diff, m.low FROM live {FALL} m JOIN others o USING (symbol)", r"another name than diff .* but got o\.diff"),
        (f"SELECT * FROM live {FALL.replace('AS low', 'AS diff')}", "another name than diff"),
        (f"SELECT * FROM (SELECT *, CAST(price AS decimal(9, 2)) AS d FROM live) {FALL.replace('BY symbol', 'BY d')}", "decimal"),
        (f"SELECT * FROM live {FALL.replace('ORDER BY ts', 'ORDER BY price DESC')}", "first and ascending"),
    ):
        with pytest.raises(AfaError, match=said):
            afa.spark.sql(live, text)
