"""`afa index`: indexes beside Parquet files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from afa.replay.known_blocks import Blocks
from afa.replay.stored import Stored
from tests.cli import call, fails, on_a_terminal
from tests.cli import there as there  # the fixture of all tests here


@pytest.fixture(autouse=True)
def trades(there: Path) -> None:
    (there / "trades").mkdir()
    for name in ("a", "b"):
        table = pa.table({"at": range(100), "price": [1.5] * 100, "symbol": ["A"] * 100})
        pq.write_table(table, there / f"trades/{name}.parquet", row_group_size=40)


def test_a_folder_is_indexed() -> None:
    result = call("index", "trades", "--time", "at", "--block", "30")
    assert re.fullmatch(r"indexed 200 rows of 2 files: 10 blocks, \d+ KiB\n", result.stdout)
    assert result.stderr == ""
    assert sorted(os.listdir("trades")) == [".a.parquet.afa-index", ".b.parquet.afa-index", "a.parquet", "b.parquet"]
    found = Blocks(Stored("trades"), "at")
    assert found.indexed.all()
    assert found.rows.tolist() == [30, 10, 30, 10, 20] * 2
    assert found.column("price").known.all()
    assert found.column("symbol").known.all()


def test_columns_are_chosen() -> None:
    result = call("index", "trades/a.parquet", "--time", "at", "--column", "price", "--column", "price", "-q")
    assert result.stdout == ""
    found = Blocks(Stored("trades/a.parquet"), "at")
    assert found.indexed.all()
    assert [found.column(name).known.all() for name in ("price", "symbol")] == [True, False]
    assert call("index", "trades/a.parquet", "trades/b.parquet", "--time", "at").stdout.startswith("indexed 200 rows of 2 files: ")


def test_a_terminal_sees_a_bar() -> None:
    out, shown = on_a_terminal("index", "trades", "--time", "at")
    assert out.startswith("indexed 200 rows")
    assert "index" in shown


def test_what_is_refused() -> None:
    assert fails("index", "none", "--time", "at").startswith(
        "expected the path of a Parquet file, or of a folder of them, but got 'none'"
    )
    said = fails("index", "trades", "--time", "att")
    assert said == "expected a column 'att' (time) but got the columns at, price, symbol; did you mean 'at'?"
    said = fails("index", "trades", "--time", "at", "--column", "prize")
    assert said == "expected a column 'prize' (columns) but got the columns at, price, symbol; did you mean 'price'?"
    assert fails("index", "p.py", "--time", "at").startswith("expected the path of a Parquet file")
    assert "--time" in call("index", "trades", status=2).output
    assert "--block" in call("index", "trades", "--time", "at", "--block", "0", status=2).output
