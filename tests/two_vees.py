"""Two V patterns after a drop ([AFA10] Example 1, k = 2): the one automaton of all tests, in a file as users write it.

The command line's tests run the text of this file. `bench.queries.q1` makes such automata for any k.
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton


class Tick(NamedTuple):
    """A stock quote."""

    price: float
    change: float


class Vees(NamedTuple):
    """Downticks minus upticks, and V patterns so far."""

    balance: int = 0
    patterns: int = 0


two_vees = Automaton(
    start="start",
    final={"done"},
    register=Vees(),
    event=Tick,
    arcs=[
        Arc("start", "fall", lambda e, r: e.change < -0.25),
        Arc("fall", "fall", lambda e, r: e.change < 0, lambda e, r: r._replace(balance=r.balance + 1)),
        Arc("fall", "rise", lambda e, r: e.change < 0, lambda e, r: r._replace(balance=r.balance + 1)),
        Arc("rise", "rise", lambda e, r: e.change > 0, lambda e, r: r._replace(balance=r.balance - 1)),
        Arc(
            "rise",
            "fall",
            lambda e, r: e.change > 0 and r.patterns + 1 < 2,
            lambda e, r: Vees(r.balance - 1, r.patterns + 1),
        ),
        Arc(
            "rise",
            "done",
            lambda e, r: e.change > 0 and r.patterns + 1 == 2 and r.balance == 1,
            lambda e, r: Vees(r.balance - 1, r.patterns + 1),
        ),
    ],
)
