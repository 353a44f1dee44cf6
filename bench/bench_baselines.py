"""Which way of matching is fastest ([AFA10] Figure 8)? Q1, k = 2, W = 2000, in order, no ignorable events; 100,000 of them.

AFA; AFA with ignorable arcs that nothing takes; CAN; IPM. Synthetic quotes (p = .5, drop 0.25); YHOO's opening prices (0.05).
"""

from __future__ import annotations

from functools import partial

from bench.baselines import can, ipm
from bench.data import YHOO, missing, yhoo
from bench.drive import batched, operator, run
from bench.measure import Options, Row, interleaved, rates, ratio
from bench.queries import q1
from bench.workloads import Stream, punctuated, ticks

N, WINDOW, K = 100_000, 2_000, 2
BATCH = 5 * (WINDOW + 1)  # five windows, each with its punctuation


def measure(o: Options) -> list[Row]:
    rows = compare(o, "synthetic", ticks(o.size(N)), 0.25)
    if missing(YHOO):
        return [*rows, {"data": "YHOO", "skipped": missing(YHOO)}]
    return rows + compare(o, "YHOO", yhoo(o.size(N)), 0.05)


def compare(o: Options, data: str, stream: Stream, drop: float) -> list[Row]:
    """All ways over one stream."""
    stream = punctuated(stream, WINDOW)
    automata = {"AFA": q1(K, drop), "AFA+ignore": q1(K, drop, "ignorable"), "CAN": can.q1(K, drop)}
    fed = batched(stream, BATCH)
    runs = {
        name: partial(run, operator(automaton, WINDOW, o.engine), fed, columns=can.COLUMNS) for name, automaton in automata.items()
    }
    windows = batched(stream, WINDOW + 1).batches
    runs["IPM"] = partial(ipm.run, windows, ipm.q1(K, drop), WINDOW, can.COLUMNS)
    columns = interleaved(runs, o.rounds)
    return [
        {"data": data, "way": name, "M events/s": rates(column), "relative to AFA": ratio(column, columns["AFA"])}
        for name, column in columns.items()
    ]
