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
        name = any_payload(change.payload), change.le, change.re, change.key
        total[name] = total.get(name, 0) + change.diff
        last[name] = (i, j)
    left = {place: outs[place[0]][place[1]] for name, place in last.items() if total[name]}
    ordered: Any = [OutputChange.at(change, place) for place, change in left.items()]
    put_in_order(ordered)
    return [change.place for change in ordered] + ([] if promise is None else [promise])


class OutputChange(Change):
    """A change that knows where it stands in the outputs of a call."""

    @classmethod
    def at(cls, change: Any, place: tuple[int, int]) -> OutputChange:
        """Return a change with its place."""
        made = cls._make(change)
        made.__dict__["place"] = place
        return made
