"""Assign keys to buckets, and give each bucket the label by which Spark knows it.

Both are fixed for the life of a checkpoint: they rest on nothing that another release could change. Spark puts a group into the
partition ``hash % partitions``; of 16 buckets by their numbers 7 and 9 came into two partitions, 10, 3 and 3 into three. The hash
of a label (Murmur3 with seed 42, in all releases of Spark, and as ``hash(label)`` in SQL) is the bucket's number, so that buckets
are dealt out in turn: each partition has as many as any other, or one less.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_STEP, _FIRST, _SECOND = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def bucket_numbers(columns: Sequence[pa.ChunkedArray], buckets: int) -> Any:
    """Return the bucket of each row: of the key columns, each mixed into what those before it gave (splitmix64).

    Columns are of integers, booleans or strings; a null counts as 0. Numbers are int16 if all fit, which NumPy sorts by radix.

    >>> bucket_numbers([pa.chunked_array([["a", "b", "a"]]), pa.chunked_array([[1, 1, 1]])], 16).tolist()
    [3, 6, 3]
    """
    h = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        h = (h ^ _words(column)) + _STEP
        h = (h ^ (h >> np.uint64(30))) * _FIRST
        h = (h ^ (h >> np.uint64(27))) * _SECOND
        h ^= h >> np.uint64(31)
    return (h % np.uint64(buckets)).astype(np.int16 if buckets <= 1 << 15 else np.int32)


_SEED, _LONG = 42, 8
_ONE, _TWO, _THREE = 0xCC9E2D51, 0x1B873593, 0xE6546B64  # constants of Murmur3
_END, _LAST = 0x85EBCA6B, 0xC2B2AE35
_WORD = 1 << 32


def bucket_of(label: int) -> int:
    """Return the bucket that Spark knows by a label: Spark's hash of it, a bigint below 2**32.

    >>> [bucket_of(label_of(number)) for number in (0, 1, 70_000)]
    [0, 1, 70000]
    """
    h = _turned(_SEED ^ _turned(label * _ONE % _WORD, 15) * _TWO % _WORD, 13) * 5 + _THREE
    h = (_turned(h % _WORD, 13) * 5 + _THREE) % _WORD ^ _LONG  # the upper half of a bigint, which is 0
    h = (h ^ h >> 16) * _END % _WORD
    h = (h ^ h >> 13) * _LAST % _WORD
    return h ^ h >> 16


def label_of(number: int) -> int:
    """Return the label of a bucket: `bucket_of` backwards, as each of its steps can be undone."""
    h = number ^ number >> 16
    h = h * pow(_LAST, -1, _WORD) % _WORD
    h ^= h >> 13 ^ h >> 26
    h = h * pow(_END, -1, _WORD) % _WORD
    h = h ^ h >> 16 ^ _LONG
    for _ in range(2):
        h = _turned((h - _THREE) * pow(5, -1, _WORD) % _WORD, -13 % 32)
    h = _turned((h ^ _SEED) * pow(_TWO, -1, _WORD) % _WORD, -15 % 32)
    return h * pow(_ONE, -1, _WORD) % _WORD


def _turned(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) % _WORD


def _words(column: pa.ChunkedArray) -> Any:
    """Return a word for each value: an integer itself, a string's checksum (of each different one once)."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        coded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
        words = np.array([zlib.crc32(text.encode()) for text in coded.dictionary.to_pylist()], np.uint64)
        return words[coded.indices.to_numpy()] if len(words) else np.zeros(0, np.uint64)
    return pc.fill_null(column.cast(pa.int64()), 0).to_numpy().astype(np.int64, copy=False).view(np.uint64)
