"""An automaton with the arcs in force: as SVG, and as a list that says of each arc what can be changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from afa.explain.draw.arc_labels import Drawn, lifetimes
from afa.explain.draw.svg import svg
from afa.explain.draw.words import fence_of, function_text, kind_of
from afa.model.arc import Arc, name_of
from afa.model.arctable import ArcEvent
from afa.model.automaton import Automaton
from punctuation.time import BEGINNING


class Picture(NamedTuple):
    version: str  # another one for another picture
    svg: str
    arcs: list[dict[str, Any]]
    """Of each arc, by its number in the picture: name, label (the name, short), src, dst, kind, fence, transfer, and life, where it
    does not serve from now on without an end."""


class Pictures:
    """The picture of one automaton, drawn anew when its arcs have changed. ``tick``: what an int of their lifetimes counts."""

    def __init__(self, automaton: Automaton, tick: str | None = None) -> None:
        self._automaton, self._tick = automaton, tick
        self._known: tuple[Any, Picture] | None = None
        self._count = 0

    def of(self, events: Iterable[ArcEvent], now: int) -> Picture:
        """Return the picture with the arcs that serve at ``now`` or later."""
        shown = [(arc, le if le > now else BEGINNING, re) for arc, le, re in events if re > now]
        mark = [(id(arc), *life) for arc, *life in shown]
        if self._known is None or self._known[0] != mark:
            self._count += 1
            self._known = mark, self._drawn(shown)
        return self._known[1]

    def _drawn(self, shown: list[tuple[Arc, int, int]]) -> Picture:
        arcs = [Drawn(i, arc, ((le, re),), tick=self._tick) for i, (arc, le, re) in enumerate(shown)]
        told = [
            {
                "name": arc.name,
                "src": arc.src,
                "dst": arc.dst,
                "kind": kind_of(arc),
                "fence": fence_of(arc),
                "transfer": function_text(arc.transfer),
                "label": name_of(arc),
                "life": lifetimes(Drawn(0, arc, ((le, re),), tick=self._tick)),
            }
            for arc, le, re in shown
        ]
        return Picture(str(self._count), svg(self._automaton, arcs=arcs), told)
