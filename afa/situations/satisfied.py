"""Which definitions readings satisfy, as the bits of one number each: all are moved and compared at once.

a        x - x
b        x x -          bits 3 2 1
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def as_bits(on: Iterable[Any], definitions: int, n: int) -> Any:
    """Return n bools of each definition, arrays or lists, as bits: an array of unsigned ints, shape (n,), their highest bit 0."""
    kind = np.uint8 if definitions < 8 else np.uint16 if definitions < 16 else np.uint32
    found = np.zeros(n, kind)
    for number, each in enumerate(map(np.asarray, on)):
        one = each.view(np.uint8) if each.dtype == np.bool_ else each  # which numpy shifts faster than bools
        found |= np.left_shift(one, number, dtype=kind, casting="unsafe")
    return found


def satisfied(bits: Any, number: int) -> Any:
    """Return which of some bits satisfy a definition."""
    return (bits & bits.dtype.type(1 << number)) != 0
