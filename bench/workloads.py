"""The paper's synthetic workload ([AFA10] Sec. 6.1) and its query Q1, as plain data."""

from __future__ import annotations

import random
from typing import NamedTuple

from afa import Arc, Automaton


class Tick(NamedTuple):
    price: float
    change: float


class Vees(NamedTuple):
    balance: int = 0
    patterns: int = 0


Stream = list[tuple[Tick, int]]  # (payload, LE) in order of arrival


def ticks(n: int, p: float = 0.5, ignorable: float = 0.0, seed: int = 1) -> Stream:
    """Quotes at LE 0, 1, ..: up with probability ``p``, by a normal 0.70 / 0.30 cut off at 0; some of them do not move at all."""
    rng = random.Random(seed)
    price, out = 100.0, []
    for le in range(n):
        size = max(0.01, rng.gauss(0.70, 0.30))
        change = 0.0 if rng.random() < ignorable else size if rng.random() < p else -size
        price += change
        out.append((Tick(price, change), le))
    return out


def shifted(stream: Stream, share: float, by: int = 1000, seed: int = 2) -> Stream:
    """The stream with that share of its events arriving 1 to ``by`` places later."""
    rng = random.Random(seed)
    places = [i + (rng.randint(1, by) if rng.random() < share else 0) for i in range(len(stream))]
    return [stream[i] for i in sorted(range(len(stream)), key=lambda i: (places[i], i))]


def q1(k: int = 1, drop: float = 0.25, skip: str | None = None) -> Automaton:
    """A drop, then ``k`` V patterns with as many upticks as downticks.

    ``skip``: how quotes that do not move are passed over: "ignorable" arcs, or "plain" self-loops whose transfer happens to leave
    the register as it is, which no engine recognises.
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
            Arc("start", "fall", lambda e, r: e.change < -drop),
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
