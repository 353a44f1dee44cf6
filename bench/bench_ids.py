"""What do ids cost: `Ids` alone over tables of messages, and ``id=`` in front of a query of three steps over rows in order?

Alone: new ids, ints and texts; each twice; versions of a quarter as many ids. In front: beside the operator without ``id=``; with a
promise behind each batch, so that ids are forgotten.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa import Arc, Automaton, Keyed
from bench.drive import batched, run
from bench.measure import Options, Row, interleaved, rates, ratio
from bench.workloads import punctuated
from speculation import Ids

BATCH, WINDOW, CARDS = 100_000, 1000, 1000


class Payment(NamedTuple):
    """A payment of a card."""

    id: int
    card: int
    amount: float


ARCS = [Arc("0", "1", "amount < 10"), Arc("1", "2", "amount > 90"), Arc("2", "3", "amount < 10")]
RULE = Automaton(start="0", final={"3"}, event=Payment, arcs=ARCS)


def payments(n: int) -> dict[str, Any]:
    """Payments in order, each of an id of its own."""
    rng = np.random.default_rng(7)
    return {"id": np.arange(n) * 3, "card": rng.integers(0, CARDS, n), "amount": rng.random(n) * 100, "le": np.arange(n)}


def operator(**options: Any) -> Any:
    return Keyed(RULE, key="card", window=WINDOW, **options)


def alone(tables: list[Any], **options: Any) -> Any:
    """Rates of an `Ids` alone, in M messages/s, and the bytes an id takes; the first quarter is not timed."""
    ids, first = Ids("id", **options), len(tables) // 4
    for table in tables[:first]:
        ids.push_many(table)
    begin = time.thread_time()
    for table in tables[first:]:
        ids.push_many(table)
    seconds = time.thread_time() - begin
    return sum(map(len, tables[first:])) / seconds / 1e6, ids.statistics.id_bytes / max(ids.statistics.ids, 1)


def measure(o: Options) -> list[Row]:
    n = o.size(2_000_000, least=4000)
    columns = payments(n)
    fed = batched(punctuated(columns, BATCH), BATCH + 1, arrow=True)
    options: dict[str, Any] = {"plain": {}, "id": {"id": "id"}}
    runs = {name: partial(run, partial(operator, engine=o.engine, **more), fed) for name, more in options.items()}
    found = interleaved(runs, o.rounds)
    rows: list[Row] = [
        {
            "what": "three steps, by card",
            "matches": found["plain"][0].final,
            "M events/s": rates(found["plain"]),
            "id=, M events/s": rates(found["id"]),
            "id=, relative": ratio(found["id"], found["plain"]),
        }
    ]
    rng = np.random.default_rng(1)
    kinds: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "new ints": ({}, {}),
        "new texts": ({"id": [f"payment {i}" for i in range(n)]}, {}),
        "each twice": ({name: np.repeat(column[: n // 2], 2) for name, column in columns.items()}, {}),
        "versions": (
            {"id": rng.integers(0, max(n // 4, 1), n), "lsn": np.arange(n)},
            {"on_repeat": "update", "version": "lsn"},
        ),
    }
    for name, (more, said) in kinds.items():
        table = pa.table({**columns, **more})
        parts = [table.slice(low, BATCH) for low in range(0, n, BATCH)]
        measured = [alone(parts, **said) for _ in range(o.rounds)]
        rows.append({"what": f"alone, {name}", "M messages/s": max(rate for rate, _ in measured), "bytes an id": measured[0][1]})
    return rows
