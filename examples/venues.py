"""Who moved first? Three venues, whose clocks are off by up to 1.5 ms, each trade by 0.5 ms more.

Each venue trades some milliseconds after a price has moved. A clock is off by the same all day long. The trades are made up, so
that the truth is known; `python -m examples.venues trades_day1.csv.gz` takes stored ones: venue, symbol, trade_ms, trade_id.

It prints:

    move 0: C by recorded times; confidences A 0.34, B 0.11, C 0.55
    move 1: B by recorded times; confidences A 0.00, B 1.00, C 0.00
    move 2: A by recorded times; confidences A 0.80, B 0.00, C 0.20
    1,000 moves; the leader by recorded times has a confidence below 0.9 in 523
    told wrongly: 180 (by the confidences 170), 11 of them above that
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from pyarrow import csv

from afa import Arc, Automaton
from afa.uncertain import Clock, Worlds


class Trade(NamedTuple):
    venue: str
    day: int


ARCS = [Arc("0", "1", "True", "Trade(venue, day)"), Arc("1", "2", "True"), Arc("2", "3", "True")]
PATTERN = Automaton(start="0", final={"3"}, event=Trade, register=Trade("", 0), arcs=ARCS)  # shows the first of three


def made_up(days: int = 40, moves: int = 25) -> dict[str, Any]:
    rng, n = np.random.default_rng(7), days * moves
    true = np.arange(n)[:, None] * 1_000_000 + rng.exponential(4000, (n, 3)).astype(np.int64)
    off = np.repeat(rng.integers(-1500, 1501, (days, 3)), moves, axis=0) + rng.integers(-500, 501, (n, 3))
    venue, move = np.tile(np.array(["A", "B", "C"], object), n), np.repeat(np.arange(n), 3)
    return {"venue": venue, "day": move // moves, "move": move, "le": (true + off).ravel(), "true": true.ravel()}


def stored(path: str) -> dict[str, Any]:
    """Of trades of Bitcoin at most 20 ms after one another the first at each venue, where all three trade."""
    table = csv.read_csv(path).to_pandas()
    table = table[table.symbol.str.startswith("BTC")].sort_values(["trade_ms", "trade_id"])
    table = table.assign(move=(table.trade_ms.diff() > 20).cumsum(), day=0, le=table.trade_ms * 1000)
    table = table.drop_duplicates(["move", "venue"]).groupby("move").filter(lambda trades: len(trades) == 3)
    return {name: table[name].to_numpy() for name in ("venue", "day", "move", "le")}


def first(trades: dict[str, Any], time: str) -> dict[int, str]:
    order = np.argsort(-trades[time], kind="stable")  # the last one said of a move stays
    return dict(zip(trades["move"][order].tolist(), trades["venue"][order].tolist()))


def main(path: str | None = None) -> None:
    trades, unit = (made_up(), "1 us") if path is None else (stored(path), "1 ms")
    clock = Clock(by=("venue", "day"), skew="1500 us", own="500 us", granularity=unit)
    out = Worlds(PATTERN, worlds=400, key="move", clock=clock, tick="us").push_many(trades)
    led: dict[tuple[int, str], float] = defaultdict(float)
    for move, venue, confidence in zip(*(out[name].tolist() for name in ("move", "venue", "confidence"))):
        led[move, venue] += confidence  # of each of the trades that may come last
    plain = first(trades, "le")
    sure = {move for move, venue in plain.items() if led[move, venue] >= 0.9}
    for move in sorted(plain)[:3]:
        told = ", ".join(f"{venue} {led[move, venue]:.2f}" for venue in np.unique(trades["venue"].astype(str)))
        print(f"move {move}: {plain[move]} by recorded times; confidences {told}")
    print(f"{len(plain):,} moves; the leader by recorded times has a confidence below 0.9 in {len(plain) - len(sure)}")
    if path is None:
        wrong = {move for move, venue in first(trades, "true").items() if venue != plain[move]}
        expected = sum(1 - led[move, venue] for move, venue in plain.items())
        print(f"told wrongly: {len(wrong)} (by the confidences {expected:.0f}), {len(wrong & sure)} of them above that")


if __name__ == "__main__":
    main(*sys.argv[1:])
