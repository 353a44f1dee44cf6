"""A query in SQL without its events: `afa.sql(text)`, and text in place of a pattern in `afa.find`."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa import AfaError, QueryError
from afa.language.sql_query import SqlQuery

DAYS = [dt.datetime(2024, 1, day) for day in range(1, 6)]
FRAME = {"k": ["A"] * 5, "x": [3, 4, 9, 5, 6], "id": [1, 2, 3, 4, 5], "at": DAYS, "seen": [day - dt.timedelta(400) for day in DAYS]}


def text(order: str, rows: str = "") -> str:
    return f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY {order} MEASURES FIRST({order}) AS since,
        LAST(b.x) AS top {rows} PATTERN (a b+) DEFINE b AS x > PREV(x))"""


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame, dict])
@pytest.mark.parametrize("order", ["id", "at", "seen"])
def test_the_columns_of_a_frame_are_its_fields(order: str, make: Any) -> None:
    for pattern in (text(order), afa.sql(text(order))):
        found = afa.find(pattern, make(FRAME))
        shown = pd.DataFrame(
            {name: list(found[name] if isinstance(found, dict) else found[name].to_numpy()) for name in ("since", "le", "top")}
        )
        wanted = pd.DataFrame(
            {"since": [FRAME[order][0], FRAME[order][3]], "le": [FRAME[order][2], FRAME[order][4]], "top": [9, 6]}
        )
        assert (shown.astype(wanted.dtypes) == wanted).all().all()


def test_the_time_is_a_column_of_all_rows() -> None:
    found = afa.find(text("id", "ALL ROWS PER MATCH"), pl.DataFrame(FRAME))
    assert found.columns[:4] == ["k", "id", "since", "top"]
    assert found["id"].to_list() == [1, 2, 3, 4, 5]


def test_files_are_read_as_well(tmp_path: Path) -> None:
    pq.write_table(pa.table(FRAME), tmp_path / "rows.parquet")
    assert afa.find(text("at"), tmp_path / "rows.parquet")["top"].to_pylist() == [9, 6]


def test_without_events_it_makes_no_operator() -> None:
    waiting = afa.sql(text("at"), tick="us")
    assert isinstance(waiting, SqlQuery)
    for use in (waiting.operator, lambda: waiting.automaton, lambda: waiting.restore(b"")):
        with pytest.raises(
            AfaError, match=r"expected a query whose events are known but got one in SQL without: say afa.sql\(text, event="
        ):
            use()
    assert waiting.over(lambda: pa.table(FRAME)).operator().push_many(pa.table(FRAME))["top"].to_pylist() == [9, 6]


@pytest.mark.parametrize(
    ("wrong", "message"), [("SELECT 1", "expected one MATCH_RECOGNIZE but got none"), ("SELEC", "expected"), (3, "text")]
)
def test_what_is_no_statement_is_refused_at_once(wrong: Any, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        afa.sql(wrong)


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(QueryError, match=r"expected a field of Event but got 'y'; its fields: .*"):
        afa.find(text("id").replace("b.x", "b.y"), pa.table(FRAME))
