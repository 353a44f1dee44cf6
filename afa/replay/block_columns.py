"""What an index knows of a column in each block: bounds, how much is missing, sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from afa.replay.column_totals import can_be_added, in_arrow, plain, plain_type, total_type, totals_of, value_type, whole_sums

LONGEST = 256
"""Texts of more bytes are no bounds: those of such a block are unknown."""


class BlockColumn(NamedTuple):
    """What is known of a column in each block."""

    # low, high: the least and the largest value, NaN left out, in the column's own type; null where nobody knows, or none is there
    low: pa.Array
    high: pa.Array
    # nulls, nans: how many values are missing, or NaN; -1 where nobody knows
    nulls: np.ndarray
    nans: np.ndarray
    total: pa.Array | None  # the sum, int64 or float64; null where nobody knows. None: values of this type have none.
    known: np.ndarray  # bool: whether low and high are known: all values that are no NaN lie between them, or there are no others

    def part(self, some: slice) -> BlockColumn:
        """Return some blocks."""
        low, high, nulls, nans, total, known = self
        return BlockColumn(low[some], high[some], nulls[some], nans[some], None if total is None else total[some], known[some])


def has_bounds(kind: pa.DataType) -> bool:
    """Return whether blocks of a column of this type have bounds: those of numbers, times and text have."""
    return plain_type(kind) is not None or _is_text(kind)


def _is_text(kind: pa.DataType) -> bool:
    kind = value_type(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def block_column(column: Any, starts: np.ndarray, rows: np.ndarray) -> BlockColumn:
    """Return bounds, nulls and sums of blocks of a column."""
    kind = value_type(column.type)
    if not len(starts):
        return unknown_column(kind, 0)
    if _is_text(kind):
        return _block_texts(column, starts, rows)
    numbers = plain(column)
    found = totals_of("", numbers, starts, total=can_be_added(kind), bounds=True)
    nans = np.zeros(len(starts), np.int64)
    if numbers.values.dtype.kind == "f":
        wrong = np.isnan(numbers.values)
        if wrong.any():
            nans = np.add.reduceat(wrong & (True if numbers.valid is None else numbers.valid), starts, dtype=np.int64)
    present = found.get(("", "count"), rows)
    low, high = (in_arrow(found["", part], present == nans, kind) for part in ("min", "max"))
    total = pa.array(found["", "sum"]) if ("", "sum") in found else None
    if ("", "upper") in found:
        sums, fits = whole_sums(found["", "upper"], found["", "lower"])
        total = pa.array(sums, mask=~fits)
    return BlockColumn(low, high, rows - present, nans, total, np.ones(len(starts), np.bool_))


def _block_texts(column: Any, starts: np.ndarray, rows: np.ndarray) -> BlockColumn:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array = array.dictionary_decode() if types.is_dictionary(array.type) else array
    low, high, nulls = [], [], np.zeros(len(starts), np.int64)
    for i, (start, many) in enumerate(zip(starts.tolist(), rows.tolist())):
        part = array.slice(start, many)
        nulls[i] = part.null_count
        ends = pc.min_max(part).as_py().values()
        long = any(end is not None and len(end.encode()) > LONGEST for end in ends)
        least, largest = (None, None) if long else ends
        low.append(least)
        high.append(largest)
    known = np.array([text is not None for text in low], np.bool_) | (nulls == rows)
    return BlockColumn(pa.array(low, array.type), pa.array(high, array.type), nulls, np.zeros_like(nulls), None, known)


def unknown_column(kind: pa.DataType, many: int) -> BlockColumn:
    """Return a column with no knowledge about it."""
    nobody, none = pa.nulls(many, kind), np.full(many, -1, np.int64)
    total = pa.nulls(many, total_type(kind)) if can_be_added(kind) else None
    return BlockColumn(nobody, nobody, none, none, total, np.zeros(many, np.bool_))


def chained(parts: list[BlockColumn]) -> BlockColumn:
    """Return blocks one after the other."""
    low, high = (pa.concat_arrays([part[i] for part in parts]) for i in range(2))
    nulls, nans, known = (np.concatenate([part[i] for part in parts]) for i in (2, 3, 5))
    total = None if parts[0].total is None else pa.concat_arrays([part.total for part in parts])
    return BlockColumn(low, high, nulls, nans, total, known)
