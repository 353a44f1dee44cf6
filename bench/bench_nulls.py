"""What do fields that may be None cost? The queries of `bench_language.py` over events whose price and volume must be there, may be
None but never are, and are None in a twentieth of the rows (which none of the queries would take).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bench.bench_language import STRATEGIES, TAKES, Stock, by_text, trades
from bench.drive import Batches, batched, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio
from bench.workloads import punctuated

SYMBOLS, BATCH, LARGE = 2, 100_000, 950
"""Volumes above LARGE are None; below 150 a trade ends a match."""


class Loose(NamedTuple):
    """A trade of which price and volume may be None."""

    symbol: int
    price: int | None
    volume: int | None


def with_nulls(fed: Batches) -> Batches:
    """The same without the large volumes."""
    return fed._replace(batches=[_without(table) for table in fed.batches])


def _without(table: Any) -> Any:
    volume = np.asarray(table["volume"])
    return table.set_column(table.column_names.index("volume"), "volume", pa.array(volume, mask=volume > LARGE))


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    window = WINDOW * SYMBOLS
    fed = batched(punctuated(trades(o.size(2_000_000, least=4000)), BATCH), BATCH, arrow=True)
    gaps = with_nulls(fed)
    for p, strategy in o.some([(p, strategy) for p in TAKES for strategy in STRATEGIES]):
        engine: Any = o.engine
        runs = {
            name: partial(run, partial(by_text(p, strategy, window, event).operator, engine=engine), stream)
            for name, event, stream in (("there", Stock, fed), ("never", Loose, fed), ("some", Loose, gaps))
        }
        columns = interleaved(runs, o.rounds)
        rows.append(
            {
                "query": f"{p}, {strategy}",
                "matches": columns["there"][0].final,
                "M events/s": rates(columns["there"]),
                "may be None, M events/s": rates(columns["never"]),
                "may be None, relative": ratio(columns["never"], columns["there"]),
                "5 % None, M events/s": rates(columns["some"]),
                "5 % None, relative": ratio(columns["some"], columns["there"]),
            }
        )
    return rows
