"""How many jumps there would have been at each of a hundred thresholds, in one call, beside plain Python."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute

import afa
from afa.language import one


class Trade(NamedTuple):
    symbol: str
    cents: int


def jump(least: int) -> afa.Query:
    """Return a query for a trade that is so much above the one before it, within a minute."""
    higher = one("b", lambda e, m: e.cents >= m.a.cents + least)
    return afa.query(one("a").next(higher).by("symbol").within(60).returns(cents=lambda m: m.b.cents), event=Trade)


def test_a_hundred_thresholds() -> None:
    rng = random.Random(5)
    at = rng.sample(range(20_000), 4000)  # rows stand in any order
    rows = [(rng.choice("ABC"), rng.randrange(150), le) for le in at]
    frame = pa.table({name: list(column) for name, column in zip(("symbol", "cents", "le"), zip(*rows))})
    thresholds = range(1, 101)
    found = afa.backtest({least: jump(least) for least in thresholds}, frame)

    rises = []
    for symbol in "ABC":
        mine = sorted((le, cents) for s, cents, le in rows if s == symbol)
        rises += [(b - a, symbol, b, then) for (now, a), (then, b) in pairwise(mine) if then < now + 60]
    assert found.table["variant"].to_pylist() == list(thresholds)
    assert found.table["matches"].to_pylist() == [sum(rise >= least for rise, *_ in rises) for least in thresholds]
    assert all(count > 0 for count in found.table["withdrawn"].to_pylist()[:50])
    of_forty = found.matches.filter(pa.compute.equal(found.matches["variant"], 40)).select(["symbol", "cents", "le"])
    expected = [(symbol, cents, then) for rise, symbol, cents, then in rises if rise >= 40]
    assert sorted(zip(*(column.to_pylist() for column in of_forty.columns))) == sorted(expected)
