"""Trades of a symbol that fall three times in a row, then rise, within a minute: `afa.find` over pandas, `afa run`, pushed."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest

import afa
from tests.cli import call, write
from tests.cli import there as there  # the fixture of all tests here

pandas = pytest.importorskip("pandas")
QUERY = """
PATTERN SEQ(Trade a, Trade{3} fall[], Trade up)
WHERE partition_contiguity(a, fall[], up) {
    [symbol] and fall[1].price < a.price and fall[i].price < fall[i-1].price and up.price > fall[fall.LEN].price
}
WITHIN 1 minute
RETURN a.price AS top, fall[fall.LEN].price AS bottom, up.price AS rise
"""
BEGIN = datetime(2026, 3, 29, 0, 55, tzinfo=timezone.utc)  # clocks change in between, in Berlin


class Trade(NamedTuple):
    symbol: str
    price: float
    at: afa.Instant = 0


def trades(rng: random.Random, count: int) -> Any:
    """Return a frame whose rows stand in another order than their times, which are Berlin's; no two of one instant."""
    steps = sorted(rng.sample(range(count * 4000), count))
    rows = [(rng.choice("ABC"), rng.randrange(40) / 4, BEGIN + timedelta(milliseconds=at)) for at in steps]
    rng.shuffle(rows)
    frame = pandas.DataFrame(rows, columns=["symbol", "price", "time"])
    return frame.assign(time=frame["time"].dt.as_unit("ms").dt.tz_convert("Europe/Berlin"))


def by_hand(frame: Any) -> set[tuple[str, datetime, float, float, float]]:
    """Symbol, time and prices of each match, in plain Python."""
    found = set()
    for symbol in "ABC":
        mine = sorted((time.to_pydatetime(), price) for s, price, time in frame.itertuples(index=False) if s == symbol)
        for (begin, top), (_, one), (_, two), (_, bottom), (end, rise) in zip(mine, mine[1:], mine[2:], mine[3:], mine[4:]):
            if top > one > two > bottom < rise and end - begin < timedelta(minutes=1):
                found.add((symbol, end, top, bottom, rise))
    return found


def test_three_falls_and_a_rise() -> None:
    frame = trades(random.Random(11), 6000)
    expected = by_hand(frame)
    assert len(expected) > 100
    query = afa.query(QUERY, event=Trade, tick="ms")
    found = afa.find(query, frame, time="time")
    assert found["le"].dtype == frame["time"].dtype
    assert len(found) == len(expected)
    assert {(m.symbol, m.le.to_pydatetime(), m.top, m.bottom, m.rise) for m in found.itertuples()} == expected

    pushed = query.operator().push_many(frame.rename(columns={"time": "le"}))
    assert {(m.symbol, m.le.to_pydatetime(), m.top, m.bottom, m.rise) for m in pushed.itertuples()} == expected
    assert (pushed["diff"] == 1).all()

    write("falls.sase", QUERY)
    frame.assign(time=frame["time"].map(lambda time: time.isoformat())).to_csv("trades.csv", index=False)
    call("run", "falls.sase", "trades.csv", "--time", "time", "--batch", "500", "--output", "changes.jsonl", "--quiet")
    net: dict[Any, int] = {}
    with open("changes.jsonl", encoding="utf-8") as file:
        for change in map(json.loads, file):
            time = datetime.fromisoformat(str(change["le"]).replace("Z", "+00:00"))
            match = (change["symbol"], time, change["top"], change["bottom"], change["rise"])
            net[match] = net.get(match, 0) + change["diff"]
    assert {match for match, held in net.items() if held} == expected
    assert min(net.values()) == 0  # rows come in any order: some were announced, and withdrawn
