"""Rows a second, and the time that a batch takes however few rows it has."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.measure import Row, spread
from bench.queries import q1
from bench.spark import byhand, ways
from bench.spark.streams import Run, disordered, run, write
from bench.workloads import keyed

WINDOW, LATENESS, BY = 200_000, 2_000, 1000  # rows; a key has a row in 10,000 at full scale
LEAST, LATE = "pass-through (mapInArrow)", "5 % up to 1,000 rows late"
PATTERNS = {"Q1": q1, "many matches": byhand.many}
WARM = 2  # batches that do not count: the first compiles, the second is the first with state


def rates(spark: Any, folder: Path, batch: int, keys: int, batches: int, rounds: int) -> list[Row]:
    """Batches of a million rows of 10,000 keys, beside a pass-through: Q1, k = 1, in order and not; a pattern with many matches."""
    n = batch * (WARM + batches)
    stream, ends = keyed(n, keys), list(range(batch, n + 1, batch))
    plain = write(folder / "plain", stream, ends)
    shifted = write(folder / "shifted", disordered(stream, 0.05, BY), ends)
    match = partial(ways.matched, window=WINDOW, lateness=LATENESS)
    runs: dict[str, Callable[[], Run]] = {LEAST: lambda: run(spark, plain, ways.passed, matches=False)}
    for name, automaton in PATTERNS.items():
        way = partial(match, automaton=automaton())
        runs[f"afa, {name}"] = partial(run, spark, plain, way)
        runs[f"afa, {name}, {LATE}"] = partial(run, spark, shifted, way)
    found: dict[str, list[Run]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, go in runs.items():
            one = go()
            if turn:  # the first is for Java, which compiles what it runs often
                found[name].append(one)
    for name in PATTERNS:
        answers = [one.answer for late in ("", f", {LATE}") for one in found[f"afa, {name}{late}"]]
        assert all(answer == answers[0] for answer in answers), answers
        assert answers[0][0] > 0
    rate = {name: [_rate(batch, one) for one in column] for name, column in found.items()}
    return [
        {
            "way": name,
            "M rows/s": spread(column),
            "of the pass-through": _ratio(column, rate[LEAST]),
            "of the same in order": _ratio(column, rate[name.removesuffix(f", {LATE}")]),
            "CPU, s a batch": spread([one.cpu for one in found[name]]),
            "matches a row": found[name][0].answer[0] / n if name != LEAST else None,
        }
        for name, column in rate.items()
    ]


def _ratio(column: list[float], base: list[float]) -> Any:
    return spread([a / b for a, b in zip(column, base)])


def by_key(spark: Any, folder: Path, batch: int, keys: int, batches: int) -> list[Row]:
    """A state of Spark's for each key, each way once, right after afa on the same batches: they take their time."""
    n = batch * (WARM + batches)
    few = write(folder / "few", keyed(n, keys), list(range(batch, n + 1, batch)))
    options = {"window": WINDOW, "lateness": LATENESS}
    match = partial(ways.matched, **options)
    many = partial(match, automaton=byhand.many())
    cases: dict[str, tuple[Any, Any]] = {
        "many matches, by hand, transformWithStateInPandas": (partial(byhand.with_state, **options), many),
        "many matches, by hand, applyInPandasWithState": (partial(byhand.in_pandas, **options), many),
        "Q1, afa's operator for each key": (partial(ways.by_key, **options, operator=True), match),
        "no operator, a state moved for each key": (partial(ways.by_key, **options, operator=False), match),
    }
    rows: list[Row] = []
    for name, (way, ours) in cases.items():
        finds = "no operator" not in name
        beside, one = run(spark, few, ours), run(spark, few, way, matches=finds)
        assert not finds or one.answer == beside.answer, (name, one.answer, beside.answer)
        own, base = _rate(batch, one), _rate(batch, beside)
        rows.append({"way": name, "M rows/s": own, "afa beside it, M rows/s": base, "times that": base / own})
    return rows


def _rate(batch: int, one: Run) -> float:
    """M rows/s."""
    return batch / statistics.median(one.seconds[WARM:]) / 1e6


def overhead(spark: Any, folder: Path, rows: int, keys: int, batches: int, rounds: int) -> list[Row]:
    """Seconds of a batch of a thousand rows, beside a stateful operator that does nothing, and a pass-through."""
    n = rows * (WARM + batches)
    small = write(folder / "small", keyed(n, keys), list(range(rows, n + 1, rows)))
    runs = {
        LEAST: lambda: run(spark, small, ways.passed, matches=False),
        "an operator that does nothing": lambda: run(spark, small, partial(ways.idle, lateness=LATENESS), matches=False),
        "afa": lambda: run(spark, small, partial(ways.matched, window=WINDOW, lateness=LATENESS)),
    }
    found: dict[str, list[float]] = {name: [] for name in runs}
    spent: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, go in runs.items():
            one = go()
            if turn:
                found[name].append(statistics.median(one.seconds[WARM:]))
                spent[name].append(one.cpu)
    base = found["an operator that does nothing"]
    return [
        {
            "a batch of": f"{rows:,} rows",
            "way": name,
            "s": spread(column),
            "s more": spread([a - b for a, b in zip(column, base)]),
            "CPU, s a batch": spread(spent[name]),
        }
        for name, column in found.items()
    ]
