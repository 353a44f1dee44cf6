"""The last so many numbers, in the order in which they came, and counted by their size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sortedcontainers import SortedDict

from afa.journal import Journal

Item = tuple[Any, int, int]
"""What a number came with, the number, and how often it counts."""


class Recent:
    """A queue of numbers, the oldest first; ``counts`` says how often each counts, by size.

    >>> journal, recent = Journal(), Recent([("x", 3, 1), ("y", 1, 2)])
    >>> recent.add(("z", 3, 1), journal), recent.drop(journal), list(recent.counts.items())
    (None, ('x', 3, 1), [(1, 2), (3, 1)])
    >>> journal.rollback(), list(recent)
    (None, [('x', 3, 1), ('y', 1, 2)])
    """

    __slots__ = ("_first", "_items", "counts")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._first, self._items = 0, dict[int, Item]()  # by their numbers of arrival, from the first one on
        self.counts: SortedDict[int, int] = SortedDict()
        for item in items:
            self.add(item, Journal())

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return (self._items[self._first + i] for i in range(len(self._items)))

    @property
    def oldest(self) -> Item:
        return self._items[self._first]

    def add(self, item: Item, journal: Journal) -> None:
        """Add a number. O(log n)."""
        journal.put(self._items, self._first + len(self._items), item)
        journal.put(self.counts, item[1], self.counts.get(item[1], 0) + item[2])

    def drop(self, journal: Journal) -> Item:
        """Remove the oldest number. O(log n)."""
        item = self.oldest
        journal.drop(self._items, self._first)
        journal.set(self, "_first", self._first + 1)
        left = self.counts[item[1]] - item[2]
        if left:
            journal.put(self.counts, item[1], left)
        else:
            journal.drop(self.counts, item[1])
        return item
