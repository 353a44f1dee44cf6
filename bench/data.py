"""Real streams. They are not shipped: AFA_BENCH_DATA names a folder that holds them, and what is absent is skipped with a word.

yhoo/yhoo-1996-2014.txt              Date, Open, ..: daily prices; 1996-2009 are the paper's real data set
binance_trades/trades_day1.csv.gz    local_ts_ns, venue, symbol, trade_ms, trade_id, price, ..: trades in true order of arrival
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from pyarrow import csv

from bench.workloads import Stream, quotes, take

FOLDER = "AFA_BENCH_DATA"
YHOO = "yhoo/yhoo-1996-2014.txt"
BINANCE = "binance_trades/trades_day1.csv.gz"
PLACES_PER_MS = 1024  # more than trades within one millisecond


def missing(name: str) -> str | None:
    """Why this file can't be read; None if it can."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return f"expected {name} but {FOLDER} is not set: skipped"
    path = Path(folder) / name
    return None if path.is_file() else f"expected {name} but {path} is no file: skipped"


def yhoo(n: int = 100_000) -> Stream:
    """The opening prices of 1996-2009, "extrapolated by repeating the observed price variations multiple times" (Sec. 6.1).

    Days on which the price does not move are left out: they would be ignorable events.
    """
    table = csv.read_csv(Path(os.environ[FOLDER]) / YHOO)
    opening = table.filter(pc.less(pc.year(table["Date"]), 2010))["Open"].to_numpy()
    change = np.diff(opening)
    return quotes(np.resize(change[change != 0], n), float(opening[0]))


def binance(asset: str = "BTC", repeat: int = 1) -> Stream:
    """Trades of one asset at three venues, merged as they arrived; one LE per trade, in order of trade time.

    A change is one against the trade before at the same venue, as the venue itself would send it. ``repeat``: so many days on end.
    """
    table = csv.read_csv(Path(os.environ[FOLDER]) / BINANCE).sort_by("local_ts_ns")
    table = table.filter(pc.starts_with(table["symbol"], asset))
    venue = table["venue"].combine_chunks().dictionary_encode().indices.to_numpy()
    price, ms = table["price"].to_numpy().astype(np.float64), table["trade_ms"].to_numpy()
    change = np.zeros(len(price))
    for number in np.unique(venue):
        rows = venue == number
        change[rows] = np.diff(price[rows], prepend=price[rows][0])
    order = np.lexsort((table["trade_id"].to_numpy(), venue, ms))
    first = np.flatnonzero(np.diff(ms[order], prepend=-1))
    within = np.arange(len(ms)) - np.repeat(first, np.diff(np.append(first, len(ms))))
    assert within.max() < PLACES_PER_MS
    le = np.empty(len(ms), np.int64)
    le[order] = (ms[order] - ms.min()) * PLACES_PER_MS + within
    day = le.max() + PLACES_PER_MS
    days = np.repeat(np.arange(repeat), len(le))
    return {"price": np.tile(price, repeat), "change": np.tile(change, repeat), "le": np.tile(le, repeat) + days * day}


def in_order(stream: Stream) -> Stream:
    """The same events by LE."""
    return take(stream, np.argsort(stream["le"], kind="stable"))
