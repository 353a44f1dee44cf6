"""What does a query cost beside the automaton that one writes by hand? The template of SASE+ (SIGMOD 2008), W = 500 a symbol.

A price that 500 divides, then prices that go on (p1), rise (p2), or stay above the lowest so far (p3), then a small volume; prices
walk up with 0.7 and are wrapped to 1..1000. By partition contiguity (s2) and skip till next match (s3), keyed by symbol, in order.
Beside them programs that do nothing else, in order only: NFA^b with one record a run, and backtracking; and NFA^b that only counts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import afa
from afa import Arc, Automaton, Keyed
from bench.baselines.nfab import Backtrack, Columns, Nfab, columns, counting
from bench.drive import Outcome, batched, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio
from bench.workloads import Stream, punctuated

SYMBOLS, UP, BATCH = 2, 0.7, 100_000
STRATEGIES = {"s2": "partition_contiguity", "s3": "skip_till_next_match"}
TAKES = {"p1": "True", "p2": "price > r.agg", "p3": "price > r.agg"}
REST = {"p1": "", "p2": "and a[i].price > a[i-1].price", "p3": "and a[i].price > min(a[..i-1].price)"}
SHOWN = {"p1": "0", "p2": "a[a.LEN].price", "p3": "min(a[].price)"}
KEEPS = {"p1": None, "p2": "r._replace(agg=price)", "p3": "r._replace(agg=min(r.agg, price))"}


class Stock(NamedTuple):
    """A trade."""

    symbol: int
    price: int
    volume: int


class Rise(NamedTuple):
    """What a match shows: the first price; the last or the lowest one."""

    first: int = 0
    agg: int = 0


def trades(n: int, seed: int = 1) -> Stream:
    """Trades of two symbols in turn."""
    rng = np.random.default_rng(seed)
    symbol = np.arange(n) % SYMBOLS
    price = np.empty(n, np.int64)
    for each in range(SYMBOLS):
        rows = symbol == each
        steps = np.where(rng.random(int(rows.sum())) < UP, 1, -1)
        price[rows] = 1 + (np.cumsum(steps) + 499) % 1000
    return {"symbol": symbol, "price": price, "volume": rng.integers(1, 1001, n), "le": np.arange(n)}


def by_text(p: str, strategy: str, window: int, event: type = Stock) -> afa.Query:
    """The template as a query."""
    return afa.query(
        f"PATTERN SEQ({event.__name__}+ a[], {event.__name__} b) "
        f"WHERE {STRATEGIES[strategy]}(a[], b) {{ [symbol] and a[1].price % 500 == 0 {REST[p]} and b.volume < 150 }} "
        f"WITHIN {window} RETURN a[1].price AS first, {SHOWN[p]} AS agg",
        event=event,
    )


def by_hand(p: str, strategy: str) -> Automaton:
    """The template as an automaton."""
    begin = "(price, 0)" if p == "p1" else "(price, price)"
    skips = [] if strategy == "s2" or p == "p1" else [Arc("a", "a", f"not ({TAKES[p]})", name="skip")]
    return Automaton(
        start="start",
        final={"F"},
        event=Stock,
        register=Rise(),
        arcs=[
            Arc("start", "a", "price % 500 == 0", begin),
            Arc("a", "a", TAKES[p], KEEPS[p], name="take"),
            *skips,
            Arc("a", "F", "volume < 150"),
        ],
    )


def counted(count: Any, given: Sequence[tuple[Columns, ...]]) -> Outcome:
    """How many matches `counting` finds, and what that costs; ``given``: the events of the batches as it takes them."""
    room, found, begin, first = np.zeros((2, SYMBOLS, 2 * WINDOW), np.int64), 0, 0.0, len(given) // 4
    counts = np.zeros(SYMBOLS, np.int64)
    for i, batch in enumerate(given):
        begin = time.thread_time() if i == first else begin
        found += count(*batch, *room, counts)
    return Outcome(found, "", found, time.thread_time() - begin, sum(len(batch[0]) for batch in given[first:]))


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    window = WINDOW * SYMBOLS
    fed = batched(punctuated(trades(o.size(2_000_000, least=4000)), BATCH), BATCH)
    for p, strategy in o.some([(p, strategy) for p in TAKES for strategy in STRATEGIES]):
        engine: Any = o.engine
        makes: dict[str, Any] = {
            "query": partial(by_text(p, strategy, window).operator, engine=engine),
            "hand": partial(Keyed, by_hand(p, strategy), key="symbol", window=window, engine=engine),
        }
        base: dict[str, Any] = {
            "nfa": partial(Nfab, p, strategy, window, SYMBOLS),
            "back": partial(Backtrack, p, strategy, window),
        }
        runs: dict[str, Any] = {name: partial(run, make, fed) for name, make in {**makes, **base}.items()}
        runs["count"] = partial(counted, counting(p, strategy, window), [columns(batch) for batch in fed.batches])
        found = interleaved(runs, o.rounds, agree=False)
        answers = {name: (column[0].final, column[0].answer) for name, column in found.items()}
        assert len({answers[name] for name in answers if name != "count"}) == 1, f"expected one answer but got {answers}"
        assert answers["count"][0] == answers["query"][0], f"expected as many matches but got {answers}"
        rows.append(
            {
                "query": f"{p}, {strategy}",
                "matches": found["query"][0].final,
                "M events/s": rates(found["query"]),
                "by hand, M events/s": rates(found["hand"]),
                "rate, relative to by hand": ratio(found["query"], found["hand"]),
                "NFA^b, M events/s": rates(found["nfa"]),
                "backtracking, M events/s": rates(found["back"]),
                "counting only, M events/s": rates(found["count"]),
            }
        )
    return rows
