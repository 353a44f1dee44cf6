"""What history costs in lanes: `find`, `backtest` and prepared frames beside the operator (``engine="compiled"``), of the same rows.

Sweeps of constants over 10,000 keys with 400 rows each, matches written or counted; one frame by int keys, text keys, no keys; kinds
of patterns on one key and on 10,000. User and system time of all threads, and wall time; the best of the rounds, in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import afa
from afa import Arc, Automaton
from bench.measure import Options, Row

KEYS, ROWS, WINDOW = 10_000, 400, 500
VARIANTS, MANY = 8, 1000


class Tick(NamedTuple):
    change: float


class Priced(NamedTuple):
    kind: str
    price: float


class Spent(NamedTuple):
    """Seconds of wall time and of all threads' CPU, and what was found."""

    wall: float
    cpu: float
    answer: Any


def vee(fall: float) -> Automaton:
    """A fall by more than so much, falls, rises."""
    arcs = [("0", "1", f"change < -{fall}"), ("1", "2", "change < 0"), ("2", "2", "change < 0")]
    arcs += [("2", "3", "change > 0"), ("3", "3", "change > 0")]
    return Automaton(start="0", final={"3"}, event=Tick, arcs=[Arc(*arc) for arc in arcs])


def ticks(keys: int, rows: int, text: bool = False) -> dict[str, Any]:
    """Changes of keys in turn, by time; of one key there is no column."""
    rng = np.random.default_rng(1)
    n = keys * rows
    change, order = rng.normal(0, 0.5, n), np.argsort(np.tile(np.arange(rows), keys), kind="stable")
    if keys == 1:
        return {"change": change, "at": np.arange(n)}
    names = np.repeat(np.arange(keys), rows)[order]
    at = np.tile(np.arange(rows), keys)[order]
    return {"key": np.array([f"S{i}" for i in range(keys)], object)[names] if text else names, "change": change[order], "at": at}


def priced(keys: int, rows: int) -> dict[str, Any]:
    """Rows of three kinds with prices that wander, two keys never at one instant."""
    rng = np.random.default_rng(2)
    n = keys * rows
    kind = np.array(["a", "b", "c"], object)[rng.choice(3, n, p=(0.05, 0.9, 0.05))]
    found: dict[str, Any] = {"kind": kind, "price": rng.normal(0, 1, n).round(2) + 100, "at": np.arange(n)}
    return found if keys == 1 else {"key": np.tile(np.arange(keys), rows), **found}


V_OF_SQL = """
    SELECT * FROM ticks MATCH_RECOGNIZE (
        {partition} ORDER BY at MEASURES LAST(c.change) AS x ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN (a b+ c+) WITHIN {window} DEFINE a AS change < -0.5, b AS change < 0, c AS change > 0)
"""


def patterns(keys: int) -> dict[str, tuple[Any, dict[str, Any], dict[str, Any]]]:
    """Patterns, each with its rows and options."""
    key, by, rows = {"key": "key"} if keys > 1 else {}, "by key" if keys > 1 else "", 4_000_000 // keys
    window = WINDOW if keys == 1 else ROWS * keys
    near, prices = 50 * keys, priced(keys, rows // 4)
    texts = {
        "falls, b[i].price < b[i-1].price": f"a b+ c {by} where a.kind == 'a' and b[i].price < b[i-1].price and c.kind == 'c' within {near}",
        "Q3: a b+ c, sums": f"a b+ c {by} where a.kind == 'a' and b.kind == 'b' and b[i].price > a.price and c.kind == 'c' within {near}",
    }
    found: dict[str, Any] = {"V": (vee(0.5), ticks(keys, rows), {**key, "time": "at", "window": WINDOW})}
    sql = V_OF_SQL.format(partition="PARTITION BY key" if keys > 1 else "", window=window)
    found["V of SQL, PAST LAST ROW"] = (sql, ticks(keys, rows), {})
    for name, text in texts.items():
        found[name] = (afa.query(text, event=Priced if keys == 1 else None) if keys == 1 else text, prices, {"time": "at"})
    waiting = [Arc("0", "1", "kind == 'a'"), Arc.skip("1", "True"), Arc("1", "2", "kind == 'c' and price > 102.5")]
    found["a, later c, 50 waiting"] = (
        Automaton(start="0", final={"2"}, event=Priced, arcs=waiting), prices, {**key, "time": "at", "window": 1000 * keys},
    )  # fmt: skip
    return found
