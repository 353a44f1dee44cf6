"""How many events a second does each query take, and how many times the interpreted engine is that? In order, W = 500.

The interpreted engine gets the first events of the stream only; on those the two answers are compared.
"""

from __future__ import annotations

from functools import partial

from bench.cases import ALL, HEAVY
from bench.drive import batched, operator, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio
from bench.workloads import punctuated, take, ticks

BATCH = 100_000


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    for case in ALL:
        stream = ticks(o.size(400_000 if case is HEAVY else 1_000_000), case.p)
        few = take(stream, slice(0, 1000 if o.scale == "tiny" else 5_000 if case is HEAVY else 20_000))

        def go(engine: str, stream=stream, case=case):  # type: ignore[no-untyped-def]
            fed = batched(punctuated(stream, WINDOW), BATCH)
            return partial(run, operator(case.automaton, WINDOW, engine), fed)

        interleaved({engine: go(engine, few) for engine in (o.engine, "interpreted")}, rounds=1)  # one answer
        columns = interleaved({"ours": go(o.engine), "interpreted": go("interpreted", few)}, min(o.rounds, 3), agree=False)
        ours, base = columns["ours"], columns["interpreted"]
        rows.append(
            {
                "query": case.name,
                "events": ours[0].events,
                "matches": ours[0].final,
                "M events/s": rates(ours),
                "interpreted, M events/s": rates(base),
                "times interpreted": ratio(ours, base),
            }
        )
    return rows
