"""``event=`` of `afa.query` and `afa.sql` as a table, of any library, or an Arrow schema: its columns are the fields."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Instant, Time
from afa.io.event_class import events_of
from afa.language import one

COLUMNS: dict[str, Any] = {
    "card": ["x", "y", "x"],
    "amount": [5, 7, None],
    "rate": [0.5, 1.5, 2.5],
    "ok": [True, False, True],
    "at": [datetime(2026, 1, 1, 0, 0, second) for second in (0, 10, 20)],
}
TEXT = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) { [card] and b.rate > a.rate } WITHIN 30 seconds RETURN b.rate"
SQL = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY card ORDER BY at MEASURES a.rate AS low, b.rate AS high
         PATTERN (a b) WITHIN INTERVAL '30' SECOND DEFINE b AS b.rate > a.rate)"""


def arrow() -> Any:
    import pyarrow as pa

    return pa.table(COLUMNS)


def pandas() -> Any:
    return arrow().to_pandas()


def polars() -> Any:
    return pytest.importorskip("polars").from_arrow(arrow())


def duckdb() -> Any:
    return pytest.importorskip("duckdb").from_arrow(arrow())


FRAMES: dict[str, Callable[[], Any]] = {
    "dict": lambda: COLUMNS,
    "arrow": arrow,
    "pandas": pandas,
    "polars": polars,
    "duckdb": duckdb,
}


@pytest.mark.parametrize("library", FRAMES)
def test_the_columns_are_the_fields(library: str) -> None:
    found = events_of(FRAMES[library]())
    fields = dict(found.cls.__annotations__)
    amount = float if library == "pandas" else int | None  # which has no ints beside NaN
    assert fields == {"card": str, "amount": amount, "rate": float, "ok": bool, "at": Instant}
    assert found.tick in ("us", "ns")


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("make", [lambda of: afa.query(TEXT, event=of), lambda of: afa.sql(SQL, event=of)], ids=["text", "sql"])
def test_a_query_over_a_table_finds_its_matches(library: str, make: Callable[[Any], Any]) -> None:
    frame = FRAMES[library]()
    found = afa.find(make(frame), FRAMES[library]())
    cards = [row[0] for row in found.fetchall()] if library == "duckdb" else found["card"]
    assert [*map(str, cards)] == ["x"]


def test_the_words_take_a_table_too() -> None:
    words = one("a", lambda e: e.rate > 1).next(one("b", lambda e: e.ok)).within("1 minute")
    assert len(afa.find(afa.query(words, event=arrow()), arrow())) == 1


def test_a_schema_says_what_may_be_missing() -> None:
    import pyarrow as pa

    schema = pa.schema([pa.field("n", pa.int32(), nullable=False), pa.field("name", pa.large_string()), ("le", pa.int64())])
    assert events_of(schema).cls.__annotations__ == {"n": int, "name": str | None}
    assert events_of(schema).tick is None
    assert afa.query("PATTERN SEQ(A a, A b) WHERE skip_till_any_match(a, b) { a.n > 1 }", event=schema).tree.event.__name__ == "A"


def test_what_is_no_field_is_left_out() -> None:
    odd = {
        "a b": [1],
        "class": [1],
        "_x": [1],
        "n": [1],
        "le": [1],
        "re": [2],
        "diff": [1],
        "listed": [[1]],
        "d": [datetime(2026, 1, 1)],
    }
    assert events_of(odd).cls.__annotations__ == {"n": int}
    two = {"n": [1], "one": [datetime(2026, 1, 1)], "other": [datetime(2026, 1, 1)]}
    assert events_of(two).cls.__annotations__ == {"n": int, "one": Time, "other": Time}


def test_what_is_none_is_refused() -> None:
    class Row(NamedTuple):
        n: int

    with pytest.raises(AfaError, match="a NamedTuple class, a table or an Arrow schema> but got event=7"):
        afa.query(TEXT, event=7)
    with pytest.raises(AfaError, match=r"expected columns of int, float, bool or str but got .*le"):
        afa.query(TEXT, event={"le": [1]})
    with pytest.raises(AfaError, match="the NamedTuple class of the events, or a table of them, but got event=None"):
        afa.query(TEXT)
    assert events_of(Row) == (Row, None)
