"""Values as numbers, in the order in which they come; those of values that nothing holds are given again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


class ValueNumbers:
    """The numbers of hashable values, keys say. A number stays its value's for as long as something holds it.

    >>> numbers = ValueNumbers()
    >>> numbers.numbers_of(["a", "b", "a"]).tolist(), numbers.all
    ([0, 1, 0], ['a', 'b'])
    >>> numbers.keep([False, True])
    >>> numbers.numbers_of(["c", "b"]).tolist(), numbers.all
    ([0, 1], ['c', 'b'])
    """

    least = 1024
    """Below so many values, nobody asks which of them are in use."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.all: list[Any] = []
        """The value of each number; of numbers that are not in use any, the one that had it last."""
        self._numbers: dict[Any, int] = {}
        self._free: list[int] = []
        self._bound = self.least
        for value in values:
            self.number(value)

    def __len__(self) -> int:
        return len(self.all)

    @property
    def many(self) -> bool:
        """Whether it is time to ask which are in use: there are twice as many as there were then."""
        return len(self._numbers) > self._bound

    def number(self, value: Any) -> int:
        """Return the number of a value, a new one if it has none."""
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = self._place(value)
        return found

    def _place(self, value: Any) -> int:
        if not self._free:
            self.all.append(value)
            return len(self.all) - 1
        number = self._free.pop()
        self.all[number] = value
        return number

    def numbers_of(self, values: Sequence[Any]) -> Any:
        """Return the numbers of many."""
        try:
            return np.fromiter(map(self._numbers.__getitem__, values), np.int64, len(values))
        except KeyError:
            return np.fromiter(map(self.number, values), np.int64, len(values))

    def known(self, value: Any) -> int | None:
        """Return the number of a value; None: it has none."""
        return self._numbers.get(value)

    def known_of(self, values: Iterable[Any]) -> Any:
        """Return the numbers of those values that have one."""
        return np.array([number for number in map(self.known, values) if number is not None], np.int64)

    def keep(self, used: Any) -> None:
        """Give the numbers of all other values again; ``used``: bools, one a number.

        Until that happens a number still reads as its old value: output that was not decoded yet may hold it.
        """
        numbers = {value: number for value, number in self._numbers.items() if used[number]}
        free = np.flatnonzero(~np.asarray(used, bool)).tolist()
        vars(self).update(_numbers=numbers, _free=free, _bound=max(self.least, 2 * len(numbers)))
