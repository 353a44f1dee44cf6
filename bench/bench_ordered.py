"""What do gapless numbers buy under disorder? The paper's Figures 12 and 13: Q2, p = .7, W = 500, events 1 to 1000 places late.

AFA is the operator, AFA+O `speculation.Ordered`; beside them stands buffering and sorting until the promise. Rates are relative to
each one's own in order; what is held is counted after each batch, in events, partial matches, runs and matches, the most of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from afa import Automaton, Operator
from bench.baselines.ordered import BufferAndSort
from bench.drive import Batches, batched, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio
from bench.queries import q2
from bench.workloads import Stream, punctuated, shifted, take, ticks
from speculation import Ordered

BATCH = 100_000
SHARES = (0.0, 0.01, 0.05, 0.10, 0.20)


class Numbered(NamedTuple):
    """A quote with its number."""

    price: float
    change: float
    seq: int


class Fed:
    """An operator, which ``make`` makes, that takes batches; and what it holds at most behind one, with ``weigh``."""

    def __init__(self, make: Callable[[], Any], weigh: bool = False) -> None:
        self.op = make()
        self.weigh = weigh
        self.most = 0

    def push_many(self, batch: Stream, net: bool = True) -> Any:
        """Take a batch; its net output as columns."""
        out = self.op.push_many(batch)
        if self.weigh:
            self.most = max(self.most, self.op.statistics.state_size)
        return out


def measure(o: Options) -> list[Row]:
    q = q2()
    automaton = Automaton(start=q.start, final=q.final, register=q.register, event=Numbered, arcs=q.arcs)
    ways: dict[str, Callable[[], Any]] = {
        "AFA": lambda: Fed(partial(plain, automaton, o)),
        "AFA+O": lambda: Fed(partial(ordered, automaton, o)),
        "buffer and sort": lambda: BufferAndSort(partial(plain, automaton, o)),
    }
    stream = ticks(o.size(1_000_000), 0.7)
    stream["seq"] = stream["le"]
    shares = o.some(SHARES)
    fed = {share: batched(punctuated(shifted(stream, share), WINDOW), min(BATCH, o.size(BATCH))) for share in shares}
    columns = interleaved(
        {f"{way} {share}": partial(run, make, batches) for share, batches in fed.items() for way, make in ways.items()}, o.rounds
    )
    rows: list[Row] = []
    for share, batches in fed.items():
        rows += [
            {
                "disorder": f"{share:.0%}",
                "way": way,
                "M events/s": rates(columns[f"{way} {share}"]),
                "relative to in order": ratio(columns[f"{way} {share}"], columns[f"{way} {shares[0]}"]),
                "held": held(way, automaton, o, batches),
            }
            for way in ways
        ]
    return rows


def plain(automaton: Automaton, o: Options) -> Operator:
    """The operator; numbers order what has one LE, which nothing has."""
    return Operator(automaton, window=WINDOW, engine=o.engine)  # type: ignore[arg-type]


def ordered(automaton: Automaton, o: Options) -> Ordered:
    """AFA+O."""
    return Ordered(automaton, number="seq", window=WINDOW, engine=o.engine)  # type: ignore[arg-type]


def held(way: str, automaton: Automaton, o: Options, batches: Batches) -> int:
    """The most that is held behind a batch of 1000 events."""
    whole = {name: np.concatenate([batch[name] for batch in batches.batches]) for name in batches.batches[0]}
    small = batched(take(whole, slice(0, o.size(100_000))), 1000)
    if way == "buffer and sort":
        buffer = BufferAndSort(partial(plain, automaton, o))
        for batch in small.batches:
            buffer.push_many(batch)
        return buffer.most
    op = Fed(partial(plain if way == "AFA" else ordered, automaton, o), weigh=True)
    for batch in small.batches:
        op.push_many(batch)
    return op.most
