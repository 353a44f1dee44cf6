"""What does afa on Spark cost? Q1, k = 1, W = 20 ticks of a key, two cores (local[2]), 16 buckets, checkpoints as in production.

Rates beside a pass-through of the same rows, in turns, in one run, of Q1 and of a pattern that 29 % of the rows match; beside a
state of Spark's for each key, written by hand and with afa's operator in it; the time of a batch with a thousand rows beside an
operator that does nothing; bytes of state that move where a tenth of the keys is touched; a million
keys; the time from the writing of an arc to its first match; what a batch costs by its parts, and what a cluster would make of it
(`bench.spark.model`, one slot). Batch times are Spark's own (triggerExecution), without the first two.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.__main__ import parsed, report
from bench.measure import Options, Row

PARTS = ("rates", "hand", "overhead", "state", "latency", "sweep", "rules", "model")


def measure(spark: Any, folder: Path, options: Options, parts: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each part."""
    from bench.spark import latency, model, rules, state, sweeps, throughput

    size = options.size
    rounds, keys = options.rounds, size(10_000, 20)
    found: dict[str, list[Row]] = {}
    if "rates" in parts:
        found["rates"] = throughput.rates(spark, folder, size(1_000_000, 2000), keys, 3, rounds)
    if "hand" in parts:
        found["hand"] = throughput.by_key(spark, folder, size(100_000, 2000), keys, 2)
    if "overhead" in parts:
        found["overhead"] = throughput.overhead(spark, folder, 1000, keys, 15, rounds)
    if "state" in parts:
        many, more = size(100_000, 200), size(1_000_000, 400)
        found["state"] = [state.touched(spark, folder, many, share, int(many * share * 10), 5, 16) for share in (0.1, 1.0)] + [
            state.touched(spark, folder, more, 0.1, size(1_000_000, 400), 3, 64)
        ]
    if "latency" in parts:
        found["latency"] = [latency.swaps(spark, keys, size(5_000, 100), 10 if options.scale == "full" else 2)]
    if "sweep" in parts:
        found["sweep"] = sweeps.sweep(spark, folder, size(4_000_000, 200), keys, size(100, 5), rounds)
    if "rules" in parts:
        found["rules"] = rules.rules(spark, folder, size(1_000_000, 2000), size(300, 12), options.few(10, 2), size(1_000, 20), 3)
    if "model" in parts:
        full = options.scale == "full"
        cases = (
            model.CASES if full else [case._replace(rows=size(case.rows, 100), keys=200, touched=20) for case in model.CASES[:5]]
        )
        found["model"] = model.measured(spark, folder, cases, 4 if full else 1)
    return found


def session(slots: int) -> Any:
    """Of so many slots."""
    from afa.spark import local_session

    return local_session(slots, spark__sql__shuffle__partitions=2, spark__driver__memory="4g")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description="afa on Spark, on this machine.")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    return parsed(parser, argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run it, print tables, keep each part's result."""
    chosen = arguments(argv)
    options = Options(scale=chosen.scale)
    spark = session(2)
    for part in chosen.only:
        if part == "model":
            spark.stop()
            spark = session(1)
        with tempfile.TemporaryDirectory() as folder:
            rows = measure(spark, Path(folder), options, [part])[part]
        report(f"spark_{part}", __doc__, options, rows, chosen.results)
    spark.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
