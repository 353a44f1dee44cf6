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
    """Return the keys as they stand in memory; or, where Python has names of them, all by their numbers, None for no key."""
    arrays = numbers.arrays
    if numbers.odd:
        found: list[Any] = [None] * numbers.top
        codes = numbers.live()
        for code, name in zip(codes.tolist(), numbers.names_of(codes)):
            found[code] = name
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
    wanted("keys with a place each in the arena", _are_apart(arrays.w[: words_of(top)], len(p)))
    numbers.top = top
    numbers.given()


def _are_apart(w: Any, end: int) -> bool:
    """Return whether no two of the records of some groups of keys share a place, and none reaches beyond the end."""
    groups = w.reshape(-1, t.GROUP)
    kinds, values = groups[:, 0].copy().view(np.uint8) & t.CLASS, groups[:, 1:].ravel()
    texts, tuples = (values[kinds == kind] for kind in (t.TEXT, t.TUPLE))
    words = np.concatenate([(texts & t.LONGEST) + 7 >> 3, tuples & t.LONGEST])
    begins = np.concatenate([texts, tuples])[words > 0] >> t.LENGTH
    order = np.argsort(begins)
    ends = (begins + _sizes_of_records(words[words > 0]))[order]
    return bool((ends <= np.append(begins[order][1:], end)).all())


def _sizes_of_records(words: Any) -> Any:
    """Return how many words the places of records take, as `afa.compiled.kernel.key_records.size_of_record` says."""
    units, double = words.copy(), np.zeros_like(words)
    while (large := units > 16).any():
        units[large] = units[large] + 1 >> 1
        double += large
    return units << double


def words_of(top: int) -> int:
    """Return how many words so many keys take, in groups."""
    return -(-top // 8) * t.GROUP


def _take_names(numbers: KeyNumbers, names: list[Any], top: int) -> None:
    wanted("a name for each key", len(names) == top, top)
    codes = np.flatnonzero(np.fromiter((name is not None for name in names), np.bool_, top))
    numbers.take(KeyColumns.of([names[code] for code in codes.tolist()]), codes, top)
