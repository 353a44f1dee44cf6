"""What do promises about some events save? A union of ten feeds, one a hundred times later than the others ([AFA10] App. F.2).

An event a tick, the feeds in turn; nine are up to 10 ticks late, one up to 1000. The pattern: a high value of an early feed, then
one of the late feed within 20 ticks, whatever others say in between. The union promises what its slowest feed does; with
conditions, each feed's promise as well. The matches are compared. What is held is counted every 100 events, on average.
"""

from __future__ import annotations

import itertools
import time
from typing import Any, NamedTuple

import numpy as np

from afa import Arc, Automaton, Change, Operator, insert
from bench.measure import Options, Row
from punctuation import BoundedDisorder, Union
from speculation import consolidate

FEEDS, EARLY, LATE, WINDOW = 10, 10, 1000, 20


class Reading(NamedTuple):
    """What a feed says."""

    feed: int
    value: float


def pattern(share: float) -> Automaton:
    """So many of the first feed's values begin a match."""
    return Automaton(
        start="calm",
        final={"alarm"},
        event=Reading,
        arcs=[
            Arc("calm", "high", f"feed == 1 and value > {1 - share}", name="high"),
            Arc("high", "high", f"0 < feed < {FEEDS}", name="others"),
            Arc("high", "alarm", "feed == 0 and value > 0.5", name="late"),
        ],
    )


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    for engine, share in itertools.product(("compiled", "interpreted"), o.some((0.02, 0.1, 0.5))):
        ways = {way: run(o, engine, share, way == "with conditions") for way in ("plain", "with conditions")}
        assert ways["plain"][0] == ways["with conditions"][0], "expected the same matches"
        _, held, rate = ways["plain"]
        rows += [
            {
                "engine": engine,
                "begins": f"{share:.0%}",
                "promises": way,
                "held": found[1],
                "held, of plain": found[1] / held,
                "events/s": found[2],
                "rate, of plain": found[2] / rate,
                "matches": len(found[0]),
            }
            for way, found in ways.items()
        ]
    return rows


def run(o: Options, engine: str, share: float, conditions: bool) -> tuple[list[Change], float, float]:
    """The net output, what was held on average, and the rate."""
    n = o.size(20_000)
    rng = np.random.default_rng(1)
    feed, value = np.arange(n) % FEEDS, rng.random(n)
    arrival = np.arange(n) + np.where(feed == 0, rng.integers(LATE // 2, LATE, n), rng.integers(0, EARLY, n))
    where = {name: f"feed == {name}" for name in range(FEEDS)} if conditions else None
    union = Union({name: BoundedDisorder(LATE if name == 0 else EARLY) for name in range(FEEDS)}, where=where)
    op = Operator(pattern(share), window=WINDOW, engine=engine, retractions=False)
    out: list[Any] = []
    held: list[int] = []
    begin = time.thread_time()
    for count, i in enumerate(np.argsort(arrival, kind="stable").tolist()):
        for item in union.push(int(feed[i]), insert(Reading(int(feed[i]), float(value[i])), i)):
            out += op.push(item)
        if count % 100 == 99:
            held.append(op.statistics.state_size)
    seconds = time.thread_time() - begin
    for item in union.end():
        out += op.push(item)
    return consolidate(change for change in out if isinstance(change, Change)), float(np.mean(held)), n / seconds
