"""Columns of a batch, taken by rows: numpy, pandas and Arrow alike."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from afa.schema import ODD, Field
from punctuation.door import is_arrow


class Unusual(Exception):  # noqa: N818  (no error: such a batch goes row by row)
    """What arrays are not for."""


def integers(batch: Any, name: str, wide: bool = True) -> Any:
    """A column of ints, as int64 where it shall be ``wide``.

    Raises
    ------
    Unusual
        It is another, or something is missing in it.
    """
    array = _plain(batch.column(name))
    if not isinstance(array, np.ndarray) or array.dtype.kind != "i" or array.ndim != 1:
        raise Unusual
    return array.astype(np.int64, copy=False) if wide else array


def gathered(column: Any, field: Field, rows: Any, blank: Any, neutral: Any) -> Any:
    """Some rows of a field's column, in that order; at the places ``blank`` the neutral value.

    Raises
    ------
    Unusual
        Something is missing where nothing may be; or a list.
    """
    if field.optional and not is_arrow(column):
        raise Unusual  # how it says what is missing is not known
    column = _arrow(column) if field.optional else _plain(column)
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise Unusual
        try:
            found = column[rows]
        except IndexError as error:  # it is shorter than the others
            raise Unusual from error
        if blank is not None and len(blank):
            found[blank] = neutral
        return found
    import pyarrow as pa

    if column.null_count and not field.optional:
        raise Unusual
    try:
        if blank is None or not len(blank):
            return column.take(pa.array(rows))
        mask = np.zeros(len(rows), np.bool_)
        mask[blank] = True
        taken = column.take(pa.array(rows, mask=mask))
        return taken if field.optional else taken.fill_null(neutral)
    except (pa.ArrowException, *ODD) as error:  # a type that takes no such fill
        raise Unusual from error


def picked(column: Any, rows: Any) -> Any:
    """Some rows of a column, of which `list` can be made by ``tolist``; slices of it too."""
    column = _plain(column)
    if isinstance(column, np.ndarray):
        return column[rows]
    import pyarrow as pa

    return column.take(pa.array(rows))


def numbered_keys(columns: list[Any], single: bool) -> tuple[Any, list[Hashable]]:
    """For each row which of the keys it has, and the keys.

    Raises
    ------
    Unusual
        They are floats, or something is missing.
    """
    codes, values = _distinct(columns[0])
    keys: list[Any] = values if single else [(value,) for value in values]
    for column in columns[1:]:
        more, values = _distinct(column)
        if len(more) != len(codes):
            raise Unusual
        codes, pairs = _distinct(codes * len(values) + more)
        keys = [(*keys[pair // len(values)], values[pair % len(values)]) for pair in pairs]
    return codes, keys


def _distinct(column: Any) -> tuple[Any, list[Any]]:
    """A column as places in the list of its different values."""
    import pyarrow as pa

    column = _plain(column)
    try:
        array = pa.array(column, from_pandas=False) if isinstance(column, np.ndarray) else column
        if array.null_count or pa.types.is_floating(array.type):
            raise Unusual
        found = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        return found.indices.to_numpy(zero_copy_only=False).astype(np.int64), found.dictionary.to_pylist()
    except (pa.ArrowException, *ODD) as error:
        raise Unusual from error


def _plain(column: Any) -> Any:
    """A column as a numpy array where its type is one of numpy's and nothing is missing, else as an Arrow array.

    Raises
    ------
    Unusual
        It is neither.
    """
    if isinstance(column, np.ndarray):
        return column
    if isinstance(getattr(column, "dtype", None), np.dtype):
        return column.to_numpy()
    import pyarrow as pa

    array, kinds = _arrow(column), pa.types
    plain = kinds.is_integer(array.type) or kinds.is_floating(array.type) or kinds.is_boolean(array.type)
    return array.to_numpy(zero_copy_only=False) if plain and not array.null_count else array


def _arrow(column: Any) -> Any:
    """A column as one Arrow array."""
    import pyarrow as pa

    try:
        array = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column)
    except (pa.ArrowException, *ODD) as error:
        raise Unusual from error
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) and array.num_chunks else array
