"""Counts, sums and bounds of a column over stretches of rows: a block, a slice of time, a slice of rows.

    column of Arrow  ->  `Plain`: numbers, and which are there  ->  `totals_of` each stretch  ->  `added`: stretches out of others

Nulls are left out. Sums of ints are exact: int64, or Python's ints where that might be too short. NaN counts in a sum, and is left
out of bounds unless nothing else is there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import types

SAFE = 2.0**62
"""Ints whose absolute values add up to less, in floats, fit an int64 whichever of them are added."""


class Plain(NamedTuple):
    """A column as numbers; ``valid``: which are there, None: all. Times and dates are ints of their unit, truth is 0 or 1."""

    values: np.ndarray
    valid: np.ndarray | None

    def take(self, rows: np.ndarray) -> Plain:
        """Return those of some rows."""
        return Plain(self.values[rows], None if self.valid is None else self.valid[rows])


class Totals(NamedTuple):
    """What is known of a column in each of n stretches; what was not asked for is None.

    Attributes
    ----------
    present : numpy.ndarray of int64
        How many values are there, NaN among them.
    total : numpy.ndarray of float64, int64 or object
        Their sum; object: Python's ints. 0 where there are none.
    low, high : numpy.ndarray
        The least and the largest value, in the column's plain type; without meaning where none is present.
    """

    present: np.ndarray
    total: np.ndarray | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    def take(self, rows: Any) -> Totals:
        """Return those of some stretches."""
        total, low, high = (None if part is None else part[rows] for part in self[1:])
        return Totals(self.present[rows], total, low, high)


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values, whether they are coded or not."""
    return kind.value_type if types.is_dictionary(kind) else kind


def plain_type(kind: pa.DataType) -> np.dtype[Any] | None:
    """Return the type that a column of numbers or times has as `Plain`; None: it holds something else.

    Examples
    --------
    >>> plain_type(pa.timestamp("ms")), plain_type(pa.bool_()), plain_type(pa.string())
    (dtype('int64'), dtype('uint8'), None)
    """
    kind = value_type(kind)
    if types.is_integer(kind):
        return np.dtype(str(kind))
    if types.is_floating(kind):
        return np.dtype(np.float64 if types.is_float64(kind) else np.float32)
    if types.is_boolean(kind):
        return np.dtype(np.uint8)
    if types.is_date32(kind) or types.is_time32(kind):
        return np.dtype(np.int32)
    timed = types.is_timestamp(kind) or types.is_date64(kind) or types.is_time64(kind) or types.is_duration(kind)
    return np.dtype(np.int64) if timed else None


def can_be_added(kind: pa.DataType) -> bool:
    """Return whether a column's values have a sum here: ints, floats and truth have."""
    kind = value_type(kind)
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def plain(column: Any) -> Plain:
    """Return a column of numbers or times as numbers. *Requires* `plain_type` of its type."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array = array.dictionary_decode() if types.is_dictionary(array.type) else array
    kind = plain_type(array.type)
    if types.is_boolean(array.type) or types.is_float16(array.type):
        array = array.cast(pa.from_numpy_dtype(kind))
    else:
        array = array.view(pa.from_numpy_dtype(kind))
    if not array.null_count:
        return Plain(array.to_numpy(zero_copy_only=False), None)
    return Plain(array.fill_null(0).to_numpy(zero_copy_only=False), array.is_valid().to_numpy(zero_copy_only=False))


def in_arrow(values: np.ndarray, missing: np.ndarray | None, kind: pa.DataType) -> pa.Array:
    """Return numbers as a column of a type: the reverse of `plain`."""
    kind = value_type(kind)
    if types.is_boolean(kind):
        return pa.array(values.astype(np.bool_), kind, mask=missing)
    if types.is_float16(kind):
        return pa.array(values.astype(np.float16), kind, mask=missing)
    return pa.array(values, mask=missing).view(kind)


def nothing(kind: np.dtype[Any], low: bool) -> Any:
    """Return the bound of no values: NaN, or the type's largest int as the least value and the other way round."""
    if kind.kind == "f":
        return np.nan
    return np.iinfo(kind).max if low else np.iinfo(kind).min


def least_and_largest(kind: np.dtype[Any]) -> tuple[np.ufunc, np.ufunc]:
    """Return what finds bounds of a plain type; of floats it passes NaN over, if there is anything else."""
    return (np.fmin, np.fmax) if kind.kind == "f" else (np.minimum, np.maximum)


def totals_of(column: Plain, starts: np.ndarray, *, total: bool, bounds: bool) -> Totals:
    """Return the totals of a column over stretches of rows, each from its start to the next one's. None is empty.

    Notes
    -----
    O(rows), 0.4 ms for a million rows and what is asked for, 10 ns for each stretch.
    """
    values, valid = column
    lengths = np.diff(starts, append=len(values))
    present = lengths if valid is None else np.add.reduceat(valid, starts, dtype=np.int64)
    added = low = high = None
    if total:
        added = _sums(values if valid is None else np.where(valid, values, values.dtype.type(0)), starts, int(lengths.max()))
    if bounds and len(starts) == len(values) and valid is None:
        low = high = values
    elif bounds:
        least, largest = least_and_largest(values.dtype)
        kind = values.dtype
        of_low = values if valid is None else np.where(valid, values, kind.type(nothing(kind, True)))
        of_high = values if valid is None else np.where(valid, values, kind.type(nothing(kind, False)))
        low, high = least.reduceat(of_low, starts), largest.reduceat(of_high, starts)
    return Totals(present, added, low, high)


def _sums(values: np.ndarray, starts: np.ndarray, longest: int) -> np.ndarray:
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            return values.astype(np.float64) if len(starts) == len(values) else np.add.reduceat(values, starts, dtype=np.float64)
    most = max(-int(np.iinfo(values.dtype).min), int(np.iinfo(values.dtype).max))
    if most * longest >= 2**63:
        most = max(-int(values.min()), int(values.max()))
    if most * longest < 2**63:
        return np.add.reduceat(values, starts, dtype=np.int64)
    upper = np.add.reduceat((values >> 32).astype(np.int64), starts).astype(object)
    lower = np.add.reduceat((values & 0xFFFFFFFF).astype(np.int64), starts).astype(object)
    return short(upper * 2**32 + lower)


def short(sums: np.ndarray) -> np.ndarray:
    """Return Python's ints as int64, if all fit."""
    if sums.dtype != object or (len(sums) and max(max(sums), -min(sums) - 1) >= 2**63):
        return sums
    return sums.astype(np.int64)


def certain(sums: np.ndarray) -> np.ndarray:
    """Return sums so that adding some of them can't overflow: ints as Python's where int64 might be too short.

    Examples
    --------
    >>> certain(np.array([2**62, 2**62])).dtype, certain(np.array([1, 2])).dtype
    (dtype('O'), dtype('int64'))
    """
    if sums.dtype == np.int64 and np.abs(sums.astype(np.float64)).sum() >= SAFE:
        return sums.astype(object)
    return sums


def added(parts: Totals, starts: np.ndarray) -> Totals:
    """Return the totals of stretches that consist of others: each of those from a start to the next one."""
    total = low = high = None
    if parts.total is not None:
        with np.errstate(invalid="ignore", over="ignore"):
            total = short(np.add.reduceat(certain(parts.total), starts))
    if parts.low is not None and parts.high is not None:
        least, largest = least_and_largest(parts.low.dtype)
        low, high = least.reduceat(parts.low, starts), largest.reduceat(parts.high, starts)
    return Totals(np.add.reduceat(parts.present, starts), total, low, high)
