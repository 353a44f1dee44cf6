"""What does it save to keep triggering sets in the place of payloads ([AFA10] App. F.1)? Events of 12 fields, four of them texts.

A rise above a level, then falls that are counted, within W = 500 ticks; tables of 100,000 rows in order, a promise every 500 ticks
up to 5,000 ticks behind. The answers are compared. Bytes are those of a snapshot, for each event held.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from afa import Arc, Automaton, Operator
from bench.drive import Batches, batched, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio
from bench.workloads import PROMISE, inserted

BATCH, BEHIND = 100_000, 5_000
NUMBERS, TEXTS = 8, 4
NOTES = np.array([f"a note of some length, number {i}" for i in range(1000)], dtype=object)


class Falls(NamedTuple):
    """How many there were."""

    n: int = 0


Wide: Any = NamedTuple(  # type: ignore[misc]
    "Wide", [*((f"x{i}", float) for i in range(NUMBERS)), *((f"note{i}", str) for i in range(TEXTS))]
)


def pattern() -> Automaton:
    """Up, then down until it is up again."""
    fall = Arc("up", "up", "x0 < 0 and r.n < 3", "(r.n + 1,)", name="fall")
    return Automaton(
        start="calm",
        final={"down"},
        register=Falls(),
        event=Wide,
        arcs=[Arc("calm", "up", "x0 > 1.5", name="rise"), fall, Arc("up", "down", "x0 < -1 and x1 > 0 and r.n > 1", name="end")],
    )


def fed(o: Options) -> Batches:
    """The stream in batches."""
    n = o.size(500_000)
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {f"x{i}": rng.standard_normal(n) for i in range(NUMBERS)}
    columns |= {f"note{i}": rng.integers(0, len(NOTES), n) for i in range(TEXTS)}
    at = np.arange(WINDOW, n, WINDOW)
    stream = inserted(columns | {"le": np.arange(n)}, at, kind=PROMISE, le=np.maximum(at - BEHIND, 0))
    return batched(
        {name: NOTES[column] if name.startswith("note") else column for name, column in stream.items()}, BATCH, arrow=True
    )


class Way:
    """An operator of one kind after the other; the last one stays."""

    def __init__(self, o: Options, keep: bool) -> None:
        self.options, self.keep = o, keep

    def make(self) -> Operator:
        """The next one."""
        self.op = Operator(pattern(), window=WINDOW, engine=self.options.engine, retractions=False, keep_payloads=self.keep)
        return self.op


def measure(o: Options) -> list[Row]:
    batches = fed(o)
    ways = {"payloads": Way(o, True), "triggering sets": Way(o, False)}
    columns = interleaved({name: partial(run, way.make, batches) for name, way in ways.items()}, o.rounds)
    return [
        {
            "kept": name,
            "bytes, each event held": len(way.op.snapshot()) / way.op.statistics.events,
            "M events/s": rates(columns[name]),
            "rate, of payloads": ratio(columns[name], columns["payloads"]),
        }
        for name, way in ways.items()
    ]
