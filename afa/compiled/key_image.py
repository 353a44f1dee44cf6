"""Keys and their numbers as plain data, for another process of this machine: no Python object for each key, and no slot.

What is taken over is looked at as far as it could lead kernels astray: where it points, that no two keys have one place in the
arena, and that no key is there twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.kernel import key_layout as t
from afa.compiled.key_numbers import KeyNumbers
from afa.compiled.memory import WordArray
from afa.state.key_columns import KeyColumns
from afa.state.sound import wanted


def image_of(numbers: KeyNumbers) -> list[Any]:
    """Return the keys as they stand in memory; or, where Python has names of them, all by their numbers, each in a list."""
    arrays = numbers.arrays
    if numbers.odd:
        found: list[Any] = [None] * numbers.top
        codes = numbers.live()
        for code, name in zip(codes.tolist(), numbers.names_of(codes)):
            found[code] = [name]
        return [numbers.top, found]
    arrays.compact(numbers.run, whole=True)
    return [numbers.top, arrays.w[: words_of(numbers.top)].tobytes(), arrays.p[: arrays.p[t.KeyArena.top]].tobytes()]


def take_image(numbers: KeyNumbers, found: list[Any]) -> None:
    """Fill an empty table of keys from an image. Raises SnapshotError or ValueError where the data is no image."""
    top, *words = found
    if len(words) == 1:
        _take_names(numbers, words[0], top)
        return
    w, p = (np.frombuffer(part, np.int64) for part in words)
    wanted("keys in groups", len(w) == words_of(top), [len(w), top])
    wanted(
        "an arena without free places",
        len(p) >= t.ARENA and p[t.KeyArena.top] == len(p) and not p[t.KeyArena.freed : t.ARENA].any(),
    )
    arrays = numbers.arrays
    arrays.take(w, p, top)
    wanted("keys that are in the arena, each once", numbers.run(t.REBUILD, 0, top, WordArray(np.zeros((1, 64), np.int64))) == 0)
    numbers.top = top
    numbers.given()


def words_of(top: int) -> int:
    """Return how many words so many keys take, in groups."""
    return -(-top // 8) * t.GROUP


def _take_names(numbers: KeyNumbers, names: list[Any], top: int) -> None:
    wanted("a name for each key", len(names) == top, top)
    free = [code for code, held in enumerate(names) if held is None]
    wanted("names in lists", all(held is None or (isinstance(held, list) and len(held) == 1) for held in names), top)
    codes = numbers.numbers_of_keys(KeyColumns.of([object() if held is None else held[0] for held in names]))
    if not np.array_equal(codes, np.arange(top)):
        raise ValueError("expected keys of which none is there twice")
    numbers.gone(np.array(free[::-1], np.int64))  # the least is given first
    numbers.given()
