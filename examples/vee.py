"""The V shape: prices that fall, then rise, and which of the overlapping ones are shown.

Text and Python show every match: each start, each end. SQL says which: after a match the search goes on behind its last row.

It prints:

    all: 5-7 at 2, 5-8 at 3, 4-5 at 6, 4-5 at 6
    SKIP PAST LAST ROW: 5-8 at 3, 4-5 at 6
"""

from __future__ import annotations

from typing import Any, NamedTuple

import afa
from afa import insert
from afa.language import many, one


class Stock(NamedTuple):
    symbol: str
    price: int


class Vee(NamedTuple):
    low: int
    top: int


TEXT = """
    PATTERN SEQ(Stock a, Stock+ d[], Stock+ u[])
    WHERE partition_contiguity(a, d[], u[]) {
        [symbol] and d[1].price < a.price and d[i].price < d[i-1].price
        and u[1].price > d[d.LEN].price and u[i].price > u[i-1].price
    }
    WITHIN 1 hour
    RETURN Vee(d[d.LEN].price AS low, u[u.LEN].price AS top)
"""
PYTHON = (
    one("a")
    .next(many("d", where=lambda e, m: e.price < m.prev.price))
    .next(many("u", where=lambda e, m: e.price > m.prev.price))
    .by("symbol")
    .within(hours=1)
    .returns(lambda m: Vee(m.d.last.price, m.u.last.price))
)
SQL = """
    SELECT * FROM ticks MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY at
        MEASURES LAST(d.price) AS low, LAST(u.price) AS top
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (a d+ u+) WITHIN INTERVAL '1' HOUR
        DEFINE d AS price < PREV(price), u AS price > PREV(price)
    )
"""
PRICES = [9, 5, 7, 8, 6, 4, 5]


def told(out: Any) -> str:
    found = sorted(out, key=lambda change: (change.re, change.le))
    return ", ".join(f"{change.payload.low}-{change.payload.top} at {change.le}" for change in found)


def main() -> None:
    query = afa.query(TEXT, event=Stock, tick="s")
    assert PYTHON.query(Stock, tick="s") == query
    rows: Any = [insert(Stock("A", price), le) for le, price in enumerate(PRICES)]
    print("all:", told(query.operator().push_many(rows)))
    print("SKIP PAST LAST ROW:", told(afa.sql(SQL, event=Stock, tick="s").operator().push_many(rows)))


if __name__ == "__main__":
    main()
