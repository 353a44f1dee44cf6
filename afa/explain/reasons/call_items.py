"""The items of a call: each is carried out by itself, and of what they tell some is left where the call is netted."""

from __future__ import annotations

from typing import Any

from afa.change import Announced, Change, put_in_order
from afa.lineage import Lineage
from afa.model.keys import take_key
from afa.operator.call import Output
from afa.operator.match_lineage import lineage_in
from afa.operator.tables import CallInput, Item
from afa.schema import any_payload
from punctuation.promise import Punctuation


def push_item(operator: Any, item: Item) -> Output:
    """Carry out one item, and return the minimal difference that it makes."""
    core = operator._core
    port, change, key = item
    made = core.keys is not None and not core.keys.columns  # else it came beside the event
    if key is None and made and core.named is None and port == "event" and isinstance(change, Change):
        item = port, change, take_key(core.keys.of_change(change))
    found: Output = operator._run(CallInput(core.resolved([item])), True)
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


def match_name(match: Change) -> Any:
    """Return what tells matches, or events, apart."""
    return any_payload(match.payload), match.le, match.re, match.key
