"""Sources that make watermarks from the events they see: by a known bound on lateness, or by the lateness observed so far."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
from sortedcontainers import SortedList

from punctuation.base_errors import AfaError
from punctuation.durations import Duration, ticks_of_duration
from punctuation.source import Source
from punctuation.time import BEGINNING, FOREVER, as_time


class BoundedDisorder(Source):
    """The watermark is the largest LE so far less a known bound: an event exactly ``lateness`` behind is not late.

    Parameters
    ----------
    lateness : int (ticks), str or timedelta
        At least 0; ``"30 s"`` and a ``timedelta`` need ``tick``.
    backwards, kinds, tick
        As of `Source`.

    Examples
    --------
    >>> from afa import insert
    >>> source = BoundedDisorder(5)
    >>> source.push(insert("tick", le=12))
    [Change(payload='tick', le=12, re=None, diff=1, key=None), Punctuation(t=7)]
    >>> source.push_many({"le": [9, 20, 15]})
    [{'le': [9, 20, 15]}, Punctuation(t=15)]
    >>> source.push(insert("tick", le=14)), source.late
    ([Change(payload='tick', le=14, re=None, diff=1, key=None)], 1)
    >>> source.end()
    [Punctuation(t=9223372036854775807)]
    """

    def __init__(self, lateness: Duration, *, backwards: str = "count", kinds: bool | None = None, tick: str | None = None) -> None:
        super().__init__(backwards, kinds, tick)
        self.lateness = _at_least(0, ticks_of_duration(lateness, self.tick, "lateness"), "lateness")

    def _after(self, le: int) -> int:
        self._largest = max(self._largest, le)
        return max(self._largest - self.lateness, BEGINNING)

    def _within(self, le: Any, promised: int) -> int:
        return max(promised, self._after(int(le.max())))

    def _options(self) -> list[Any]:
        return [self.lateness]


class ObservedLateness(Source):
    """The watermark is the largest LE so far less a percentile of the lateness seen of late.

    An item's lateness is the largest LE before it less its own, at least 0. The watermark is a guess: ``late`` counts the items
    that came behind it.

    Parameters
    ----------
    percentile : float
        In (0, 1]: events may be as late as this share of the remembered items was, and no later.
    floor : int (ticks), str or timedelta
        Events may always be at least so late. ``"5 s"`` and a ``timedelta`` need ``tick``.
    memory : int
        The number of items, late ones among them, whose lateness is remembered.
    minimum : int, optional
        There is no watermark before so many items have come; by default 100, or ``memory`` if that is less.
    backwards, kinds, tick
        As of `Source`.

    Notes
    -----
    One item O(log memory). A batch of n O((n + memory) log n), expected, in numpy; its watermark is that of its items one by one.

    Examples
    --------
    >>> from afa import insert
    >>> source = ObservedLateness(0.75, memory=4)
    >>> [source.push(insert("tick", le))[1:] for le in (10, 20, 15, 30)]  # lateness 0, 0, 5, 0
    [[], [], [], [Punctuation(t=30)]]
    >>> source.push(insert("tick", le=22))[1:], source.late  # 0, 5, 0, 8
    ([], 1)
    >>> source.push(insert("tick", le=40))[1:]  # 5, 0, 8, 0
    [Punctuation(t=35)]
    """

    def __init__(
        self,
        percentile: float,
        floor: Duration = 0,
        memory: int = 10_000,
        *,
        minimum: int | None = None,
        backwards: str = "count",
        kinds: bool | None = None,
        tick: str | None = None,
    ) -> None:
        super().__init__(backwards, kinds, tick)
        if isinstance(percentile, bool) or not isinstance(percentile, (int, float)) or not 0 < percentile <= 1:
            raise AfaError(f"expected a percentile in (0, 1] but got percentile={percentile!r}")
        self.percentile = float(percentile)
        self.floor = _at_least(0, ticks_of_duration(floor, self.tick, "floor"), "floor")
        self.memory = _at_least(1, memory, "memory")
        self.minimum = min(100, self.memory) if minimum is None else _at_least(1, minimum, "minimum")
        if self.minimum > self.memory:
            raise AfaError(f"expected a minimum of at most memory={self.memory} items but got minimum={minimum!r}")
        self._share = Fraction(str(self.percentile))  # 0.07 of 100 is 7; in floats it is 7.000000000000001
        self._ring = np.zeros(self.memory, np.int64)
        self._seen = 0
        self._sorted: Any = None  # the ring in order; None: to be made when an item comes alone

    def _after(self, le: int) -> int:
        lateness = min(max(self._largest - le, 0), FOREVER)
        self._largest = max(self._largest, le)
        self._remember(lateness)
        filled = min(self._seen, self.memory)
        if filled < self.minimum:
            return BEGINNING
        allowed: int = max(self.floor, self._sorted[self._rank(filled) - 1])
        return max(self._largest - allowed, BEGINNING)

    def _remember(self, lateness: int) -> None:
        if self._sorted is None:
            self._sorted = SortedList(self._ring[: min(self._seen, self.memory)].tolist())
        at = self._seen % self.memory
        if self._seen >= self.memory:
            self._sorted.remove(int(self._ring[at]))
        self._sorted.add(lateness)
        self._ring[at] = lateness
        self._seen += 1

    def _kept(self) -> Any:
        at = self._seen % self.memory
        return self._seen, self._ring, at, self._ring[at]

    def _put_kept(self, kept: Any) -> None:
        self._seen, self._ring, at, lateness = kept
        self._ring[at] = lateness
        self._sorted = None  # it may be half written

    def _rank(self, filled: int) -> int:
        """Return which of so many latenesses, sorted and counted from 1, is the percentile."""
        return math.ceil(self._share * filled)

    def _within(self, le: Any, promised: int) -> int:
        self._ring = self._ring.copy()  # as it is, it is the way back
        if len(le) < 64:  # less than it costs to begin with arrays
            return super()._within(le, promised)
        largest = np.maximum.accumulate(np.maximum(le, self._largest))
        before = np.concatenate([[self._largest], largest[:-1]])
        lateness = np.where(before > le, np.minimum(_minus(before, le), np.uint64(FOREVER)), 0).astype(np.int64)
        past = self._past()
        best = _Search(self, largest, np.concatenate([past, lateness]), len(past)).best(promised)
        kept = lateness[-self.memory :]
        self._seen += len(lateness)
        self._ring[np.arange(self._seen - len(kept), self._seen) % self.memory] = kept
        self._largest, self._sorted = int(largest[-1]), None
        return best

    def _past(self) -> Any:
        """Return the memory, the oldest first."""
        at = self._seen % self.memory
        return self._ring[:at] if self._seen < self.memory else np.concatenate([self._ring[at:], self._ring[:at]])

    def _options(self) -> list[Any]:
        return [self.percentile, self.floor, self.memory, self.minimum]

    def _state(self) -> list[Any]:
        past: list[Any] = self._past().tolist()
        return past

    def _put_state(self, state: list[Any]) -> None:
        past = [_at_least(0, lateness, "lateness") for lateness in state]
        self._ring[: len(past)] = past  # refuses what is longer
        self._seen, self._sorted = len(past), None


class _Search:
    """A search for the largest watermark on the way through a batch, which need not sort the memory at each item.

    The watermark after item i, ``largest[i] - max(floor, percentile of the memory then)``, is above some ``best`` where
    ``largest[i] - floor > best`` and at least rank many of the memory are at most ``largest[i] - best - 1``. This bound grows with
    i, so that each lateness counts from one item on until it is forgotten: all counts are one cumulative sum. Begin with the last
    item; while some are above, let one of them, by chance, be the best: their number halves each time, on average. 100,000 items
    one by one over the memory in order took 1.1 s; this takes 0.01 to 0.05 s.
    """

    def __init__(self, source: ObservedLateness, largest: Any, lateness: Any, held: int) -> None:
        self.source, self.largest, self.lateness, self.held = source, largest, lateness, held
        self.n = len(largest)
        self.first = max(0, source.minimum - 1 - held)
        filling = range(held + 1, min(held + self.n, source.memory) + 1)
        full = self.n - len(filling)
        self.ranks = np.array([*map(source._rank, filling), *[source._rank(source.memory)] * full], np.int64)

    def best(self, promised: int) -> int:
        """Return the largest watermark of the batch, or ``promised`` if that is larger."""
        chance = random.Random(0)  # which one it takes changes the time only
        above: Any = [self.n - 1] if self.first < self.n else []
        while len(above):
            promised = max(promised, self.promise(int(above[chance.randrange(len(above))])))
            above = self.above(promised)
        return promised

    def promise(self, i: int) -> int:
        """Return the watermark after item i."""
        end, rank = self.held + i + 1, int(self.ranks[i]) - 1
        memory = self.lateness[max(0, end - self.source.memory) : end]
        return max(int(self.largest[i]) - max(self.source.floor, int(np.partition(memory, rank)[rank])), BEGINNING)

    def above(self, best: int) -> Any:
        """Return the numbers of the items after which the watermark is above ``best``."""
        start = max(self.first, int(np.searchsorted(self.largest, min(best + self.source.floor, FOREVER), "right")))
        if start >= self.n:
            return []
        bound = np.minimum(_minus(self.largest[start:], np.int64(best)) - np.uint64(1), np.uint64(FOREVER)).astype(np.int64)
        base = max(0, self.held + start + 1 - self.source.memory)
        lateness = self.lateness[base:]
        came = np.arange(len(lateness)) + (base - self.held)
        counts = np.maximum(np.maximum(came, start), start + np.searchsorted(bound, lateness))
        forgotten = np.minimum(came + self.source.memory, self.n)
        there = counts < forgotten
        size = self.n - start + 1
        steps = np.bincount(counts[there] - start, minlength=size) - np.bincount(forgotten[there] - start, minlength=size)
        return start + np.flatnonzero(np.cumsum(steps)[:-1] >= self.ranks[start:])


def _minus(a: Any, b: Any) -> Any:
    """Return ``a - b``, where a >= b, as uint64: the difference of two int64 may not fit into an int64."""
    return a.view(np.uint64) - b.view(np.uint64)


def _at_least(least: int, value: Any, what: str) -> int:
    number = as_time(value, what)
    if number < least:
        raise AfaError(f"expected {what} of at least {least} but got {what}={value!r}")
    return number
