"""Random automata to draw: names of all lengths and scripts, all kinds of arcs, back and across and beside each other."""

from __future__ import annotations

import random
from typing import NamedTuple

from afa import Arc, Automaton


class Tick(NamedTuple):
    x: int
    symbol: str = ""


class Seen(NamedTuple):
    total: int = 0
    until: int = 0


FENCES = [
    "x < 0",
    "x == 2",
    "x > r.total + 3 and symbol == 'A'",
    "x >= 10 and symbol != 'some long text' and (x < r.total * 2 or x > 9)",
    " or ".join(f"(x == {i} and r.total > {i} * x)" for i in range(20)),
]
TRANSFERS = [None, None, "r._replace(total=r.total + x)", "(r.total + 1, r.until)", "(r.total * 3 + x - 17, max(r.until, x))"]
NAMES = [
    None,
    None,
    "low",
    "a recovery that lasts",
    "🛫 of a flight",
    "上がる",
    "an arc whose name is longer than one reads",
]
STATES = ["up", "down", "waiting for approval", "x", "a state whose name is longer than any name that one reads", "先"]


def random_automaton(rng: random.Random, count: int) -> Automaton:
    """Make an automaton of so many states, each reached from one before."""
    states = [f"{rng.choice(STATES)} {i}" for i in range(count)]
    ends = [("consume", states[max(0, i - rng.choice([1, 1, 1, 2, 5]))], states[i]) for i in range(1, count)]
    for _ in range(rng.randint(1, max(2, count // 2))):
        kind = rng.choice(["consume", "consume", "loop", "skip", "epsilon", "time-out", "beside"])
        beside = kind == "beside" and ends
        ends.append(("consume", *rng.choice(ends)[1:]) if beside else (kind, rng.choice(states), rng.choice(states)))
    arcs = [_arc(rng, *end, i) for i, end in enumerate(ends)]
    return Automaton(start=states[0], final={states[-1], rng.choice(states)}, arcs=arcs, register=Seen(), event=Tick)


def _arc(rng: random.Random, kind: str, src: str, dst: str, i: int) -> Arc:
    chosen = rng.choice(NAMES)
    name = None if chosen is None else f"{chosen} {i}"
    fence, transfer = rng.choice(FENCES), rng.choice(TRANSFERS)
    if kind == "skip":
        return Arc.skip(src, fence, name=name)
    if kind == "time-out":
        return Arc.timeout(src, dst, "r.until + 300", name=name)
    if kind == "epsilon" and src != dst:
        return Arc.epsilon(src, dst, rng.choice(["r.total > 3", "True"]), name=name)
    return Arc(src, src if kind == "loop" else dst, fence, transfer, name=name)
