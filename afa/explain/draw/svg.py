"""Draw an automaton as SVG, for browsers, notebooks and pages of documentation; nothing is loaded from elsewhere."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.explain.draw.arc_labels import FONTS, GAP, LINE, ArcLabel, Drawn, TextPiece, label_of, lifetimes, shown
from afa.explain.draw.layered import CORNER, ArcPlace, Layered, Point, Rectangle, StatePlace
from afa.explain.draw.words import kind_of
from afa.html_tables import escaped
from afa.model.automaton import Automaton

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


LIGHT = """
--afa-paper:#fff;--afa-ink:#1f2328;--afa-dim:#59636e;--afa-line:#424a53;--afa-fill:#eef4fb;--afa-edge:#3b6ea5;
--afa-final:#e6f4e8;--afa-final-edge:#2d7a3a;--afa-ignorable:#7d8690;--afa-skip:#7d8690;--afa-epsilon:#7a4fb5;--afa-timeout:#b45309
""".replace("\n", "")
DARK = """
--afa-paper:#0d1117;--afa-ink:#e6edf3;--afa-dim:#9ea7b1;--afa-line:#b1bac4;--afa-fill:#172437;--afa-edge:#6ea8e6;
--afa-final:#132a19;--afa-final-edge:#58b368;--afa-ignorable:#868e97;--afa-skip:#868e97;--afa-epsilon:#bc98f0;--afa-timeout:#e89b4a
""".replace("\n", "")

FAMILIES = {
    "sans": "400 {size}px Arial,Helvetica,'Liberation Sans',Arimo,sans-serif",
    "bold": "600 {size}px Arial,Helvetica,'Liberation Sans',Arimo,sans-serif",
    "mono": "400 {size}px Menlo,'DejaVu Sans Mono','Liberation Mono',Consolas,monospace",
}

SHEET = """
svg.afa{LIGHT;max-width:100%;height:auto}
@media(prefers-color-scheme:dark){svg.afa{DARK}}
:root[data-theme=light] svg.afa,svg.afa[data-theme=light]{LIGHT}
:root[data-theme=dark] svg.afa,svg.afa[data-theme=dark]{DARK}
svg.afa .paper{fill:var(--afa-paper)}
svg.afa text{fill:var(--afa-ink);white-space:pre}
svg.afa .label text{paint-order:stroke;stroke:var(--afa-paper);stroke-width:3px;stroke-linejoin:round}
svg.afa .transfer-text,svg.afa .kind-text,svg.afa .life-text{fill:var(--afa-dim)}
svg.afa .state rect{fill:var(--afa-fill);stroke:var(--afa-edge);stroke-width:1.5}
svg.afa .state.final rect{fill:var(--afa-final);stroke:var(--afa-final-edge)}
svg.afa .state.final rect.inner{fill:none;stroke-width:1}
svg.afa .arc,svg.afa .begin{--line:var(--afa-line)}
svg.afa .line{fill:none;stroke:var(--line);stroke-width:1.5}
svg.afa .head,svg.afa .begin circle{fill:var(--line)}
svg.afa .arc.ignorable{--line:var(--afa-ignorable)}
svg.afa .arc.skip{--line:var(--afa-skip)}
svg.afa .arc.epsilon{--line:var(--afa-epsilon)}
svg.afa .arc.time-out{--line:var(--afa-timeout)}
svg.afa .arc.ignorable .line{stroke-width:1}
svg.afa .arc.skip .line{stroke-dasharray:7 3;stroke-width:1}
svg.afa .arc.epsilon .line{stroke-dasharray:2 3}
svg.afa .arc.time-out .line{stroke-width:2.5}
svg.afa .arc.epsilon .kind-text,svg.afa .arc.time-out .kind-text{fill:var(--line)}
svg.afa .arc.past{opacity:.6}
svg.afa .arc.past .life-text{fill:var(--afa-ink)}
svg.afa .arc:hover .line{stroke-width:3}
"""


def _sheet() -> str:
    fonts = (f"svg.afa .{style}-text{{font:{FAMILIES[font].format(size=f'{size:g}')}}}" for style, (font, size) in FONTS.items())
    return SHEET.strip().replace("LIGHT", LIGHT).replace("DARK", DARK) + "\n" + "\n".join(fonts)


STYLE = _sheet()


CROWD = 12
"""Of more arcs than that between the same two states one line of text is shown of each; all of it stands in its title."""
ROUND = 8.0
"""The radius of an arc's bends, in pixels."""


def svg(automaton: Automaton, labels: str = "code", arcs: Sequence[Drawn] | None = None) -> str:
    """Draw an automaton as SVG: an element ``svg`` with the class ``afa``.

    In it each state is a ``<g class="state" data-state="NAME">``, each arc a
    ``<g class="arc KIND" data-arc="NAME" data-index="I" data-src= data-dst= data-kind=>``; ``data-arc`` is the number where the
    arc has no name; each with a ``title``. The colours are CSS variables ``--afa-..``, for light and for dark.
    """
    drawn, states, finals = shown(automaton, arcs)
    texts = _labels(automaton, labels, drawn)
    place = places(states, automaton.start, drawn, texts)
    width, height = _n(place.width), _n(place.height)
    parts = [
        f'<svg class="afa" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img">',
        f"<title>{escaped(repr(automaton))}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="6"/>',
        f'<g class="begin"><circle cx="{_n(place.dot[0])}" cy="{_n(place.dot[1])}" r="4"/>{_line(place.begin)}</g>',
    ]
    parts += [_arc(one, text, where) for one, text, where in zip(drawn, texts, place.arcs)]
    for state in states:
        final = state in finals
        box, name = place.states[state]
        corner = min(CORNER, box.height / 2, box.width / 2)
        inner = _rect(box.x + 3, box.y + 3, box.width - 6, box.height - 6, corner - 3, ' class="inner"') if final else ""
        text = _text("state", name, box.x + box.width / 2, box.y + box.height / 2 + 4.5, ' text-anchor="middle"')
        what = ["start"] * (state == automaton.start) + ["final"] * final
        note = f"{state} ({', '.join(what)})" if what else state
        parts.append(
            f'<g class="{" ".join(["state", *what])}" data-state="{escaped(state)}"><title>{escaped(note)}</title>'
            f"{_rect(*box, corner)}{inner}{text}</g>"
        )
    return "\n".join([*parts, "</svg>"])


def _labels(automaton: Automaton, labels: str, drawn: Sequence[Drawn]) -> list[ArcLabel]:
    """Return the labels; of many arcs between the same two states the first line of each."""
    beside = Counter((one.arc.src, one.arc.dst, one.arc.kind) for one in drawn)
    found = [label_of(one, labels, type(automaton.register)) for one in drawn]
    crowded = [beside[one.arc.src, one.arc.dst, one.arc.kind] > CROWD for one in drawn]
    return [label._replace(lines=label.lines[:1]) if many else label for label, many in zip(found, crowded)]


def _arc(drawn: Drawn, label: ArcLabel, place: ArcPlace) -> str:
    arc, kind, life = drawn.arc, kind_of(drawn.arc), lifetimes(drawn)
    known = {"arc": arc.name or str(drawn.number), "index": str(drawn.number), "src": arc.src, "dst": arc.dst, "kind": kind}
    if life:
        known["life"] = life
    data = " ".join(f'data-{name}="{escaped(text)}"' for name, text in known.items())
    line = _loop(place.points) if place.loop else _line(place.points)
    rows = "".join(_row(row, place.label.x, place.label.y + LINE * (i + 1) - 3.5) for i, row in enumerate(label.lines))
    classes = f"arc {kind} past" if drawn.past else f"arc {kind}"
    return f'<g class="{classes}" {data}><title>{escaped(label.title)}</title>{line}<g class="label">{rows}</g></g>'


def _row(line: Sequence[TextPiece], x: float, y: float) -> str:
    found = []
    for piece in line:
        found.append(_text(piece.style, piece.text, x, y, ""))
        x += piece.width + GAP
    return "".join(found)


def _text(style: str, text: str, x: float, y: float, more: str) -> str:
    """Draw one piece of text; it is as wide as it was measured, whatever font shows it, if all its characters are in the tables."""
    width = TextPiece(style, text).width
    known = all(" " <= sign <= "~" or sign == "…" for sign in text)
    length = f' textLength="{_n(width)}" lengthAdjust="spacingAndGlyphs"' if known else f' data-width="{_n(width)}"'
    return f'<text class="{style}-text" x="{_n(x)}" y="{_n(y)}"{more}{length if width else ""}>{escaped(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, corner: float, more: str = "") -> str:
    return f'<rect{more} x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(corner)}"/>'


def _line(points: Sequence[Point]) -> str:
    """Draw a polyline with rounded bends, and an arrowhead at its end."""
    points = _bends(points)
    path = [f"M{_p(points[0])}"]
    for before, at, after in zip(points, points[1:], points[2:]):
        path.append(f"L{_p(_towards(at, before))}Q{_p(at)} {_p(_towards(at, after))}")
    path.append(f"L{_p(points[-1])}")
    return f'<path class="line" d="{"".join(path)}"/>{_head(points[-2], points[-1])}'


def _bends(points: Sequence[Point]) -> list[Point]:
    """Return the ends of a polyline and the points at which it turns."""
    found = [points[0]]
    for at, after in itertools.pairwise(points[1:]):
        (x, y), before = at, found[-1]
        if (x - before[0]) * (after[1] - y) != (y - before[1]) * (after[0] - x):
            found.append(at)
    return [*found, points[-1]]


def _loop(points: Sequence[Point]) -> str:
    a, b, c, d = points
    return f'<path class="line" d="M{_p(a)}C{_p(b)} {_p(c)} {_p(d)}"/>{_head(c, d)}'


def _head(before: Point, tip: Point) -> str:
    """Draw an arrowhead as a triangle of its own: a marker would need an id, which two pictures in one page may not share."""
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = dx / length, dy / length
    left = (tip[0] - 8 * ux + 3.5 * uy, tip[1] - 8 * uy - 3.5 * ux)
    right = (tip[0] - 8 * ux - 3.5 * uy, tip[1] - 8 * uy + 3.5 * ux)
    return f'<path class="head" d="M{_p(tip)}L{_p(left)}L{_p(right)}Z"/>'


def _towards(at: Point, other: Point) -> Point:
    """Return the point where a bend at ``at`` begins, on the way to ``other``."""
    dx, dy = other[0] - at[0], other[1] - at[1]
    length = (dx * dx + dy * dy) ** 0.5
    share = min(ROUND, length / 2) / length if length else 0.0
    return at[0] + dx * share, at[1] + dy * share


def _p(point: Point) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
