"""Where readings stand that were brought into order: worked out for those that are asked for, which are few.

table 3, le      5 8 6 9       in order: le 5 6 7 8 9     a promise at 8 leaves 8 9:     sources (3, 1) (3, 3)
held before      7
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

ROW_BITS = 32
"""A source is the number of a table << ROW_BITS | the row there."""


class Unordered(NamedTuple):
    """The LEs of readings of one key, all different, as they came in some parts; and their sources, with what is to be added."""

    le: Sequence[Any]
    source: Sequence[Any]
    add: Sequence[int]

    def of(self, le: Any) -> Any:
        """Return the sources of all readings from one LE to another; ``le``: those of them, which ascend. O(n + k log k)."""
        if not len(le):
            return np.empty(0, np.int64)
        there = [np.flatnonzero((each >= le[0]) & (each <= le[-1])) for each in self.le]
        les = np.concatenate([each[at] for each, at in zip(self.le, there)])
        sources = np.concatenate([each[at] + add for each, at, add in zip(self.source, there, self.add)])
        found: Any = sources[np.argsort(les)]
        return found
