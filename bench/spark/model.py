"""What a batch costs by its rows, the keys that it touches, buckets and tasks; and what many slots would make of it.

    s of a batch = fixed + tasks x driver + (rows x row + keys x key + buckets x bucket + partitions x partition) / slots

All but the first two is work that slots share. It is fitted on ``local[1]``, where tasks run one after the other, so that a batch's
time less the fixed one is that work. The driver's time for a task is that of a job of many tasks that do nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.measure import Row
from bench.spark import state

WORK = ("row", "key", "bucket", "partition")
TASKS = 1000


class Case(NamedTuple):
    """A batch: its rows, all keys, how many of them it touches, buckets, partitions of the shuffle."""

    rows: int
    keys: int
    touched: int
    buckets: int
    partitions: int


CASES = (
    *(Case(rows, 10_000, min(rows, 10_000), 16, 2) for rows in (1_000, 100_000, 300_000, 1_000_000)),
    *(Case(100_000, keys, touched, 16, 2) for keys, touched in ((1_000, 1_000), (100_000, 10_000), (100_000, 63_000))),
    *(Case(100_000, 10_000, 10_000, buckets, 2) for buckets in (4, 64, 128)),
    *(Case(10_000, 10_000, 1_000, 32, partitions) for partitions in (1, 8, 32)),
)


def measured(spark: Any, folder: Path, cases: Sequence[Case], batches: int) -> list[Row]:
    """A row for each case, with what the fitted model says of it; then the model; then what it says of clusters."""
    rows = []
    for number, case in enumerate(cases):
        spark.conf.set("spark.sql.shuffle.partitions", case.partitions)
        place = folder / str(number)
        place.mkdir()
        # a batch draws its rows from so many keys that as many of them as are wanted come up
        row = state.touched(spark, place, case.keys, _drawn(case) / case.keys, case.rows, batches, case.buckets)
        rows.append(
            {**case._asdict(), **{name: row[name] for name in ("s a batch", "MB written", "operators, s", "their state, s")}}
        )
    cost = fitted(rows)
    for row in rows:
        row["by the model, s"] = seconds(cost, 1, row)
    cost |= {"driver": driver(spark), "bytes a row": _slope(rows, "MB written") * 1e6}
    return [*rows, told(cost), *(grown(cost, slots, wanted) for slots in (2, 40, 400) for wanted in (1.0, 5.0, 20.0))]


def _drawn(case: Case) -> int:
    """From how many keys to draw, for ``touched`` different ones in so many rows."""
    drawn = case.touched
    while drawn < case.keys and drawn * -np.expm1(case.rows * np.log1p(-1 / drawn)) < 0.99 * case.touched:
        drawn += max(1, drawn // 50)
    return min(drawn, case.keys)


def fitted(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds of each part, by least squares of relative errors; a part that would be negative is none."""
    took = np.array([row["s a batch"] for row in rows])
    names = ["fixed", *WORK]
    while True:
        columns = np.array([[_amount(row, name) for name in names] for row in rows], float)
        found = np.linalg.lstsq(columns / took[:, None], np.ones(len(rows)), rcond=None)[0]
        if (found >= 0).all():
            return {**dict.fromkeys(("fixed", *WORK), 0.0), **dict(zip(names, found.tolist()))}
        del names[int(np.argmin(found * columns.max(axis=0)))]


def _amount(row: Mapping[str, Any], name: str) -> float:
    return 1.0 if name == "fixed" else float(row[{"key": "touched"}.get(name, name + "s")])


def _slope(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    """By how much a column grows with each row of a batch, over the cases that differ in rows alone."""
    of = [row for row in rows if row["keys"] == 10_000 and row["buckets"] == 16] or rows
    return float(np.polyfit([row["rows"] for row in of], [row[column] for row in of], 1)[0])


def seconds(cost: Mapping[str, float], slots: int, row: Mapping[str, Any]) -> float:
    """Of a batch on so many slots, without the driver's time for tasks."""
    return cost["fixed"] + sum(cost[name] * _amount(row, name) for name in WORK) / slots


def driver(spark: Any) -> float:
    """Seconds a task: the same job with many tasks and with few."""

    def took(tasks: int) -> float:
        begin = time.perf_counter()
        spark.range(0, tasks, 1, tasks).count()
        return time.perf_counter() - begin

    took(TASKS)
    return statistics.median(took(TASKS) - took(TASKS // 10) for _ in range(3)) / (0.9 * TASKS)


def told(cost: Mapping[str, float]) -> Row:
    """The model in units that one can read."""
    return {
        "fixed, s": cost["fixed"],
        "microseconds a row": 1e6 * cost["row"],
        "microseconds a key touched": 1e6 * cost["key"],
        "ms a bucket": 1e3 * cost["bucket"],
        "ms a partition": 1e3 * cost["partition"],
        "ms of the driver a task": 1e3 * cost["driver"],
        "bytes of state written a row": cost["bytes a row"],
    }


def grown(cost: Mapping[str, float], slots: int, wanted: float) -> Row:
    """Rows a second of so many slots in batches of that length: four buckets and two tasks a slot, a hundred rows a key."""
    parts = {"buckets": 4 * slots, "partitions": slots, "rows": 0, "touched": 0}
    least = seconds(cost, slots, parts) + 2 * slots * cost["driver"]
    a_row = (cost["row"] + cost["key"] / 100) / slots
    rows = max(0.0, wanted - least) / a_row
    return {
        "slots": slots,
        "batch, s": wanted,
        "least batch, s": least,
        "M rows a batch": rows / 1e6,
        "M rows a second": rows / wanted / 1e6,
        "share of rows in a batch's time": max(0.0, wanted - least) / wanted,
        "MB of state written a second, a slot": rows * cost["bytes a row"] / wanted / slots / 1e6,
    }
