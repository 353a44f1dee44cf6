"""The command line: ``python -m examples.flights [--engine spark|local] [--until 2013-02-01] ..``."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from datetime import date
from pathlib import Path

import pyarrow.compute as pc

from examples.flights import check, data, job, report
from examples.flights.fate import fates
from examples.flights.progress import progress
from examples.flights.stream import Stream, revisions


def day(text: str) -> date:
    """A day of the command line."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a day such as 2013-02-01 but got {text!r}") from error


def hours(text: str) -> int:
    """A number of hours of the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of hours, at least 1, but got {text!r}")
    return int(text)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.flights",
        description="Find growing delays that recover in a year of New York departures, sent as a stream of revisions.",
    )
    parser.add_argument("--engine", choices=("spark", "local"), default="spark", help="where it runs (default: %(default)s)")
    parser.add_argument("--hours", type=hours, default=168, help="of arrivals that are one batch on Spark (default: %(default)s)")
    parser.add_argument("--work", type=Path, default=Path("out/spark"), help="files of the job on Spark (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("out/flights.parquet"), help="all changes (default: %(default)s)")
    parser.add_argument("--until", type=day, metavar="DATE", help="only flights scheduled before this day, UTC")
    parser.add_argument("--quiet", action="store_true", help="no progress, only the summary")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the job; 0 if the brute force agrees, 1 if not, 2 if the data or Spark is not installed."""
    options = arguments(argv)
    until = options.until and job.minutes(options.until.year, options.until.month, options.until.day)
    spent = {}
    try:
        start = time.perf_counter()
        flights, without_tail = data.flights(until=until)
        names = data.airlines()
    except data.FlightsMissingError as error:
        print(error, file=sys.stderr)
        return 2
    if options.engine == "spark" and importlib.util.find_spec("pyspark") is None:
        print('expected PySpark but got none: pip install ".[spark]", or take --engine local', file=sys.stderr)
        return 2
    if not len(flights):
        print(f"expected a day after 2013-01-01 but got --until {options.until}: no flight is before it", file=sys.stderr)
        return 2
    stream = revisions(flights)
    spent["reading and building"] = time.perf_counter() - start
    aircraft = pc.count_distinct(flights["tail"]).as_py()
    print(report.opening(stream, without_tail, aircraft, options.until), end="\n\n", flush=True)

    start = time.perf_counter()
    run = run_on_spark(stream, options) if options.engine == "spark" else run_here(stream, options)
    spent["the job"] = time.perf_counter() - start
    job.write(run.changes, options.output)

    start = time.perf_counter()
    final, expected = run.final(), check.all_matches(flights, run.swapped)
    spent["brute force"] = time.perf_counter() - start
    told, legs = fates(run.changes, flights), report.Legs(flights)
    parts = [
        report.counts(run, told),
        report.by_airline_and_month(told, names),
        report.withdrawn(told, names),
        *([report.swap(final, run.swapped, legs)] if run.swapped is not None else []),
        *([report.state(run.samples, run.left)] if options.engine == "local" else on_spark(run, options)),
        report.checked(final, expected),
        f"all {len(run.changes):,} changes are in {options.output}",
        ", ".join(f"{what} {seconds:.1f} s" for what, seconds in spent.items()),
    ]
    print("\n\n".join(parts))
    return 0 if final == expected and not run.refused else 1


def run_here(stream: Stream, options: argparse.Namespace) -> job.Run:
    """The job in this process."""
    with progress(stream.messages, options.quiet) as step:
        return job.feed(stream, step)


def run_on_spark(stream: Stream, options: argparse.Namespace) -> job.Run:
    """The job on a Spark of this process."""
    from examples.flights.on_spark import feed, session

    log = options.work / "spark.log"
    if not options.quiet:
        print(f"starting Spark; what it says goes to {log}", file=sys.stderr, flush=True)
    with session(log) as spark, progress(stream.messages, options.quiet) as step:
        return feed(spark, stream, options.work, options.hours, step)


def on_spark(run: job.Run, options: argparse.Namespace) -> list[str]:
    """What is told of a job on Spark alone."""
    return [report.batches(options.hours), report.stored(run.samples, run.left), report.refused(run)]


if __name__ == "__main__":
    sys.exit(main())
