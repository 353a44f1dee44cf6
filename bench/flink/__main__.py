"""How many times Flink's rate is afa on Spark? Q1, k = 1, W = 500 ticks of a key, 10,000 keys, in order, two cores.

Flink SQL's MATCH_RECOGNIZE, streaming, two slots, state on the heap, no checkpoints; afa on `local[2]` as a stream of micro-batches
of a million rows, with its checkpoints, and as a batch job. Wall time, with and without the start-up, which is the time of the same
job over two ticks a key. Ways take turns; Flink keeps its process, Spark its session. The numbers of matches and sums over their
keys, beginnings and ends are compared. "reading alone" is the same job without a pattern.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.__main__ import parsed, report
from bench.drive import Outcome
from bench.flink.flink import Flink, install
from bench.flink.ticks import Files, write
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio

ROWS, KEYS, BATCH = 5_000_000, 10_000, 1_000_000
FLINK, STREAM, ARROW = "Flink, CSV", "afa on Spark, stream, CSV", "afa on Spark, stream, CSV read by Arrow"
MATCH, READ = "match", "read"
Run = Callable[[Path, str], tuple[float, list[int]]]
"""Seconds and answer of a job over a folder: match or read."""


def measure(ways: dict[str, Run], folder: Path, rows: int, keys: int, batch: int, rounds: int) -> list[Row]:
    """A row for each way to match and, beside it, to read."""
    all_, few = write(folder / "all", rows, keys, batch), write(folder / "few", 2 * keys, keys, batch)
    measured = []
    for what in (MATCH, READ):
        start = {name: start_up(run, what, few) for name, run in ways.items()}
        runs = {name: partial(once, run, what, all_) for name, run in ways.items()}
        whole = interleaved(runs, rounds)
        net = {name: [less(outcome, start[name], few.rows) for outcome in column] for name, column in whole.items()}
        for name in ways:
            row = {"way": name if what == MATCH else f"{name}, reading alone", "start-up, s": start[name]}
            row |= {"M rows/s": rates(net[name]), "times Flink": ratio(net[name], net[FLINK])}
            row |= {"with start-up, M rows/s": rates(whole[name]), "with start-up, times Flink": ratio(whole[name], whole[FLINK])}
            measured.append(row | {"matches": whole[name][0].final if what == MATCH else None})
    return measured


def start_up(run: Run, what: str, few: Files) -> float:
    """Seconds of the same job over a few rows: the shortest of three, after one that does not count."""
    return min([run(few.folder, what)[0] for _ in range(4)][1:])


def once(run: Run, what: str, of: Files) -> Outcome:
    """The whole job."""
    seconds, answer = run(of.folder, what)
    return Outcome(answer[0], str(answer), answer[0], seconds, of.rows)


def less(outcome: Outcome, start: float, rows: int) -> Outcome:
    """Without the start-up and its rows."""
    if start >= outcome.seconds:
        raise ValueError(f"expected a job longer than its start-up of {start:.2f} s but got {outcome.seconds:.2f} s: more --rows")
    return outcome._replace(seconds=outcome.seconds - start, events=outcome.events - rows)


def ways_of(flink: Flink, spark: Any) -> dict[str, Run]:
    """Flink, and afa on Spark."""
    from bench.flink import ours

    return {
        FLINK: partial(flink.run, window=WINDOW),
        STREAM: lambda folder, what: ours.streamed(spark, folder, "csv", what, WINDOW),
        "afa on Spark, stream, Parquet": lambda folder, what: ours.streamed(spark, folder, "parquet", what, WINDOW),
        ARROW: lambda folder, what: ours.streamed(spark, folder, ours.ARROW, what, WINDOW),
        "afa on Spark, batch, CSV": lambda folder, what: ours.at_once(spark, folder, "csv", what, WINDOW),
    }


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.flink", description="Flink SQL beside afa on Spark.")
    python = parser.add_mutually_exclusive_group(required=True)
    python.add_argument("--flink-python", type=Path, metavar="PYTHON", help="a Python that has PyFlink (apache-flink)")
    python.add_argument("--install", type=Path, metavar="FOLDER", help="a virtual environment for it, made if it is not there")
    parser.add_argument("--rows", type=int, help=f"instead of {ROWS:,} at full scale")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s, after one that does not count; 1: one alone")
    return parsed(parser, argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run it, print a table, keep the result."""
    from afa.spark import local_session

    chosen = arguments(argv)
    o = Options(scale=chosen.scale)
    sizes = (chosen.rows or o.size(ROWS), o.size(KEYS, least=10), o.size(BATCH))
    spark = local_session(2, spark__sql__shuffle__partitions=2, spark__driver__memory="4g")  # finds Java for Flink, too
    python = chosen.flink_python or install(chosen.install)
    with tempfile.TemporaryDirectory() as folder, Flink(python) as flink:
        rows = measure(ways_of(flink, spark), Path(folder), *sizes, chosen.rounds)
        versions = {"Flink": flink.version, "Spark": spark.version, "rows": sizes[0], "keys": sizes[1], "batch": sizes[2]}
    spark.stop()
    report("flink", __doc__, o, [*rows, versions], chosen.results)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
