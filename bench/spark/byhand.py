"""The pattern of `many` as one writes it by hand for Spark: a state for each key, rows in order, runs of falls in it.

Less is asked of it than of afa: rows come in order, none is late or taken back, nothing is withdrawn, nothing is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from afa import Arc, Automaton
from bench.queries import Tick
from bench.spark.streams import TICK

DROP = 0.64
"""A fall begins with a change below it: 29 % of the rows are."""
OUT = "key bigint, le bigint, total double, diff int"
STATE = "falls string"
"""JSON: `applyInPandasWithState` fails with arrays."""


class Falls(NamedTuple):
    total: float = 0.0


def many() -> Automaton:
    """The README's pattern, falls and a rise: so many matches as falls begin."""
    drop = DROP
    return Automaton(
        start="start",
        final={"rebound"},
        register=Falls(),
        event=Tick,
        arcs=[
            Arc("start", "falling", lambda e, r: e.change < -drop, lambda e, r: Falls(e.change)),
            Arc("falling", "falling", lambda e, r: e.change < 0, lambda e, r: Falls(r.total + e.change)),
            Arc("falling", "rebound", lambda e, r: e.change > 0),
        ],
    )


def follow(falls: list[Any], ticks: pd.DataFrame, window: int) -> tuple[list[Any], list[Any]]:
    """The falls that are open after a key's rows, as (begin, total), and the matches among them, as (le, total)."""
    found: list[Any] = []
    ticks = ticks.sort_values("le")
    for le, change in zip(ticks["le"].tolist(), ticks["change"].tolist()):
        falls = [(begin, total) for begin, total in falls if begin + window > le]
        if change > 0:
            found += [(le, total) for _, total in falls]
        falls = [(begin, total + change) for begin, total in falls] if change < 0 else []
        if change < -DROP:
            falls.append((le, change))
    return falls, found


def with_state(ticks: DataFrame, window: int, lateness: int) -> DataFrame:
    """By ``transformWithStateInPandas``."""
    found = _rows(ticks, lateness).groupBy("key").transformWithStateInPandas(ByHand(window * TICK), OUT, "append", "EventTime")
    return _times(found)


def in_pandas(ticks: DataFrame, window: int, lateness: int) -> DataFrame:
    """By ``applyInPandasWithState``."""

    def work(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        falls, found = follow(json.loads(state.get[0]) if state.exists else [], pd.concat(list(frames)), window * TICK)
        state.update((json.dumps(falls),))
        yield _frame(key[0], found)

    grouped = _rows(ticks, lateness).groupBy("key")
    return _times(grouped.applyInPandasWithState(work, OUT, STATE, "append", GroupStateTimeout.NoTimeout))


def _rows(ticks: DataFrame, lateness: int) -> DataFrame:
    return ticks.withWatermark("at", f"{lateness} milliseconds").select("key", F.unix_micros("at").alias("le"), "change")


def _times(found: DataFrame) -> DataFrame:
    return found.select("key", F.timestamp_micros("le").alias("le"), "total", "diff")


def _frame(key: int, found: list[Any]) -> pd.DataFrame:
    les, totals = [le for le, _ in found], [total for _, total in found]
    return pd.DataFrame({"key": [key] * len(found), "le": les, "total": totals, "diff": [1] * len(found)})


class ByHand(StatefulProcessor):
    """The falls of one key."""

    def __init__(self, window: int) -> None:
        self._window = window

    def init(self, handle: Any) -> None:
        self._falls = handle.getValueState("falls", STATE)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        before = self._falls.get()
        falls, found = follow([] if before is None else json.loads(before[0]), pd.concat(list(rows)), self._window)
        self._falls.update((json.dumps(falls),))
        yield _frame(key[0], found)

    def close(self) -> None:
        pass
