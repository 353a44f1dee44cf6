"""Ticks as files, a file a micro-batch, and queries over them; each batch's time is Spark's own, of the whole trigger."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from bench.spark import cpu
from bench.workloads import Stream, take

SCHEMA = "key bigint, at timestamp, price double, change double"
BEGIN = 1_700_000_000_000_000  # microseconds: LE 0
TICK = 1000  # microseconds
Transform = Callable[[DataFrame], DataFrame]


class Run(NamedTuple):
    """A query from its start to its end."""

    seconds: list[float]  # of each batch with rows
    answer: list[int]  # matches in force in the end, and sums over their keys and ends
    metrics: list[dict[str, Any]]  # the observed metrics "afa" of each batch with rows
    cpu: float  # seconds of CPU for each batch, of Java and all workers; over all batches


def write(folder: Path, stream: Stream, ends: list[int]) -> Path:
    """Files of the rows up to each of ``ends``."""
    folder.mkdir()
    begin = 0
    for i, end in enumerate(ends):
        part = take(stream, slice(begin, end))
        at = pa.array(BEGIN + part["le"] * TICK, pa.timestamp("us", tz="UTC"))
        table = pa.table({"key": part["key"], "at": at, "price": part["price"], "change": part["change"]})
        path = folder / f"{i:04}.parquet"
        parquet.write_table(table, path)
        os.utime(path, (1.7e9 + i, 1.7e9 + i))  # in which order Spark takes them
        begin = end
    return folder


def disordered(stream: Stream, share: float, by: int, seed: int = 3) -> Stream:
    """That share of the rows arrives up to ``by`` rows later."""
    rng = np.random.default_rng(seed)
    n = len(stream["le"])
    place = np.arange(n, dtype=np.float64)
    late = rng.random(n) < share
    place[late] += rng.integers(1, by, int(late.sum())) + 0.5
    return take(stream, np.argsort(place, kind="stable"))


def run(spark: SparkSession, folder: Path, transform: Transform, matches: bool = True) -> Run:
    """A query over a folder's files, one at a time, into nothing."""
    diff, zero = F.col("diff"), F.lit(0)
    sums = [diff, diff * F.col("key"), diff * F.expr(f"(unix_micros(le) - {BEGIN}L) div {TICK}")] if matches else [zero]
    with tempfile.TemporaryDirectory() as checkpoint:
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
        found = rows.transform(transform).observe("bench", *(F.sum(column).alias(str(i)) for i, column in enumerate(sums)))
        writer = found.writeStream.format("noop").option("checkpointLocation", checkpoint)
        before = cpu.seconds()
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        spent = cpu.seconds() - before
        told = query.recentProgress
    full = [progress for progress in told if progress.numInputRows]
    parts = [list(progress.observedMetrics["bench"].asDict().values()) for progress in told if progress.observedMetrics]
    return Run(
        [progress.durationMs["triggerExecution"] / 1000 for progress in full],
        [sum(value or 0 for value in column) for column in zip(*parts)],
        [row.asDict() for progress in full for name, row in progress.observedMetrics.items() if name.startswith("afa")],
        spent / max(1, len(full)),
    )
