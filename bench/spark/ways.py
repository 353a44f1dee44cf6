"""What is compared: afa, the least that Spark can do, and the same operator with a state of Spark's for each key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import afa.spark
from afa import Automaton, Operator, Punctuation
from bench.queries import q1
from bench.spark.streams import TICK

BUCKETS = 16


def matched(ticks: DataFrame, window: int, lateness: int, automaton: Automaton | None = None, **more: Any) -> DataFrame:
    """Q1, k = 1, or another pattern, by afa; window and lateness in rows of the stream."""
    options = {"window": f"{window} milliseconds", "lateness": f"{lateness} milliseconds", "buckets": BUCKETS, **more}
    return ticks.transform(afa.spark.match(automaton or q1(), key="key", time="at", **options))


def passed(ticks: DataFrame) -> DataFrame:
    """Rows to Python and back: the least that a stream through Python costs."""
    return ticks.mapInArrow(_same, ticks.schema)


def idle(ticks: DataFrame, lateness: int) -> DataFrame:
    """A stateful operator of as many buckets that does nothing but write its state: Spark's own fixed time."""
    bucket = F.pmod(F.xxhash64("key"), F.lit(BUCKETS)).cast("int").alias("bucket")
    parts = (
        ticks.withWatermark("at", f"{lateness} milliseconds")
        .select(bucket, F.lit(b"").alias("rows"))
        .mapInArrow(_few, "bucket int, rows binary")
    )
    return (
        parts.groupBy("bucket")
        .transformWithStateInPandas(Idle(), "rows binary", "append", "EventTime")
        .mapInArrow(_same, "rows binary")
    )


def by_key(ticks: DataFrame, window: int, lateness: int, operator: bool) -> DataFrame:
    """A state of Spark's for each key: the same operator in it, or (``operator=False``) rows and a state moved, no more."""
    rows = ticks.withWatermark("at", f"{lateness} milliseconds").select("key", F.unix_micros("at").alias("le"), "price", "change")
    grouped = rows.groupBy("key")
    found = grouped.transformWithStateInPandas(
        ByKey(window * TICK, operator), "key bigint, le bigint, diff int", "append", "EventTime"
    )
    return found.select("key", F.timestamp_micros("le").alias("le"), "diff")


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _few(batches: Iterator[Any]) -> Iterator[Any]:
    """One row a bucket."""
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_pandas(batch.to_pandas().drop_duplicates("bucket"), preserve_index=False)


class Idle(StatefulProcessor):
    """Reads a state, writes it, says nothing."""

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("state", "blob binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        for _ in rows:
            pass
        self._state.get()
        self._state.update((b"16 bytes of state",))
        yield pd.DataFrame({"rows": []})

    def close(self) -> None:
        pass


class ByKey(StatefulProcessor):
    """The operator of one key, from its snapshot and back."""

    def __init__(self, window: int, operator: bool) -> None:
        self._window, self._operator = window, operator

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("state", "blob binary")
        self._automaton = q1()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        blob = self._state.get()
        ticks = pd.concat(list(rows))
        if not self._operator:
            self._state.update((bytes(blob[0])[:500] if blob else b"." * 500,))
            return
        op = Operator.restore(self._automaton, bytes(blob[0]), late="drop") if blob else self._new()
        watermark = timerValues.getCurrentWatermarkInMs() * 1000
        items = [Punctuation(watermark), ticks] if watermark > 0 else [ticks]
        found = [table for table in op.push_many(items) if isinstance(table, pd.DataFrame) and len(table)]
        self._state.update((op.snapshot(),))
        for table in found:
            yield table[["le", "diff"]].assign(key=key[0])[["key", "le", "diff"]]

    def _new(self) -> Operator:
        return Operator(self._automaton, window=self._window, late="drop")

    def close(self) -> None:
        pass
