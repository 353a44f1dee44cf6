"""What worlds have met: which sizes their keys have come to and left, and what befell them on the way."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from afa.compiled.kernel import key_layout as t
from afa.compiled.kernel import layout as k
from afa.compiled.kernel.slabs import RECORDS, cell_class
from tests.worlds.kind import Seen

LEVELS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144)
"""Borders between sizes of a key, in events that it holds."""
CLASS_OF = np.array([0, *map(cell_class, range(1, k.MOST + 1))])
"""By the words of a record."""
NEEDS = {getattr(k, name): name for name in dir(k) if name.startswith("NEED_")}


def level(events: int) -> int:
    """The size of a key of so many events.

    Examples
    --------
    >>> [level(n) for n in (0, 1, 2, 4, 5, 70, 150)]
    [0, 1, 2, 3, 4, 9, 11]
    """
    return bisect_right(LEVELS, events)


def passed(seen: Seen, way: str) -> tuple[int, ...]:
    """How often a key has come "up" to each size by its events, or past it, in one call; or gone "down" from it."""
    return tuple(seen[way, level] for level in range(len(LEVELS) + 1))


def moved(seen: Seen, before: Any, after: Any) -> None:
    """Count the keys that have changed their class of cells, by number; what holds nothing is in class -1."""
    n = max(len(before), len(after))
    old, new = (np.concatenate([of, np.full(n - len(of), -1)]) for of in (before, after))
    changed = np.flatnonzero(old != new)
    for a, b in zip(old[changed].tolist(), new[changed].tolist()):
        if b >= 0:
            seen["into", b] += 1
        if a >= 0:
            seen["out of", a] += 1
        if a >= 0 and b >= 0:
            seen["grown" if b > a else "shrunk"] += 1
            seen["to a block"] += b >= RECORDS > a
            seen["to rest"] += a >= RECORDS > b


def classes_of(m: Any) -> Any:
    """Return by the number of a key its class of cells: of records, of blocks RECORDS and their size class; -1: nothing is held."""
    begin, n = int(m[k.Memory.dir]), int(m[k.Memory.keys])
    held = m[begin : begin + n * k.KeyEntry.SIZE].reshape(n, k.KeyEntry.SIZE)[:, k.KeyEntry.block]
    found = np.full(n, -1)
    rest, own = held < 0, held > 0
    found[rest] = CLASS_OF[m[-held[rest]] & k.HEAD_MASK]
    found[own] = RECORDS + m[held[own]]
    return found


def collisions(operator: Any) -> int:
    """Return how many keys of the table share their hash with one before them."""
    m = operator._core.engine.store.directory.keys.arrays.m
    slots = m[t.SLOTS :]
    return int(len(slots[slots != 0]) - len(np.unique(slots[slots != 0] >> 32)))
