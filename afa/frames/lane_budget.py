"""A bound for a sweep in lanes, beside something that must go on: what is beyond it is refused, and no operator takes it."""

from __future__ import annotations

import time

from afa.compiled.lane_program import NoLanes


class LaneBudget:
    """So many seconds from now on, and so many matches that are written. Raises `NoLanes`, which says what was too much."""

    def __init__(self, seconds: float, matches: int) -> None:
        self._seconds, self._matches = seconds, matches
        self._until = time.monotonic() + seconds

    def over(self) -> bool:
        return time.monotonic() >= self._until

    def check(self, matches: int = 0) -> None:
        """Refuse to go on; ``matches``: how many are to be written."""
        if self.over():
            raise NoLanes(f"it takes more than {self._seconds:g} s")
        if matches > self._matches:
            raise NoLanes(f"it finds more than {self._matches:,} matches, which have to be told apart")

    def check_left(self, keys: int) -> None:
        """Refuse keys that lanes have left to operators."""
        if keys:
            raise NoLanes(f"lanes have left {keys:,} keys (long lists, large ints, rows that ORDER BY does not tell apart)")
