"""Draw an automaton as a table for the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from afa.explain.draw.words import fence_of, final_states, function_text, kind_of
from afa.model.automaton import Automaton


def table(automaton: Automaton) -> Table:
    """List the arcs of an automaton in order: name, from, to, kind, fence, transfer, and whether they end in a final state.

    The column of names is left out where no arc has one.
    """
    finals = final_states(automaton)
    named = any(arc.name for arc in automaton.arcs)
    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in (["name"] if named else []) + ["from", "to", "kind"]:
        shown.add_column(column, overflow="fold")
    for column, ratio in (("fence", 3), ("transfer", 2)):
        shown.add_column(column, overflow="fold", ratio=ratio)
    shown.add_column("final")
    for arc in automaton.arcs:
        transfer = "" if arc.transfer is None else function_text(arc.transfer)
        cells = [arc.src, arc.dst, kind_of(arc), fence_of(arc), transfer, "yes" if arc.dst in finals else ""]
        shown.add_row(*(Text(cell) for cell in ([arc.name or ""] if named else []) + cells))  # Text: no markup inside
    return shown
