"""A table of readings judged in slices of time, side by side; situations are merged at the borders.

slices       x x - -  |  - x x x  |  x x - -        first of a slice as the last of the one before: nothing begins, nothing ends
moved            2         5             10
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from afa.compiled.crew import Crew

LEAST = 1 << 16
"""How many readings a slice has at least."""


def in_slices(n: int, threads: int, judge: Callable[[int, int], Any]) -> tuple[Any, Any]:
    """Return what n readings satisfy, as bits, and at which others are satisfied than at the one before; None: not worked out.

    ``judge``: of a first and a last place to the bits of the readings between.
    """
    count = min(threads, n // LEAST)
    if count < 2:
        return judge(0, n), None
    edges = [n * i // count for i in range(count + 1)]
    found = _side_by_side([partial(_slice, judge, low, high) for low, high in pairwise(edges)])
    bits = np.concatenate([each for each, _ in found])
    borders = [np.array([edge] if bits[edge] != bits[edge - 1] else [], np.int64) for edge in edges[1:-1]]
    moved = [part for (_, moved), border in zip(found, [*borders, NO_BORDER]) for part in (moved, border)]
    return bits, np.concatenate(moved)


NO_BORDER = np.empty(0, np.int64)


def _slice(judge: Callable[[int, int], Any], low: int, high: int) -> tuple[Any, Any]:
    bits = judge(low, high)
    moved = np.flatnonzero(bits[1:] != bits[:-1])
    moved += low + 1
    return bits, moved


def _side_by_side(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what works return; the first that fails is raised."""
    crew = Crew()
    try:
        jobs = crew.carry_out(works, together=True)
    finally:
        crew.settle()
    for job in jobs:
        if job.error is not None:
            raise job.error
    return [job.found for job in jobs]
