"""Find the keys that a watermark concerns, by a heap of deadlines: its cost is that of these keys, not of all that exist."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Any


class Deadlines:
    """The deadline of each key: the smallest watermark that changes something for it.

    >>> deadlines = Deadlines()
    >>> deadlines.set("a", 5)
    >>> deadlines.set("b", 7)
    >>> deadlines.set("a", 9)
    >>> deadlines.due(8)
    ['b']
    """

    __slots__ = ("_at", "_heap", "_order", "_writing")

    def __init__(self) -> None:
        self._at: dict[Hashable, int] = {}
        self._heap: list[tuple[int, int, Any]] = []
        self._order = 0  # keys need no order of their own
        self._writing = 0

    @property
    def whole(self) -> bool:
        """Whether no `set` was interrupted. After an interrupted one the caller must set all deadlines anew."""
        return self._writing == 0

    def set(self, key: Hashable, deadline: int | None) -> None:
        """Set the deadline of a key. None: no watermark concerns the key. O(log n)."""
        self._writing += 1
        if deadline is None:
            self._at.pop(key, None)
        elif self._at.get(key) != deadline:
            self._at[key] = deadline
            self._order += 1
            heapq.heappush(self._heap, (deadline, self._order, key))
            if len(self._heap) > 64 + 4 * len(self._at):
                self._heap = [entry for entry in self._heap if self._at.get(entry[2]) == entry[0]]
                heapq.heapify(self._heap)
        self._writing -= 1

    def due(self, t: int) -> list[Any]:
        """Remove and return the keys that a watermark ``t`` concerns; the caller must `set` each again. O(due log n)."""
        keys = []
        while self._heap and self._heap[0][0] <= t:
            deadline, _, key = heapq.heappop(self._heap)
            if self._at.get(key) == deadline:
                del self._at[key]
                keys.append(key)
        return keys
