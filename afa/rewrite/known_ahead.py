"""The changes of arcs in a batch, known before it: one table with the lifetimes that they lead to is put in force at once.

An arc that comes or ends "from now on" acts from one tick past all that was seen. No row before the change lies there, so that an
arc with that lifetime may be in force before the first row already: nothing that the rows before the change do is different.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from afa.model.arc import TIMEOUT, Arc
from afa.model.arctable import ArcEvent
from punctuation.reading import ARC
from punctuation.time import BEGINNING, FOREVER


def presents(le: Any, kind: Any, rows: Any, now: int) -> Any:
    """Return the present at some rows of a batch, changes of arcs: one tick past all that was seen; see `punctuation.progress`.

    An event that is late counts like any other: it lies before a punctuation that was seen.

    >>> presents(np.array([5, 3, 0, 8, 0]), np.array([0, 2, ARC, 0, ARC]), [2, 4], now=2).tolist()
    [6, 9]
    """
    seen = np.maximum.accumulate(np.where(kind == ARC, BEGINNING, le))[rows]
    return np.maximum(np.minimum(seen, FOREVER - 1) + 1, now)


def lifetimes(events: Sequence[ArcEvent], changes: Iterable[tuple[Any, int]]) -> list[ArcEvent] | None:
    """Returns the arc events in force after changes of arcs, each a `Change` with its present.

    None: one has a lifetime of its own, comes and goes at one present, or is refused; or there are time-outs. These go one by one.

    >>> from afa import Change
    >>> one, two = Arc("a", "b", "True", name="one"), Arc("a", "b", "False", name="two")
    >>> lifetimes([ArcEvent(one, 0, FOREVER)], [(Change(two, None), 4), (Change(one, None, None, -1), 9)])[1]
    ArcEvent(arc=arc 'one': a -> b, le=0, re=9)
    """
    found: dict[int, ArcEvent] = dict(enumerate(events))  # in the order in which one change after the other leaves them
    by_arc: dict[Arc, list[int]] = {}
    for number, event in found.items():
        by_arc.setdefault(event.arc, []).append(number)
    if any(arc.kind == TIMEOUT for arc in by_arc):
        return None
    for number, ((arc, le, re, diff, _), now) in enumerate(changes, len(found)):
        if le is not None or re is not None or diff not in (1, -1) or not isinstance(arc, Arc) or arc.kind == TIMEOUT:
            return None
        if diff > 0 and now < FOREVER:
            found[number] = ArcEvent(arc, now, FOREVER)
            by_arc.setdefault(arc, []).append(number)
            continue
        open_ones = [each for each in by_arc.get(arc, ()) if found[each].re > now]
        if diff > 0 or not open_ones:
            return None
        last = max(open_ones, key=lambda each: (found[each].arc is arc, found[each].le, found[each].re))  # as `ArcTable.find`
        event = found.pop(last)
        by_arc[arc] = [each for each in open_ones if each != last]
        if now == event.le:
            return None
        if now > event.le:  # else it is gone, as nothing of its lifetime is left
            found[number] = event._replace(re=now)
    return list(found.values())


def difference(old: Sequence[ArcEvent], new: Sequence[ArcEvent]) -> tuple[list[ArcEvent], list[ArcEvent]]:
    """Return which arc events have gone, and which have come."""

    def beyond(these: Sequence[ArcEvent], those: Sequence[ArcEvent]) -> list[ArcEvent]:
        left, found = Counter((id(event.arc), event.le, event.re) for event in those), []
        for event in these:
            place = id(event.arc), event.le, event.re
            if left[place]:
                left[place] -= 1
            else:
                found.append(event)
        return found

    return beyond(old, new), beyond(new, old)
