"""Spans of time that are open, by key: within one, events of its key pass. Each begins and ends a window around a witness.

    spans     key -> low -> high       the LEs in [low, high); those of one key neither overlap nor touch
    by_end    high -> (key, low)       so that a promise finds those that are over

Each write leaves its inverse in a journal.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from sortedcontainers import SortedDict

from afa.journal import Journal

Span = tuple[Hashable, int, int]


class OpenSpans:
    """The open spans of all keys.

    Parameters
    ----------
    journal : Journal

    Examples
    --------
    >>> spans = OpenSpans(Journal())
    >>> for low, high in [(1, 5), (9, 12), (5, 7)]:
    ...     spans.open("a", low, high)
    >>> list(spans)
    [('a', 1, 7), ('a', 9, 12)]
    >>> [spans.has("a", le) for le in (0, 1, 6, 7, 9)], spans.has("b", 1)
    ([False, True, True, False, True], False)
    >>> spans.close(7)
    >>> len(spans)
    1
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._spans: dict[Hashable, SortedDict[int, int]] = {}
        self._by_end: SortedDict[int, dict[tuple[Hashable, int], None]] = SortedDict()

    def __len__(self) -> int:
        return sum(map(len, self._spans.values()))

    def __iter__(self) -> Iterator[Span]:
        return ((key, low, high) for key, of_key in self._spans.items() for low, high in of_key.items())

    def __contains__(self, key: Hashable) -> bool:
        return key in self._spans

    def has(self, key: Hashable, le: int) -> bool:
        """Return whether an LE lies in an open span of a key. O(log n)."""
        of_key = self._spans.get(key)
        if of_key is None:
            return False
        low = next(of_key.irange(maximum=le, reverse=True), None)
        return low is not None and le < of_key[low]

    def meeting(self, least: int, latest: int) -> Iterator[Span]:
        """Return the spans that have an LE from ``least`` to ``latest``. O(those that end above ``least``)."""
        for high in self._by_end.irange(minimum=least, inclusive=(False, True)):
            for key, low in self._by_end[high]:
                if low <= latest:
                    yield key, low, high

    def open(self, key: Hashable, low: int, high: int) -> None:
        """Open the span ``[low, high)``, joined with those of its key that it meets or touches. O(log n), and those it joins."""
        of_key = self._spans.get(key)
        if of_key is None:
            of_key = SortedDict()
            self._journal.put(self._spans, key, of_key)
        joined = []
        for begin in of_key.irange(maximum=high, reverse=True):
            if of_key[begin] < low:
                break
            joined.append(begin)
        for begin in joined:
            low, high = min(low, begin), max(high, of_key[begin])
            self._forget_end(key, begin, of_key[begin])
            self._journal.drop(of_key, begin)
        self._journal.put(of_key, low, high)
        ends = self._by_end.get(high)
        if ends is None:
            ends = {}
            self._journal.put(self._by_end, high, ends)
        self._journal.put(ends, (key, low), None)

    def close(self, t: int) -> None:
        """Drop the spans that end at or below a promise. O(found log n)."""
        for high in list(self._by_end.irange(maximum=t)):
            for key, low in list(self._by_end[high]):
                of_key = self._spans[key]
                self._journal.drop(of_key, low)
                if not of_key:
                    self._journal.drop(self._spans, key)
            self._journal.drop(self._by_end, high)

    def _forget_end(self, key: Hashable, low: int, high: int) -> None:
        ends = self._by_end[high]
        self._journal.drop(ends, (key, low))
        if not ends:
            self._journal.drop(self._by_end, high)
