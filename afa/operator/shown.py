"""What notebooks show of an operator: its arcs in force, drawn, and what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from afa.html_tables import pairs, titled
from afa.operator.statistics import statistics_of

if TYPE_CHECKING:
    from afa.operator.call import Core


def drawn_in_force(core: Core, form: str, labels: str) -> str:
    """Draw the arcs in force."""
    from afa.draw.drawing import draw
    from afa.draw.in_force import in_force

    return draw(core.automaton, form, labels, in_force(core.arcs.table, core.progress.now, core.tick))


def html_of(core: Core, kind: str) -> str:
    """Return an operator as HTML: what it was made with, the numbers that are not zero, its arcs in force."""
    engine = "interpreted" if "Interpreted" in type(core.engine).__name__ else "compiled"
    by = None if core.keys is None else ", ".join(core.keys.names) or "a function"
    made: list[tuple[str, Any]] = [("key", by), ("window", core.window), ("tick", core.tick), ("engine", engine)]
    known = [(name, value) for name, value in made if value is not None]
    return titled(kind, pairs(known), statistics_of(core)._repr_html_(), drawn_in_force(core, "svg", "code"))
