"""A double top, a chart pattern, in SQL: up to a top, down, up to about the same top, and down below the valley between them.

Where the second top ends is known by the fall behind it. Of the runs that overlap one is shown: the search goes on behind its end.

It prints:

    tops 30 and 29, valley 24, broken at 9
    the price at 7 is revised from 29 to 33:
    - tops 30 and 29, valley 24, broken at 9
"""

from __future__ import annotations

from typing import Any, NamedTuple

import afa
from afa import insert, retract


class Tick(NamedTuple):
    symbol: str
    price: float


SQL = """
    SELECT * FROM ticks MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY at
        MEASURES LAST(up.price) AS top, LAST(down.price) AS valley, LAST(again.price) AS second
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (low up+ down+ again+ fall* broken) WITHIN INTERVAL '1' HOUR
        DEFINE
            up AS price > PREV(price),
            down AS price < PREV(price) AND price > low.price,
            again AS price > PREV(price) AND price <= LAST(up.price) * 1.02,
            fall AS price < PREV(price) AND price >= LAST(down.price),
            broken AS price < LAST(down.price) AND LAST(again.price) >= LAST(up.price) * 0.95
    )
"""
QUERY = afa.sql(SQL, event=Tick, tick="s")
PRICES = [20, 25, 30, 27, 24, 26, 28, 29, 25, 22]


def told(o: Any) -> str:
    top, valley, second = o.payload
    return f"tops {top:g} and {second:g}, valley {valley:g}, broken at {o.le}"


def main() -> None:
    op = QUERY.operator()
    for change in op.push_many([insert(Tick("A", price), le) for le, price in enumerate(PRICES)]):
        print(told(change))
    print("the price at 7 is revised from 29 to 33:")
    for change in op.push_many([retract(Tick("A", 29), 7), insert(Tick("A", 33), 7)]):
        print("+" if change.diff > 0 else "-", told(change))


if __name__ == "__main__":
    main()
