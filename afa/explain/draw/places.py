"""Where states, arcs and labels stand in a picture: of several layouts the one in which least is run over."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.explain.draw.arc_labels import ArcLabel, Drawn
from afa.explain.draw.layered import ArcPlace, Layered, Point, Rectangle, StatePlace

MARGIN = 12.0
"""Around the picture, in pixels."""
ATTEMPTS: tuple[dict[str, Any], ...] = (
    {},
    {"seed": 1},
    {"effort": "thorough"},
    {"coords": {"placement": "brandes_koepf"}},
    {"spacing": {"node_gap": 44.0, "dummy_gap": 36.0}},
    *({"seed": seed, "spacing": {"node_gap": 44.0 + 8 * seed, "dummy_gap": 36.0 + 8 * seed}} for seed in range(2, 12)),
)
"""What is tried, one after the other, until no arc runs over a label or a state. Most pictures need the first one only."""


LARGE = 80
"""Of more lines than that one layout is made, in haste: each attempt would cost seconds, of 600 lines 40 s, in haste 8 s."""
HASTE: dict[str, Any] = {"effort": "fast"}


class PictureLayout(NamedTuple):
    """A layout: the picture's size, each state, each arc in the order given, and the way from the dot to the start state."""

    width: float
    height: float
    states: dict[str, StatePlace]
    arcs: list[ArcPlace]
    dot: Point
    begin: tuple[Point, ...]


def places(states: Sequence[str], start: str, arcs: Sequence[Drawn], labels: Sequence[ArcLabel]) -> PictureLayout:
    """Lay out states and arcs, and their labels. The same picture for the same input, on every machine."""
    graph = Layered(states, start, arcs, labels)
    best, least = None, 0
    for attempt in ATTEMPTS if graph.lines <= LARGE else (HASTE,):
        found = _framed(graph, attempt)
        hits = run_over(found, arcs)
        if best is None or hits < least:
            best, least = found, hits
        if not least:
            break
    assert best is not None
    return best


def run_over(found: PictureLayout, arcs: Sequence[Drawn]) -> int:
    """Return how often a piece of an arc runs over a label, or over a state that is not its own. O(pieces * boxes), as arrays."""
    numbers = {state: i for i, state in enumerate(found.states)}
    boxes = np.array([place.box for place in found.states.values()] + [place.label for place in found.arcs if place.label.height])
    pieces, own = [], []
    for drawn, place in zip(arcs, found.arcs):
        if not place.loop:
            pieces += [(*a, *b) for a, b in itertools.pairwise(place.points)]
            own += [(numbers[drawn.arc.src], numbers[drawn.arc.dst])] * (len(place.points) - 1)
    if not pieces:
        return 0
    ax, ay, bx, by = (column[:, None] for column in np.array(pieces).T)
    x, y, width, height = boxes.T
    across = (np.minimum(ax, bx) < x + width) & (np.maximum(ax, bx) > x)
    met = across & (np.minimum(ay, by) < y + height) & (np.maximum(ay, by) > y)
    met[np.arange(len(pieces))[:, None], np.array(own)] = False
    return int(met.sum())


def _framed(graph: Layered, attempt: dict[str, Any]) -> PictureLayout:
    """Lay out, and move all of it to where it stands within the margins."""
    states, arcs, dot, begin = graph.laid(attempt)
    boxes = [state.box for state in states.values()] + [arc.label for arc in arcs]
    points = [point for arc in arcs for point in arc.points] + [dot, *begin]
    corners = points + [(b.x, b.y) for b in boxes] + [(b.x + b.width, b.y + b.height) for b in boxes]
    dx, dy = MARGIN - min(x for x, _ in corners), MARGIN - min(y for _, y in corners)

    def moved(points: Sequence[Point]) -> tuple[Point, ...]:
        return tuple((x + dx, y + dy) for x, y in points)

    def box(old: Rectangle) -> Rectangle:
        return old._replace(x=old.x + dx, y=old.y + dy)

    return PictureLayout(
        max(x for x, _ in corners) + dx + MARGIN,
        max(y for _, y in corners) + dy + MARGIN,
        {state: place._replace(box=box(place.box)) for state, place in states.items()},
        [place._replace(points=moved(place.points), label=box(place.label)) for place in arcs],
        moved([dot])[0],
        moved(begin),
    )
