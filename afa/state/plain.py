"""Convert columns of any origin (Arrow, numpy, pandas, lists) to numpy arrays of words, without a Python object for each row.

A column that is not plainly of its type raises `Unfit`: its rows go one by one, which says what is wrong with them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from afa.errors import ChangeError
from afa.model.keys import plain_key
from afa.schema import DIGITS, NAN, ODD, Field
from afa.state.states import Column
from punctuation.door import EXACT, arrow_type

WORDS: dict[type | None, Any] = {int: np.dtype(np.int64), float: np.dtype(np.float64)}
"""The types of arrays that kernels, and Arrow, take as they stand."""
MORE = 16
"""How many entries a row make it cheaper to sort the rows' places than to mark the entries."""
FEW = 1 << 10
"""So many rows or fewer are sorted by comparisons."""
SAMPLED = 16
"""Of so many rows one is looked at, to see whether rows share their objects."""


class Unfit(Exception):  # noqa: N818  (no error: such a batch goes row by row)
    """A column that is not plainly of its type."""


def arrow(column: Any) -> Any:
    """Return a column as an Arrow array."""
    import pyarrow as pa

    try:
        if isinstance(column, pa.ChunkedArray):
            return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which copies even one chunk
        if isinstance(column, (np.ndarray, list, tuple)):
            array = pa.array(column)
            return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    except (pa.ArrowException, *ODD) as error:
        raise Unfit from error
    if not isinstance(column, pa.Array):
        raise Unfit
    return column


def filled(column: Any, kind: type, optional: bool) -> tuple[Any, Any]:
    """Return a column without nulls, where there may be any, and which values of it are there; None: all are."""
    if not optional or (isinstance(column, np.ndarray) and column.dtype.kind != "O"):
        return column, None
    import pyarrow as pa

    array = arrow(column)
    try:
        if pa.types.is_null(array.type):
            array = array.cast(arrow_type(kind))
        if not array.null_count:
            return array, None
        array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        return array.fill_null({int: 0, float: 0.0, bool: False}[kind]), _there(array)
    except (pa.ArrowException, *ODD) as error:  # a type that takes no such fill
        raise Unfit from error


def _there(array: Any) -> Any:
    """Return which values of an Arrow array are there. Its own way to numpy takes ten times as long.

    >>> import pyarrow as pa
    >>> _there(pa.array([1, None, 3, 4, None])[1:]).tolist()
    [False, True, True, False]
    """
    valid = array.is_valid()
    bits = np.frombuffer(valid.buffers()[1], np.uint8)
    return np.unpackbits(bits, count=valid.offset + len(valid), bitorder="little")[valid.offset :].view(np.bool_)


def plain(column: Any) -> Any:
    """Return a column as a numpy array of its own type; `Unfit` if something is missing in it."""
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return column
    array = arrow(column)
    if array.null_count:
        raise Unfit
    try:
        return array.to_numpy(zero_copy_only=False)
    except ODD as error:
        raise Unfit from error


def number_array(column: Any, kind: type) -> Any:
    """Return a column of ints, floats or bools as int64 or float64, side by side in memory; ints may stand for floats."""
    values = plain(column)
    if type(values) is np.ndarray and values.dtype is WORDS.get(kind) and values.ndim == 1 and values.flags.c_contiguous:
        return values
    have = values.dtype.kind
    if values.ndim != 1 or have not in {int: "iu", float: "fiu", bool: "b"}[kind] or values.itemsize > 8:
        raise Unfit
    if have == "u" and values.itemsize == 8 and len(values) and values.max() > np.iinfo(np.int64).max:
        raise Unfit
    if kind is float and have != "f" and len(values) and not -EXACT <= values.min() <= values.max() <= EXACT:
        raise Unfit
    return np.ascontiguousarray(values, np.float64 if kind is float else np.int64)


def nearest_floats(column: Any) -> Any:
    """Return an Arrow column of DECIMALs as that of the floats next to them; any other one as it is."""
    import pyarrow as pa

    kind = getattr(column, "type", None)
    if not isinstance(kind, pa.DataType) or not pa.types.is_decimal(kind):
        return column
    units = None if kind.precision > 18 or not 0 <= kind.scale <= 22 else units_of(column)
    if units is None or (len(units) and max(-int(units.min()), int(units.max())) > EXACT):
        return pa.array([None if item is None else float(item) for item in column.to_pylist()], pa.float64())
    return pa.array(units / 10.0**kind.scale, mask=~_there(arrow(column)))  # of two floats without an error, and so rounded once


def units_of(column: Any) -> Any:
    """Return DECIMALs of at most 18 digits in units of the last digit; 0 where one is missing."""
    import pyarrow as pa

    array = arrow(column).cast(pa.decimal128(38, column.type.scale))
    words = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset :: 2][: len(array)]
    return np.where(_there(array), words, 0)


def ints(given: Sequence[Any]) -> list[Any]:
    """Return columns of int64, all of one length; None stays None."""
    found = [None if column is None else number_array(column, int) for column in given]
    if len({len(column) for column in found if column is not None}) > 1:
        raise Unfit
    return found


def field_columns(given: Iterable[Any], fields: Iterable[Field], n: int) -> list[Column]:
    """Return the columns of some fields, of ``n`` rows; strings as their places in a list of texts. A `Column` stays as it is."""
    return [_column(column, field, n) for column, field in zip(given, fields)]


def _column(column: Any, field: Field, n: int) -> Column:
    if field.type is None:
        raise Unfit
    if isinstance(column, Column):
        return column
    if field.type is str:
        values, present, texts = _texts(column, field.optional)
    else:
        column, present = filled(nearest_floats(column) if field.type is float else column, field.type, field.optional)
        values, texts = number_array(column, field.type), None
    if values.shape != (n,):
        raise Unfit
    return Column(values, present, texts)


def _texts(column: Any, optional: bool) -> Column:
    """Return a column of texts; what is missing stands at the place of ""."""
    values, texts = distinct(column, nulls=optional)
    present = None
    if None in texts:
        missing = texts.index(None)
        if texts.count(None) > 1:  # in a dictionary that came with the column
            raise Unfit
        present = values != missing
        if "" in texts:
            values = np.where(present, values, texts.index(""))
            values, texts = values - (values > missing), [text for text in texts if text is not None]
        else:
            texts[missing] = ""
    if not set(map(type, texts)) <= {str}:
        raise Unfit
    return Column(values, present, texts)


def values_of(column: Column, kind: Any) -> list[Any]:
    """Return the values of a field as Python has them."""
    values, present, texts = column
    items = values.tolist() if texts is None else [texts[i] for i in values.tolist()]
    items = list(map(bool, items)) if kind is bool else items
    return items if present is None else [item if there else None for item, there in zip(items, present.tolist())]


def distinct(column: Any, nulls: bool = False) -> tuple[Any, list[Any]]:
    """Return a column as places in the list of its different values; ``nulls``: whether None may be one of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if type(column) is np.ndarray and column.dtype.kind == "O" and (shared := _shared(column)) is not None:
        places, values = distinct(shared[1], nulls)
        return places[shared[0]], values
    array = arrow(column)
    if array.null_count and not nulls:
        raise Unfit
    try:
        if pa.types.is_floating(array.type):
            array = pc.add(array, 0.0)  # -0.0 is 0.0
        if array.null_count and str(array.type) == "string_view":  # whose nulls pyarrow would encode as ""
            array = array.cast(pa.large_string())
        if pa.types.is_dictionary(array.type) and array.null_count:
            array = array.dictionary_decode()
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode("encode" if nulls else "mask")
        indices, texts = coded.indices.to_numpy(zero_copy_only=False), coded.dictionary
        if coded is array:
            indices, texts = used(indices, texts)
        values = texts.to_pylist()
        if pa.types.is_floating(texts.type):
            values = [NAN if value != value else value for value in values]
    except (pa.ArrowException, *ODD) as error:
        raise Unfit from error
    if None in values and not nulls:
        raise Unfit
    return indices, values


def _shared(column: Any) -> tuple[Any, Any] | None:
    """Return an array of objects as places in the array of those that differ, as objects; None where rows share few of them.

    Rows that a file was read to share one object for each text. Where objects lie in memory is told apart three times as fast as
    what they say.

    >>> places, objects = _shared(np.array(["up", "down", "up", None] * 1000, object))
    >>> places[:5].tolist(), objects.tolist()
    ([0, 1, 0, 2, 0], ['up', 'down', None])
    """
    import pyarrow as pa

    if column.ndim != 1 or len(column) <= FEW:
        return None
    column = np.ascontiguousarray(column)
    at = np.frombuffer((ctypes.c_char * column.nbytes).from_address(column.ctypes.data), np.intp)
    if 4 * len(pa.array(at[::SAMPLED]).unique()) > len(at) // SAMPLED:
        return None
    coded = pa.array(at).dictionary_encode()
    places, first = coded.indices.to_numpy(), np.empty(len(coded.dictionary), np.intp)
    first[places[::-1]] = np.arange(len(at) - 1, -1, -1)
    return places, column[first]


def keys_in(columns: Sequence[Any], single: bool, n: int) -> tuple[Any, list[Any]]:
    """Return of each row the place of its key, and the keys; ``single``: a key is a value, else a tuple of values."""
    indices, values = _different(columns[0])
    found: list[Any] = values if single else [(value,) for value in values]
    for column in columns[1:]:
        more, values = _different(column)
        indices, pairs = distinct(indices.astype(np.int64) * len(values) + more)
        found = [(*found[pair // len(values)], values[pair % len(values)]) for pair in pairs]
    if len(indices) != n:
        raise Unfit
    return indices, found


def _different(column: Any) -> tuple[Any, list[Any]]:
    indices, values = distinct(column, nulls=True)
    return indices, list(map(plain_key, values))


def check_digits(column: Any, name: str) -> None:
    """Refuse DECIMALs of a key that is read as floats, if these may not tell them apart (`ChangeError`)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = getattr(column, "type", None)
    if isinstance(kind, pa.DataType) and pa.types.is_decimal(kind) and kind.precision > DIGITS:
        most = pc.max(pc.abs(column)).as_py()
        if most is not None and most.scaleb(kind.scale) >= 10**DIGITS:
            raise ChangeError(
                f"expected a key of DECIMALs with at most {DIGITS} digits, which floats tell apart, but got {name}={most} in a "
                f"column of {kind}: cast it to an int or a text"
            )


def used(indices: Any, dictionary: Any) -> tuple[Any, Any]:
    """Return a dictionary that came with a column, without what does not occur in it: a slice has the one of its table.

    O(n log n) where the dictionary has many more entries than there are rows.
    """
    if len(dictionary) > MORE * len(indices):
        used, places = np.unique(indices, return_inverse=True)
        return places, dictionary.take(used)
    used = np.flatnonzero(np.bincount(indices, minlength=len(dictionary)))
    if len(used) == len(dictionary):
        return indices, dictionary
    places = np.zeros(len(dictionary), np.int64)
    places[used] = np.arange(len(used))
    return places[indices], dictionary.take(used)


def stable_order(*columns: Any) -> Any:
    """Return the stable order of rows by columns of ints, the last one above all: by 16 bits at once, which numpy sorts by radix.

    >>> stable_order(np.array([2, 0, 2, 1])).tolist(), stable_order(np.array([1, 1, 0]), np.array([5, -5, 5])).tolist()
    ([1, 3, 0, 2], [1, 2, 0])
    """
    if len(columns[0]) <= FEW:
        return np.lexsort(columns)
    order: Any = None
    for column in columns:
        low = column.min()
        above = np.ascontiguousarray(column - low if low else column, "<i8")
        digits = above.view("<u2").reshape(-1, 4)
        for place in range(-(-int(above.view("<u8").max()).bit_length() // 16)):
            digit = digits[:, place].copy()
            found = np.argsort(digit if order is None else digit[order], kind="stable")
            order = found if order is None else order[found]
    return np.arange(len(columns[0])) if order is None else order
