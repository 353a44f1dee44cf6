"""A canonical order of keys and texts, which depends on nothing but them, so that equal states are equal bytes.

    ints                        by value
    other keys in columns       by a sum of their values, and where sums are equal by what they look like (`repr`)
    keys that are objects       by what they look like
    texts                       by their checksums, and where these are equal by themselves

Most items are sorted as arrays, without a comparison in Python.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from afa.state.key_columns import KeyColumn, KeyColumns, spans

LONG = 128
"""From how many bytes on a text's sum is made of its digest."""
_STEP, _MIX, _PRESENT = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F))
_HALF = np.uint64(32)


# -- keys ----------------------------------------------------------------------------------------------------------------------


def order_of_keys(keys: KeyColumns) -> Any:
    """Return the places of keys, all different and in their normal form, in their canonical order: an array. O(n log n).

    >>> order_of_keys(KeyColumns.of([3, 1, 2])).tolist(), order_of_keys(KeyColumns.of([])).tolist()
    ([1, 2, 0], [])
    """
    if keys.has_objects:
        found = list(keys)
        return np.array(sorted(range(len(found)), key=lambda i: repr(found[i])), np.int64)
    words = sums(keys)
    if (words[1:] > words[:-1]).all():
        return np.arange(len(words))
    order = np.argsort(words)
    _untie(keys, order, words[order])
    return order


def ascends(keys: KeyColumns) -> bool:
    """Return whether keys without objects are in their canonical order, so that no two are equal. O(n)."""
    words = sums(keys)
    equal = np.flatnonzero(words[1:] == words[:-1]).tolist()
    return bool((words[1:] >= words[:-1]).all()) and all(repr(keys[i]) < repr(keys[i + 1]) for i in equal)


def sums(keys: KeyColumns) -> Any:
    """Return a word for each key, which has no objects: of an int itself, of others a sum that differs if keys do, mostly."""
    columns = keys.columns
    if not keys.width and columns[0].kind is int and columns[0].present is None:
        return columns[0].values
    found = np.zeros(len(keys), np.uint64)
    for column in columns:
        found += _STEP
        words = _words_of(column)
        if column.present is not None:
            words = np.where(column.present, words, _PRESENT)
        _mix(found, words)
    return found


def _words_of(column: KeyColumn) -> Any:
    if column.kind is str:
        return _text_sums(column.values)
    return column.values.astype(np.uint64) if column.kind is bool else column.values.view(np.uint64)


def _mix(found: Any, words: Any) -> None:
    """Mix words into sums, so that sums of which one bit differs differ in half of their bits."""
    found ^= words
    for _ in range(2):
        found *= _MIX
        found ^= found >> _HALF


def _text_sums(texts: Any) -> Any:
    """Return a sum of each text: its bytes as words of eight, the last one filled up with zeros, and its length mixed together."""
    places, data = spans(texts)
    data = np.concatenate([data[places[0] : places[-1]], np.zeros(8, np.uint8)])
    begins = places[:-1] - places[0]
    lengths = places[1:] - places[:-1]
    found = lengths.astype(np.uint64)
    at: Any = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))  # the word that begins at each byte
    there: Any = slice(None)
    for low in range(0, min(int(lengths.max(initial=0)), LONG), 8):
        if low:
            there = np.flatnonzero(lengths > low)
        left = np.minimum(lengths[there] - low, 8)
        words = at[begins[there] + low].astype(np.uint64)
        words &= _MASKS[left]
        part = found[there]
        _mix(part, words)
        found[there] = part
    for i in np.flatnonzero(lengths > LONG).tolist():
        text = data[begins[i] : begins[i] + lengths[i]]
        found[i] = int.from_bytes(hashlib.blake2b(text.tobytes(), digest_size=8).digest(), "little")
    return found


_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)


def _untie(keys: KeyColumns, order: Any, words: Any) -> None:
    """Sort keys of equal sums, which are sorted, by what they look like."""
    for low, high in _runs(words[1:] == words[:-1]):
        order[low : high + 1] = sorted(order[low : high + 1].tolist(), key=lambda i: repr(keys[i]))


def _runs(same: Any) -> list[list[int]]:
    """Return first and last place of each run of equal items; ``same``: which of them equal the one before."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    found: list[list[int]] = edges.reshape(-1, 2).tolist()
    return found


def newest(parts: Sequence[KeyColumns]) -> list[Any]:
    """Return of each of several lists of keys which of them have not been before: arrays of bools. O(n log n)."""
    lengths = [len(part) for part in parts]
    found = np.ones(sum(lengths), np.bool_)
    keys = KeyColumns.concat(parts)
    if keys.has_objects:
        _leave_first(found, list(keys), range(len(found)))
    else:
        words = sums(keys)
        order = np.argsort(words, kind="stable")
        same = words[order][1:] == words[order][:-1]
        again = order[1:][same]
        if keys.take(order[:-1][same]).same(keys.take(again)).all():
            found[again] = False
        else:  # different keys of one sum
            for low, high in _runs(same):
                _leave_first(found, keys, order[low : high + 1].tolist())
    return np.split(found, np.cumsum(lengths)[:-1])


def _leave_first(found: Any, keys: Sequence[Any], places: Iterable[int]) -> None:
    seen = set()
    for i in places:
        key = keys[i]
        found[i] = key not in seen
        seen.add(key)


# -- texts ---------------------------------------------------------------------------------------------------------------------


def order_of(texts: Sequence[str]) -> Any:
    """Return the places of texts, all different, in their canonical order: an array. O(n log n).

    >>> order_of(["b", "c", "a"]).tolist(), order_of([]).tolist()
    ([1, 0, 2], [])
    """
    try:
        sums = np.fromiter(map(crc32, map(str.encode, texts)), np.int64, len(texts))  # a tenth of the time of sorting the texts
    except UnicodeEncodeError:  # a lone surrogate, which can't be saved; what can't be is told where it is packed
        return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
    order = np.argsort(sums, kind="stable")
    for low, high in _runs(sums[order][1:] == sums[order][:-1]):
        order[low : high + 1] = sorted(order[low : high + 1].tolist(), key=texts.__getitem__)
    return order


def in_order(texts: Iterable[str]) -> list[str]:
    """Return texts, all different, in the order of `order_of`."""
    found = list(texts)
    return permuted(found, order_of(found))


def permuted(items: Sequence[Any], order: Any) -> list[Any]:
    return list(map(items.__getitem__, order.tolist()))
