"""The values of one field over all events: the least and the largest, which there are if they are few, and how often None."""

from __future__ import annotations

from collections import Counter
from typing import Any

MOST = 1000
"""How many values of a field are kept."""


class FieldValues:
    """The values of one field.

    Examples
    --------
    >>> seen = FieldValues()
    >>> for value in (3, None, 1, 3):
    ...     seen.look(value)
    >>> seen.low, seen.high, seen.none, seen.common(2)
    (1, 3, 1, [3, 1])
    """

    def __init__(self) -> None:
        self.low: Any = None
        self.high: Any = None
        self.none = self.events = 0
        self.counts: Counter[Any] | None = Counter()  # None: there are too many

    def look(self, value: Any) -> None:
        """Look at the value of one event."""
        self.events += 1
        if value is None:
            self.none += 1
            return
        try:
            if value != value:  # NaN is neither the least nor the largest
                return
            if self.low is None or value < self.low:
                self.low = value
            if self.high is None or value > self.high:
                self.high = value
        except TypeError:  # values of several kinds
            pass
        if self.counts is not None:
            self.counts[value] += 1
            if len(self.counts) > MOST:
                self.counts = None

    def common(self, most: int) -> list[Any]:
        """Return the values that come most often, of equally many the smaller by its text."""
        return sorted(self.counts or (), key=lambda value: (-(self.counts or {})[value], str(value)))[:most]
