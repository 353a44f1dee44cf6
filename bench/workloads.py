"""Streams as dicts of numpy columns, rows in order of arrival: the paper's generator ([AFA10] Sec. 6.1), and what is done to it.

price, change   float64; the event
le              int64, ticks
key             int64; keyed streams only
kind            int8; 0 an event, 1 an arc, 2 a promise of its ``le``; left out: all events
arc, diff       int64; which arc comes (1) or goes (-1); arc streams only
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Stream = dict[str, NDArray[Any]]
EVENT, ARC, PROMISE = 0, 1, 2


def changes(n: int, p: float = 0.5, ignorable: float = 0.0, seed: int = 1) -> NDArray[np.float64]:
    """Up with probability ``p``, by a normal 0.70 / 0.30 cut off at 0; that share of them does not move at all."""
    rng = np.random.default_rng(seed)
    size = rng.normal(0.70, 0.30, n)
    while (negative := size <= 0).any():
        size[negative] = rng.normal(0.70, 0.30, int(negative.sum()))
    change = np.where(rng.random(n) < p, size, -size)
    change[rng.random(n) < ignorable] = 0.0
    return change


def ticks(n: int, p: float = 0.5, ignorable: float = 0.0, seed: int = 1) -> Stream:
    """Quotes at LE 0, 1, ..; the price begins at 100.

    Examples
    --------
    >>> {name: column.dtype.name for name, column in ticks(3).items()}
    {'price': 'float64', 'change': 'float64', 'le': 'int64'}
    """
    return quotes(changes(n, p, ignorable, seed))


def quotes(change: NDArray[np.float64], start: float = 100.0) -> Stream:
    """The quotes that these changes make."""
    return {"price": start + np.cumsum(change), "change": change, "le": np.arange(len(change), dtype=np.int64)}


def keyed(n: int, keys: int, zipf: float | None = None, p: float = 0.5, seed: int = 1) -> Stream:
    """Quotes of many keys: one of each key in turn, or drawn by Zipf's law with that exponent. One LE per event, over all keys."""
    if zipf is None:
        key = np.arange(n, dtype=np.int64) % keys
    else:
        weights = np.arange(1, keys + 1, dtype=np.float64) ** -zipf
        key = np.random.default_rng(seed + 1).choice(keys, n, p=weights / weights.sum()).astype(np.int64)
    stream = quotes(changes(n, p, seed=seed))
    order = np.argsort(key, kind="stable")
    walk = np.cumsum(stream["change"][order])
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    before = np.repeat(walk[first] - stream["change"][order][first], np.diff(np.append(first, n)))
    stream["price"][order] = 100.0 + walk - before
    return {**stream, "key": key}


def grouped(stream: Stream, size: int) -> Stream:
    """The same batches of ``size`` events, each with the events of a key side by side."""
    batch = np.arange(len(stream["le"])) // size
    return take(stream, np.lexsort((stream["key"], batch)))


def take(stream: Stream, rows: Any) -> Stream:
    """Some rows, in that order."""
    return {name: column[rows] for name, column in stream.items()}


def shifted(stream: Stream, share: float, by: int = 1000, seed: int = 2) -> Stream:
    """The stream with that share of its events arriving 1 to ``by`` places later."""
    if not share:
        return stream
    n = len(stream["le"])
    rng = np.random.default_rng(seed)
    places = np.arange(n) + np.where(rng.random(n) < share, rng.integers(1, by + 1, n), 0)
    return take(stream, np.argsort(places, kind="stable"))


def punctuated(stream: Stream, every: int) -> Stream:
    """The stream with a punctuation after every ``every`` events and at the end: the largest promise that is true there.

    Examples
    --------
    >>> stream = punctuated(quotes(np.array([1.0, -1.0, 1.0])), every=2)
    >>> stream["kind"].tolist(), stream["le"].tolist()
    ([0, 0, 2, 0, 2], [0, 1, 2, 2, 3])
    """
    n = len(stream["le"])
    events = stream["kind"] == EVENT if "kind" in stream else np.ones(n, bool)
    end = stream["le"][events].max() + 1
    at = np.append(np.arange(every, n, every), n)
    later = np.append(np.minimum.accumulate(np.where(events, stream["le"], end)[::-1])[::-1], end)
    return inserted(stream, at, kind=PROMISE, le=later[at])


def inserted(stream: Stream, at: NDArray[np.int64], **values: Any) -> Stream:
    """The stream with rows put in before these places; what is not given is 0."""
    stream = {**stream, "kind": stream.get("kind", np.zeros(len(stream["le"]), np.int8))}
    return {name: np.insert(column, at, values.get(name, 0)) for name, column in stream.items()}


def count(stream: Stream) -> int:
    """How many events it has."""
    return int((stream["kind"] == EVENT).sum()) if "kind" in stream else len(stream["le"])
