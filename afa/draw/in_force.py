"""The arcs in force of an operator, as a picture shows them: each with its lifetimes."""

from __future__ import annotations

from afa.draw.arc_labels import Drawn
from afa.model.arc import Arc
from afa.model.arctable import ArcTable


def in_force(table: ArcTable, now: int, tick: str | None = None) -> list[Drawn]:
    """Return each arc of a table once, in order of arrival.

    Parameters
    ----------
    table : ArcTable
    now : int
        One tick past all that was seen (ticks): arcs that have ended by then are past.
    tick : str, optional
        What one tick is.

    Examples
    --------
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
