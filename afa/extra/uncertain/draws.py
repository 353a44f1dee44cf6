"""What is drawn for an event in a world: a pure function of the seed, the world and who the event is.

    hash(identity) --.
    hash(seed, world) +--> mix --> u in [0, 1)         the same event has the same time in a world, whenever and how often it comes

The mixing function is the finalizer of splitmix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA
2014), which numpy does for whole columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15
_ONE, _TWO = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_A, _B, _C, _LOW = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
NOTHING = 0x5DEECE66D
"""Stands for None."""


def mixed(words: Any) -> Any:
    """Returns 64 bits for each 64 bits, each of which depends on all; overwrites its argument."""
    words ^= words >> _A
    words *= _ONE
    words ^= words >> _B
    words *= _TWO
    words ^= words >> _C
    return words


def word_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def words_of(columns: Sequence[Any], n: int) -> Any:
    """Returns 64 bits for each of n rows of columns (`afa.state.states.Column`): equal rows have equal ones."""
    found = np.full(n, GOLDEN, np.uint64)
    for column in columns:
        values = column.values
        if column.texts is not None:
            words = np.array([word_of(text) for text in column.texts] or [0], np.uint64)[values]
        elif values.dtype == np.float64:
            words = np.where(values == values, values + 0.0, np.nan).view(np.uint64)  # one zero, one NaN
        else:
            words = values.astype(np.int64).view(np.uint64)
        if column.present is not None:
            words = np.where(column.present, words, np.uint64(NOTHING))
        found = mixed(found * np.uint64(GOLDEN) ^ mixed(words + np.uint64(1)))
    return found


def worlds_of(seed: int, worlds: int, what: str) -> Any:
    """Returns 64 bits for each world, shape (worlds, 1); ``what``: for what is drawn."""
    base = word_of(f"{seed}/{what}")
    return mixed(np.arange(1, worlds + 1, dtype=np.uint64) * np.uint64(GOLDEN) ^ np.uint64(base)).reshape(worlds, 1)


def drawn(worlds: Any, words: Any) -> Any:
    """Returns draws of [0, 1), shape (worlds, n), of the words of worlds (worlds, 1) and of events (n,)."""
    found = mixed(worlds + words)
    found >>= _LOW
    return found * 2.0**-53
