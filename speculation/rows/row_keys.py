"""Keys as numbers; those of keys that hold nothing are given again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

LEAST = 1024
"""Below so many keys, nobody asks which of them hold something."""


class RowKeys:
    """The numbers of keys.

    >>> keys = RowKeys()
    >>> keys.numbers(["a", "b", "a"]).tolist(), keys.names
    ([0, 1, 0], ['a', 'b'])
    >>> keys.keep([False, True])
    >>> keys.numbers(["c", "b"]).tolist(), keys.names
    ([0, 1], ['c', 'b'])
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self.names: list[Hashable] = []
        self._free: list[int] = []
        self._bound = LEAST
        self.given = 0
        """How many numbers were given so far: while no further one is, `names` stay as they are."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def many(self) -> bool:
        """Whether it is time to ask which of them hold something."""
        return len(self._numbers) > self._bound

    def number(self, key: Hashable) -> int:
        """Return the number of a key."""
        found = self._numbers.get(key)
        if found is None:
            if self._free:
                found = self._free.pop()
                self.names[found] = key
            else:
                found = len(self.names)
                self.names.append(key)
            self._numbers[key] = found
            self.given += 1
        return found

    def numbers(self, keys: Sequence[Hashable]) -> Any:
        """Return the numbers of many."""
        try:
            return np.fromiter(map(self._numbers.__getitem__, keys), np.int64, len(keys))
        except KeyError:
            return np.fromiter(map(self.number, keys), np.int64, len(keys))

    def known(self, keys: Iterable[Hashable]) -> Any:
        """Return the numbers of those keys that have one."""
        found = (self._numbers.get(key) for key in keys)
        return np.array([number for number in found if number is not None], np.int64)

    def keep(self, held: Sequence[bool]) -> None:
        """Give the numbers of keys that hold nothing again."""
        gone = [number for number, there in enumerate(held) if not there]
        numbers = {key: number for key, number in self._numbers.items() if held[number]}
        vars(self).update(_numbers=numbers, _free=gone, _bound=max(LEAST, 2 * len(numbers)))
