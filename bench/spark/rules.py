"""Three hundred rules in one `match` beside ten `match` in one query, over the same rows: history, and batches of a million."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

import afa
import afa.spark
from bench.bench_rules import WINDOW, Tick, texts
from bench.measure import Row
from bench.spark.streams import BEGIN, TICK
from bench.spark.ways import BUCKETS

SCHEMA = "type string, key bigint, x double, at timestamp"
GIVEN: Any = {"time": "at", "buckets": BUCKETS}


def write(folder: Path, n: int, batches: int, keys: int, types: int) -> Path:
    """Files of n rows each, a tick a row."""
    folder.mkdir()
    g = np.random.default_rng(2)
    for i in range(batches):
        at = pa.array(BEGIN + np.arange(i * n, (i + 1) * n) * TICK, pa.timestamp("us", tz="UTC"))
        kinds = np.array([f"T{t:04d}" for t in range(types)])[g.integers(0, types, n)]
        columns = {"type": kinds, "key": g.integers(0, keys, n), "x": np.round(g.random(n), 4), "at": at}
        parquet.write_table(pa.table(columns), folder / f"{i:04}.parquet")
        os.utime(folder / f"{i:04}.parquet", (1.7e9 + i, 1.7e9 + i))  # in which order Spark takes them
    return folder


def rules(spark: Any, folder: Path, n: int, many: int, few: int, keys: int, batches: int) -> list[Row]:
    """A row for each way and source; the matches of the ten are the same both ways."""
    types = max(100, many // 3)
    said = {name: text.replace(f"WITHIN {WINDOW}", f"WITHIN {WINDOW} ms") for name, text in texts(many, types, "mixed").items()}
    path = str(write(folder / "rules", n, batches, keys, types))
    whole = afa.Rules(said, event=Tick, tick="us")
    single = {name: afa.query(said[name], event=Tick, tick="us") for name in list(said)[:few]}

    def ten(rows: DataFrame, **more: Any) -> DataFrame:
        each = [rows.transform(afa.spark.match(query, **GIVEN, **more)).withColumn("rule", F.lit(n)) for n, query in single.items()]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), each)

    def one(rows: DataFrame, **more: Any) -> DataFrame:
        return rows.transform(afa.spark.match(whole, **GIVEN, **more))

    ways: dict[str, Callable[..., DataFrame]] = {f"{many} rules, one match": one, f"{few} match in one query": ten}
    found: list[Row] = []
    counts: list[list[Any]] = []
    for name, way in ways.items():
        for source, go in (("history", _history), ("stream", _stream)):
            table, seconds, inside = go(spark, path, way, folder / f"{source} {len(found)}")
            counts.append(_counted(table))
            rate = f"{(batches * n if source == 'history' else n) / min(seconds):,.0f}"
            matches = f"{sum(row[1] for row in counts[-1]):,}"
            found.append({"way": name, "of": source, "rows/s": rate, "s of operators, of state": inside, "matches": matches})
    same = [[row for row in each if row[0] in single] for each in counts]
    assert all(each == same[0] for each in same), same
    assert min(row[1] for row in same[0]) > 0
    return found


def _history(spark: Any, path: str, way: Callable[..., DataFrame], folder: Path) -> tuple[DataFrame, list[float], str]:
    begin = perf_counter()
    way(spark.read.schema(SCHEMA).parquet(path)).write.parquet(str(folder))
    return spark.read.parquet(str(folder)), [perf_counter() - begin], ""


def _stream(spark: Any, path: str, way: Callable[..., DataFrame], folder: Path) -> tuple[DataFrame, list[float], str]:
    """The seconds of each batch, but those of the first, in which workers start; of the last one what operators and state take."""
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(path).withWatermark("at", "1 second")
    writer = way(rows).writeStream.format("parquet").option("checkpointLocation", f"{folder} checkpoint")
    query = writer.trigger(availableNow=True).start(str(folder))
    query.awaitTermination()
    full = [each for each in query.recentProgress if each.numInputRows]
    told = [row.asDict() for name, row in full[-1].observedMetrics.items() if name.startswith("afa")]
    inside = ", ".join(f"{sum(row[part] or 0 for row in told) / 1000:.1f}" for part in ("operator_ms", "state_ms"))
    return spark.read.parquet(str(folder)), [each.durationMs["triggerExecution"] / 1000 for each in full[1:]], inside


def _counted(table: DataFrame) -> list[Any]:
    """Of each rule how many matches are in force, and where they lie."""
    le = F.expr(f"(unix_micros(le) - {BEGIN}L) div {TICK}")
    sums = table.where("kind = 'match'").groupBy("rule").agg(F.sum("diff").alias("n"), F.sum(le * F.col("diff")).alias("le"))
    return sorted(tuple(row) for row in sums.collect())
