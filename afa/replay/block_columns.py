"""What an index knows of a column in each block: bounds, how much is missing, sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from afa.replay.column_totals import can_be_added, in_arrow, plain, plain_type, totals_of, value_type

LONGEST = 256
"""Texts of more bytes are no bounds: those of such a block are unknown."""


class BlockColumn(NamedTuple):
    """What is known of a column in each block.

    Attributes
    ----------
    low, high : pyarrow.Array
        The least and the largest value, NaN left out, in the column's own type; null where nobody knows, or none is there.
    nulls, nans : numpy.ndarray of int64
        How many values are missing, or NaN; -1 where nobody knows.
    total : pyarrow.Array or None
        The sum, int64 or float64; null where nobody knows. None: values of this type have none.
    known : numpy.ndarray of bool
        Whether low and high are known: all values that are no NaN lie between them, or there are no others.
    """

    low: pa.Array
    high: pa.Array
    nulls: np.ndarray
    nans: np.ndarray
    total: pa.Array | None
    known: np.ndarray


def has_bounds(kind: pa.DataType) -> bool:
    """Return whether blocks of a column of this type have bounds: those of numbers, times and text have."""
    return plain_type(kind) is not None or _is_text(kind)


def _is_text(kind: pa.DataType) -> bool:
    kind = value_type(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def total_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of sums of a column."""
    return pa.float64() if types.is_floating(value_type(kind)) else pa.int64()


def block_column(column: Any, starts: np.ndarray, rows: np.ndarray) -> BlockColumn:
    """Return bounds, nulls and sums of blocks of a column."""
    kind = value_type(column.type)
    if _is_text(kind):
        return _block_texts(column, starts, rows)
    numbers = plain(column)
    if not len(starts):
        none = in_arrow(numbers.values, None, kind)
        total = pa.array([], total_type(kind)) if can_be_added(kind) else None
        return BlockColumn(none, none, starts, starts, total, starts.astype(np.bool_))
    found = totals_of(numbers, starts, total=can_be_added(kind), bounds=True)
    nans = np.zeros(len(starts), np.int64)
    if numbers.values.dtype.kind == "f":
        wrong = np.isnan(numbers.values)
        if wrong.any():
            wrong &= True if numbers.valid is None else numbers.valid
            nans = np.add.reduceat(wrong, starts, dtype=np.int64)
    none = found.present == nans
    low, high = (in_arrow(part, none, kind) for part in (found.low, found.high) if part is not None)
    total = None
    if found.total is not None:
        fits = [-(2**63) <= item < 2**63 for item in found.total] if found.total.dtype == object else None
        sums = found.total if fits is None else np.where(fits, found.total, 0).astype(np.int64)
        total = pa.array(sums, total_type(kind), mask=None if fits is None else ~np.array(fits))
    return BlockColumn(low, high, rows - found.present, nans, total, np.ones(len(starts), np.bool_))


def _block_texts(column: Any, starts: np.ndarray, rows: np.ndarray) -> BlockColumn:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array = array.dictionary_decode() if types.is_dictionary(array.type) else array
    low, high, nulls = [], [], np.zeros(len(starts), np.int64)
    for i, (start, many) in enumerate(zip(starts.tolist(), rows.tolist())):
        part = array.slice(start, many)
        nulls[i] = part.null_count
        found = pc.min_max(part)
        ends = [found["min"].as_py(), found["max"].as_py()]
        long = any(end is not None and len(end.encode()) > LONGEST for end in ends)
        low.append(None if long else ends[0])
        high.append(None if long else ends[1])
    known = np.array([text is not None for text in low], np.bool_) | (nulls == rows)
    return BlockColumn(pa.array(low, array.type), pa.array(high, array.type), nulls, np.zeros_like(nulls), None, known)


def unknown_column(kind: pa.DataType, many: int) -> BlockColumn:
    """Return a column of which nothing is known."""
    nobody, none = pa.nulls(many, kind), np.full(many, -1, np.int64)
    total = pa.nulls(many, total_type(kind)) if can_be_added(kind) else None
    return BlockColumn(nobody, nobody, none, none, total, np.zeros(many, np.bool_))


def chained(parts: list[BlockColumn]) -> BlockColumn:
    """Return blocks one after the other."""
    low, high = (pa.concat_arrays([part[i] for part in parts]) for i in range(2))
    nulls, nans, known = (np.concatenate([part[i] for part in parts]) for i in (2, 3, 5))
    total = None if parts[0].total is None else pa.concat_arrays([part.total for part in parts])
    return BlockColumn(low, high, nulls, nans, total, known)
