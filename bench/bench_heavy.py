"""How does a heavy automaton stand disorder? Q2 with p = .5: tens of partial matches are alive, a late event concerns hundreds."""

from __future__ import annotations

from functools import partial

from bench.baselines.ordered import BufferAndSort
from bench.cases import HEAVY
from bench.drive import batched, operator, run
from bench.measure import WINDOW, Options, Row, interleaved, rates
from bench.workloads import punctuated, shifted, ticks

BATCHES = (1_000, 10_000, 100_000)
SHARES = (0.0, 0.05, 0.10, 0.20)


def measure(o: Options) -> list[Row]:
    make = operator(HEAVY.automaton, WINDOW, o.engine)
    rows: list[Row] = []
    for size in o.some(BATCHES):
        for share in o.some(SHARES):
            stream = punctuated(shifted(ticks(o.size(400_000, least=500), HEAVY.p), share), WINDOW)
            columns = interleaved(
                {
                    "ours": partial(run, make, batched(stream, size)),
                    "sorted": partial(run, lambda: BufferAndSort(make), batched(stream, size)),
                },
                o.rounds,
            )
            rows.append(
                {
                    "batch": size,
                    "disorder": f"{share:.0%}",
                    "M events/s": rates(columns["ours"]),
                    "buffered and sorted, M events/s": rates(columns["sorted"]),
                    "matches": columns["ours"][0].final,
                }
            )
    return rows
