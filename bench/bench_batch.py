"""From which batch size on does a call no longer matter? Q1, k = 1, in order, W = 500; columns, and Arrow tables."""

from __future__ import annotations

from functools import partial

from bench.drive import batched, operator, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio
from bench.queries import q1
from bench.workloads import punctuated, take, ticks

SIZES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
LARGE = 100_000


def measure(o: Options) -> list[Row]:
    make = operator(q1(), WINDOW, o.engine)
    stream = punctuated(ticks(o.size(1_000_000)), WINDOW)
    forms = {"columns": False, "Arrow": True}
    rows: list[Row] = []
    for size in o.some(SIZES):
        few = take(stream, slice(0, max(1000, 20_000 * size)))  # 20,000 calls are enough
        runs = {name: partial(run, make, batched(few, size, arrow=arrow)) for name, arrow in forms.items()}
        whole = partial(run, make, batched(few, LARGE))
        columns = interleaved({**runs, "large": whole}, o.rounds)
        calls = -(-len(few["le"]) // size)
        row: Row = {"batch": size}
        for name in runs:
            row[f"{name}, M events/s"] = rates(columns[name])
            row[f"{name}, microseconds a call"] = min(1e6 * outcome.seconds / calls for outcome in columns[name])
        rows.append({**row, f"relative to {LARGE:,}": ratio(columns["columns"], columns["large"])})
    return rows
