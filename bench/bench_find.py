"""What does a whole frame cost: `find` beside slices by hand, one whole call, a loop in Python, DuckDB? And a hundred variants?

Prices that fall three times and rise, each trade right behind the other of its symbol: DuckDB says it by LAG. By hand are the best
of three sizes of slices, each with its promise, of rows by time; what is not by time is sorted first. User and system time
of all threads, and wall time; the best of the rounds, of the loop's one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import afa
from afa import Arc, Automaton, Keyed, Punctuation
from bench.measure import Options, Row, spent

SIZES = (10_000, 65_536, 262_144)
VARIANTS = 100
SQL = """
    SELECT count(*), sum(le), sum(first + {window}) FROM (
        SELECT le, price, lag(le, 4) OVER w AS first, lag(price, 4) OVER w AS a, lag(price, 3) OVER w AS b,
            lag(price, 2) OVER w AS c, lag(price, 1) OVER w AS d
        FROM trades WINDOW w AS (PARTITION BY symbol ORDER BY le)
    ) WHERE b < a - {by} AND c < b - {by} AND d < c - {by} AND price > d AND le < first + {window}
"""


class Trade(NamedTuple):
    price: float


class Last(NamedTuple):
    price: float = 0.0


Answer = tuple[int, int, int]
"""How many matches there are, the sums of their LEs and REs."""


class Spent(NamedTuple):
    """Seconds of all threads' CPU, of wall time, and what was found."""

    cpu: float
    wall: float
    answer: Answer


def falls(by: float = 0.0) -> Automaton:
    """Three falls by more than so much, and a rise."""
    return Automaton(
        start="0",
        final={"5"},
        register=Last(),
        event=Trade,
        arcs=[
            Arc("0", "1", lambda e, r: True, lambda e, r: Last(e.price)),
            *(Arc(i, j, lambda e, r: e.price < r.price - by, lambda e, r: Last(e.price)) for i, j in ("12", "23", "34")),
            Arc("4", "5", lambda e, r: e.price > r.price),
        ],
    )


def trades(n: int, keys: int, ordered: bool) -> pa.Table:
    """Trades of symbols drawn at random; no two of one instant."""
    rng = np.random.default_rng(1)
    names = np.array([f"S{key}" for key in range(keys)], object)
    le = np.arange(n, dtype=np.int64) if ordered else rng.permutation(n)
    symbol = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, keys, n), pa.int32()), pa.array(names)).cast(pa.string())
    return pa.table({"symbol": symbol, "price": rng.random(n) * 100, "le": le})


def measure(o: Options) -> list[Row]:
    return [*_frames(o), *_variants(o)]


def _frames(o: Options) -> Iterator[Row]:
    n = o.size(1_000_000, 4000)
    for keys in o.some((10, 1000, 100_000)):
        keys = min(keys, n // 8)
        window = 20 * keys
        for ordered in (True, False):
            frame = trades(n, keys, ordered)
            ways: dict[str, Callable[[], Answer]] = {
                "find": lambda f=frame, w=window: _found(afa.find(falls(), f, key="symbol", window=w, engine=o.engine)),  # type: ignore[misc]
                "one call": lambda f=frame, w=window: _found(_operator(w, o).push_many(f)),  # type: ignore[misc]
            }
            for size in dict.fromkeys(min(size, n) for size in SIZES):
                ways[f"slices of {size:,}"] = lambda f=frame, w=window, s=size: _by_hand(f, w, s, o)  # type: ignore[misc]
            if _duckdb() is not None:
                ways["DuckDB"] = lambda f=frame, w=window: _in_sql(f, w, 0.0)  # type: ignore[misc]
            took = _interleaved(ways, min(o.rounds, 2))
            loop = _spent(lambda f=frame, w=window: _loop(f, w))  # type: ignore[misc]
            assert loop.answer == took["find"].answer
            hand = min(took[way] for way in ways if way.startswith("slices"))
            row: Row = {"keys": keys, "rows": "by time" if ordered else "in any order", "matches": took["find"].answer[0]}
            for name, best in (("find", took["find"]), ("best slices by hand", hand), ("one call", took["one call"])):
                row[f"{name}, CPU s"], row[f"{name}, wall s"] = best.cpu, best.wall
            row["loop, CPU s"] = loop.cpu
            if "DuckDB" in took:
                row["DuckDB, CPU s"], row["DuckDB, wall s"] = took["DuckDB"].cpu, took["DuckDB"].wall
            yield {**row, "hand / find": hand.cpu / took["find"].cpu}


def _variants(o: Options) -> Iterator[Row]:
    """A hundred thresholds."""
    n, keys = o.size(200_000, 4000), 50
    window, frame, many = 20 * keys, trades(n, keys, True), VARIANTS if o.scale != "tiny" else 5
    thresholds = np.linspace(0, 20, many).tolist()

    def at_once() -> Answer:
        patterns = {by: falls(by) for by in thresholds}
        return _found(afa.backtest(patterns, frame, key="symbol", window=window, engine=o.engine).matches)  # type: ignore[arg-type]

    def each(one: Callable[[float], Answer]) -> Callable[[], Answer]:
        def all_of_them() -> Answer:
            found = [one(by) for by in thresholds]
            return tuple(map(sum, zip(*found)))  # type: ignore[return-value]

        return all_of_them

    ways = {"backtest": at_once, "slices by hand": each(lambda by: _by_hand(frame, window, SIZES[0], o, by))}
    if _duckdb() is not None:
        ways["DuckDB"] = each(lambda by: _in_sql(frame, window, by))
    took = _interleaved(ways, 1)
    row: Row = {"variants": many, "rows": n, "matches": took["backtest"].answer[0]}
    for name, one in took.items():
        row[f"{name}, CPU s"], row[f"{name}, wall s"] = one.cpu, one.wall
    yield row


def _operator(window: int, o: Options, by: float = 0.0) -> Keyed:
    return Keyed(falls(by), key="symbol", window=window, engine=o.engine)  # type: ignore[arg-type]


def _by_hand(frame: pa.Table, window: int, size: int, o: Options, by: float = 0.0) -> Answer:
    le = frame["le"].to_numpy()
    if (le[1:] < le[:-1]).any():
        frame = frame.sort_by("le")
        le = frame["le"].to_numpy()
    op, tables = _operator(window, o, by), []
    for low in range(0, len(le), size):
        then = [Punctuation(int(le[low + size]))] if low + size < len(le) else []
        tables += [part for part in op.push_many([frame.slice(low, size), *then]) if not isinstance(part, Punctuation)]
    return _found(pa.concat_tables(tables))


def _loop(frame: pa.Table, window: int) -> Answer:
    """In plain Python: the last four trades of each symbol."""
    last: dict[str, list[tuple[int, float]]] = {}
    count = les = res = 0
    rows = sorted(zip(frame["le"].to_pylist(), frame["symbol"].to_pylist(), frame["price"].to_pylist()))
    for le, symbol, price in rows:
        before = last.setdefault(symbol, [])
        if len(before) == 4:
            (first, a), (_, b), (_, c), (_, d) = before
            if a > b > c > d < price and le < first + window:
                count, les, res = count + 1, les + le, res + first + window
            before.pop(0)
        before.append((le, price))
    return count, les, res


def _in_sql(trades: pa.Table, window: int, by: float) -> Answer:
    duckdb = _duckdb()
    row = duckdb.connect().sql(SQL.format(window=window, by=by)).fetchall()[0]
    return int(row[0]), int(row[1] or 0), int(row[2] or 0)


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        return None
    return duckdb


def _found(matches: Any) -> Answer:
    le, re = (np.asarray(matches[name]).astype(np.int64) for name in ("le", "re"))
    return len(le), int(le.sum()), int(re.sum())


def _interleaved(ways: dict[str, Callable[[], Answer]], rounds: int) -> dict[str, Spent]:
    """Each way once a round, in turns; the best round of each. All must find the same."""
    runs: dict[str, list[Spent]] = {name: [] for name in ways}
    for _ in range(rounds + (rounds > 1)):
        for name, way in ways.items():
            runs[name].append(_spent(way))
    answers = {name: {run.answer for run in column} for name, column in runs.items()}
    if len(set().union(*answers.values())) > 1 or not all(column[0].answer[0] for column in runs.values()):
        raise AssertionError(f"expected one answer, and matches, but got {answers}")
    return {name: min(column) for name, column in runs.items()}


def _spent(way: Callable[[], Answer]) -> Spent:
    begin = time.perf_counter()
    answer, cpu = spent(way)
    return Spent(cpu, time.perf_counter() - begin, answer)
