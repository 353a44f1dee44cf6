"""A layered layout of an automaton, in which labels are nodes of their own.

The layout is graphlay's: layers from top to bottom, few crossings, routes around the nodes. It is given sizes only. A label is a
node on the way of its arc, so that labels overlap neither each other nor a state; the arc runs along its left side. Self-loops and
their labels stand at the right of their state, which is as high as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.explain.draw.arc_labels import FONTS, ArcLabel, Drawn
from afa.explain.draw.font_widths import fitting, width_of

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


def backward(states: Sequence[str], start: str, arcs: Sequence[tuple[str, str]]) -> set[int]:
    """Return the numbers of the arcs that lead back to a state on the way from the start to their own. O(states + arcs).

    >>> backward("abc", "a", [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("b", "b")])
    {2, 4}
    """
    outgoing: dict[str, list[tuple[int, str]]] = {state: [] for state in states}
    for i, (src, dst) in enumerate(arcs):
        outgoing[src].append((i, dst))
    found: set[int] = set()
    entered: set[str] = set()
    for root in [start, *states]:
        if root not in entered:
            _search(root, outgoing, entered, found)
    return found


def _search(root: str, outgoing: dict[str, list[tuple[int, str]]], entered: set[str], found: set[int]) -> None:
    """Go through what can be reached, depth first, without recursion."""
    entered.add(root)
    way, stack = {root}, [(root, iter(outgoing[root]))]
    while stack:
        state, rest = stack[-1]
        step = next(rest, None)
        if step is None:
            stack.pop()
            way.discard(state)
        elif step[1] in way:
            found.add(step[0])
        elif step[1] not in entered:
            entered.add(step[1])
            way.add(step[1])
            stack.append((step[1], iter(outgoing[step[1]])))


STATE_HEIGHT = 34.0
STATE_WIDTH = 64.0
CORNER = 14.0
"""The radius of a state's corners, in pixels."""
LONGEST_NAME = 200.0
"""The widest name of a state, in pixels."""
LOOP_REACH = 22.0
"""How far a self-loop reaches out of its state."""
MANY = 4
"""So many arcs of a kind between the same two states share a line."""
CLEAR = 16.0
"""From a label to what stands at its right."""
BESIDE = 6.0
"""From an arc to its label."""
OPTIONS: dict[str, Any] = {
    "direction": "topbottom",
    "spacing": {"layer_gap": 26.0, "node_gap": 26.0, "dummy_gap": 18.0},
    "routing": {"bundle_parallel": False, "port_sides": "facing_only"},
}

Point = tuple[float, float]


class Rectangle(NamedTuple):
    """A rectangle: its left upper corner, width and height, in pixels."""

    x: float
    y: float
    width: float
    height: float


class StatePlace(NamedTuple):
    """The box of a state, and its name as far as it is shown."""

    box: Rectangle
    shown: str


class ArcPlace(NamedTuple):
    """The polyline of an arc from border to border (of a self-loop: the four points of a cubic curve), and the box of its label."""

    points: tuple[Point, ...]
    label: Rectangle
    loop: bool


class ParallelArcs(NamedTuple):
    """Arcs in the graph that run side by side: their numbers, the node of their labels, the edge into it, the edge out of it."""

    arcs: tuple[int, ...]
    node: int
    into: int
    out: int


class Layered:
    """The graph to lay out: a node for each state, for each label that is on a way, and for the dot at the start."""

    def __init__(self, states: Sequence[str], start: str, arcs: Sequence[Drawn], labels: Sequence[ArcLabel]) -> None:
        import graphlay  # when a picture is asked for, not before

        self._layout, self._graph = graphlay.layout, graphlay.Graph()
        self._arcs, self._labels = arcs, labels
        self._loops: dict[str, list[int]] = {state: [] for state in states}
        for i, drawn in enumerate(arcs):
            if drawn.arc.src == drawn.arc.dst:
                self._loops[drawn.arc.src].append(i)
        self._names = {state: fitting(state, *FONTS["state"], LONGEST_NAME) for state in states}
        self._states = {state: self._state(state) for state in states}
        self._dot = self._graph.node(width=8.0, height=8.0, shape="ellipse", rank="first")
        self._begin = self._graph.edge(self._dot, self._states[start])
        back = backward(states, start, [(drawn.arc.src, drawn.arc.dst) for drawn in arcs])
        self._ways = [self._way(group, group[0] in back) for group in _side_by_side(arcs)]
        self.lines = len(self._ways)  # from one state to another

    def _state(self, state: str) -> int:
        loops = stacked([self._labels[i] for i in self._loops[state]])
        reach = LOOP_REACH + BESIDE + loops.width + CLEAR if loops.places else 0.0
        width = max(STATE_WIDTH, width_of(self._names[state], *FONTS["state"]) + 28)
        height = max(STATE_HEIGHT, loops.height + 12)
        return int(self._graph.node(width=width, height=height, margin={"cross_pos": reach}))

    def _way(self, group: tuple[int, ...], back: bool) -> ParallelArcs:
        """Add a way: a line of the labels' height, with room for them at its right, and the edges into it and out of it."""
        arc, stack = self._arcs[group[0]].arc, stacked([self._labels[i] for i in group])
        margin = {"cross_pos": BESIDE + stack.width + CLEAR}
        node = self._graph.node(width=1.0, height=stack.height, margin=margin)
        enter, leave = ("bottom", "top") if back else ("top", "bottom")
        src, dst = self._states[arc.src], self._states[arc.dst]
        into = self._graph.edge(src, node, target_port={"side": enter}, reverse_for_ranking=back)
        return ParallelArcs(group, node, into, self._graph.edge(node, dst, source_port={"side": leave}, reverse_for_ranking=back))

    def laid(self, options: dict[str, Any]) -> tuple[dict[str, StatePlace], list[ArcPlace], Point, tuple[Point, ...]]:
        """Lay out under some options, which stand before `OPTIONS`: states, arcs, the dot, and the way from it to the start."""
        chosen = {name: {**value, **options.get(name, {})} if isinstance(value, dict) else value for name, value in OPTIONS.items()}
        laid = self._layout(self._graph, options={**options, **chosen})
        boxes = {state: _box(laid.nodes[number]) for state, number in self._states.items()}
        arcs = {i: place for way in self._ways for i, place in zip(way.arcs, self._placed(laid, boxes, way))}
        for state, own in self._loops.items():
            arcs.update(zip(own, _looped(boxes[state], [self._labels[i] for i in own])))
        states = {state: StatePlace(box, self._names[state]) for state, box in boxes.items()}
        center = laid.nodes[self._dot]["center"]
        return states, [arcs[i] for i in sorted(arcs)], (center["x"], center["y"]), _points(laid.edges[self._begin])

    def _placed(self, laid: Any, boxes: dict[str, Rectangle], way: ParallelArcs) -> list[ArcPlace]:
        """Place the arcs of a way: one line, and their labels one below the other."""
        arc, box = self._arcs[way.arcs[0]].arc, _box(laid.nodes[way.node])
        first, *bends, last = _straight([*_points(laid.edges[way.into]), *_points(laid.edges[way.out])])
        points = on_outline(boxes[arc.src], first), *bends, on_outline(boxes[arc.dst], last)
        labels = [self._labels[i] for i in way.arcs]
        return [
            ArcPlace(points, Rectangle(box.x + BESIDE + x, box.y + y, label.width, label.height), loop=False)
            for label, (x, y) in zip(labels, stacked(labels).places)
        ]


def _side_by_side(arcs: Sequence[Drawn]) -> list[tuple[int, ...]]:
    """Return the arcs that are no self-loops, by the line that shows them: `MANY` of a kind between two states share one."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for i, drawn in enumerate(arcs):
        if drawn.arc.src != drawn.arc.dst:
            groups.setdefault((drawn.arc.src, drawn.arc.dst, drawn.arc.kind), []).append(i)
    shared = [tuple(group) for group in groups.values() if len(group) >= MANY]
    alone: list[tuple[int, ...]] = [(i,) for group in groups.values() if len(group) < MANY for i in group]
    return sorted(shared + alone)


def _straight(points: list[Point]) -> list[Point]:
    """Take out the steps of a pixel, which rounding brings."""
    found = points[:1]
    for x, y in points[1:]:
        last = found[-1]
        found.append((last[0] if abs(x - last[0]) < 1.5 else x, last[1] if abs(y - last[1]) < 1.5 else y))
    return found


def _looped(box: Rectangle, labels: Sequence[ArcLabel]) -> list[ArcPlace]:
    """Place the self-loops of a state at its right border; those whose labels stand in one row share a line."""
    found, stack, right = [], stacked(labels), box.x + box.width
    top = box.y + (box.height - stack.height) / 2
    for label, (x, y) in zip(labels, stack.places):
        height = max(label.height, LEAST)
        middle, half = top + y + height / 2, min(height, 20.0) / 2
        a, b, c, d = ((right + dx, middle + dy * half) for dx, dy in ((0, -1), (LOOP_REACH, -1.6), (LOOP_REACH, 1.6), (0, 1)))
        points = on_outline(box, a, sideways=True), b, c, on_outline(box, d, sideways=True)
        where = Rectangle(right + LOOP_REACH + BESIDE - 4 + x, top + y, label.width, label.height)
        found.append(ArcPlace(points, where, loop=True))
    return found


def on_outline(box: Rectangle, point: Point, sideways: bool = False) -> Point:
    """Return where a line that comes to a point of a box's border, up or down (else sideways), meets the rounded outline."""
    x, y, width, height = box
    corner = min(CORNER, height / 2, width / 2)
    along, at, low, high = (point[1], point[0], y, y + height) if sideways else (point[0], point[1], x, x + width)
    deep = max(low + corner - along, along - (high - corner), 0.0)
    cut = corner - (max(corner**2 - deep**2, 0.0)) ** 0.5
    at += cut if at < (x + width / 2 if sideways else y + height / 2) else -cut
    return (at, along) if sideways else (along, at)


def _box(node: Any) -> Rectangle:
    center, size = node["center"], node["size"]
    return Rectangle(center["x"] - size["width"] / 2, center["y"] - size["height"] / 2, size["width"], size["height"])


def _points(edge: Any) -> tuple[Point, ...]:
    return tuple((point["x"], point["y"]) for point in edge["points"])
