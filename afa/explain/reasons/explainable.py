"""Operators whose matches have reasons, and whether an input has times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afa.change import Change
from afa.errors import AfaError
from afa.model.arctable import ArcEvent
from punctuation.door import Table
from punctuation.time import FOREVER
from punctuation.timestamps import is_time


def polled(before: Sequence[ArcEvent], after: Sequence[ArcEvent]) -> Change | None:
    """Return what a poll of an arc log has done to the arcs in force, as one change: of the first arc that came, or that went.

    None: nothing.
    """
    come = [event for event in after if event not in before]
    gone = [event for event in before if event not in after]
    swapped = {event.arc.name for event in come} & {event.arc.name for event in gone} - {None}
    new = sorted((event for event in come if all(event.arc is not old.arc for old in gone)), key=lambda event: event.le)
    if new:
        arc, le, re = new[0]
        others = bool(gone) or arc.name in swapped
        return Change(arc, le, None if re == FOREVER else re, 0 if others else 1)
    if come:  # the same arc, which ends elsewhere
        return Change(come[0].arc, come[0].re, None, -1)
    return Change(gone[0].arc, gone[0].le, None, -1) if gone else None


def first_time(part: Any, names: Sequence[str | None]) -> Any:
    """Return the first value of a table's column of times, or a row's; None: there is none."""
    for name in names:
        try:
            column = Table.column(part, str(name)) if isinstance(part, Table) else part[name]  # as it came, not as ticks
            if isinstance(column, (int, str)) or is_time(column):
                return column
            return next(iter(column.to_pylist() if hasattr(column, "to_pylist") else column), None)
        except Exception:  # whatever a table of another library raises
            continue
    return None


def check_explainable(core: Any) -> None:
    """Refuse an operator whose matches have no reasons."""
    if core.told is not None and core.told.again and core.automaton.choice is None:
        raise AfaError(
            "expected an operator that tells matches, without collapse=, having= and tell=, but got one with such an option, or of "
            "a query with conditions that wait for the match: give Query.operator postpone=False"
        )
    if core.gapless is not None:
        raise AfaError(f"expected an operator without gapless= but got gapless={core.gapless.field!r}")
    if core.late.policy not in ("raise", "drop"):
        raise AfaError(f'expected late="raise" or "drop" beside reasons but got late={core.late.policy!r}')
    if core.faults is not None:
        raise AfaError("expected an operator whose faults are raised")
