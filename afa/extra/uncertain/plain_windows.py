"""Many signatures at once that the window may cut off: ranges to the fixed point, confidences by the time of the first event.

ranges       what `afa.extra.uncertain.interval_propagation` does, for all at once, until nothing moves
confidence   for each time of the first event the mass as in `afa.extra.uncertain.plain_confidence`, up to the end of its window; of
             the last event the sum over its instants up to there
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from afa.extra.uncertain.instant_tables import Events, Kinds, added_up, expanded, wide
from afa.extra.uncertain.plain_confidence import Behind, carried

AT_ONCE = 1 << 13
"""How many pairs of a signature and a time of its first event are worked on at once."""
Limits = Sequence[tuple[Callable[[Any], Any], Callable[[Any], Any]]]
"""For each component: the latest time behind a time, the earliest one before a time (`_Bounds`)."""


def ranges(events: Sequence[Events], window: int, limits: Limits | None) -> tuple[Any, Any, Any]:
    """Returns the first and the last times of each event of signatures, shape (components, n), and which signatures some world has.

    ``events``: for each component those of the signatures; ``limits``: only under skip till next.
    """
    low, high = np.stack([each.low for each in events]), np.stack([each.high for each in events])
    size = len(events)
    there = np.full(low.shape[1], size <= window)
    moving = np.flatnonzero(there)
    while len(moving):
        a, b = low[:, moving], high[:, moving]
        was = a.copy(), b.copy()
        for number in range(1, size):
            a[number] = np.maximum(a[number], a[number - 1] + 1)
            if limits is not None:
                latest, least = limits[number]
                b[number] = np.minimum(b[number], latest(b[number - 1]))
                a[number - 1] = np.maximum(a[number - 1], least(a[number]))
        for number in range(size - 1, 0, -1):
            b[number - 1] = np.minimum(b[number - 1], b[number] - 1)
        b[-1] = np.minimum(b[-1], b[0] + window - 1)
        a[0] = np.maximum(a[0], a[-1] - window + 1)
        low[:, moving], high[:, moving] = a, b
        empty = (a > b).any(axis=0)
        there[moving[empty]] = False
        moving = moving[~empty & ((a != was[0]) | (b != was[1])).any(axis=0)]
    return low, high, there


def confidences(
    kinds: Kinds,
    events: Sequence[Events],
    places: Sequence[Any],
    window: int,
    tables: Sequence[tuple[Behind, Any]],
    low: Any,
    high: Any,
) -> Any:
    """Returns the confidences of signatures.

    ``events``: for each component those of the signatures, and ``places`` where they stand in it. ``tables``: for each component
    but the first its table, and the covered place of the first instant of the event before. ``low``, ``high``: the range of the
    first event's time.
    """
    n, first = len(places[0]), events[0]
    if not n:
        return np.zeros(0)
    mass = kinds.mass(wide(int((first.high - first.low + 1).max())))
    free = np.maximum(events[-1].high - window + 1, low)  # from then on the window cuts nothing off
    found = _uncut(mass[first.kind] * (np.arange(mass.shape[1]) >= (free - first.low)[:, None]), first, places, tables)
    high = np.minimum(high, free - 1)
    sums = np.cumsum(tables[-1][0].table, axis=1)
    step = max(1, AT_ONCE // mass.shape[1])
    for chunk in range(0, n, step):
        rows = slice(chunk, chunk + step)
        of, time = expanded(low[rows], high[rows] + 1)
        offset = time - first.low[rows][of]
        total = mass[first.kind[rows][of], offset][:, None]
        end = time + (window - 1)
        for number, (behind, base) in enumerate(tables, 1):
            event = places[number][rows][of]
            width = total.shape[1]
            at = base[rows][of] + offset if number == 1 else base[rows][of]
            left = end - events[number].low[rows][of]
            if number == len(tables):
                row = behind.row(event, at, width)[:, None] + np.arange(width)
                column = np.minimum(left, sums.shape[1] - 1)
                total = total * np.where(column[:, None] >= 0, sums[row, np.maximum(column, 0)[:, None]], 0.0)
                continue
            more = carried(total, np.arange(len(of)), at, event, behind, width)
            total = np.where(np.arange(more.shape[1]) <= left[:, None], more, 0.0)
        value = total[:, 0] if total.shape[1] == 1 else added_up(total)
        found[rows] += np.bincount(of, weights=value, minlength=len(found[rows]))
    return found


def _uncut(mass: Any, first: Events, places: Sequence[Any], tables: Sequence[tuple[Behind, Any]]) -> Any:
    """Returns the probability of signatures with a mass of their first events, where no window cuts them off."""
    times = int((first.high - first.low + 1).max())
    for number, (behind, base) in enumerate(tables, 1):
        behind = behind if number < len(tables) else behind._replace(table=added_up(behind.table))
        mass = carried(mass, np.arange(len(mass)), base, places[number], behind, times)
        times = mass.shape[-1]
    return mass
