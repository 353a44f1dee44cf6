"""A repetition and an aggregate over it: prices above the mean so far, until the volume falls by a fifth.

Each event is asked in view of what its match has taken before it. Skip till next match: what does not fit is passed over. SQL takes
rows in a row only, so that there the match breaks off at the first price that does not fit.

It prints:

    Trend(start=100.0, events=4, volume=750) [5, 3600)
    contiguous, as SQL has it: nothing
"""

from __future__ import annotations

from typing import Any, NamedTuple

import afa
from afa import insert
from afa.language import many, one


class Stock(NamedTuple):
    symbol: str
    price: float
    volume: int


class Trend(NamedTuple):
    start: float
    events: int
    volume: int


TEXT = """
    PATTERN SEQ(Stock+ a[], Stock b)
    WHERE skip_till_next_match(a[], b) {
        [symbol] and a[1].volume > 1000 and a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume
    }
    WITHIN 1 hour
    RETURN Trend(a[1].price AS start, a.LEN AS events, b.volume AS volume)
"""
PYTHON = (
    many("a", first=lambda e: e.volume > 1000, where=lambda e, m: e.price > m.a.avg.price)
    .followed_by(one("b", lambda e, m: e.volume < 0.8 * m.a.last.volume))
    .by("symbol")
    .within(hours=1)
    .returns(lambda m: Trend(m.a.first.price, m.a.count, m.b.volume))
)
SQL = """
    SELECT * FROM trades MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY at
        MEASURES a0.price AS start, COUNT(s.*) AS events, b.volume AS volume
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (a0 a* b) WITHIN INTERVAL '1' HOUR
        SUBSET s = (a0, a)
        DEFINE a0 AS volume > 1000, a AS a.price > AVG(s.price), b AS b.volume < 0.8 * LAST(s.volume)
    )
"""
TRADES = [(100, 1010), (120, 990), (121, 999), (99, 985), (125, 950), (110, 750)]


def main() -> None:
    query = afa.query(TEXT, event=Stock, tick="s")
    assert PYTHON.query(Stock, tick="s") == query
    rows: Any = [insert(Stock("A", *trade), le) for le, trade in enumerate(TRADES)]
    for change in query.operator().push_many(rows):
        print(f"{change.payload} [{change.le}, {change.re})")
    found = afa.sql(SQL, event=Stock, tick="s").operator().push_many(rows)
    print("contiguous, as SQL has it:", found or "nothing")


if __name__ == "__main__":
    main()
