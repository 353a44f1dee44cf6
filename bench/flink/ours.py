"""afa on Spark over the same ticks: all at once, and as a stream of micro-batches; every match is counted."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

import afa.spark
from bench.queries import q1

SCHEMA = "key bigint, at bigint, price double, change double"
TYPES = {"key": pa.int64(), "at": pa.int64(), "price": pa.float64(), "change": pa.float64()}
READ, ARROW = "read", "csv by Arrow"


def rows_of(reader: Any, folder: Path, form: str) -> DataFrame:
    """The ticks of a folder by a batch's or a stream's reader: csv, parquet, or csv again, read by Arrow and not by Spark."""
    if form != ARROW:
        found: DataFrame = reader.format(form).schema(SCHEMA).load(str(folder / form))
        return found
    contents = "path string, modificationTime timestamp, length bigint, content binary"
    files = reader.format("binaryFile").schema(contents).load(str(folder / "csv"))
    return files.select("content").mapInArrow(_parsed, SCHEMA)


def _parsed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow.csv as csv

    read = csv.ReadOptions(column_names=list(TYPES), block_size=1 << 22)
    for batch in batches:
        for content in batch["content"]:
            yield from csv.open_csv(content.as_buffer(), read, convert_options=csv.ConvertOptions(column_types=TYPES))


def matched(ticks: DataFrame, window: int) -> DataFrame:
    """Q1, k = 1: changes."""
    timed = ticks.withColumn("at", F.timestamp_millis("at"))
    return timed.transform(afa.spark.match(q1(1), key="key", time="at", window=f"{window} seconds"))


def sums(what: str, window: int) -> list[Any]:
    """The answer, as `bench.flink.job` has it."""
    if what == READ:
        return [F.count("*").alias("n"), F.sum("key").alias("keys")]
    diff = F.col("diff")
    began = F.unix_millis("re") - 1000 * window
    answer = {"n": diff, "keys": diff * F.col("key"), "began": diff * began, "ended": diff * F.unix_millis("le")}
    return [F.sum(column).alias(name) for name, column in answer.items()]


def at_once(spark: SparkSession, folder: Path, form: str, what: str, window: int) -> tuple[float, list[int]]:
    """Seconds and answer of a batch job over the folder's files of that form."""
    begin = time.perf_counter()
    rows = rows_of(spark.read, folder, form)
    found = rows if what == READ else matched(rows, window)
    answer = found.agg(*sums(what, window)).first()
    seconds = time.perf_counter() - begin
    return seconds, [value or 0 for value in answer or ()]


def streamed(spark: SparkSession, folder: Path, form: str, what: str, window: int) -> tuple[float, list[int]]:
    """Seconds and answer of a stream, two files a micro-batch, from its start to its end."""
    with tempfile.TemporaryDirectory() as checkpoint:
        begin = time.perf_counter()
        rows = rows_of(spark.readStream.option("maxFilesPerTrigger", 2), folder, form)
        found = rows if what == READ else matched(rows, window)
        writer = found.observe("bench", *sums(what, window)).writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - begin
        parts = [progress.observedMetrics["bench"].asDict() for progress in query.recentProgress if progress.observedMetrics]
    return seconds, [sum(column) for column in zip(*([value or 0 for value in part.values()] for part in parts))]
