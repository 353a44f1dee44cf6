"""The command line: ``python -m examples.hadoop [TRACE] [--worlds 200]``."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from examples.hadoop import report
from examples.hadoop.load import load_of
from examples.hadoop.neighbours import neighbours
from examples.hadoop.queries import STUDIES
from examples.hadoop.study import OFF_AS_A_WHOLE, Comparison, exactly, in_tenths, in_worlds
from examples.hadoop.trace import read


def main(argv: list[str] | None = None) -> None:
    """Ask each query on exact times and in possible worlds, and print how the answers differ."""
    parser = argparse.ArgumentParser(prog="python -m examples.hadoop", description=__doc__)
    parser.add_argument("trace", nargs="?", type=Path, help="a CSV of events; left out: the one that comes with the example")
    parser.add_argument("--worlds", type=int, default=200, help="how many possible worlds (default: %(default)s)")
    options = parser.parse_args(argv)
    trace, worlds = read(options.trace), options.worlds
    load, examples = load_of(trace), list[str]()
    print(report.opening(trace, worlds), report.order(neighbours(trace), worlds), report.legend(), report.heading(), sep="\n\n")
    for study in STUDIES:
        events = study.table(trace, load)
        reported = exactly(study, events)
        own = Comparison(reported, in_worlds(study, events, worlds))
        shared = None if study.derived else Comparison(reported, in_worlds(study, events, worlds, OFF_AS_A_WHOLE))
        print(report.line(study, events, own, shared), flush=True)
        examples += report.examples(study, own)
    print("", *examples, "", sep="\n")
    print(report.exact(in_tenths(events)))


if __name__ == "__main__":
    logging.getLogger("afa").setLevel(logging.ERROR)  # it warns that a sample's interval is as long as the window of Query 1
    main()
