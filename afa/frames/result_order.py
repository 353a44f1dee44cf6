"""The order of matches in a result: by LE, by RE, then by the key, then by what they show; it depends on the matches alone.

Values of a column ascend; NaN and what is missing come last. Of values of several types, which have no order, those that came first
come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.state.key_columns import KeyColumn
from afa.state.plain import stable_order


def by_times(le: Any, re: Any) -> Any:
    """Return the stable order of rows by LE, then by RE; None: they are in order. O(rows) for each two bytes of their range."""
    later = le[1:] > le[:-1]
    if later.all() or (later | ((le[1:] == le[:-1]) & (re[1:] >= re[:-1]))).all():
        return None
    return stable_order(re, le)


def by_values(columns: Sequence[Any]) -> Any:
    """Return the stable order of rows by columns of any kind, the first of which counts most."""
    return stable_order(*(ranks_of(column) for column in reversed(columns)))


def settled(order: Any, times: Sequence[Any], columns: Sequence[Any]) -> Any:
    """Return an order (None: as they stand) in which rows of equal times follow each other by columns. O(ties log ties)."""
    given = [column if order is None else column[order] for column in times]
    same = np.ones(max(len(given[0]) - 1, 0), np.bool_)
    for column in given:
        same &= column[1:] == column[:-1]
    if not same.any():
        return order
    found = np.arange(len(given[0])) if order is None else order.copy()
    after = np.append(False, same)
    tied = np.flatnonzero(after | np.append(same, False))
    places = found[tied]
    by = by_values([np.cumsum(~after)[tied], *(taken(column, places) for column in columns)])
    found[tied] = places[by]
    return found


def once(order: Any, columns: Sequence[Any]) -> Any:
    """Return an order without rows that are equal to the one before them in all columns."""
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in columns:
        if same.any():
            ranks = ranks_of(taken(column, order))
            same &= ranks[1:] == ranks[:-1]
    return order[np.append(True, ~same)[: len(order)]]


def taken(column: Any, places: Any) -> Any:
    """Return a column's values at places."""
    if isinstance(column, KeyColumn):
        return column.take(places)
    return column.take(pa.array(places)) if isinstance(column, (pa.Array, pa.ChunkedArray)) else column[places]


def coded_once(array: Any) -> Any:
    """Return an array; one of codes so that no two of these have one value, and none is a null."""
    if pa.types.is_dictionary(array.type):
        values = array.dictionary
        if values.null_count or pc.count_distinct(values).as_py() < len(values):
            return array.dictionary_decode().dictionary_encode()
    return array


def ranks_of(column: Any) -> Any:
    """Return int64 that sort as a column does."""
    column = column.arrow() if isinstance(column, KeyColumn) else column
    if isinstance(column, np.ndarray) and column.dtype.kind in "iub":
        return column.astype(np.int64, copy=False)
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        bits = np.where(column == column, column + 0.0, np.nan).view(np.int64)
        return np.where(bits >= 0, bits, bits ^ np.int64(2**63 - 1))
    try:
        array = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column, from_pandas=False)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        array = coded_once(array if pa.types.is_dictionary(array.type) else array.dictionary_encode())
        ranks = np.empty(len(array.dictionary) + 1, np.int64)
        ranks[pc.sort_indices(array.dictionary).to_numpy()] = np.arange(len(array.dictionary))
        ranks[-1] = len(array.dictionary)
        return ranks[array.indices.fill_null(len(array.dictionary)).to_numpy()]
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        known: dict[Any, int] = {}
        return np.array([known.setdefault(repr(item), len(known)) for item in column], np.int64)
