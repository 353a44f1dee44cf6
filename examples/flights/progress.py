"""Progress on stderr: a bar on a terminal, a line for each tenth elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from examples.flights.job import Sample
from examples.flights.report import utc

Step = Callable[[Sample], None]


def line(sample: Sample) -> str:
    """Where the job is."""
    held = "" if sample.events is None else f", {sample.events:,} events held"
    return f"{utc(sample.end):%Y-%m-%d} {sample.matches:,} matches{held}"


@contextmanager
def progress(messages: int, quiet: bool) -> Iterator[Step]:
    """A function to call after each batch.

    Parameters
    ----------
    messages : int
        How many will come.
    """
    if quiet:
        yield lambda sample: None
    elif not sys.stderr.isatty():
        yield _lines(messages)
    else:
        columns = (BarColumn(bar_width=24), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=messages)
            yield lambda sample: bar.update(task, completed=sample.messages, description=line(sample))


def _lines(messages: int) -> Step:
    tenths = 0

    def step(sample: Sample) -> None:
        nonlocal tenths
        if sample.messages * 10 // messages > tenths:
            tenths = sample.messages * 10 // messages
            print(f"{10 * tenths:>3} % {line(sample)}", file=sys.stderr, flush=True)

    return step
