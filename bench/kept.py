"""What `lineage=True` costs where nothing is asked: the rate of a query with it over its rate without, in one run.

Batches of rows with a promise for each window, W = 500; without keys, and with 1,000 (a window of 500 rows of each). Without, a
promise in the midst of a batch drops state at once. With it what a call announces keeps its lineage until the next one, so that the
state of a whole batch is held: of 20,000 rows within the cache, of 100,000 beyond it. The first half of the batches is not timed:
state grows there, and memory that was never used costs more than all else. The answers are the same. Beside it what is held
more, in events, after the last batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from afa import Keyed, Operator
from bench.cases import LIGHT, Case
from bench.drive import Batches, batched, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio
from bench.workloads import punctuated, shifted, ticks

BATCH, SMALL = 100_000, 20_000
KEYS = 1000


def kept_rows(o: Options) -> list[Row]:
    """Every query in order; the first one late as well, and by keys."""
    found = [_row(o, case, "in order", 0.0, 0, batch) for case in o.some(LIGHT) for batch in (SMALL, BATCH)]
    return [*found, _row(o, LIGHT[0], "5 % late", 0.05, 0, BATCH), _row(o, LIGHT[0], f"{KEYS:,} keys", 0.0, KEYS, BATCH)]


def _row(o: Options, case: Case, name: str, late: float, keys: int, batch: int) -> Row:
    stream = ticks(o.size(3_000_000 if keys else 2_000_000), case.p)
    window = WINDOW * max(keys, 1)
    if keys:
        stream = {**stream, "of": np.random.default_rng(1).integers(0, keys, len(stream["le"]))}
    fed = batched(punctuated(shifted(stream, late), window), batch)
    makes = {on: _maker(o, case, window, keys, on) for on in (False, True)}
    columns = interleaved({str(on): partial(run, make, fed, grows=2) for on, make in makes.items()}, o.rounds)
    held = {on: _held(make, fed) for on, make in makes.items()}
    return {
        "query, lineage=True": case.name,
        "rows": name,
        "a batch": batch,
        "M events/s": rates(columns["True"]),
        "relative to without": ratio(columns["True"], columns["False"]),
        "events held": held[True],
        "without": held[False],
    }


def _maker(o: Options, case: Case, window: int, keys: int, on: bool) -> Callable[[], Any]:
    options: dict[str, Any] = {"window": window, "engine": o.engine, "lineage": on}
    if keys:
        return lambda: Keyed(case.automaton, key="of", **options)
    return lambda: Operator(case.automaton, **options)


def _held(make: Callable[[], Any], fed: Batches) -> int:
    op = make()
    for batch in fed.batches:
        op.push_many(batch, **fed.arguments)
    return int(op.statistics.events)
