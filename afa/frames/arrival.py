"""Count what a live run would have withdrawn: the rows of a frame in the order in which they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from afa.frames.asked import OperatorPlan
from afa.frames.slicing import numbered, sortable
from afa.frames.through import Beside
from afa.model.event_order import is_list
from afa.operator.table_rows import rows_of
from punctuation.door import table_of
from punctuation.promise import Punctuation

ROWS = 1 << 16
"""How many rows a call takes where each counts as if it came alone."""


def withdrawing(plan: OperatorPlan, columns: dict[str, Any], batch: int | None) -> Callable[[Beside], int]:
    """Return a job that counts the matches that are announced and taken back.

    ``columns``: of `afa.frames.slicing.columns_of`, in the order of arrival; ``batch``: how many rows come at once, None: one.
    """

    def carry_out(beside: Beside) -> int:
        op = plan.running(beside is not None)
        if batch is None and not plan.steady:
            return _one_by_one(op, columns)
        le, gone = columns["le"], 0
        size = ROWS if batch is None else batch
        later = np.minimum.accumulate(le[::-1])[::-1]
        for low in range(0, len(le), size):
            part: dict[str, Any] = {name: column[low : low + size] for name, column in columns.items()}
            promises = [Punctuation(int(later[low + size]))] if low + size < len(le) else []
            for found in op.push_many([part, *promises], net=batch is not None):
                if not isinstance(found, Punctuation):
                    gone -= int(np.minimum(found["diff"], 0).sum())
        return gone

    return carry_out


def _one_by_one(op: Any, columns: dict[str, Any]) -> int:
    """Count what is taken back where a batch would be one step: behind a stage, or in a scan (AFTER MATCH SKIP)."""
    table = table_of(columns)
    assert table is not None
    keyed = op._core.keys is not None
    rows = rows_of(op._core, table, (), False)
    outputs = (op.push(change, key=key) if keyed else op.push(change) for _, change, key in rows)
    return sum(max(-found.diff, 0) for output in outputs for found in output)


def never(plan: OperatorPlan, columns: dict[str, Any]) -> bool:
    """Return whether nothing is ever withdrawn, as the events of each key stand in order, and none is retracted."""
    if not plan.steady or ("diff" in columns and (columns["diff"] < 0).any()):
        return False
    le = columns["le"]
    if (le[1:] > le[:-1]).all():
        return True
    if plan.keys:
        keys = [columns.get(name, le) for name in plan.keys]
        if any(isinstance(column, np.ndarray) and column.dtype == object for column in keys):
            return False  # values that Arrow may not hold
        codes, many = numbered(keys)
        codes = codes.astype(np.uint16) if many <= 1 << 16 else codes  # which numpy sorts by radix
        order = np.argsort(codes, kind="stable")
        le, same = le[order], codes[order][1:] == codes[order][:-1]
    else:
        order, same = np.arange(len(le)), np.ones(max(len(le) - 1, 0), bool)
    before, equal = le[1:] < le[:-1], le[1:] == le[:-1]
    if plan.order_by is not None:
        by = None if is_list(plan.order_by) else sortable(columns.get(plan.order_by, le))
        if by is None:
            return False
        by = by[order]
        before |= equal & (by[1:] < by[:-1])
        equal &= by[1:] == by[:-1]
    return not (same & (before | (equal if not plan.ties else False))).any()
