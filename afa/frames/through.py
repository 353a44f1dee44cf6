"""Take the rows of a frame through operators, in slices; without keys in slices of time side by side, where that may be.

It may be for patterns whose matches say when they begin:

rows                      |---- slice ----|-- within --|
matches that count         begin in the slice; what they need lies up to `within` behind it

The row in front of a slice comes with it, as what goes on there began before, and so begins no match of the slice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from afa.frames.asked import OperatorPlan
from afa.frames.found import Columns
from afa.frames.frame_reading import PartEnd, last_of
from afa.frames.slicing import SortedRows
from afa.model.option_values import threads_of
from afa.operator.contract import Spanned
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER

T = TypeVar("T")
Beside = Callable[[], bool] | None
"""What a job is told: whether another one has failed, or an interrupt has come; None: no other runs beside it."""


class Ended(Exception):  # noqa: N818  (no error: another job has failed)
    """A job that is not begun any more."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(jobs: Sequence[Callable[[Beside], T]], threads: int | None) -> list[T]:
    """Carry out jobs; return what they return, in their order. The first that fails, in this order, ends all.

    ``threads``: None: one for each core. One job, or one thread: in this thread.
    """
    threads = min(cores() if threads is None else threads_of(threads), len(jobs))
    if threads < 2:
        return [job(None) for job in jobs]
    over = threading.Event()

    def run(job: Callable[[Beside], T]) -> T:
        if over.is_set():
            raise Ended
        return job(over.is_set)

    with ThreadPoolExecutor(threads, thread_name_prefix="afa") as pool:
        try:
            futures = [pool.submit(run, job) for job in jobs]
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:  # an interrupt, too
            over.set()
    failed = [error for future in futures if (error := future.exception()) is not None]
    for error in sorted(failed, key=lambda error: isinstance(error, Ended)):
        raise error
    return [future.result() for future in futures]


def finding(plan: OperatorPlan, rows: SortedRows, group: tuple[int, int], end: PartEnd) -> Callable[[Beside], list[Columns]]:
    """Return a job that finds the matches of a group of keys."""

    def carry_out(beside: Beside) -> list[Columns]:
        last = last_of(end, rows.latest)
        promised = last if plan.waits or "diff" in rows.columns else None
        return list(through(plan.running(beside is not None), rows, group, promised))

    return carry_out


def through(op: Any, rows: SortedRows, group: tuple[int, int], last: int | None) -> Iterator[Columns]:
    """Take a group through an operator; yield what it gives.

    ``last``: the promise behind the last row, for time-outs, for retractions that wait for their insertion, or before rows to come.
    No slice ends between rows of one LE, so that no later one changes the events behind a match.
    """
    low, end = group
    le = rows.columns["le"]
    while True:
        high = low + rows.size if end - low >= 2 * rows.size else end  # no short one at the end
        while high < end and le[high] == le[high - 1]:
            high += 1
        then = int(le[high]) if high < end else last
        for part in op.push_many([rows.part(low, high), *([] if then is None else [Punctuation(then)])]):
            if not isinstance(part, Punctuation):
                yield part
        if high == end:
            return
        low = high


ROWS = 1 << 20
"""How many rows a slice has at least: an operator costs some 0.1 s once."""


def slices(
    plan: OperatorPlan, rows: SortedRows, threads: int | None, end: PartEnd
) -> list[Callable[[Beside], list[Columns]]] | None:
    """Return a job for each slice of a frame; None: it is taken as a whole."""
    spanned, le = plan.spanned, rows.columns["le"]
    count = min(cores() if threads is None else threads, len(le) // ROWS)
    if spanned is None or plan.keys or count < 2 or "diff" in rows.columns:
        return None
    places = [len(le) * i // count for i in range(1, count)]
    edges = [BEGINNING, *sorted({int(le[place]) for place in places}), FOREVER]
    return [_finding(plan, spanned, rows, low, high, end) for low, high in pairwise(edges)]


def _finding(
    plan: OperatorPlan, spanned: Spanned, rows: SortedRows, low: int, high: int, end: PartEnd
) -> Callable[[Beside], list[Columns]]:
    """Return a job that finds the matches that begin in ``[low, high)``."""
    le = rows.columns["le"]
    until = FOREVER if high > FOREVER - spanned.within else high + spanned.within
    first, behind = int(np.searchsorted(le, low)), int(np.searchsorted(le, until))
    last = min(until, last_of(end, rows.latest))

    def carry_out(beside: Beside) -> list[Columns]:
        tables = list(through(plan.running(beside is not None), rows, (max(first - 1, 0), behind), last))
        return [_beginning(table, spanned.starts, low, high) for table in tables]

    return carry_out


def _beginning(table: Columns, starts: Sequence[str], low: int, high: int) -> Columns:
    """Return the matches of a table that begin in ``[low, high)``."""
    if not len(table["le"]):
        return table
    begin = np.minimum.reduce([np.asarray(table[name], np.int64) for name in starts])
    kept = (begin >= low) & (begin < high)
    return {name: column[kept] for name, column in table.items()}
