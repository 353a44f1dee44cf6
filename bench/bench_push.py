"""How long does `push` of one event take? Wall time of single calls, in order, and with 10 % shifted by 1..1000 places; W = 500."""

from __future__ import annotations

import gc
import time

import numpy as np

from afa import Operator, Punctuation, insert
from bench.cases import ALL, Case
from bench.measure import WINDOW, Options, Row
from bench.queries import Tick
from bench.workloads import PROMISE, punctuated, shifted, ticks

PERCENTILES = (50, 90, 99, 99.9, 100)


def measure(o: Options) -> list[Row]:
    return [row(o, case, share) for case in o.some(ALL) for share in (0.0, 0.10)]


def row(o: Options, case: Case, share: float) -> Row:
    """One query; the first tenth of the calls does not count."""
    stream = punctuated(shifted(ticks(o.size(20_000), case.p), share), WINDOW)
    columns = (stream[name].tolist() for name in ("kind", "price", "change", "le"))
    items = [Punctuation(le) if kind == PROMISE else insert(Tick(price, change), le) for kind, price, change, le in zip(*columns)]
    op = Operator(case.automaton, window=WINDOW, engine=o.engine)  # type: ignore[arg-type]
    times = np.zeros(len(items))
    gc.collect()
    gc.disable()  # a collection is no part of the call that it happens to fall into
    try:
        for number, item in enumerate(items):
            begin = time.perf_counter_ns()
            op.push(item)
            times[number] = time.perf_counter_ns() - begin
    finally:
        gc.enable()
    assert op.statistics.outputs > 0, "a benchmark without output measures nothing"
    events = times[len(times) // 10 :][stream["kind"][len(times) // 10 :] != PROMISE] / 1e3
    of_events = {f"p{p:g}, microseconds": float(np.percentile(events, p)) for p in PERCENTILES}
    promises = times[stream["kind"] == PROMISE] / 1e3
    return {
        "query": case.name,
        "disorder": f"{share:.0%}",
        **of_events,
        "punctuation, median, microseconds": float(np.median(promises)),
    }
