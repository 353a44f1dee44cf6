"""Which keys a punctuation concerns: a heap of deadlines, so that a punctuation costs what it does, not the keys that exist."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Any


class Deadlines:
    """For each key the smallest punctuation that changes something for it.

    Examples
    --------
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
        """Whether no `set` was interrupted; one that was leaves it to the caller to begin anew."""
        return self._writing == 0

    def set(self, key: Hashable, deadline: int | None) -> None:
        """Note the deadline of a key; None: no punctuation concerns it. O(log n)."""
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
        """The keys that a punctuation ``t`` concerns; each must be `set` again. O(due log n)."""
        keys = []
        while self._heap and self._heap[0][0] <= t:
            deadline, _, key = heapq.heappop(self._heap)
            if self._at.get(key) == deadline:
                del self._at[key]
                keys.append(key)
        return keys
