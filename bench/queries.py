"""The queries of the paper as automata ([AFA10] Example 1, Sec. 6.1, App. A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from afa import Arc, Automaton


class Tick(NamedTuple):
    price: float
    change: float


class Vees(NamedTuple):
    balance: int = 0  # downticks minus upticks
    patterns: int = 0


class Climb(NamedTuple):
    before: float = 0.0  # the price before the drop
    patterns: int = 0


class Peaks(NamedTuple):
    start: float = 0.0
    shoulder: float = 0.0
    head: float = 0.0


def drop_arc(drop: float) -> Arc:
    """How Q1 begins; arcs of different ``drop`` differ in a constant only."""
    return Arc("start", "fall", lambda e, r: e.change < -drop, name=f"drop {drop}")


def q1(k: int = 1, drop: float = 0.25, skip: str | None = None) -> Automaton:
    """A drop, then ``k`` V patterns with as many upticks as downticks.

    ``skip``: how quotes that do not move are passed over: "ignorable" arcs, or "plain" self-loops whose transfer happens to return
    the register that it was given.
    """
    stay = (lambda e, r: r) if skip == "plain" else None
    loops = [Arc(s, s, lambda e, r: e.change == 0, stay, name=f"skip {s}") for s in ("fall", "rise")] if skip else []
    return Automaton(
        start="start",
        final={"done"},
        register=Vees(),
        event=Tick,
        arcs=[
            *loops,
            drop_arc(drop),
            Arc("fall", "fall", lambda e, r: e.change < 0, lambda e, r: r._replace(balance=r.balance + 1)),
            Arc("fall", "rise", lambda e, r: e.change < 0, lambda e, r: r._replace(balance=r.balance + 1)),
            Arc("rise", "rise", lambda e, r: e.change > 0, lambda e, r: r._replace(balance=r.balance - 1)),
            Arc(
                "rise",
                "fall",
                lambda e, r: e.change > 0 and r.patterns + 1 < k,
                lambda e, r: Vees(r.balance - 1, r.patterns + 1),
            ),
            Arc(
                "rise",
                "done",
                lambda e, r: e.change > 0 and r.patterns + 1 == k and r.balance == 1,
                lambda e, r: Vees(r.balance - 1, r.patterns + 1),
            ),
        ],
    )


def q2(drop: float = 0.25) -> Automaton:
    """How many V patterns follow a drop until the price is back where it was before. The paper draws no automaton for it.

    One partial match lives per drop that is not made up for yet: a few where prices rise (p = .7), tens where they do not (p = .5).
    """
    return Automaton(
        start="start",
        final={"back"},
        register=Climb(),
        event=Tick,
        arcs=[
            Arc("start", "fall", lambda e, r: e.change < -drop, lambda e, r: Climb(e.price - e.change, 0)),
            Arc("fall", "fall", lambda e, r: e.change < 0),
            Arc("fall", "rise", lambda e, r: e.change > 0 and e.price < r.before),
            Arc("rise", "rise", lambda e, r: e.change > 0 and e.price < r.before),
            Arc("rise", "fall", lambda e, r: e.change < 0, lambda e, r: r._replace(patterns=r.patterns + 1)),
            Arc(
                "fall",
                "back",
                lambda e, r: e.change > 0 and e.price >= r.before,
                lambda e, r: r._replace(patterns=r.patterns + 1),
            ),
            Arc(
                "rise",
                "back",
                lambda e, r: e.change > 0 and e.price >= r.before,
                lambda e, r: r._replace(patterns=r.patterns + 1),
            ),
        ],
    )


def up_arc(place: int) -> Arc:
    """The arc of Q3 that wants its tick number ``place`` to go up."""
    return Arc(str(place), str(place + 1), lambda e, r: e.change > 0, name=f"{place} up")


def down_arc(place: int) -> Arc:
    """The arc of Q3 that wants its tick number ``place`` to go down."""
    return Arc(str(place), str(place + 1), lambda e, r: e.change < 0, name=f"{place} down")


def q3_signs(seed: int = 3) -> list[int]:
    """Which way the 8 ticks of Q3 go: 1 up, -1 down."""
    return [int(sign) for sign in np.random.default_rng(seed).choice([-1, 1], 8)]


def q3(signs: Sequence[int] | None = None) -> Automaton:
    """So many contiguous ticks, each up or down; no register."""
    arcs = [up_arc(i) if sign > 0 else down_arc(i) for i, sign in enumerate(signs or q3_signs())]
    return Automaton(start="0", final={str(len(arcs))}, event=Tick, arcs=arcs)


def head_and_shoulders() -> Automaton:
    """Up to a shoulder, down, up to a higher head, down, up to a lower shoulder, down below the start (App. A, Figure 14)."""
    return Automaton(
        start="start",
        final={"done"},
        register=Peaks(),
        event=Tick,
        arcs=[
            Arc("start", "up 1", lambda e, r: e.change > 0, lambda e, r: r._replace(start=e.price - e.change)),
            Arc("up 1", "up 1", lambda e, r: e.change > 0),
            Arc(
                "up 1",
                "down 1",
                lambda e, r: e.change < 0 and e.price > r.start,
                lambda e, r: r._replace(shoulder=e.price - e.change),
            ),
            Arc("down 1", "down 1", lambda e, r: e.change < 0 and e.price > r.start),
            Arc("down 1", "up 2", lambda e, r: e.change > 0),
            Arc("up 2", "up 2", lambda e, r: e.change > 0),
            Arc(
                "up 2",
                "down 2",
                lambda e, r: e.change < 0 and e.price > r.start and e.price - e.change > r.shoulder,
                lambda e, r: r._replace(head=e.price - e.change),
            ),
            Arc("down 2", "down 2", lambda e, r: e.change < 0 and e.price > r.start),
            Arc("down 2", "up 3", lambda e, r: e.change > 0 and e.price < r.head),
            Arc("up 3", "up 3", lambda e, r: e.change > 0 and e.price < r.head),
            Arc("up 3", "down 3", lambda e, r: e.change < 0 and e.price >= r.start),
            Arc("up 3", "done", lambda e, r: e.change < 0 and e.price < r.start),
            Arc("down 3", "down 3", lambda e, r: e.change < 0 and e.price >= r.start),
            Arc("down 3", "done", lambda e, r: e.change < 0 and e.price < r.start),
        ],
    )
