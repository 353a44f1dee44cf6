"""The items of a call: each is carried out by itself, and of what they tell some is left where the call is netted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afa.change import Announced, Change, put_in_order
from afa.errors import AfaError
from afa.lineage import Lineage
from afa.model.arctable import ArcEvent
from afa.operator.call import Output
from afa.operator.match_lineage import lineage_in
from afa.operator.tables import CallInput, Item
from afa.operator.told_anew import match_name
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.time import FOREVER
from punctuation.timestamps import is_time


def push_item(operator: Any, item: Item) -> Output:
    """Carry out one item, and return the minimal difference that it makes."""
    core = operator._core
    port, change, key = item
    made = core.keys is not None and not core.keys.columns  # else it came beside the event
    if key is None and made and port == "event":
        item = port, change, core.key_of(change)
    found: Output = operator._run(CallInput([item]), True)
    return found


def lineage_now(operator: Any, match: Change) -> Lineage:
    """Return the lineage of a match in force. As `Operator.lineage`."""
    return lineage_in(operator._core, match, operator._chosen())


def left(outs: list[Output], net: bool) -> list[tuple[int, int]]:
    """Return which records of the items' outputs leave, in order of output: item, and place in its output.

    With ``net`` of each match the last record that says what the call comes to, if it has changed it, with the whole ``diff``;
    then the last punctuation.
    """
    places = [(i, j) for i, out in enumerate(outs) for j in range(len(out))]
    if not net:
        return places
    total: dict[Any, int] = {}
    last: dict[Any, tuple[int, int]] = {}  # by match and whether it came
    promise = None
    for i, j in places:
        item = outs[i][j]
        if isinstance(item, Punctuation):
            promise = (i, j)
            continue
        name = match_name(item)
        total[name] = total.get(name, 0) + item.diff
        last[name, item.diff > 0] = (i, j)
    ordered: list[Any] = []
    for name, diff in total.items():
        if diff:
            i, j = last[name, diff > 0]
            change: Any = outs[i][j]
            outs[i][j] = change if change.diff == diff else Announced.of(change._replace(diff=diff), change.members)
            ordered.append(outs[i][j])
    put_in_order(ordered)
    return [last[match_name(change), change.diff > 0] for change in ordered] + ([] if promise is None else [promise])


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
