"""What an SVG drawing of an automaton shows, read off its elements: boxes of states and of labels, lines of arcs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import NamedTuple

NS = "{http://www.w3.org/2000/svg}"
UP, DOWN = 0.8, 0.25
"""How far text reaches above its base line, and below it, in heights of its font."""
SIZES = {"state": 13, "kind": 11, "name": 12, "words": 12, "fence": 11, "transfer": 11, "life": 10}

Point = tuple[float, float]


class Rect(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    def meets(self, other: Rect, slack: float = 0.1) -> bool:
        apart = self.x + self.width <= other.x + slack or other.x + other.width <= self.x + slack
        return not (apart or self.y + self.height <= other.y + slack or other.y + other.height <= self.y + slack)

    def within(self, other: Rect) -> bool:
        right, low = self.x + self.width <= other.x + other.width, self.y + self.height <= other.y + other.height
        return self.x >= other.x and self.y >= other.y and right and low


class DrawnState(NamedTuple):
    name: str
    box: Rect
    corner: float
    text: list[Rect]
    classes: set[str]


class DrawnArc(NamedTuple):
    data: dict[str, str]
    title: str
    points: list[Point]
    text: list[Rect]
    words: list[str]
    classes: set[str]


class Drawing(NamedTuple):
    frame: Rect
    states: dict[str, DrawnState]
    arcs: list[DrawnArc]


def drawing(text: str) -> Drawing:
    """Read an SVG drawing; all of it has to be well-formed XML."""
    root = ET.fromstring(text)
    frame = Rect(*map(float, root.attrib["viewBox"].split()))
    states, arcs = {}, []
    for group in root.iter(f"{NS}g"):
        if "data-state" in group.attrib:
            state = _state(group)
            states[state.name] = state
        elif "data-arc" in group.attrib:
            arcs.append(_arc(group))
    return Drawing(frame, states, arcs)


def _state(group: ET.Element) -> DrawnState:
    rect = group.find(f"{NS}rect")
    assert rect is not None
    box = Rect(*(float(rect.attrib[name]) for name in ("x", "y", "width", "height")))
    return DrawnState(group.attrib["data-state"], box, float(rect.attrib["rx"]), _texts(group), set(group.attrib["class"].split()))


def _arc(group: ET.Element) -> DrawnArc:
    line = next(path for path in group.iter(f"{NS}path") if path.attrib["class"] == "line")
    numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", line.attrib["d"])]
    data = {name.removeprefix("data-"): value for name, value in group.attrib.items() if name.startswith("data-")}
    words = [text.text or "" for text in group.iter(f"{NS}text")]
    title = group.findtext(f"{NS}title") or ""
    return DrawnArc(data, title, list(zip(numbers[::2], numbers[1::2])), _texts(group), words, set(group.attrib["class"].split()))


def _texts(group: ET.Element) -> list[Rect]:
    found = []
    for text in group.iter(f"{NS}text"):
        size = SIZES[text.attrib["class"].removesuffix("-text")]
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        width = float(text.get("textLength") or text.get("data-width") or 0)
        left = x - width / 2 if text.get("text-anchor") == "middle" else x
        found.append(Rect(left, y - UP * size, width, (UP + DOWN) * size))
    return found


def from_border(state: DrawnState, point: Point) -> float:
    """How far a point is from the rounded outline of a state."""
    (x, y, width, height), corner = state.box, state.corner
    half = width / 2 - corner, height / 2 - corner
    dx, dy = abs(point[0] - x - width / 2) - half[0], abs(point[1] - y - height / 2) - half[1]
    outside = (max(dx, 0) ** 2 + max(dy, 0) ** 2) ** 0.5 + min(max(dx, dy), 0)
    return abs(outside - corner)


def faults(found: Drawing) -> list[str]:
    """What is wrong with a drawing: what overlaps, what is outside, what ends in the air."""
    wrong = []
    states = list(found.states.values())
    labels = [(i, rect) for i, arc in enumerate(found.arcs) for rect in arc.text]
    for i, state in enumerate(states):
        wrong += [f"states {state.name} and {other.name}" for other in states[:i] if state.box.meets(other.box)]
        wrong += [f"the name of {state.name} outside it" for rect in state.text if not rect.within(state.box)]
        wrong += [f"label of {found.arcs[n].data} on state {state.name}" for n, rect in labels if rect.meets(state.box)]
    for k, (n, rect) in enumerate(labels):
        wrong += [f"labels of {found.arcs[n].data} and {found.arcs[m].data}" for m, other in labels[:k] if rect.meets(other)]
    boxes = [state.box for state in states] + [rect for _, rect in labels]
    wrong += [f"outside: {box}" for box in boxes if not box.within(found.frame)]
    for arc in found.arcs:
        wrong += [f"outside: {point} of {arc.data}" for point in arc.points if not Rect(*point, 0, 0).within(found.frame)]
        for end, point in (("src", arc.points[0]), ("dst", arc.points[-1])):
            off = from_border(found.states[arc.data[end]], point)
            wrong += [f"{arc.data} is {off:.1f} off its {end}"] * (off > 1)
        wrong += _crossed(found, arc)
    return wrong


def _crossed(found: Drawing, arc: DrawnArc) -> list[str]:
    """What an arc runs over: labels, and states that are not its own."""
    wrong = []
    for a, b in zip(arc.points, arc.points[1:]):
        line = Rect(min(a[0], b[0]), min(a[1], b[1]), abs(a[0] - b[0]), abs(a[1] - b[1]))
        line = Rect(line.x - 0.1, line.y - 0.1, line.width + 0.2, line.height + 0.2)
        wrong += [f"{arc.data} over a label of {other.data}" for other in found.arcs for rect in other.text if line.meets(rect)]
        wrong += [
            f"{arc.data} over state {state.name}"
            for state in found.states.values()
            if state.name not in (arc.data["src"], arc.data["dst"]) and line.meets(state.box)
        ]
    return wrong
