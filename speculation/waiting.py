"""Changes that wait, in the order of their LE; what annihilates is gone.

    by_le   LE -> match -> (number of arrival, copies)      match = (key, payload, LE, RE); copies < 0: retractions

Every write leaves its inverse in a journal, so that a call that fails leaves no trace.
"""

from __future__ import annotations

from typing import Any

from sortedcontainers import SortedDict

from afa.change import Change
from afa.journal import Journal

Match = tuple[Any, Any, Any, Any]


class Waiting:
    """The changes that wait in a stage.

    Parameters
    ----------
    journal : Journal

    Examples
    --------
    >>> from afa import insert, retract
    >>> waiting = Waiting(Journal())
    >>> [waiting.add(change) for change in (insert("b", 7), insert("a", 5), retract("b", 7))]
    [0, 0, 1]
    >>> waiting.copies, waiting.take(6)
    (1, [Change(payload='a', le=5, re=None, diff=1, key=None)])
    """

    def __init__(self, journal: Journal) -> None:
        self._by_le: SortedDict[int, dict[Match, tuple[int, int]]] = SortedDict()
        self._journal = journal
        self._arrivals = 0
        self.copies = 0

    def add(self, change: Change) -> int:
        """Let a change wait; how many pairs of an insertion and its retraction have met. O(log n)."""
        journal, le, diff = self._journal, change.le, change.diff
        journal.note(self._put_numbers, self._arrivals, self.copies)
        match = (change.key, change.payload, le, change.re)
        bucket = self._by_le.get(le)
        if bucket is None:
            bucket = {}
            journal.put(self._by_le, le, bucket)
        self._arrivals += 1
        number, before = bucket.get(match, (self._arrivals, 0))
        after = before + diff
        if not after:
            journal.drop(bucket, match)
            if not bucket:
                journal.drop(self._by_le, le)
        else:
            came_first = (before > 0) == (after > 0)
            journal.put(bucket, match, (number if before and came_first else self._arrivals, after))
        self.copies += abs(after) - abs(before)
        met: int = (abs(before) + abs(diff) - abs(after)) // 2
        return met

    def take(self, bound: int | None) -> list[Change]:
        """Take out what lies below a bound (None: all), by LE; of one LE retractions first, then by arrival. O(what goes)."""
        self._journal.note(self._put_numbers, self._arrivals, self.copies)
        found: list[Change] = []
        for le in list(self._by_le.irange(maximum=bound, inclusive=(True, False))):
            found += _in_order(self._by_le[le])
            self._journal.drop(self._by_le, le)
        self.copies -= sum(abs(change.diff) for change in found)
        return found

    def all(self) -> list[Change]:
        """What waits, in order of arrival."""
        entries = [(number, match, n) for bucket in self._by_le.values() for match, (number, n) in bucket.items()]
        return [_change(match, n) for _, match, n in sorted(entries, key=lambda entry: entry[0])]

    def __len__(self) -> int:
        return self.copies

    def _put_numbers(self, arrivals: int, copies: int) -> None:
        self._arrivals, self.copies = arrivals, copies


def _in_order(bucket: dict[Match, tuple[int, int]]) -> list[Change]:
    entries = sorted(bucket.items(), key=lambda entry: (entry[1][1] > 0, entry[1][0])) if len(bucket) > 1 else bucket.items()
    return [_change(match, n) for match, (_, n) in entries]


def _change(match: Match, n: int) -> Change:
    key, payload, le, re = match
    return Change(payload, le, re, n, key)
