"""Which records of the changes of a call leave, once it is netted."""

from __future__ import annotations

from typing import Any

from afa.change import Change, put_in_order
from afa.operator.call import Output
from afa.schema import any_payload
from punctuation.promise import Punctuation


def left(outs: list[Output], net: bool) -> list[tuple[int, int]]:
    """Return which records of the items' outputs leave, in order of output: item, and place in its output.

    With ``net`` of each match the last record, if the call has changed it, then the last punctuation.
    """
    places = [(i, j) for i, out in enumerate(outs) for j in range(len(out))]
    if not net:
        return places
    total: dict[Any, int] = {}
    last: dict[Any, tuple[int, int]] = {}
    promise = None
    for i, j in places:
        change = outs[i][j]
        if isinstance(change, Punctuation):
            promise = (i, j)
            continue
        name = match_name(change)
        total[name] = total.get(name, 0) + change.diff
        last[name] = (i, j)
    ordered: Any = [outs[i][j] for name, (i, j) in last.items() if total[name]]
    put_in_order(ordered)
    return [last[match_name(change)] for change in ordered] + ([] if promise is None else [promise])


def match_name(match: Change) -> Any:
    """Return what tells matches, or events, apart."""
    return any_payload(match.payload), match.le, match.re, match.key
