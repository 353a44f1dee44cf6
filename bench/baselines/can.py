"""CAN ([AFA10] Sec. 3, Figure 4): Q1 embedded in a two-state automaton, whose register carries the set of active states.

One self-loop does what all of Q1's arcs do. Of Q1's states at most one computation each is active at a time, and those two share
their balance, so that the set is two numbers: how many patterns the computation in "fall", and the one in "rise", has behind it.
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton
from bench.queries import Tick

COLUMNS = ("balance", "patterns")
"""What a match has in common with one of Q1."""


class Active(NamedTuple):
    balance: int = 0
    patterns: int = -1  # of the computation in "fall"; of the match, at the end; -1: none is active
    rise: int = -1  # of the computation in "rise"


def q1(k: int = 1, drop: float = 0.25) -> Automaton:
    """The same matches as `bench.queries.q1`."""
    return Automaton(
        start="loop",
        final={"done"},
        register=Active(),
        event=Tick,
        arcs=[
            Arc(
                "loop",
                "loop",
                lambda e, r: (
                    (r.patterns < 0 and r.rise < 0 and e.change < -drop)
                    or (r.patterns >= 0 and e.change < 0)
                    or (r.rise >= 0 and e.change > 0)
                ),
                lambda e, r: (
                    Active(0, 0, -1)
                    if r.patterns < 0 and r.rise < 0
                    else Active(r.balance + 1, r.patterns, r.patterns)
                    if e.change < 0
                    else Active(r.balance - 1, r.rise + 1 if r.rise + 1 < k else -1, r.rise)
                ),
            ),
            Arc(
                "loop",
                "done",
                lambda e, r: r.rise >= 0 and e.change > 0 and r.rise + 1 == k and r.balance == 1,
                lambda e, r: Active(r.balance - 1, r.rise + 1, -1),
            ),
        ],
    )
