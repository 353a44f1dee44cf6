"""`afa run q.sql --input NAME=FILE`: the tables of a statement by their names."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli import call, fails, write
from tests.cli import there as there  # the fixture of all tests here

FALL = """MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY "at" MEASURES LAST(down.price) AS low
PATTERN (s down+ up) DEFINE down AS price < PREV(price), up AS price > PREV(price))"""
JOINED = f"SELECT low, name FROM ticks {FALL} m JOIN Stocks s USING (symbol) ORDER BY low"
TABLES = ("--input", "ticks=ticks.csv", "--input", "stocks=stocks.parquet")


@pytest.fixture(autouse=True)
def files(there: object) -> None:
    write("ticks.csv", "symbol,at,price\nA,1,9\nA,2,7\nA,3,8\nB,1,3\nB,2,2\nB,3,4\n")
    pyarrow.parquet.write_table(pa.table({"symbol": ["A", "B"], "name": ["Acme Inc", "Bear"]}), "stocks.parquet")


def test_a_plain_statement_is_run_as_over_one_input() -> None:
    plain = write("plain.sql", f"SELECT low FROM (SELECT * FROM ticks WHERE price > 0) {FALL}")
    alone = call("run", plain, "ticks.csv", "--time", "at").stdout
    assert alone == call("run", plain, *TABLES[:2], "--time", "at").stdout
    assert fails("run", plain, *TABLES).endswith("expected --input of the table ticks alone, which it reads, but got stocks, too")
    assert sorted(alone.splitlines()) == ["+ [3, forever) symbol=A low=7", "+ [3, forever) symbol=B low=2"]
    assert fails("run", plain, "--input", "other=ticks.csv").endswith(
        "expected --input ticks=FILE, the table of the statement, but got other"
    )


def test_a_statement_by_duckdb() -> None:
    query = write("joined.sql", JOINED)
    found = call("run", query, *TABLES)
    assert found.stdout == "low=2 name=Bear\nlow=7 name='Acme Inc'\n"
    assert "afa: 2 rows" in found.stderr
    assert call("run", query, *TABLES, "--matches", "1", "-q").stdout == "low=2 name=Bear\n"
    lines = call("run", query, *TABLES, "--output", "-", "-q").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [{"low": 2, "name": "Bear"}, {"low": 7, "name": "Acme Inc"}]
    call("run", query, *TABLES, "--output", "found.parquet")
    assert pyarrow.parquet.read_table("found.parquet").to_pylist() == [{"low": 2, "name": "Bear"}, {"low": 7, "name": "Acme Inc"}]


def test_functions_of_the_engine_subqueries_and_intervals() -> None:
    fall = FALL.replace("> PREV(price)", "> PREV(price) AND symbol IN (SELECT symbol FROM stocks WHERE name LIKE 'A%')")
    fall = fall.replace("AS low", "AS low, to_minutes(LAST(price)) AS long")
    query = write("engine.sql", f"SELECT low, long FROM ticks {fall}")
    assert call("run", query, *TABLES).stdout == "low=7 long=00:08:00\n"
    call("run", query, *TABLES, "--output", "found.parquet")
    assert pyarrow.parquet.read_table("found.parquet").to_pylist() == [{"low": 7, "long": "00:08:00"}]


def test_signs_in_the_names_of_files() -> None:
    write("ticks[1]*.csv", Path("ticks.csv").read_text())
    write("ticks1x.csv", Path("ticks.csv").read_text().replace("A", "C"))
    query = write("joined.sql", JOINED)
    assert "name=Bear" in call("run", query, "--input", "ticks=ticks[1]*.csv", *TABLES[2:]).stdout
    counted = write("counted.sql", f"SELECT count(*) AS n FROM ticks {FALL}")
    assert call("run", counted, "--input", "ticks=ticks[1]*.csv", "-q").stdout == "n=2\n"


def test_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    query = write("joined.sql", JOINED)
    assert "expected INPUT, or the tables of a statement" in call("run", query, status=2).stderr.replace("\n", " ").replace(
        "│ ", ""
    )
    assert "expected --input NAME=FILE, each name once, but got ticks" in fails("run", query, "--input", "ticks")
    assert "each name once" in fails("run", query, *TABLES, "--input", "TICKS=ticks.csv")
    assert "--lateness can't be combined with" in fails("run", query, *TABLES, "--lateness", "3")
    assert "joined.sql: none.csv: " in fails("run", query, "--input", "ticks=none.csv")
    assert "Stocks does not exist" in fails("run", query, "--input", "ticks=ticks.csv")
    assert "expected a statement, file.sql, beside --input but got rise.sase" in fails("run", "rise.sase", *TABLES)
    assert fails("run", query, *TABLES, "--input", "more=ticks.csv").endswith(
        "expected --input of tables that the statement names but got more, too"
    )
    standard = fails("run", query, "--input", "ticks=-", *TABLES[2:], "--format", "csv")
    assert standard.startswith("expected files for a statement that takes a relational engine but got standard input")
    assert "can't write stocks.parquet: " in fails("run", query, *TABLES, "--output", "stocks.parquet")
    assert duckdb.__name__ in sys.modules
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert 'pip install "afa[duckdb]"' in fails("run", query, *TABLES)
