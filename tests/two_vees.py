"""Two V patterns after a drop ([AFA10] Example 1, k = 2), as `examples.worked_example` has it, over ticks with a price.

The command line's tests run the text of this file. `bench.queries.q1` makes such automata for any k.
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton
from examples.worked_example import TWO_VEES, Vees

__all__ = ["Arc", "Tick", "Vees", "two_vees"]


class Tick(NamedTuple):
    """A stock quote."""

    price: float
    change: float


two_vees = Automaton(start="start", final={"done"}, register=Vees(), event=Tick, arcs=TWO_VEES.arcs)
