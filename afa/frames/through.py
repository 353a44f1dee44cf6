"""Take the rows of a frame through an operator, in slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from afa.frames.asked import OperatorPlan
from afa.frames.found import Columns
from afa.frames.frame_reading import End
from afa.frames.slicing import SortedRows
from punctuation.promise import Punctuation
from punctuation.time import FOREVER


def finding(plan: OperatorPlan, rows: SortedRows, group: tuple[int, int], end: End) -> Callable[[bool], list[Columns]]:
    """Return what finds the matches of a group of keys, told whether other threads are to run meanwhile."""

    def carry_out(threads: bool) -> list[Columns]:
        last = FOREVER if end == "forever" else rows.latest
        promised = last if plan.waits or "diff" in rows.columns else None
        return list(through(plan.running(threads), rows, group, promised, plan.members is not None))

    return carry_out


def through(op: Any, rows: SortedRows, group: tuple[int, int], last: int | None, whole: bool = False) -> Iterator[Columns]:
    """Take a group through an operator; yield what it gives.

    ``last``: the promise behind the last row, for time-outs, for retractions that wait for their insertion, or before rows to come.
    ``whole``: no slice ends between rows of one LE, so that no later one changes the events behind a match.
    """
    low, end = group
    le = rows.columns["le"]
    while True:
        high = low + rows.size if end - low >= 2 * rows.size else end  # no short one at the end
        while whole and high < end and le[high] == le[high - 1]:
            high += 1
        then = int(le[high]) if high < end else last
        for part in op.push_many([rows.part(low, high), *([] if then is None else [Punctuation(then)])]):
            if not isinstance(part, Punctuation):
                yield part
        if high == end:
            return
        low = high
