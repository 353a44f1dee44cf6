"""Stored history: what would a pattern have found, what if the limit had been lower, what do rows change that came too late?

A large order, and within ten seconds a price half a percent higher, over an afternoon of trades in Parquet. Only the rows around
large orders are read: the plan says how many. Then the same with three limits, looked for once. Then two trades that came behind
the watermark: a large order that nobody had seen, and one that is taken back. What they change is found without a full run.

It prints:

    large >= 99.99 (start -> placed): 22 rows in 11 of 13 row groups; 1,061 of 200 K rows replayed
    14 matches; over 99.9: 80, over 99.99: 14, over 99.999: 3
     diff symbol  price                      le
       -1     S1  88.31 2024-05-06 14:22:42.620
        1     S2  76.96 2024-05-06 15:56:49.100
"""

from __future__ import annotations

import tempfile
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from afa import Arc, Automaton
from afa.replay import amend, replay, sweep


class Trade(NamedTuple):
    price: float
    large: float


class Placed(NamedTuple):
    price: float = 0.0


def insider(limit: float) -> Automaton:
    """Return the pattern with a limit."""
    return Automaton(
        start="start",
        final={"up"},
        register=Placed(),
        event=Trade,
        arcs=[
            Arc("start", "placed", f"large >= {limit}", "r._replace(price=e.price)"),
            Arc("placed", "placed", "price < r.price * 1.005"),
            Arc("placed", "up", "price >= r.price * 1.005"),
        ],
    )


def trades(rows: int = 200_000) -> pa.Table:
    rng = np.random.default_rng(1)
    prices = (100 + rng.normal(0, 0.05, rows).cumsum()).round(2)
    symbols = np.array(["S1", "S2", "S3"])[rng.integers(0, 3, rows)]
    at = np.datetime64("2024-05-06T14:00", "ms") + np.arange(rows) * np.timedelta64(70, "ms")
    return pa.table({"at": at, "symbol": symbols, "price": prices, "large": rng.random(rows) * 100})


def main() -> None:
    said: dict[str, Any] = {"key": "symbol", "time": "at", "window": "10 s"}
    with tempfile.TemporaryDirectory() as folder:
        stored = trades()
        pq.write_table(stored, f"{folder}/trades.parquet", row_group_size=16_384)
        found = replay(insider(99.99), folder, **said)
        print(found.plan)
        several = sweep({f"over {limit}": insider(limit) for limit in (99.9, 99.99, 99.999)}, folder, **said).matches
        print(found.matches.num_rows, "matches;", ", ".join(f"{name}: {each.num_rows}" for name, each in several.items()))
        placed = stored.filter(pc.greater(stored["large"], 99.999))
        late = pa.concat_tables([placed.slice(0, 1), stored.slice(100_000, 1).set_column(3, "large", [[99.995]])])
        late = late.append_column("diff", [[-1, 1]])
        changes = amend(insider(99.99), folder, late, applied=False, **said)
        print(changes.select(["diff", "symbol", "price", "le"]).to_pandas().to_string(index=False))


if __name__ == "__main__":
    main()
