"""Arrays in one buffer of a device: an address in the words of kernels is a place in it.

| 64 bytes, as no address is 0 | arrays that stay: columns | arrays of one call |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from afa.compiled.device.devices import Device

FIRST = 64
LEAST = 1 << 20


class TooLarge(Exception):  # noqa: N818  (no error: the rows go in parts)
    """The device has no room for so many bytes."""


class Arena:
    """One buffer, which grows up to ``most`` bytes. For one thread at a time."""

    def __init__(self, device: Device, most: int | None = None) -> None:
        self.device, self.most = device, device.memory if most is None else min(most, device.memory)
        self._size, self._used, self.buffer = 0, FIRST, None
        self._known: dict[int, tuple[Any, int]] = {}  # by id of an array that stays: it, and its place

    @property
    def nbytes(self) -> int:
        """The bytes of the buffer."""
        return self._size

    def stay(self, array: Any) -> int:
        """Return the place of an array that stays, copied there once. *Requires* that it does not change."""
        found = self._known.get(id(array))
        if found is None:
            found = self._known[id(array)] = array, self.put(array)
        return found[1]

    def put(self, array: Any) -> int:
        """Copy an array to the device. Returns its place. Raises `TooLarge`."""
        array = np.ascontiguousarray(array)
        at = self.room(array.nbytes)
        if array.nbytes:
            self.device.write(self.buffer, at, array)
        return at

    def room(self, size: int) -> int:
        """Return the place of so many bytes, which hold anything. Raises `TooLarge`."""
        at = self._used
        used = at + -(-max(size, 8) // FIRST) * FIRST
        if used > self._size:
            self._grow(used)
        self._used = used
        return at

    def read(self, at: int, array: Any) -> Any:
        """Fill an array from its place. Returns it."""
        if array.nbytes:
            self.device.read(self.buffer, at, array)
        return array

    def mark(self) -> int:
        """Return where arrays of a call begin, for `back`."""
        return self._used

    def back(self, mark: int) -> None:
        """Forget the arrays that came after a mark."""
        self._used = mark
        self._known = {each: (array, at) for each, (array, at) in self._known.items() if at < mark}

    def only(self, arrays: Iterable[Any]) -> None:
        """Forget what stays, if not all of it is among these arrays."""
        if not self._known.keys() <= set(map(id, arrays)):
            self.clear()

    def clear(self) -> None:
        """Forget all arrays; the buffer stays."""
        self.back(FIRST)

    def _grow(self, wanted: int) -> None:
        if wanted > self.most:
            raise TooLarge(f"{wanted:,} bytes")
        size = min(max(wanted, 2 * self._size, LEAST), self.most)
        try:
            larger = self.device.buffer(size)
        except MemoryError as error:
            raise TooLarge(str(error)) from None
        if self.buffer is not None:
            self.device.copy(self.buffer, larger, self._used)
        self.buffer, self._size = larger, size
