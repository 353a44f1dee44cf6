"""Labels of arcs that share a line, or a state: one below the other, in several columns where they are many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from afa.explain.draw.arc_labels import ArcLabel

LEAST = 14.0
"""The least height of a label, in pixels."""
APART = 6.0
"""From one label to the next one below it, in pixels."""
BETWEEN = 16.0
"""From one column to the next."""
ROWS, COLUMNS = 12, 5
"""So many labels stand in one column; of more there are further columns, up to so many."""


class Stack(NamedTuple):
    """Labels as a block: its size, and where each begins in it, all in pixels."""

    width: float
    height: float
    places: list[tuple[float, float]]


def stacked(labels: Sequence[ArcLabel]) -> Stack:
    """Stack labels, row by row where there are several columns.

    Examples
    --------
    >>> stacked([ArcLabel((), ""), ArcLabel((), "")])
    Stack(width=0.0, height=34.0, places=[(0.0, 0.0), (0.0, 20.0)])
    >>> stacked([])
    Stack(width=0.0, height=0.0, places=[])
    """
    if not labels:
        return Stack(0.0, 0.0, [])
    columns = min(COLUMNS, math.ceil(len(labels) / ROWS))
    widths = [max(label.width for label in labels[column::columns]) for column in range(columns)]
    rows = [labels[i : i + columns] for i in range(0, len(labels), columns)]
    lefts = [sum(widths[:column]) + BETWEEN * column for column in range(columns)]
    places, y = [], 0.0
    for row in rows:
        places += [(float(lefts[column]), y) for column in range(len(row))]
        y += max(max(label.height for label in row), LEAST) + APART
    return Stack(sum(widths) + BETWEEN * (columns - 1), y - APART, places)
