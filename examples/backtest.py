"""A backtest: one pattern with a hundred thresholds over a whole frame, in one call.

Prices fall twice, each time by more than a threshold, and rise again, all within three minutes. Most rows stand by time; a few came
late: `withdrawn` counts the matches that a live run would have announced and taken back. `afa.find` gives the matches of one
threshold. On the command line: `afa run examples/backtest.py:dip trades.parquet --key symbol --window 3m --vary by=0:2.475:0.025`.

It prints:

     variant  matches  withdrawn
         0.0      173          6
         0.5       77          2
         1.0       34          0
         1.5       11          0
         2.0        3          0
    symbol  low                  le
         A 96.6 2024-05-06 14:02:20
         A 85.5 2024-05-06 14:27:46
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

import afa
from afa import Arc, Automaton


class Trade(NamedTuple):
    price: float


class Low(NamedTuple):
    low: float = 0.0


def dip(by: float) -> Automaton:
    """Return the pattern with a threshold."""
    return Automaton(
        start="start",
        final={"up"},
        register=Low(),
        event=Trade,
        arcs=[
            Arc("start", "high", lambda e, r: True, lambda e, r: Low(e.price)),
            Arc("high", "lower", lambda e, r: e.price < r.low - by, lambda e, r: Low(e.price)),
            Arc("lower", "low", lambda e, r: e.price < r.low - by, lambda e, r: Low(e.price)),
            Arc("low", "up", lambda e, r: e.price > r.low),
        ],
    )


def trades() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"symbol": rng.choice(["A", "B"], 1500), "price": 100 + rng.normal(0, 1, 1500).cumsum().round(1)})
    frame["at"] = pd.Timestamp("2024-05-06 14:00") + pd.to_timedelta(np.arange(1500) * 7, unit="s")
    late = np.arange(1500) + np.where(rng.random(1500) < 0.05, 3, 0)
    return frame.iloc[np.argsort(late, kind="stable")]


def main() -> None:
    frame = trades()
    found = afa.backtest({n / 40: dip(n / 40) for n in range(100)}, frame, key="symbol", window="3 min")
    print(found.table.iloc[::20].to_string(index=False))  # every twentieth of them
    deep = found.matches[found.matches["variant"] == 1.5]
    print(deep[["symbol", "low", "le"]].head(2).to_string(index=False))


if __name__ == "__main__":
    main()
