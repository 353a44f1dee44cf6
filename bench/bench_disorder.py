"""What does disorder cost? Events shifted by 1..1000 places, W = 500; the rate is relative to the same events in order.

Beside it: holding the events back until a punctuation lets them be sorted. Records are counted as if events came one by one.
"""

from __future__ import annotations

from functools import partial

from bench.baselines.ordered import BufferAndSort
from bench.cases import LIGHT
from bench.data import BINANCE, binance, in_order, missing
from bench.drive import batched, operator, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio
from bench.queries import q1
from bench.workloads import Stream, punctuated, shifted, take, ticks

BATCH = 100_000
SHARES = (0.0, 0.01, 0.05, 0.10, 0.20)


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    for case in LIGHT:
        stream = ticks(o.size(1_000_000), case.p)
        arrivals = {f"{share:.0%}": shifted(stream, share) for share in o.some(SHARES)}
        rows += compare(o, case.name, case.automaton, arrivals, WINDOW)
    if missing(BINANCE):
        return [*rows, {"query": "Q1 k=1, Binance BTC", "skipped": missing(BINANCE)}]
    trades = take(binance(repeat=10), slice(0, o.size(300_000)))
    arrivals = {"0%": in_order(trades), "as it arrived": trades}
    return rows + compare(o, "Q1 k=1, Binance BTC", q1(1, 0.0, "ignorable"), arrivals, window=60_000 * 1024)


def compare(o: Options, query: str, automaton: object, arrivals: dict[str, Stream], window: int) -> list[Row]:
    """One query over the same events in several orders of arrival; the first of them is in order."""
    make = operator(automaton, window, o.engine)
    punctuated_ = {name: punctuated(stream, WINDOW) for name, stream in arrivals.items()}
    fed = {name: batched(stream, BATCH) for name, stream in punctuated_.items()}
    columns = interleaved(
        {name: partial(run, make, batches) for name, batches in fed.items()}
        | {f"{name}, sorted": partial(run, lambda: BufferAndSort(make), batches) for name, batches in fed.items()},
        o.rounds,
    )
    base = columns["0%"]
    rows: list[Row] = []
    for name, stream in punctuated_.items():
        ours, ordered = columns[name], columns[f"{name}, sorted"]
        few = run(make, batched(take(stream, slice(0, o.size(100_000))), BATCH), net=False)
        rows.append(
            {
                "query": query,
                "disorder": name,
                "M events/s": rates(ours),
                "relative to in order": ratio(ours, base),
                "buffered and sorted, relative": ratio(ordered, base),
                "records per final match": few.records / few.final,
            }
        )
    return rows
