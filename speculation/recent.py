"""A queue of the last so many items, with a number of each kept sorted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sortedcontainers import SortedList

from afa.journal import Journal


class Recent:
    """A queue of items, the oldest first, whose numbers (``value`` of each) can be read in sorted order.

    >>> journal, recent = Journal(), Recent(abs, [-3, 1])
    >>> recent.add(-2, journal), recent.drop(journal), recent.values[0]
    (None, -3, 1)
    >>> journal.rollback(), list(recent)
    (None, [-3, 1])
    """

    __slots__ = ("_items", "_next", "_value", "_values")

    def __init__(self, value: Callable[[Any], int], items: Iterable[Any] = ()) -> None:
        self._value = value
        self._items: deque[tuple[int, Any]] = deque(enumerate(items))  # with their numbers of arrival
        self._next = len(self._items)
        self._values: SortedList | None = None

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return (item for _, item in self._items)

    @property
    def oldest(self) -> Any:
        return self._items[0][1]

    @property
    def values(self) -> SortedList:
        """The numbers of all items, sorted. They are kept sorted from the first access on."""
        if self._values is None:
            self._values = SortedList(map(self._value, self))
        return self._values

    def add(self, item: Any, journal: Journal) -> None:
        """Add an item. O(log n)."""
        number = self._next
        journal.note(self._cut, number)
        self._next += 1
        journal.write(self, self._append, (number, item))

    def drop(self, journal: Journal) -> Any:
        """Remove the oldest item. O(log n)."""
        entry = self._items[0]
        journal.note(self._put_back, entry)
        journal.write(self, self._pop, entry)
        return entry[1]

    def _append(self, entry: tuple[int, Any]) -> None:
        if self._values is not None:
            self._values.add(self._value(entry[1]))
        self._items.append(entry)

    def _pop(self, entry: tuple[int, Any]) -> None:
        if self._values is not None:
            self._values.remove(self._value(entry[1]))
        self._items.popleft()

    def _cut(self, number: int) -> None:
        self._values = None
        while self._items and self._items[-1][0] >= number:
            self._items.pop()

    def _put_back(self, entry: tuple[int, Any]) -> None:
        self._values = None
        if not self._items or self._items[0][0] > entry[0]:
            self._items.appendleft(entry)

    def mend(self) -> None:
        """Make the sorted numbers anew from the items; see `afa.journal.Mends`."""
        self._values = None
