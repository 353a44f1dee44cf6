"""The template of SASE+ (`bench.bench_language`) by two programs that do nothing else: in order, insert only, specialised.

Nfab       NFA^b with one record a run (SIGMOD 2008, Section 4): the floor of what one could pay
counting   the same, asked for nothing but how many matches there are: it writes none, keeps no event, and is compiled for one
           pattern. Keys are small numbers; nothing of a batch is checked, or copied
Backtrack  for each event that begins a match, the window behind it is gone through again: the evaluation without runs
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bench.workloads import EVENT, Stream

P = {"p1": 0, "p2": 1, "p3": 2}
Columns = NDArray[np.int64]


@njit(cache=True)  # type: ignore[untyped-decorator]
def takes(p: int, price: int, agg: int) -> bool:  # pragma: no cover
    """Whether a run goes on with a price."""
    return p == 0 or price > agg


@njit(cache=True)  # type: ignore[untyped-decorator]
def aggregate(p: int, price: int, agg: int) -> int:  # pragma: no cover
    """The last price; the lowest one."""
    return 0 if p == 0 else price if p == 1 else min(price, agg)


@njit(cache=True)  # type: ignore[untyped-decorator]
def room(found: Columns, n: int) -> Columns:  # pragma: no cover
    """Return rows with room for one more."""
    if n < len(found):
        return found
    wider = np.empty((2 * n, found.shape[1]), np.int64)
    wider[:n] = found
    return wider


@njit(cache=True)  # type: ignore[untyped-decorator]
def all_runs(
    p: int, skips: bool, window: int, symbol: Columns, price: Columns, volume: Columns, le: Columns, runs: Columns, counts: Columns
) -> Columns:  # pragma: no cover
    """One record (start, first, aggregate) for each run of a symbol, from the oldest on; a run that ends is passed over."""
    found, n = np.empty((1024, 5), np.int64), 0
    for i in range(len(le)):
        s, kept = symbol[i], 0
        for j in range(counts[s]):
            start, first, agg = runs[s, j, 0], runs[s, j, 1], runs[s, j, 2]
            if le[i] >= start + window:
                continue
            if volume[i] < 150:
                found = room(found, n)
                found[n] = s, first, agg, le[i], start + window
                n += 1
            if takes(p, price[i], agg):
                agg = aggregate(p, price[i], agg)
            elif not skips:
                continue
            runs[s, kept, 0], runs[s, kept, 1], runs[s, kept, 2] = start, first, agg
            kept += 1
        if price[i] % 500 == 0:
            runs[s, kept, 0], runs[s, kept, 1], runs[s, kept, 2] = le[i], price[i], aggregate(p, price[i], price[i])
            kept += 1
        counts[s] = kept
    return found[:n]


@njit(cache=True)  # type: ignore[untyped-decorator]
def from_each_start(
    p: int, skips: bool, window: int, symbol: Columns, price: Columns, volume: Columns, le: Columns
) -> Columns:  # pragma: no cover
    """The events behind each one that begins a match, up to the window's end."""
    found, n = np.empty((1024, 5), np.int64), 0
    for i in range(len(le)):
        if price[i] % 500:
            continue
        first, agg = price[i], aggregate(p, price[i], price[i])
        for j in range(i + 1, len(le)):
            if le[j] >= le[i] + window:
                break
            if symbol[j] != symbol[i]:
                continue
            if volume[j] < 150:
                found = room(found, n)
                found[n] = symbol[i], first, agg, le[j], le[i] + window
                n += 1
            if takes(p, price[j], agg):
                agg = aggregate(p, price[j], agg)
            elif not skips:
                break
    return found[:n]


def counting(p: str, strategy: str, window: int) -> Any:
    """Return what counts the matches of a batch: of its columns, and of the runs' starts, aggregates and numbers by symbol."""
    kind, skips = P[p], strategy == "s3"

    @njit  # type: ignore[untyped-decorator]
    def count(
        symbol: Columns, price: Columns, volume: Columns, le: Columns, starts: Columns, aggs: Columns, counts: Columns
    ) -> int:  # pragma: no cover
        found = 0
        for i in range(len(le)):
            s, kept = symbol[i], 0
            for j in range(counts[s]):
                start, agg = starts[s, j], aggs[s, j]
                if le[i] >= start + window:
                    continue
                found += volume[i] < 150
                if takes(kind, price[i], agg):
                    agg = aggregate(kind, price[i], agg)
                elif not skips:
                    continue
                starts[s, kept], aggs[s, kept] = start, agg
                kept += 1
            if price[i] % 500 == 0:
                starts[s, kept], aggs[s, kept] = le[i], aggregate(kind, price[i], price[i])
                kept += 1
            counts[s] = kept
        return found

    return count


class Nfab:
    """One record a run."""

    def __init__(self, p: str, strategy: str, window: int, symbols: int) -> None:
        self._told = P[p], strategy == "s3", window
        self._runs = np.zeros((symbols, window + 1, 3), np.int64)
        self._counts = np.zeros(symbols, np.int64)

    def push_many(self, batch: Stream, **given: Any) -> Stream:
        """Take a batch in order; matches as columns."""
        return table(all_runs(*self._told, *columns(batch), self._runs, self._counts))


class Backtrack:
    """No runs: each event looks behind it once more. What a batch begins may end in the next, so a window of events is kept."""

    def __init__(self, p: str, strategy: str, window: int) -> None:
        self._told, self._window = (P[p], strategy == "s3", window), window
        self._kept: list[Columns] = []
        self._done = -1  # matches up to this instant were told

    def push_many(self, batch: Stream, **given: Any) -> Stream:
        """Take a batch in order; matches as columns."""
        new = columns(batch)
        events = [np.concatenate(pair) for pair in zip(self._kept, new)] if self._kept else list(new)
        found = table(from_each_start(*self._told, *events))
        later, le = found["le"] > self._done, events[3]
        self._done = int(le[-1])
        self._kept = [column[le > self._done - self._window] for column in events]
        return {name: column[later] for name, column in found.items()}


def columns(batch: Stream) -> tuple[Columns, ...]:
    """The columns of the events among the rows."""
    rows = batch["kind"] == EVENT if "kind" in batch else slice(None)
    return tuple(np.ascontiguousarray(batch[name][rows], np.int64) for name in ("symbol", "price", "volume", "le"))


def table(rows: Columns) -> Stream:
    """Matches as an operator gives them."""
    names = ("symbol", "first", "agg", "le", "re")
    return {**{name: rows[:, i] for i, name in enumerate(names)}, "diff": np.ones(len(rows), np.int64)}
