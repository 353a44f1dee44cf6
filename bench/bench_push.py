"""How long does `push` of one event take? Wall time of single calls, in order, and with 10 % shifted by 1..1000 places; W = 500.

Then behind partial matches that wait, `SEQ(A, B)` by skip till any match: of an event that is neither, of one more A, and of a
table of ten events that are neither. It should not depend on how many wait.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from afa import Operator, Punctuation, insert
from bench.bench_waiting import A, Signal, query
from bench.cases import ALL, Case
from bench.measure import WINDOW, Options, Row
from bench.queries import Tick
from bench.workloads import PROMISE, punctuated, shifted, ticks

PERCENTILES = (50, 90, 99, 99.9, 100)
WAITING = (50, 500, 5_000, 50_000)
NEITHER = 0


def measure(o: Options) -> list[Row]:
    return [*(row(o, case, share) for case in o.some(ALL) for share in (0.0, 0.10)), *map(partial(behind, o), o.some(WAITING))]


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


def behind(o: Options, n: int) -> Row:
    """Calls behind ``n`` partial matches that wait, each of a kind after the others, behind some that do not count."""
    op: Any = query(1_000_000, 2).operator(engine=o.engine)
    op.push_many({"what": np.full(n, A), "number": np.arange(n), "le": np.arange(n)})
    clock, calls = n, o.size(1_000)

    def pushed(what: int) -> Callable[[], Any]:
        nonlocal clock
        clock += 1
        return partial(op.push, insert(Signal(what, clock), clock))

    def table() -> Callable[[], Any]:
        nonlocal clock
        clock += 10
        return partial(op.push_many, {name: np.arange(clock, clock + 10) * (name != "what") for name in ("what", "number", "le")})

    found: Row = {"waiting": n}
    kinds = {"concerns none": partial(pushed, NEITHER), "one more": partial(pushed, A), "ten in a table": table}
    for name, make in kinds.items():
        times = []
        for _ in range(calls):
            call = make()
            begin = time.perf_counter_ns()
            call()
            times.append((time.perf_counter_ns() - begin) / 1e3)
        found[f"{name}, median, microseconds"] = float(np.median(times[calls // 10 :]))
    assert op.statistics.partial_matches >= n
    return found
