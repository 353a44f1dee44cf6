"""`SEQ(A, B+, C)` over events with intervals by runs, each confidence by going through instants (SASE+, SIGMOD 2014, Sec. 4).

A run is cloned for each b that it can take, so that there is one for each choice of b's; all instants of all its events are gone
through, U^n for n events. In a closure any order of the b's counts, in a chain they are strictly one after the other, by value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bench.baselines.valid_intervals import Known, Table, by_points


class Valued(NamedTuple):
    """An event with a value."""

    event: Known
    value: int


class Found(NamedTuple):
    """The confidence of each signature: a, the b's, c; and the seconds that these took."""

    answer: dict[tuple[int, tuple[int, ...], int], float]
    seconds: float


def run(events: Sequence[Valued], window: int, chain: bool) -> Found:
    """Evaluate a whole stream."""
    a, b, c = ([each for each in events if each.event.component == number] for number in range(3))
    b.sort(key=lambda each: (each.event.lower, each.event.id) if not chain else (each.value, each.event.id))  # query order
    answer: dict[tuple[int, tuple[int, ...], int], float] = {}
    spent = 0.0
    for first in a:
        runs: list[tuple[Valued, ...]] = [()]
        for each in b:
            if _apart(first.event, each.event, window):
                continue
            runs += [(*run, each) for run in runs if not (chain and run) or _follows(run[-1], each)]
        for last in c:
            if _apart(first.event, last.event, window):
                continue
            for chosen in runs[1:]:
                if any(each.event.lower >= last.event.upper for each in chosen):
                    continue
                begin = time.process_time()
                confidence = _confidence(first.event, [each.event for each in chosen], last.event, window, chain)
                spent += time.process_time() - begin
                if confidence > 0:
                    ids = [each.event.id for each in chosen]
                    answer[first.event.id, tuple(ids), last.event.id] = confidence
    return Found(answer, spent)


def _follows(before: Valued, after: Valued) -> bool:
    return before.value < after.value and before.event.lower < after.event.upper


def _apart(first: Known, other: Known, window: int) -> bool:
    """Whether no world has an event behind the first one of a match and within the window."""
    return other.upper <= first.lower or other.lower >= first.upper + window


def _confidence(first: Known, chosen: Sequence[Known], last: Known, window: int, chain: bool) -> float:
    events = [first, *chosen, last]
    chance = math.prod(1.0 / (each.upper - each.lower + 1) for each in events)
    if chain:
        return by_points([each.lower for each in events], [each.upper for each in events], window) * chance
    return _in_any_order(events, window) * chance


def _in_any_order(events: Sequence[Known], window: int) -> float:
    """Return in how many choices of instants all but the ends lie between the ends, within a window."""
    n, total = len(events), 0
    axes: list[Table] = [
        np.arange(each.lower, each.upper + 1).reshape((1,) * i + (-1,) + (1,) * (n - 2 - i)) for i, each in enumerate(events[1:])
    ]
    for t in range(events[0].lower, events[0].upper + 1):
        holds: Any = axes[-1] < t + window
        for axis in axes[:-1]:
            holds = holds & (t < axis) & (axis < axes[-1])
        total += int(np.sum(holds))
    return float(total)
