"""What does it cost to choose? An automaton with `Choose` behind it beside the same automaton, whose matches all leave.

The V shape, one match a row: prices of two symbols fall, then rise. The climb, many matches a row: prices that stay above the first
one, of all lengths, within 60 ticks. In order and with a tenth of the rows 1 to 1000 places late. "Choosing" is the thread CPU time
of the operator with `Choose` less that of the operator alone, for each match that comes to the stage.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import afa
from afa.language.query import Query
from bench.drive import Outcome, batched, run
from bench.measure import Options, Row, interleaved, rates, ratio, spread
from bench.workloads import Stream, punctuated, shifted
from speculation import Choose

SYMBOLS, UP, BATCH, WINDOW, SHORT = 2, 0.6, 1000, 1000, 60
SKIPS = ("past last row", "to next row")


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


def v_shape() -> Query:
    """Falling, then rising."""
    return all_of(
        f"MEASURES s.price AS first, LAST(d.price) AS low, LAST(u.price) AS top PATTERN (s d+ u+) WITHIN {WINDOW} "
        f"DEFINE d AS price < PREV(price), u AS price > PREV(price)"
    )


def climb() -> Query:
    """Above the first price, for any time."""
    return all_of(f"MEASURES s.price AS first, LAST(u.price) AS top PATTERN (s u+) WITHIN {SHORT} DEFINE u AS price > s.price")


def all_of(clauses: str) -> Query:
    """All matches of rows that follow each other."""
    chosen = afa.sql(f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at {clauses})", event=Stock)
    return Query(replace(chosen.tree, skip=None))


QUERIES = {"V": (v_shape, 200_000), "climb": (climb, 50_000)}


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    for name, (query_of, size) in QUERIES.items():
        for late in (0.0, 0.1):
            fed = batched(trades(o.size(size, least=1500), late), BATCH)
            for skip in o.some(list(SKIPS)):
                makes = {
                    "chosen": partial(choosing, query_of(), skip, o.engine),
                    "all": partial(query_of().operator, engine=o.engine),
                }
                columns = interleaved({way: partial(run, make, fed) for way, make in makes.items()}, o.rounds, agree=False)
                rows.append(
                    {"query": name, "late, %": round(100 * late), "skip": skip, **beside(columns["chosen"], columns["all"])}
                )
    return rows


def choosing(query: Query, skip: str, engine: Any) -> Any:
    """The operator of a query with the stage behind it."""
    return Choose(skip, window=query.window).after(query.operator(engine=engine))


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
