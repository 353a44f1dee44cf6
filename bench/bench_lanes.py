"""What history costs in lanes: `find`, `backtest`, prepared frames beside the operator (``engine="compiled"``), of the same rows.

Sweeps of constants over 10,000 keys with 400 rows each, matches written or counted; one frame by int keys, text keys, no keys;
kinds of patterns on one key and on 10,000. User and system time of all threads, and wall time; the best of the rounds, in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
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


class Keyed(NamedTuple):
    key: int
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
KLEENE = "PATTERN SEQ(a a, b+ b[], c c) WHERE {strategy} {{ {parts}{where} }} WITHIN {window}"
QUERIES = {
    "a b+ c in a row, b falls": ("partition_contiguity", "b[i].price < b[i-1].price"),
    "a b+ c, next match, b falls": ("skip_till_next_match", "b[i].price < b[i-1].price"),
    "a b+ c, any match, b above a": ("skip_till_any_match", "b[i].price > a.price"),
}
Case = tuple[Any, dict[str, Any], dict[str, Any]]
"""A pattern, its rows, the options of `find`."""


def cases(keys: int, scale: int) -> Iterator[tuple[str, Case]]:
    """Kinds of patterns over rows of so many keys."""
    key, rows = {"key": "key"} if keys > 1 else {}, max(ROWS * KEYS // (keys * scale), 4)
    changes, prices = ticks(keys, rows), priced(keys, max(rows // 4, 4))
    yield "V", (vee(0.5), changes, {**key, "time": "at", "window": WINDOW})
    over = "PARTITION BY key" if keys > 1 else ""
    yield "V of SQL, PAST LAST ROW", (V_OF_SQL.format(partition=over, window=WINDOW), changes, {})
    for name, (strategy, where) in QUERIES.items():
        alone = keys == 1 and strategy == "partition_contiguity"
        said = {"strategy": "strict_contiguity" if alone else strategy, "parts": "[key] and " if keys > 1 else "", "where": where}
        query = afa.query(KLEENE.format(**said, window=50 * keys), event=Keyed if keys > 1 else Priced, type="kind")
        yield name, (query, prices, {"time": "at"})
    arcs = [Arc("0", "1", "kind == 'a'"), Arc.skip("1", "True"), Arc("1", "2", "kind == 'c' and price > 102.5")]
    waiting = Automaton(start="0", final={"2"}, event=Priced, arcs=arcs)
    given = {**key, "time": "at", "window": 1000 * keys}
    yield "a, then c, 50 waiting", (waiting, prices, given)
    yield "a, then c, the longest", (waiting, prices, {**given, "longest": True})


def measure(o: Options) -> list[Row]:
    scale = round(1 / o.size(1_000_000, 1000) * 1_000_000)
    return [*_sweeps(o, scale), *_frames(o, scale), *_patterns(o, scale)]


def _sweeps(o: Options, scale: int) -> Iterator[Row]:
    """Variants of V over many keys."""
    keys = max(KEYS // scale, 4)
    frame, rows = ticks(keys, ROWS), keys * ROWS
    with afa.prepared(frame, key="key", time="at") as held:
        for many in (VARIANTS, o.few(MANY, 20)):
            patterns = {float(fall): vee(float(fall)) for fall in np.linspace(0.25, 1.0, many)}
            ways = {
                "prepared, counts": lambda p=patterns: _swept(p, held, counts=True),
                "frame, counts": lambda p=patterns: _swept(p, frame, counts=True, key="key", time="at"),
            }
            if many == VARIANTS:
                ways |= {
                    "prepared": lambda p=patterns: _swept(p, held),
                    "frame": lambda p=patterns: _swept(p, frame, key="key", time="at"),
                    "operator": lambda p=patterns: _swept(p, frame, key="key", time="at", engine="compiled"),
                }
            for name, best in _best(ways, o.rounds if many == VARIANTS else 1).items():
                yield {"case": f"{many} variants", "way": name, **_rates(best, many * rows)}


def _frames(o: Options, scale: int) -> Iterator[Row]:
    """One V over a frame."""
    keys = max(KEYS // scale, 4)
    frames = {
        "int keys": (ticks(keys, ROWS), {"key": "key"}),
        "text keys": (ticks(keys, ROWS, text=True), {"key": "key"}),
        "no keys": (ticks(1, keys * ROWS), {}),
    }
    for name, (frame, by) in frames.items():
        yield from _both(name, (vee(0.5), frame, {**by, "time": "at", "window": WINDOW}), o)


def _patterns(o: Options, scale: int) -> Iterator[Row]:
    for keys in (1, max(KEYS // scale, 4)):
        for name, case in cases(keys, scale):
            yield from _both(f"{name}, {keys:,} keys", case, o)


def _both(name: str, case: Case, o: Options) -> Iterator[Row]:
    pattern, frame, options = case

    def found(engine: Any) -> Any:
        return _found(afa.find(pattern, frame, engine=engine, **options))

    best = _best({way: partial(found, engine) for way, engine in ENGINES.items()}, o.rounds)
    for way, spent in best.items():
        row = {"case": name, "way": way, **_rates(spent, len(frame["at"]))}
        yield {**row, "times": best["operator"].cpu / spent.cpu, "times, wall": best["operator"].wall / spent.wall}


ENGINES = {"operator": "compiled", "lanes": "auto"}


def _swept(patterns: dict[float, Automaton], frame: Any, **options: Any) -> Any:
    return afa.backtest(patterns, frame, window=WINDOW, withdrawn=False, **options).table["matches"].tolist()


def _found(frame: Any) -> Any:
    return [(name, len(column), hash(column.tobytes()) if column.dtype != object else 0) for name, column in frame.items()]


def _best(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, Spent]:
    """Each way once a round, in turn, behind one round that does not count; of each the best. Answers are equal."""
    found: dict[str, list[Spent]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, way in ways.items():
            wall, cpu = time.perf_counter(), time.process_time()
            answer = way()
            found[name].append(Spent(time.perf_counter() - wall, time.process_time() - cpu, answer))
    assert all(spent.answer == found[next(iter(ways))][0].answer for each in found.values() for spent in each)
    return {name: min(each[1:] or each) for name, each in found.items()}


def _rates(spent: Spent, rows: int) -> Row:
    return {"million a second": rows / spent.wall / 1e6, "million a CPU second": rows / spent.cpu / 1e6}
