"""Take slices of a frame through an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from afa.frames.asked import Asked
from afa.frames.found import Columns
from afa.frames.frame_reading import End
from afa.frames.slicing import Rows, Slice
from punctuation.promise import Punctuation
from punctuation.time import FOREVER


def finding(plan: Asked, rows: Rows, group: Sequence[Slice], end: End) -> Callable[[bool], list[Columns]]:
    """Return what finds the matches of a group of keys, told whether other threads are to run meanwhile."""

    def carry_out(threads: bool) -> list[Columns]:
        op = plan.make()
        if threads:
            op._core.engine.let_threads_run()
        return list(taken(op, plan, rows, group, FOREVER if end == "forever" else rows.latest))

    return carry_out


def taken(op: Any, plan: Asked, rows: Rows, group: Sequence[Slice], last: int) -> Iterator[Columns]:
    """Take slices through an operator; yield what it gives. ``last``: the promise at the end, for time-outs."""
    for low, high, then in group:
        said = plan.waits or "diff" in rows.columns  # what waits for its insertion is told by a promise
        promises = [] if then is None and not said else [Punctuation(last if then is None else then)]
        for part in op.push_many([rows.part(low, high), *promises]):
            if not isinstance(part, Punctuation):
                yield part
