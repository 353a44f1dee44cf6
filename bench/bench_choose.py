"""What does it cost to choose? A query in SQL with AFTER MATCH SKIP beside the same automaton that shows all of its matches.

The V shape, one match a row: prices of two symbols fall, then rise. The climb, many matches a row: prices that stay above the first
one, of all lengths, within 60 ticks. In order and with a tenth of the rows 1 to 1000 places late. "Choosing" is the thread CPU time
of the operator with `Choose` less that of the operator alone, for each match that comes to the stage.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

import afa
from afa import Keyed
from bench.drive import Outcome, batched, run
from bench.measure import Options, Row, interleaved, rates, ratio, spread
from bench.workloads import Stream, punctuated, shifted

SYMBOLS, UP, BATCH, WINDOW, SHORT = 2, 0.6, 1000, 1000, 60
SKIPS = ("PAST LAST ROW", "TO NEXT ROW")


class Stock(NamedTuple):
    """A trade."""

    symbol: int
    price: int


def trades(n: int, late: float, seed: int = 1) -> Stream:
    """Trades of two symbols in turn; a share of them comes late."""
    rng = np.random.default_rng(seed)
    symbol = np.arange(n) % SYMBOLS
    price = np.empty(n, np.int64)
    for each in range(SYMBOLS):
        rows = symbol == each
        price[rows] = 1 + (np.cumsum(np.where(rng.random(int(rows.sum())) < UP, 1, -1)) + 499) % 1000
    return punctuated(shifted({"symbol": symbol, "price": price, "le": np.arange(n)}, late), BATCH)


def v_shape(skip: str) -> afa.Query:
    """Falling, then rising."""
    return afa.sql(
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at MEASURES s.price AS first, LAST(d.price) AS low, "
        f"LAST(u.price) AS top AFTER MATCH SKIP {skip} PATTERN (s d+ u+) WITHIN {WINDOW} "
        f"DEFINE d AS price < PREV(price), u AS price > PREV(price))",
        event=Stock,
    )


def climb(skip: str) -> afa.Query:
    """Above the first price, for any time."""
    return afa.sql(
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at MEASURES s.price AS first, LAST(u.price) AS top "
        f"AFTER MATCH SKIP {skip} PATTERN (s u+) WITHIN {SHORT} DEFINE u AS price > s.price)",
        event=Stock,
    )


QUERIES = {"V": (v_shape, 200_000), "climb": (climb, 50_000)}


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    for name, (query_of, size) in QUERIES.items():
        for late in (0.0, 0.1):
            fed = batched(trades(o.size(size, least=1500), late), BATCH)
            for skip in o.some(list(SKIPS)):
                query, engine = query_of(skip), o.engine
                all_of: Any = partial(Keyed, query.automaton, key="symbol", window=query.window, engine=engine)
                makes = {"chosen": partial(query.operator, engine=engine), "all": all_of}
                columns = interleaved({way: partial(run, make, fed) for way, make in makes.items()}, o.rounds, agree=False)
                rows.append(
                    {"query": name, "late, %": round(100 * late), "skip": skip, **beside(columns["chosen"], columns["all"])}
                )
    return rows


def beside(chosen: list[Outcome], all_: list[Outcome]) -> Row:
    """The chosen matches beside all."""
    return {
        "matches": all_[0].final,
        "chosen": chosen[0].final,
        "records": all_[0].records,
        "records of those chosen": chosen[0].records,
        "M events/s": rates(chosen),
        "all matches, M events/s": rates(all_),
        "rate, relative to all matches": ratio(chosen, all_),
        "choosing, us a record": spread([(a.seconds - b.seconds) * 1e6 / b.records for a, b in zip(chosen, all_)]),
    }
