"""Which bucket a key belongs to: fixed for the life of a checkpoint, so it rests on nothing that another release could change."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_STEP, _FIRST, _SECOND = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def bucket_numbers(columns: Sequence[pa.ChunkedArray], buckets: int) -> Any:
    """The bucket of each row: of the key columns, each mixed into what those before it gave (splitmix64).

    Parameters
    ----------
    columns : sequence of pyarrow.ChunkedArray
        Integers, booleans or strings; a null counts as 0.
    buckets : int

    Returns
    -------
    numpy.ndarray
        Of int16 if all numbers fit, which NumPy sorts by radix, else int32.

    Examples
    --------
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


def _words(column: pa.ChunkedArray) -> Any:
    """A word for each value: an integer itself, a string's checksum (of each different one once)."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        coded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
        words = np.array([zlib.crc32(text.encode()) for text in coded.dictionary.to_pylist()], np.uint64)
        return words[coded.indices.to_numpy()] if len(words) else np.zeros(0, np.uint64)
    return pc.fill_null(column.cast(pa.int64()), 0).to_numpy().astype(np.int64, copy=False).view(np.uint64)
