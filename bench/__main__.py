"""``python -m bench [--only NAME ..] [--engine ENGINE] [--scale SCALE] [--events N] [--before FOLDER] [--results FOLDER]``."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.drive import left_out
from bench.measure import RESULTS, SCALES, Options, Row, keep

NAMES = (
    "queries",
    "language",
    "waiting",
    "first_rows",
    "nulls",
    "functions",
    "ids",
    "choose",
    "sql",
    "last_before",
    "disorder",
    "heavy",
    "swap",
    "arcs",
    "ignorable",
    "keys",
    "batch",
    "push",
    "start",
    "snapshot",
    "memory",
    "baselines",
    "ordered",
    "speculation",
    "predicates",
    "cleanup",
    "payloads",
    "cli",
    "restart",
    "find",
    "lanes",
    "device",
    "lineage",
    "longest",
    "windows",
    "situations",
    "uncertain",
    "replay",
    "replay_thesis",
)


WIDTH = 150
"""Of tables that go to a file."""


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run benchmarks and keep their results as JSON.")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--engine", choices=("compiled", "interpreted"), default="compiled")
    parser.add_argument("--events", type=int, default=Options().events, help="of the memory benchmark (default: %(default)s)")
    parser.add_argument("--before", help="a checkout whose engine stands beside this one (keys)")
    return parsed(parser, argv)


def parsed(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Read a command line with the options that all benchmarks have."""
    parser.add_argument("--scale", choices=tuple(SCALES), default="full", help="how much is fed (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON goes")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run them one after the other; each is kept as soon as it is there."""
    chosen = arguments(argv)
    options = Options(chosen.engine, chosen.scale, chosen.events, chosen.before)
    for name in chosen.only:
        module = importlib.import_module(f"bench.bench_{name}")
        report(name, module.__doc__, options, module.measure(options), chosen.results)
    return 0


def report(name: str, question: str | None, options: Options, rows: list[Row], results: Path) -> None:
    """Keep the rows of a benchmark, and print them as tables."""
    question = (question or "").strip()
    path = keep(name, question, options, rows, results)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    said = [untimed] if (untimed := left_out()) else []
    console.print(f"\n[bold]{name}[/bold]  {question}", *map(printed, kinds(rows)), *said, f"[dim]{path}[/dim]", sep="\n")


def kinds(rows: list[Row]) -> list[list[Row]]:
    """Rows of the same columns side by side."""
    groups: list[list[Row]] = []
    for row in rows:
        if groups and list(groups[-1][0]) == list(row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def printed(rows: list[Row]) -> Table:
    """Rows of the same columns as a table."""
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*map(cell, row.values()))
    return table


def cell(value: Any) -> str:
    """A figure with its range.

    Examples
    --------
    >>> cell({"median": 2.0, "low": 1.5, "high": 2.25}), cell(12_345), cell("Q1"), cell(None)
    ('2 (1.5-2.25)', '12,345', 'Q1', '')
    """
    if isinstance(value, dict):
        if value["low"] == value["high"]:
            return figure(value["median"])
        return f"{figure(value['median'])} ({figure(value['low'])}-{figure(value['high'])})"
    if isinstance(value, float):
        return figure(value)
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def figure(value: float) -> str:
    """Three digits, and no exponent for what people read as a number."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    raise SystemExit(main())
