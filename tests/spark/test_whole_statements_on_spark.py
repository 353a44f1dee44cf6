"""Whole statements by Spark: tables as SQL has them, beside DuckDB; a stream as changes."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import afa
from afa import AfaError
from tests.language import statement_worlds
from tests.language.whole_queries import features, query

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
    with pytest.raises(AfaError, match=r"(?s)line 1, column 15: .* what Spark refuses: .*nothere"):
        afa.spark.sql(tables, f"SELECT * FROM nothere {FALL}")
    with pytest.raises(AfaError, match='expected "drop" or "raise" but got late='):
        afa.spark.sql(tables, f"SELECT * FROM ticks {FALL}", late="report")


def test_random_statements(spark: Any) -> None:
    """The same rows as by `row_matcher`, of a few random MATCH_RECOGNIZE over one table."""
    seen = Counter[str]()
    for i in range(6):
        world = statement_worlds.numbered("spark", 2 * i)
        rows_of = world.rows[:10]
        statement = query(world.seed, world.family, features() - statement_worlds.AROUND)[0]
        con = statement_worlds.database(rows_of)
        con.register("judged", statement_worlds.judged(statement, list(rows_of)))
        wanted = statement_worlds.bag(con.sql("FROM judged"))
        spark.createDataFrame(con.sql("FROM t").to_arrow_table()).createOrReplaceTempView("t")
        found = afa.spark.sql(spark, statement.text.replace('"', ""), dialect="duckdb", tick="s", buckets=2)
        answer = Counter((tuple(found.columns), *map(statement_worlds.plain, row)) for row in map(tuple, found.collect()))
        assert answer == wanted, statement.text
        seen["rows"] += sum(answer.values())
    spark.catalog.dropTempView("t")
    assert seen["rows"] > 10


def test_a_stream(tables: Any, tmp_path: Path) -> None:
    spark = tables
    come = tmp_path / "in"
    spark.sql("SELECT symbol, ts, price FROM ticks WHERE n <> 3").coalesce(1).write.parquet(str(come))
    live = spark.readStream.schema("symbol string, ts timestamp, price int").parquet(str(come))
    live.createOrReplaceTempView("live")
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
    for text, said in (
        (f"SELECT count(*) FROM live {FALL}", r"(?s)got count\(\*\): .*SUM\(diff\)"),
        (f"SELECT DISTINCT low FROM live {FALL}", "DISTINCT"),
        (f"SELECT low FROM live {FALL} UNION SELECT low FROM live {FALL}", "UNION"),
        (f"SELECT name FROM stocks WHERE EXISTS (SELECT 1 FROM live {FALL})", "EXISTS"),
        (
            f"SELECT c FROM (SELECT * FROM live {FALL}) MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY le PATTERN (X+))",
            "another one",
        ),
        (f"SELECT * FROM live {FALL.replace('ORDER BY ts', 'ORDER BY price DESC')}", "first and ascending"),
    ):
        with pytest.raises(AfaError, match=said):
            afa.spark.sql(spark, text)
    assert afa.spark.sql(spark, f"SELECT symbol, sum(diff) AS n FROM live {FALL} GROUP BY symbol").columns == ["symbol", "n"]
    for name in ("live", "found"):
        spark.catalog.dropTempView(name)
