"""Columns of keys as the kernels take them, without a Python object for each row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from afa.compiled.kernel import key_layout as t
from afa.compiled.memory import address
from afa.schema import ODD
from afa.state.key_columns import KeyColumn, spans
from afa.state.plain import Unfit, arrow

OF_NUMBERS = {"i": int, "u": int, "f": float, "b": bool}


class KeyPart(NamedTuple):
    """One column; its words are those of `KeyColumn`.

    kind, kinds   the kind of all values, or (uint8) of each
    values        int64: words; or where texts begin and end, one more than there are
    data, texts   the bytes of the texts, and the Arrow array
    longest       the most words that a value takes of a record
    """

    kind: int
    kinds: Any
    values: Any
    data: Any = None
    texts: Any = None
    longest: int = 1

    def words(self) -> list[int]:
        data = 0 if self.data is None else address(self.data) or 1
        return [self.kind, 0 if self.kinds is None else address(self.kinds), address(self.values), data]


def column_of(column: Any) -> KeyColumn:
    """Return a column of any origin; of kind None: only Python understands its values.

    Raises `Unfit` where rows must go one by one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, np.ndarray) and column.dtype.kind in OF_NUMBERS and column.ndim == 1 and column.itemsize <= 8:
        return _numbers(column)
    array, kinds = arrow(column), pa.types
    value = array.type.value_type if kinds.is_dictionary(array.type) else array.type
    known = (kinds.is_string, kinds.is_large_string, kinds.is_integer, kinds.is_floating, kinds.is_boolean)
    if not any(is_kind(value) for is_kind in known) and str(value) != "string_view":
        return KeyColumn(None, column)
    try:
        if kinds.is_dictionary(array.type):
            array = array.dictionary_decode()
        if kinds.is_uint64(value) and len(array) and (pc.max(array).as_py() or 0) > np.iinfo(np.int64).max:
            return KeyColumn(None, column)
        return KeyColumn.from_arrow(array)
    except (pa.ArrowException, *ODD) as error:
        raise Unfit from error


def _numbers(column: Any) -> KeyColumn:
    kind = OF_NUMBERS[column.dtype.kind]
    if column.dtype.kind == "u" and column.itemsize == 8 and len(column) and column.max() > np.iinfo(np.int64).max:
        return KeyColumn(None, column)
    return KeyColumn(kind, np.ascontiguousarray(column, {int: np.int64, float: np.float64, bool: np.bool_}[kind]))


def part_of(column: KeyColumn) -> KeyPart | None:
    """Return a column as the kernels take it; None: only Python can tell its values from others."""
    if column.kind is None:
        return _nothing(column)
    if column.kind is str:
        texts = _texts(column.values)
        if texts is None:
            return None
        found = texts
    elif column.kind is float:
        found = _floats(column.values)
    else:
        kind = t.INT if column.kind is int else t.INT | t.AS_BOOL
        found = KeyPart(kind, None, np.ascontiguousarray(column.values, np.int64))
    if column.present is None:
        return found
    kinds = np.where(column.present, found.kind if found.kinds is None else found.kinds, t.NONE).astype(np.uint8)
    return found._replace(kinds=kinds)


def _nothing(column: KeyColumn) -> KeyPart | None:
    """A column in which every value is missing."""
    if any(value is not None for value in column.values):
        return None
    return KeyPart(t.NONE, None, np.zeros(len(column), np.int64))


def _floats(values: Any) -> KeyPart:
    """Whole floats are ints: of words, and of kinds."""
    values = np.ascontiguousarray(values, np.float64)
    with np.errstate(invalid="ignore"):
        whole = (values >= -(2.0**63)) & (values < 2.0**63) & (np.trunc(values) == values)
    if whole.all():
        return KeyPart(t.INT | t.AS_FLOAT, None, values.astype(np.int64))
    wrong = np.isnan(values)
    words = np.where(wrong, np.nan, values).view(np.int64)
    words[whole] = values[whole].astype(np.int64)
    return KeyPart(t.REAL, np.where(whole, t.INT | t.AS_FLOAT, t.REAL).astype(np.uint8), words)


def _texts(texts: Any) -> KeyPart | None:
    offsets, data = spans(texts)
    lengths = offsets[1:] - offsets[:-1]
    longest = int(lengths.max(initial=0))
    if lengths.min(initial=0) < 0 or offsets[0] < 0 or offsets[-1] > len(data):
        raise Unfit
    if longest > t.LONGEST:
        return None
    return KeyPart(t.TEXT, None, np.ascontiguousarray(offsets, np.int64), data, texts, 2 + longest // 8)
