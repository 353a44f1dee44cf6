"""Operator restart ([AFA10] Sec. 6): at every swap a new operator takes the place of the old one and is fed the active events.

Matches that end in what is replayed were given before, and are left out. So the new arcs serve the events of the last window too,
where an arc that is swapped in a running operator serves later ones only: `bench.swaps.expected` counts both.
"""

from __future__ import annotations

import time
from typing import Any

from afa import Operator
from bench.drive import Outcome, settled
from bench.queries import q3
from bench.swaps import Swaps
from bench.workloads import Stream, take


def run(stream: Stream, swaps: Swaps, window: int, engine: str) -> Outcome:
    """Feed an ordered stream, with a restart at every swap."""
    n = len(stream["le"])
    starts = [0, *swaps.at.tolist()]
    ends = [*starts[1:], n]
    automata = [q3(signs) for signs in swaps.signs.tolist()]
    outputs: list[Any] = []
    seconds = 0.0
    for automaton, start, end in zip(automata, starts, ends):
        begin = time.thread_time()
        op = Operator(automaton, window=window, engine=engine)  # type: ignore[arg-type]
        if start:
            op.push_many(take(stream, slice(max(0, start - window + 1), start)))
        out = op.push_many(take(stream, slice(start, end)))
        seconds += time.thread_time() - begin
        outputs.append(out)
    final, answer, records = settled(outputs)
    return Outcome(final, answer, records, seconds, n)
