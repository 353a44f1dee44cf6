"""Valid intervals of the events of a match, and its confidence by going through their instants (PVLDB 2010, Sec. 5.1, 4).

Departs from the paper's three passes: the window bounds from below as well, and passes are repeated until nothing moves; events
between which components are missing are as many ticks apart at least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Column = np.ndarray[Any, Any]
Table = np.ndarray[Any, Any]
MOST = 1 << 20
"""So many choices of instants are looked at together."""


class Known(NamedTuple):
    """An event: the number of its component, its own number, and its interval."""

    component: int
    id: int
    lower: int
    upper: int


def narrowed(places: Sequence[int], lows: Sequence[int], highs: Sequence[int], window: int) -> tuple[list[int], list[int]] | None:
    """Return the valid intervals of events in the order of their components; None if no world has them all."""
    low, high = list(lows), list(highs)
    n = len(low)
    gaps = [places[i] - places[i - 1] for i in range(1, n)]
    while True:
        for i in range(1, n):
            low[i] = max(low[i], low[i - 1] + gaps[i - 1])
        for i in range(n - 1, 0, -1):
            high[i - 1] = min(high[i - 1], high[i] - gaps[i - 1])
        if any(a > b for a, b in zip(low, high)):
            return None
        again = False
        if high[-1] > high[0] + window - 1:
            high[-1], again = high[0] + window - 1, True
        if low[0] < low[-1] - window + 1:
            low[0], again = low[-1] - window + 1, True
        if not again:
            return low, high


def free(competitors: Sequence[Known], s: Any, t: Any) -> Any:
    """Return the probability that none of some events is strictly between the times s and t; arrays that go together."""
    found: Any = np.ones(np.broadcast(s, t).shape)
    least, most = (int(s.min()), int(t.max())) if found.size else (0, 0)
    for each in competitors:
        if each.upper <= least or each.lower >= most:
            continue
        inside = np.minimum(each.upper, t - 1) - np.maximum(each.lower, s + 1) + 1
        found = found * (1 - np.maximum(inside, 0) / (each.upper - each.lower + 1))
    return found


def by_points(lows: Sequence[int], highs: Sequence[int], window: int, tables: Sequence[Table | None] = ()) -> float:
    """Return the weight of all choices of instants, ascending and within a window, one instant of each interval.

    ``tables`` has, for each two neighbours, the weight of each pair of their instants; None, or left out: all alike.
    """
    n, total = len(lows), 0.0
    times = [np.arange(low, high + 1) for low, high in zip(lows, highs)]
    step = max(1, MOST // math.prod(map(len, times[1:])))
    for start in range(0, len(times[0]), step):
        part = slice(start, start + step)
        axes = [_axis(times[0][part], 0, n), *(_axis(of, i, n) for i, of in enumerate(times) if i)]
        weight: Any = axes[-1] < axes[0] + window
        for i in range(1, n):
            pairs = axes[i - 1] < axes[i]
            if tables and tables[i - 1] is not None:
                table: Any = tables[i - 1]
                table = table[part] if i == 1 else table
                pairs = pairs * table.reshape((1,) * (i - 1) + table.shape + (1,) * (n - 1 - i))
            weight = weight * pairs
        total += float(np.sum(weight))
    return total


def _axis(times: Column, i: int, n: int) -> Table:
    return times.reshape((1,) * i + (-1,) + (1,) * (n - 1 - i))
