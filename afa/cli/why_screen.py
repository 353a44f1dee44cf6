"""Show a funnel on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from afa.cli.console import plain_table
from afa.funnel.funnel import ARC_COLUMNS, STATE_COLUMNS, Funnel

NUMBERS = {"asked", "true", "last true", "times", "entered", "went on", "matched", "by window", "by no arc", "open"}


def show_funnel(funnel: Funnel, console: Console) -> None:
    """Print the sentence, then the counts of arcs and states, then the nearest misses."""
    console.print(Text(funnel.why, style="bold"), soft_wrap=True)
    console.print(Text(funnel.scope, style="dim"), soft_wrap=True)
    console.print()
    console.print(plain_table(ARC_COLUMNS, funnel.rows_of_arcs(), NUMBERS))
    console.print()
    console.print(plain_table(STATE_COLUMNS, funnel.rows_of_states(), NUMBERS))
    if funnel.misses:
        console.print("\nnearest misses", style="bold", highlight=False)
        for line in funnel.misses_in_words():
            console.print(Text(f"  {line}"), soft_wrap=True)
