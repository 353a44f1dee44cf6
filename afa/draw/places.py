"""Where states, arcs and labels stand in a picture: a layered layout, in which labels are nodes of their own.

The layout is graphlay's: layers from top to bottom, few crossings, routes around the nodes. It is given sizes only. A label is a
node on the way of its arc, so that labels overlap neither each other nor a state; the arc runs along its left side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.draw.arc_labels import FONTS, ArcLabel, Drawn
from afa.draw.font_widths import fitting, width_of

MARGIN = 12.0
STATE_HEIGHT = 34.0
LONGEST_NAME = 200.0
"""The widest name of a state, in pixels."""
LOOP_REACH = 22.0
"""How far a self-loop reaches out of its state."""
LOOP_GAP = 6.0
CLEAR = 16.0
"""From a label to what stands at its right."""
BESIDE = 6.0
"""From an arc to its label."""

Point = tuple[float, float]


class Box(NamedTuple):
    """A rectangle: its left upper corner, width and height, in pixels."""

    x: float
    y: float
    width: float
    height: float


class StatePlace(NamedTuple):
    """The box of a state, and its name as far as it is shown."""

    box: Box
    shown: str


class ArcPlace(NamedTuple):
    """The polyline of an arc from border to border (of a self-loop: the four points of a cubic curve), and the box of its label."""

    points: tuple[Point, ...]
    label: Box
    loop: bool


class Places(NamedTuple):
    """A layout: the picture's size, each state, each arc in the order given, and the way from the dot to the start state."""

    width: float
    height: float
    states: dict[str, StatePlace]
    arcs: list[ArcPlace]
    dot: Point
    begin: tuple[Point, ...]


def places(states: Sequence[str], start: str, arcs: Sequence[Drawn], labels: Sequence[ArcLabel]) -> Places:
    """Lay out states and arcs, and their labels. The same picture for the same input, on every machine."""
    import graphlay

    graph = graphlay.Graph()
    loops: dict[str, list[int]] = {state: [] for state in states}
    for i, drawn in enumerate(arcs):
        if drawn.arc.src == drawn.arc.dst:
            loops[drawn.arc.src].append(i)
    names = {state: fitting(state, *FONTS["state"], LONGEST_NAME) for state in states}
    numbers = {}
    for state in states:
        stack = sum(labels[i].height + LOOP_GAP for i in loops[state]) - LOOP_GAP
        reach = max((LOOP_REACH + BESIDE + labels[i].width + CLEAR for i in loops[state]), default=0.0)
        margin = {"cross_pos": reach}
        width = max(64.0, width_of(names[state], *FONTS["state"]) + 28)
        numbers[state] = graph.node(width=width, height=max(STATE_HEIGHT, stack + 12), margin=margin)
    dot = graph.node(width=8.0, height=8.0, shape="ellipse", rank="first")
    begin = graph.edge(dot, numbers[start])
    back = _backward(states, start, arcs)
    ways: dict[int, tuple[int, int, int]] = {}
    for i, drawn in enumerate(arcs):
        if drawn.arc.src != drawn.arc.dst:
            ways[i] = _way(graph, numbers, drawn, labels[i], i in back)
    laid = graphlay.layout(graph, options=OPTIONS)
    return _placed(laid, states, names, numbers, arcs, labels, loops, ways, dot, begin)


OPTIONS: dict[str, Any] = {
    "direction": "topbottom",
    "spacing": {"layer_gap": 26.0, "node_gap": 26.0, "dummy_gap": 18.0},
    "routing": {"bundle_parallel": False},
}


def _way(graph: Any, numbers: dict[str, int], drawn: Drawn, label: ArcLabel, back: bool) -> tuple[int, int, int]:
    """Add an arc: a line of the label's height, with room for the label at its right, and the ways into it and out of it."""
    margin = {"cross_pos": BESIDE + label.width + CLEAR}
    node = graph.node(width=1.0, height=max(label.height, 4.0), margin=margin)
    enter, leave = ("bottom", "top") if back else ("top", "bottom")
    into = graph.edge(numbers[drawn.arc.src], node, target_port={"side": enter}, reverse_for_ranking=back)
    out = graph.edge(node, numbers[drawn.arc.dst], source_port={"side": leave}, reverse_for_ranking=back)
    return node, into, out


def _backward(states: Sequence[str], start: str, arcs: Sequence[Drawn]) -> set[int]:
    """Return the arcs that lead back to a state on the way from the start to their own: drawn upward."""
    outgoing: dict[str, list[tuple[int, str]]] = {state: [] for state in states}
    for i, drawn in enumerate(arcs):
        outgoing[drawn.arc.src].append((i, drawn.arc.dst))
    found: set[int] = set()
    entered: set[str] = set()
    for root in [start, *states]:
        if root in entered:
            continue
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
    return found


def _placed(
    laid: Any,
    states: Sequence[str],
    names: dict[str, str],
    numbers: dict[str, int],
    arcs: Sequence[Drawn],
    labels: Sequence[ArcLabel],
    loops: dict[str, list[int]],
    ways: dict[int, tuple[int, int, int]],
    dot: int,
    begin: int,
) -> Places:
    boxes = {state: _box(laid.nodes[numbers[state]]) for state in states}
    lines: dict[int, tuple[tuple[Point, ...], Box]] = {}
    for i, (node, into, out) in ways.items():
        box = _box(laid.nodes[node])
        shown = Box(box.x + BESIDE, box.y, labels[i].width, labels[i].height)
        lines[i] = (*_points(laid.edges[into]), *_points(laid.edges[out])), shown
    for state, own in loops.items():
        box = boxes[state]
        y = box.y + (box.height - sum(labels[i].height + LOOP_GAP for i in own) + LOOP_GAP) / 2
        for i in own:
            right, middle, half = box.x + box.width, y + labels[i].height / 2, min(labels[i].height, 20.0) / 2
            points = tuple((right + d, middle + s * half) for d, s in ((0, -1), (LOOP_REACH, -1.6), (LOOP_REACH, 1.6), (0, 1)))
            lines[i] = points, Box(right + LOOP_REACH + BESIDE - 4, y, labels[i].width, labels[i].height)
            y += labels[i].height + LOOP_GAP
    center = laid.nodes[dot]["center"]
    found = Places(
        0.0,
        0.0,
        {state: StatePlace(boxes[state], names[state]) for state in states},
        [ArcPlace(*lines[i], arcs[i].arc.src == arcs[i].arc.dst) for i in range(len(arcs))],
        (center["x"], center["y"]),
        _points(laid.edges[begin]),
    )
    return _moved(found)


def _box(node: Any) -> Box:
    center, size = node["center"], node["size"]
    return Box(center["x"] - size["width"] / 2, center["y"] - size["height"] / 2, size["width"], size["height"])


def _points(edge: Any) -> tuple[Point, ...]:
    return tuple((point["x"], point["y"]) for point in edge["points"])


def _moved(found: Places) -> Places:
    """Return the layout moved so that all of it stands within its margins."""
    boxes = [state.box for state in found.states.values()] + [arc.label for arc in found.arcs]
    points = [point for arc in found.arcs for point in arc.points] + [found.dot, *found.begin]
    corners = points + [(b.x, b.y) for b in boxes] + [(b.x + b.width, b.y + b.height) for b in boxes]
    dx, dy = MARGIN - min(x for x, _ in corners), MARGIN - min(y for _, y in corners)

    def moved(points: Sequence[Point]) -> tuple[Point, ...]:
        return tuple((x + dx, y + dy) for x, y in points)

    def box(old: Box) -> Box:
        return old._replace(x=old.x + dx, y=old.y + dy)

    return Places(
        max(x for x, _ in corners) + dx + MARGIN,
        max(y for _, y in corners) + dy + MARGIN,
        {state: place._replace(box=box(place.box)) for state, place in found.states.items()},
        [place._replace(points=moved(place.points), label=box(place.label)) for place in found.arcs],
        moved([found.dot])[0],
        moved(found.begin),
    )
