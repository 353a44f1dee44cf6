"""Changes that wait, in the order of their LE. Changes that cancel out disappear.

    by_le   LE -> match -> (number of arrival, change)      match = (key, payload, LE, RE); the change: net, with its copies

Every write of these leaves its inverse in a journal; the two numbers are the caller's to put back when a call fails.
"""

from __future__ import annotations

from typing import Any

from sortedcontainers import SortedDict

from afa.change import Change
from afa.journal import Journal
from afa.model.copies import added

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
        self._by_le: SortedDict[int, dict[Match, tuple[int, Change]]] = SortedDict()
        self._journal = journal
        self.arrivals = 0
        self.copies = 0

    def add(self, change: Change) -> int:
        """Add a change that waits. Returns how many pairs of an insertion and its retraction have met. O(log n).

        Raises
        ------
        ChangeError
            There would be more copies of the change than int64 counts.
        """
        journal, le, diff = self._journal, change.le, change.diff
        match = (change.key, change.payload, le, change.re)
        bucket = self._by_le.get(le)
        if bucket is None:
            bucket = {}
            journal.put(self._by_le, le, bucket)
        self.arrivals += 1
        waits = bucket.get(match)
        if waits is None:
            journal.put(bucket, match, (self.arrivals, change))
            self.copies += abs(diff)
            return 0
        number, before = waits[0], waits[1].diff
        after = added(before, diff, change.payload, le)
        if not after:
            journal.drop(bucket, match)
            if not bucket:
                journal.drop(self._by_le, le)
        else:
            number = number if (before > 0) == (after > 0) else self.arrivals
            journal.put(bucket, match, (number, change._replace(diff=after)))
        self.copies += abs(after) - abs(before)
        met: int = (abs(before) + abs(diff) - abs(after)) // 2
        return met

    def take(self, bound: int | None) -> list[Change]:
        """Remove and return the changes below a bound (None: all): by LE, then retractions first, then by arrival. O(found)."""
        found: list[Change] = []
        for le in list(self._by_le.irange(maximum=bound, inclusive=(True, False))):
            found += _in_order(self._by_le[le])
            self._journal.drop(self._by_le, le)
        self.copies -= sum(abs(change.diff) for change in found)
        return found

    @property
    def first(self) -> int | None:
        """The smallest LE that waits."""
        return self._by_le.peekitem(0)[0] if self._by_le else None

    def all(self) -> list[Change]:
        """Return the changes that wait, in order of arrival."""
        entries = [entry for bucket in self._by_le.values() for entry in bucket.values()]
        return [change for _, change in sorted(entries, key=lambda entry: entry[0])]


def _in_order(bucket: dict[Match, tuple[int, Change]]) -> list[Change]:
    entries = bucket.values() if len(bucket) == 1 else sorted(bucket.values(), key=lambda entry: (entry[1].diff > 0, entry[0]))
    return [change for _, change in entries]
