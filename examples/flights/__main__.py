"""The command line: ``python -m examples.flights [--output FILE] [--until 2013-02-01] [--quiet]``."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import date
from pathlib import Path

import pyarrow.compute as pc

from examples.flights import check, data, job, report
from examples.flights.fate import fates
from examples.flights.progress import progress
from examples.flights.stream import revisions


def day(text: str) -> date:
    """A day of the command line."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a day such as 2013-02-01 but got {text!r}") from error


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.flights",
        description="Find growing delays that recover in a year of New York departures, sent as a stream of revisions.",
    )
    parser.add_argument("--output", type=Path, default=Path("out/flights.parquet"), help="all changes (default: %(default)s)")
    parser.add_argument("--until", type=day, metavar="DATE", help="only flights scheduled before this day, UTC")
    parser.add_argument("--quiet", action="store_true", help="no progress, only the summary")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the job; 0 if the brute force agrees, 1 if not, 2 if the data is not installed."""
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
    if not len(flights):
        print(f"expected a day after 2013-01-01 but got --until {options.until}: no flight is before it", file=sys.stderr)
        return 2
    stream = revisions(flights)
    spent["reading and building"] = time.perf_counter() - start
    aircraft = pc.count_distinct(flights["tail"]).as_py()
    print(report.opening(stream, without_tail, aircraft, options.until), end="\n\n", flush=True)

    start = time.perf_counter()
    with progress(stream.messages, options.quiet) as step:
        run = job.feed(stream, step)
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
        report.state(run.samples, run.left),
        report.checked(final, expected),
        f"all {len(run.changes):,} changes are in {options.output}",
        ", ".join(f"{what} {seconds:.1f} s" for what, seconds in spent.items()),
    ]
    print("\n\n".join(parts))
    return 0 if final == expected else 1


if __name__ == "__main__":
    sys.exit(main())
