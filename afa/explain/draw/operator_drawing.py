"""The arcs in force of an operator, each with its lifetimes: the method `draw` of operators, and what notebooks show of them."""

from __future__ import annotations

from typing import Any

from afa.explain.draw.arc_labels import Drawn
from afa.explain.draw.drawing import picture_of
from afa.html_tables import pairs, titled
from afa.model.arc import Arc
from afa.model.arctable import ArcTable
from afa.operator.call import Core
from afa.operator.matching import Matching
from afa.operator.statistics import statistics_of


def draw(self: Matching, form: str = "svg", *, labels: str = "code") -> str:
    """Draw the arcs in force, each with its lifetimes, as `Automaton.draw` draws those of an automaton.

    An arc that has ended, and serves late events only, is pale. Where the operator has a tick, lifetimes in the years 1990 to
    2099 are told as times.
    """
    return self._core.calls.call(_drawn, self._core, form, labels)


def _repr_html_(self: Matching) -> str:
    """Return an operator as HTML: what it was made with, the numbers that are not zero, its arcs in force."""
    return self._core.calls.call(_html_of, self._core, self._told_as())


def _drawn(core: Core, form: str, labels: str) -> str:
    return picture_of(core.automaton, form, labels, in_force(core.arcs.table, core.progress.now, core.tick))


def _html_of(core: Core, kind: str) -> str:
    engine = "interpreted" if "Interpreted" in type(core.engine).__name__ else "compiled"
    by = None if core.keys is None else ", ".join(core.keys.names) or "a function"
    made: list[tuple[str, Any]] = [("key", by), ("window", core.window), ("tick", core.tick), ("engine", engine)]
    known = [(name, value) for name, value in made if value is not None]
    return titled(kind, pairs(known), statistics_of(core)._repr_html_(), _drawn(core, "svg", "code"))


def in_force(table: ArcTable, now: int, tick: str | None = None) -> list[Drawn]:
    """Return each arc of a table once, in order of arrival; those that have ended before ``now`` are past.

    >>> arc = Arc("a", "b", "x < 1")
    >>> in_force(ArcTable.of([arc]), now=5)[0].lives
    ((-9223372036854775808, 9223372036854775807),)
    """
    lives: dict[int, tuple[Arc, list[tuple[int, int]]]] = {}
    for arc, le, re in table.events:
        lives.setdefault(id(arc), (arc, []))[1].append((le, re))
    found = []
    for i, (arc, spans) in enumerate(lives.values()):
        past = all(re <= now for _, re in spans)
        found.append(Drawn(i, arc, tuple(sorted(set(spans))), past, tick))
    return found
