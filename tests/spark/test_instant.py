"""A field annotated `afa.Instant` is filled with the time of each row."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import pytest

import afa
from afa import Arc, Automaton
from afa.spark import match


class Tick(NamedTuple):
    tail: str
    price: int
    at: afa.Instant


class Since(NamedTuple):
    begun: int = 0


RISEN = Automaton(
    start="s",
    final={"f"},
    event=Tick,
    register=Since(),
    arcs=[Arc("s", "a", "price == 1", "(at,)", name="a"), Arc("a", "f", "price > 1", name="b")],
)


@pytest.mark.parametrize("name", ["at", "time"])
def test_the_time_of_a_row(spark: Any, name: str) -> None:
    times = [datetime(2024, 1, 1, 0, 0, second) for second in (3, 6)]
    rows = spark.createDataFrame([("N1", 1, times[0]), ("N1", 2, times[1])], f"tail string, price int, {name} timestamp")
    found = rows.transform(match(RISEN, key="tail", time=name, window="1 hour")).where("kind = 'match'").collect()
    micros = spark.createDataFrame([(times[0],)], "t timestamp").selectExpr("unix_micros(t) AS n").collect()[0].n
    assert [(row.begun, row.diff) for row in found] == [(micros, 1)]


def test_a_column_beside_it_is_refused(spark: Any) -> None:
    rows = spark.createDataFrame([("N1", 1, 5, datetime(2024, 1, 1))], "tail string, price int, at int, time timestamp")
    with pytest.raises(afa.AfaError, match="expected no column 'at', which is filled with time='time', or time='at': rename it"):
        rows.transform(match(RISEN, key="tail", time="time", window="1 hour"))
