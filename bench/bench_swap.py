"""What does swapping an arc cost? Q3, W = 500: every d events a random arc goes, and the one for the opposite tick comes.

Swaps travel inside the batch, or by two calls of `push_arc`, or each makes a new operator that is fed the active events again.
Beside it, in processes of their own: the CPU time of one new arc, until the events after it have been served.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from afa import insert, retract
from bench import fresh
from bench.baselines import restart
from bench.drive import Outcome, batched, operator, run, settled
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio, spread
from bench.queries import q3
from bench.swaps import Swaps, expected, swapped
from bench.workloads import ARC, Stream, punctuated, take, ticks

INTERVALS = (10, 30, 100, 300, 1_000, 10_000)
BATCH = 100_000


def measure(o: Options) -> list[Row]:
    stream = ticks(o.size(1_000_000, least=2000))
    static = partial(run, operator(q3(), WINDOW, o.engine), batched(punctuated(stream, WINDOW), BATCH))
    rows = [interval(o, stream, d, static) for d in (o.some(INTERVALS) if o.scale != "tiny" else (100, 300))]
    return rows + new_arcs(o)


def interval(o: Options, stream: Stream, d: int, static: partial[Outcome]) -> Row:
    """One interval between swaps, all four ways in one run."""
    swaps = swapped(stream, d)
    few = take(stream, slice(0, max(4000, 2 * d)))  # what is slow gets a prefix
    some = swapped(few, d)
    make = operator(swaps.automaton, WINDOW, o.engine)
    batches = batched(punctuated(swaps.stream, WINDOW), BATCH, arcs=swaps.arcs)
    columns = interleaved(
        {
            "static": static,
            "inside": partial(run, make, batches),
            "calls": partial(one_by_one, some, o.engine),
            "restart": partial(restart.run, few, some, WINDOW, o.engine),
        },
        o.rounds,
        agree=False,
    )
    wanted = {
        "inside": expected(stream, swaps.at, swaps.signs),
        "calls": expected(few, some.at, some.signs),
        "restart": expected(few, some.at, some.signs, replay=True),
    }
    for way, number in wanted.items():
        assert columns[way][0].final == number, f"expected {number} matches but got {columns[way][0].final} ({way}, d={d})"
    base = columns["static"]
    return {
        "d": d,
        "M events/s": rates(columns["inside"]),
        "relative to static": ratio(columns["inside"], base),
        "one call per arc, relative": ratio(columns["calls"], base),
        "restart, relative": ratio(columns["restart"], base),
        "times restart": ratio(columns["inside"], columns["restart"]),
    }


def one_by_one(swaps: Swaps, engine: str) -> Outcome:
    """Arcs by calls of their own, events in a batch between them."""
    op = operator(swaps.automaton, WINDOW, engine)()
    kind = swaps.stream["kind"]
    events = {name: column for name, column in swaps.stream.items() if name in ("price", "change", "le")}
    rows = np.flatnonzero(kind == ARC).tolist()
    outputs = []
    begin = time.thread_time()
    start = 0
    for row in [*rows, len(kind)]:
        if row > start:
            outputs.append(op.push_many(take(events, slice(start, row))))
        if row < len(kind):
            arc = swaps.arcs[swaps.stream["arc"][row]]
            op.push_arc(insert(arc) if swaps.stream["diff"][row] > 0 else retract(arc))
        start = row + 1
    seconds = time.thread_time() - begin
    final, answer, records = settled(outputs)
    return Outcome(final, answer, records, seconds, int((kind == 0).sum()))


def new_arcs(o: Options) -> list[Row]:
    """CPU time until a new arc serves, in new processes: with an empty cache on disk, and with the one that the first has left."""
    with tempfile.TemporaryDirectory() as folder:
        cache = None if o.scale == "tiny" else Path(folder)  # no waiting for the kernel to compile
        runs = [fresh.start(["arcs", o.engine, folder], cache) for _ in ("cold", "warm")]
    return [
        {"new arc": kind, "cache": cache, "CPU ms": spread(times)}
        for cache, measured in zip(("cold", "warm"), runs)
        for kind, times in measured.items()
    ]
