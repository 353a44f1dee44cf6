"""What do ignorable runs save ([AFA10] App. D, Figures 16, 17)? Q1, k = 1, drop 0, W = 500, over quotes that do not move.

The same automaton twice: with ignorable arcs, and with self-loops whose transfer returns the register; in order and 5 % shifted.
"Runs everywhere": the same automaton, whose rows never go through the loop for whole lists where that is faster (`runs_fit` of
`afa.compiled.kernel.propagate_runs`).
Memory is the most words of partial matches held, looked at every 50 events. Records are counted as if events came one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

from afa.compiled import choices
from bench.drive import batched, operator, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio, sampled
from bench.queries import q1
from bench.workloads import punctuated, shifted, take, ticks

SHARES = (0.0, 0.20, 0.50, 0.70, 0.80, 0.90, 0.95, 0.99)
BATCH = 100_000
NEVER = 1 << 40
"""Steps after which it is looked at which loop is faster."""


def measure(o: Options) -> list[Row]:
    makes = {skip: operator(q1(1, 0.0, skip), WINDOW, o.engine) for skip in ("ignorable", "plain")}
    if o.engine == "compiled":
        makes["runs"] = partial(with_runs, makes["ignorable"])
    rows: list[Row] = []
    for share in SHARES if o.scale != "tiny" else (0.0, 0.9):
        for disorder in (0.0, 0.05):
            stream = punctuated(shifted(ticks(o.size(1_000_000, least=1500), ignorable=share), disorder), WINDOW)
            fed = batched(stream, BATCH)
            columns = interleaved({skip: partial(run, make, fed) for skip, make in makes.items()}, o.rounds)
            few = take(stream, slice(0, o.size(100_000, least=1500)))
            close = batched(take(stream, slice(0, o.size(20_000))), 50)
            held = {skip: sampled(make, close)[0] for skip, make in makes.items()}
            records = {skip: run(make, batched(few, BATCH), net=False) for skip, make in makes.items()}
            ours, plain = columns["ignorable"], columns["plain"]
            runs = {"runs everywhere, rate, relative to chosen": ratio(columns["runs"], ours)} if "runs" in columns else {}
            rows.append(
                {
                    "ignorable": f"{share:.0%}",
                    "disorder": f"{disorder:.0%}",
                    "M events/s": rates(ours),
                    "plain, M events/s": rates(plain),
                    "rate, relative to plain": ratio(ours, plain),
                    **runs,
                    "memory, relative to plain": held["ignorable"] / held["plain"],
                    "records per final match": records["ignorable"].records / records["ignorable"].final,
                    "plain, records per final match": records["plain"].records / records["plain"].final,
                }
            )
    return rows


def with_runs(make: Callable[[], Any]) -> Any:
    """An operator whose rows go through the loop for runs, whether that pays or not."""
    with mock.patch.object(choices, "SAMPLE", NEVER):
        return make()
