"""A hundred variants over history: `afa.spark.backtest` beside one `applyInArrow` that returns nothing, on the same rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

import afa
import afa.spark
from bench.bench_lanes import vee
from bench.measure import Row, spread
from bench.spark import cpu
from bench.spark.streams import SCHEMA, write
from bench.spark.ways import BUCKETS
from bench.workloads import keyed

EMPTY, FILES = "applyInArrow of 16 buckets, an empty function", 4


def sweep(spark: Any, folder: Path, n: int, keys: int, variants: int, rounds: int) -> list[Row]:
    """All ways in turn; the first round is for Java, which compiles what it runs often."""
    stream = {**keyed(n, keys), "change": np.random.default_rng(1).normal(0, 0.5, n)}
    rows = spark.read.schema(SCHEMA).parquet(str(write(folder / "history", stream, [n * i // FILES for i in range(1, FILES + 1)])))
    patterns, window = {f"{fall:.2f}": vee(fall) for fall in np.linspace(0.1, 1, variants)}, f"{20 * keys} ms"

    def empty(*by: Any) -> None:
        rows.groupBy(*by).applyInArrow(_nothing, rows.schema).write.format("noop").mode("overwrite").save()

    def counted(some: int) -> pa.Table:
        few = dict(list(patterns.items())[:some])
        return afa.spark.backtest(few, rows, key="key", time="at", window=window, counts=True).table.toArrow()

    ways: dict[str, Callable[[], Any]] = {
        EMPTY: lambda: empty(F.pmod(F.xxhash64("key"), F.lit(BUCKETS))),
        "the same, of each key": lambda: empty("key"),
        "afa, counts, 1 variant": lambda: counted(1),
        f"afa, counts, {variants} variants": lambda: counted(variants),
    }
    here = afa.backtest(patterns, rows.toArrow(), key="key", time="at", window=window, withdrawn=False, counts=True).table
    assert counted(variants).to_pylist() == here.to_pylist()
    assert min(here["matches"].to_pylist()) > 0
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, go in ways.items():
            before, began = cpu.seconds(), time.perf_counter()
            go()
            if turn:
                found[name].append((time.perf_counter() - began, cpu.seconds() - before))
    base = [seconds for seconds, _ in found[EMPTY]]
    return [
        {
            "way": name,
            "s": spread([seconds for seconds, _ in column]),
            "times the empty function's": spread([seconds / other for (seconds, _), other in zip(column, base)]),
            "CPU, s": spread([spent for _, spent in column]),
        }
        for name, column in found.items()
    ]


def _nothing(table: pa.Table) -> pa.Table:
    return table[:0]
