"""Rows a second, and the time that a batch takes however few rows it has."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.measure import Row, spread
from bench.spark import ways
from bench.spark.streams import Run, disordered, run, write
from bench.workloads import keyed

WINDOW, LATENESS, BY = 200_000, 2_000, 1000  # rows; a key has a row in 10,000 at full scale
WARM = 2  # batches that do not count: the first compiles, the second is the first with state


def rates(spark: Any, folder: Path, batch: int, keys: int, batches: int, rounds: int) -> list[Row]:
    """Q1, k = 1, in batches of a million rows of 10,000 keys, beside a pass-through and a state of Spark's for each key.

    The ways that take their time (a state for each key) run once, right after afa on the same batches.
    """
    n = batch * (WARM + batches)
    stream, ends = keyed(n, keys), list(range(batch, n + 1, batch))
    plain = write(folder / "plain", stream, ends)
    shifted = write(folder / "shifted", disordered(stream, 0.05, BY), ends)
    few = write(folder / "few", stream, ends[: WARM + 1])
    match = partial(ways.matched, window=WINDOW, lateness=LATENESS)
    grouped = partial(ways.by_key, window=WINDOW, lateness=LATENESS)
    least, ours, late = "pass-through (mapInArrow)", "afa", "afa, 5 % up to 1,000 rows late"
    runs: dict[str, Callable[[], Run]] = {
        least: lambda: run(spark, plain, ways.passed, matches=False),
        ours: lambda: run(spark, plain, match),
        late: lambda: run(spark, shifted, match),
    }
    found: dict[str, list[Run]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, go in runs.items():
            one = go()
            if turn:  # the first is for Java, which compiles what it runs often
                found[name].append(one)
    answers = [one.answer for name in (ours, late) for one in found[name]]
    assert all(answer == answers[0] for answer in answers), answers
    assert answers[0][0] > 0
    rate = {name: [_rate(batch, one) for one in column] for name, column in found.items()}
    rows: list[Row] = [
        {
            "way": name,
            "M rows/s": spread(column),
            "of the pass-through": spread([a / b for a, b in zip(column, rate[least])]),
            "of afa": spread([a / b for a, b in zip(column, rate[ours])]),
            "matches": answers[0][0] if name != least else None,
        }
        for name, column in rate.items()
    ]
    for name, operator in (("by key, state moved, no operator", False), ("by key, the same operator", True)):
        beside, one = run(spark, few, match), run(spark, few, partial(grouped, operator=operator), matches=operator)
        assert not operator or one.answer == beside.answer, "the operator by key finds something else"
        own, base = _rate(batch, one), _rate(batch, beside)
        rows.append({"way": name, "M rows/s": own, "afa beside it, M rows/s": base, "times that": base / own})
    return rows


def _rate(batch: int, one: Run) -> float:
    """M rows/s."""
    return batch / statistics.median(one.seconds[WARM:]) / 1e6


def overhead(spark: Any, folder: Path, rows: int, keys: int, batches: int, rounds: int) -> list[Row]:
    """Seconds of a batch of a thousand rows, beside a stateful operator of as many buckets that does nothing."""
    n = rows * (WARM + batches)
    small = write(folder / "small", keyed(n, keys), list(range(rows, n + 1, rows)))
    runs = {
        "an operator that does nothing": lambda: run(spark, small, partial(ways.idle, lateness=LATENESS), matches=False),
        "afa": lambda: run(spark, small, partial(ways.matched, window=WINDOW, lateness=LATENESS)),
    }
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, go in runs.items():
            found[name].append(statistics.median(go().seconds[WARM:]))
    base = found["an operator that does nothing"]
    return [
        {"a batch of": f"{rows:,} rows", "way": name, "s": spread(column), "s more": spread([a - b for a, b in zip(column, base)])}
        for name, column in found.items()
    ]
