"""Spans of time, of keys that are numbered: joined, met, and where row groups lie.

A span ``[low, high)`` holds *all* events of its key with an LE in it. A run of an accepted match lies within
``(c.LE - w, c.LE + w)`` around each of its events c, w being the window; so where each of a pattern's candidates has its span, no
match is lost, and none comes in: a run within a span that is accepted has its own witnesses, which are candidates, and all of its
events lie in their span.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from punctuation.time import BEGINNING, FOREVER


class Spans(NamedTuple):
    """Spans by key, then by time; those of one key neither overlap nor touch."""

    key: Any  # the number of the key
    # low, high: ticks: ``[low, high)``
    low: Any
    high: Any

    def __len__(self) -> int:
        return len(self.low)  # of spans, not of fields

    @property
    def joined(self) -> Spans:
        """The same times, of no key."""
        return joined(np.zeros(len(self.low), np.int64), self.low, self.high)


def later(ticks: Any, by: Any) -> Any:
    """Return instants moved by a duration, at most to FOREVER and at least to BEGINNING.

    >>> later(np.array([5, FOREVER - 1]), 10).tolist() == [15, FOREVER]
    True
    """
    ticks, by = np.asarray(ticks, np.int64), np.asarray(by, np.int64)
    moved = ticks + by
    moved = np.where((by > 0) & (moved < ticks), FOREVER, moved)
    return np.where((by < 0) & (moved > ticks), BEGINNING, moved)


def joined(key: Any, low: Any, high: Any) -> Spans:
    """Join spans of one key that overlap or touch. O(n log n).

    >>> found = joined(np.array([1, 0, 1]), np.array([5, 0, 0]), np.array([9, 3, 5]))
    >>> found.key.tolist(), found.low.tolist(), found.high.tolist()
    ([0, 1], [0, 0], [3, 9])
    """
    some = high > low
    key, low, high = key[some], low[some], high[some]
    if not len(key):
        none = np.zeros(0, np.int64)
        return Spans(none, none, none)
    order = np.lexsort((low, key))
    key, low, high = key[order], low[order], high[order]
    by_end = np.lexsort((high, key))  # so that what is largest of all so far is so of its key
    rank = np.empty(len(key), np.int64)
    rank[by_end] = np.arange(len(key))
    reach = high[by_end[np.maximum.accumulate(rank)]]
    new = np.ones(len(key), bool)
    new[1:] = (key[1:] != key[:-1]) | (low[1:] > reach[:-1])
    first = np.flatnonzero(new)
    return Spans(key[first], low[first], reach[np.append(first[1:] - 1, len(key) - 1)])


def all_met(several: Sequence[Spans]) -> Spans:
    """Return the intersection of several lists of spans without keys. O(n log n)."""
    edges = different(np.concatenate([ends for spans in several for ends in (spans.low, spans.high)]))
    low, high = edges[:-1], edges[1:]
    inside = np.logical_and.reduce([held(spans, low) for spans in several])
    return joined(np.zeros(inside.sum(), np.int64), low[inside], high[inside])


def held(times: Spans, ticks: Any) -> Any:
    """Return which instants lie in spans without keys."""
    if not len(times):
        return np.zeros(len(ticks), bool)
    at = np.searchsorted(times.low, ticks, "right") - 1
    return (at >= 0) & (ticks < times.high[np.maximum(at, 0)])


def touching(spans: Spans, least: Any, latest: Any) -> Any:
    """Return which row groups, from their least to their largest LE, some span touches; the key does not count. O(n log n)."""
    times = spans if not spans.key.any() else spans.joined
    if not len(times.low):
        return np.zeros(len(least), bool)
    at = np.searchsorted(times.low, latest, "right") - 1  # the last one that begins by the end of the row group
    return (at >= 0) & (times.high[np.maximum(at, 0)] > least)


class Places(NamedTuple):
    """Instants of keys as one number each, in the order of key, then time: by the instants that count, so that none overflows."""

    instants: Any

    def of(self, key: Any, le: Any, side: str = "right") -> Any:
        """Return the places of instants; ``right``: an instant that counts lies behind itself, ``left``: before."""
        return np.asarray(key, np.int64) * (len(self.instants) + 1) + np.searchsorted(self.instants, le, side)  # type: ignore[call-overload]


class Lookup:
    """Finds out which events lie in spans."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._at = Places(different(np.concatenate([spans.low, spans.high])))
        self._begins = self._at.of(spans.key, spans.low)

    def number(self, key: Any, le: Any) -> Any:
        """Return the number of the span in which each event, of a key by number, lies; -1: of none. O(n log spans)."""
        spans = self._spans
        if not len(spans):
            return np.full(len(le), -1, np.int64)
        found = np.searchsorted(self._begins, self._at.of(key, le), "right") - 1
        return np.where((found >= 0) & (spans.key[found] == key) & (le < spans.high[found]), found, -1)

    def holds(self, key: Any, le: Any) -> Any:
        """Return whether each event, of a key by number, lies in a span."""
        return self.number(key, le) >= 0


def different(values: Any) -> Any:
    """Return the different values of an array of ints, in order. By sorting: numpy's own way hashes ints, which takes longer."""
    if not len(values):
        return values
    values = np.sort(values)
    new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new]


def ranges_of(low: Any, high: Any) -> Any:
    """Return the numbers of several ranges, one behind the other.

    >>> ranges_of(np.array([3, 9, 5]), np.array([5, 9, 6])).tolist()
    [3, 4, 5]
    """
    many = high - low
    return np.repeat(low - np.append(0, np.cumsum(many)[:-1]), many) + np.arange(int(many.sum()))


# Candidates of several witnesses, in order and within a window: the spans of time in which a match can lie.
# (Thesis, Marburg 2021, Algorithm 3.1 and the cases S1 to S3, for keys, and for lifetimes of mixed length.)
class Candidates(NamedTuple):
    """Events that may be a witness, or several that stand at exact distances."""

    place: tuple[int, int]  # of which witnesses: the first one's place in the order of all of them, and the last one's
    key: Any  # the number of the key
    # le, end: the LE of the first event, and the least LE that the last one can have: the same for one witness
    le: Any
    end: Any
    re: Any  # the RE of the first event: behind it no run goes on that has it
    exact: Any  # bool: whether ``end`` is the LE of the last event


def joined_candidates(place: tuple[int, int], parts: Sequence[Candidates]) -> Candidates:
    """Return candidates of the same witnesses as one; of no part: none."""
    none = np.zeros(0, np.int64)
    columns = zip((none, none, none, none, np.zeros(0, bool)), *(part[1:] for part in parts))
    return Candidates(place, *(np.concatenate(column) for column in columns))


def spans_of(several: Sequence[Candidates], longest: int, first: bool, last: bool, strict: bool) -> Spans:
    """Return the spans in which a run can lie that has a candidate of each kind, in order.

    ``several``: by their place, one at least. ``longest``: the longest lifetime of an event. ``first``, ``last``: whether the first
    candidate begins a run; whether the last one ends it, with nothing to wait for. ``strict``: whether a later event of a run has a
    larger LE. For each first candidate the earliest chain is followed by bisection: O(n log n) for each kind.
    """
    if not all(len(one.key) for one in several):
        return joined(*np.zeros((3, 0), np.int64))
    several = [_sorted(one, one.le) for one in several]
    head, tail = several[0], several[-1]
    at = Places(different(np.concatenate([part for one in several for part in (one.le, one.end, one.re)])))
    alive = np.arange(len(head.key))
    reached, place = head.end, head.place
    for one in several[1:]:
        begun = reached if one.place[0] > place[1] else head.le[alive]  # a kind may stand between the events of another one
        index = _first_from(at, one, head.key[alive], begun, strict)
        found = np.minimum(index, len(one.key) - 1)
        good = (index < len(one.key)) & (one.key[found] == head.key[alive]) & (one.end[found] < head.re[alive])
        alive, reached, place = alive[good], one.end[found[good]], one.place
    key, le, re = head.key[alive], head.le[alive], head.re[alive]
    low = le if first else later(reached, 1 - longest)
    high = re
    if last and len(several) == 1:
        high = np.where(head.exact, np.minimum(re, later(head.end, 1)), re)
    elif last and bool(tail.exact.all()):
        ends = _sorted(tail, tail.end)
        index = np.searchsorted(at.of(ends.key, ends.end), at.of(key, re, "left"), "right") - 1
        high = np.minimum(re, later(ends.end[index], 1))
    return joined(key, low, high)


def _first_from(at: Places, one: Candidates, key: Any, le: Any, strict: bool) -> Any:
    """Return the place of the first candidate of a key behind an instant, or at it if not ``strict``."""
    mine = at.of(one.key, one.le)
    return np.searchsorted(mine, at.of(key, le), "right" if strict else "left")


def _sorted(one: Candidates, by: Any) -> Candidates:
    order = np.lexsort((by, one.key))
    return Candidates(one.place, *(column[order] for column in one[1:]))
