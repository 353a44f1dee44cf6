"""`match` of a query: key, window and sequence are the query's."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest

import afa
from afa.spark import match


class Stock(NamedTuple):
    symbol: str
    price: int
    at: afa.Instant | None = None


TEXT = """
PATTERN SEQ(Stock+ a[], Stock b) WHERE skip_till_next_match(a[], b) { [symbol] and a[i].price > a[i-1].price and b.price < 3 }
WITHIN 1 hour RETURN a[1].price AS low, a.LEN AS n, b.at - a[1].at AS took
"""
RISING = afa.query(TEXT, event=Stock, tick="us")


def test_key_and_window_are_the_querys(spark: Any) -> None:
    begin = datetime(2024, 1, 1)
    prices = [("A", 4, 0), ("A", 5, 10), ("B", 1, 15), ("A", 2, 20), ("A", 1, 90)]
    rows = spark.createDataFrame(
        [(symbol, price, begin + timedelta(minutes=t)) for symbol, price, t in prices], "symbol string, price int, time timestamp"
    )
    found = rows.transform(match(RISING, time="time")).where("kind = 'match'").collect()
    minute = 60_000_000
    got = sorted((row.symbol, row.low, row.n, row.took / minute) for row in found)
    assert got == [("A", 4, 2, 20.0), ("A", 5, 1, 10.0)]


def test_refused(spark: Any) -> None:
    with pytest.raises(afa.AfaError, match="expected no key= beside a query, which says it itself, but got key='symbol'"):
        match(RISING, key="symbol", time="time")
    with pytest.raises(afa.AfaError, match="expected a query with tick='us', as times are microseconds on Spark, but got tick='s'"):
        match(afa.query(TEXT, event=Stock, tick="s"), time="time")
    with pytest.raises(afa.AfaError, match="expected a query with a key"):
        match(afa.query(TEXT.replace("[symbol] and ", ""), event=Stock, tick="us"), time="time")
    with pytest.raises(afa.AfaError, match="expected the names of key columns but got key=None"):
        match(RISING.automaton, time="time")
