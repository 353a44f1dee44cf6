"""The possible instants of one event, with the probability of each: what lies at or before an instant, at or behind it.

between(5, 8)              low 5, high 8     p .25 .25 .25 .25
weights 0, .5, 0, .5       low 6, high 8     p .5 0 .5             an instant of no weight is not possible
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from afa.errors import AfaError
from afa.extra.uncertain.distributions import Distribution

MOST = 1_000_000
"""The most instants of an interval: each has its probability."""


def check_width(when: Any, error: type[AfaError]) -> None:
    """Refuse an interval, with ``lower`` and ``upper``, of more than MOST instants."""
    if when.upper - when.lower >= MOST:
        raise error(
            f"expected an interval of at most {MOST:,} instants, each of which has its probability, but got between({when.lower}, "
            f"{when.upper}); a coarser tick= makes them fewer, and Worlds take intervals of any length"
        )


class IntervalKind:
    """What the intervals of one distribution and of n instants have in common. Frozen; O(n)."""

    __slots__ = ("__weakref__", "above", "below", "n", "p", "padded", "possible", "shape", "skipped")

    def __init__(self, shape: Distribution, n: int) -> None:
        self.shape, self.n = shape, n
        p = shape.probabilities(n)
        there = np.flatnonzero(p > 0)
        self.skipped, last = int(there[0]), int(there[-1])
        """How many instants of no weight it begins with."""
        p = p[self.skipped : last + 1]
        self.below = np.concatenate([[0.0], np.cumsum(p)])  # INVARIANT: added up one by one, so that no weight adds exactly nothing
        self.above = np.concatenate([np.cumsum(p[::-1])[::-1], [0.0]])
        self.below[-1] = self.above[0] = 1.0
        self.padded = np.concatenate([[0.0], p, [0.0]])
        self.p = self.padded[1:-1]
        self.possible = None if len(there) == len(p) else there - self.skipped

    def __deepcopy__(self, memo: dict[int, Any]) -> IntervalKind:
        return self


_KINDS: WeakValueDictionary[tuple[Distribution, int], IntervalKind] = WeakValueDictionary()
"""The kinds that some event has: 29 bytes for each instant, which go with the last event."""


def interval_kind(shape: Distribution, n: int) -> IntervalKind:
    """Returns the kind of a distribution and length: the same one, as long as some event has it."""
    found = _KINDS.get((shape, n))
    if found is None:
        found = _KINDS[shape, n] = IntervalKind(shape, n)
    return found


class Instants:
    """The possible instants of an event whose interval begins at ``lower``."""

    __slots__ = ("above", "below", "high", "kind", "low", "p", "possible")

    def __init__(self, lower: int, kind: IntervalKind) -> None:
        self.kind, self.p = kind, kind.p
        self.low = lower + kind.skipped
        self.high = self.low + len(kind.p) - 1
        """The first and the last possible instant."""
        self.below, self.above = kind.below, kind.above
        """P(x < low + k) and P(x >= low + k), for k from 0 to the number of instants."""
        self.possible = kind.possible
        """The possible instants, less ``low``, where some between the ends are not; else None."""

    @classmethod
    def of(cls, lower: int, upper: int, shape: Distribution) -> Instants:
        """Returns the instants of an interval. Those of one shape and length share their arrays."""
        return cls(lower, interval_kind(shape, upper - lower + 1))

    def at(self, t: Any) -> Any:
        """Returns the probability of each time of an array."""
        return self.kind.padded[np.clip(t - (self.low - 1), 0, len(self.p) + 1)]

    def at_most(self, t: Any) -> Any:
        """Returns the probability of an instant at or before each time of an array: 1.0 from ``high`` on."""
        return self.below[np.clip(t - (self.low - 1), 0, len(self.p))]

    def at_least(self, t: Any) -> Any:
        """Returns the probability of an instant at or behind each time of an array: 1.0 up to ``low``."""
        return self.above[np.clip(t - self.low, 0, len(self.p))]

    def within(self, low: int, high: int) -> Any:
        """Returns the probability of each instant from ``low`` to ``high``, all of which lie within the interval."""
        return self.p[low - self.low : high - self.low + 1]

    def up(self, t: int) -> int:
        """Returns the first possible instant at or behind a time; one above ``high`` if no such instant exists."""
        if t <= self.low:
            return self.low
        if self.possible is None or t > self.high:
            return t
        return self.low + int(self.possible[np.searchsorted(self.possible, t - self.low)])

    def down(self, t: int) -> int:
        """Returns the last possible instant at or before a time; one below ``low`` if no such instant exists."""
        if t >= self.high:
            return self.high
        if self.possible is None or t < self.low:
            return t
        return self.low + int(self.possible[np.searchsorted(self.possible, t - self.low, side="right") - 1])
