"""Show a funnel on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from afa.funnel.funnel import ARC_COLUMNS, STATE_COLUMNS, Funnel

NUMBERS = {"asked", "true", "last true", "times", "entered", "went on", "matched", "by window", "by no arc", "open"}


def show_funnel(funnel: Funnel, console: Console) -> None:
    """Print the sentence, then the counts of arcs and states, then the nearest misses."""
    console.print(Text(funnel.why, style="bold"), soft_wrap=True)
    console.print(Text(funnel.scope, style="dim"), soft_wrap=True)
    console.print()
    console.print(_table(ARC_COLUMNS, funnel.rows_of_arcs()))
    console.print()
    console.print(_table(STATE_COLUMNS, funnel.rows_of_states()))
    if funnel.misses:
        console.print("\nnearest misses", style="bold", highlight=False)
        for line in funnel.misses_in_words():
            console.print(Text(f"  {line}"), soft_wrap=True)


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        shown.add_column(name, justify="right" if name in NUMBERS else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(cell) for cell in row))
    return shown
