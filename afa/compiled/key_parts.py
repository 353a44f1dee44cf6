"""Columns of keys as the kernels take them, without a Python object for each row; and single keys.

A key is told from others as a word, as a record, or only by Python; see `afa.compiled.kernel.key_layout`. Keys that are equal in
Python are one key, so that they have one form here: 1, True and 1.0, 10**20 and 1e20, a tuple and a named one. What Python alone
tells from others equals nothing that has a form. Left out: objects of classes of their own that claim to equal a str.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.kernel import key_layout as t
from afa.compiled.memory import address
from afa.compiled.record_words import bits
from afa.schema import NAN, ODD
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


LOWEST, BEYOND = -(2**63), 2**63


class RecordForm(NamedTuple):
    """A kind, the value of a word or the length of a record, and the record's words as bytes."""

    kind: int
    value: int
    record: bytes | None = None


def form_of(key: Hashable) -> RecordForm | None:
    """Return the form of a key; None: only Python tells it from others."""
    if isinstance(key, tuple):
        return _tuple(key)
    found = _form(key)
    return None if found is None or found.kind & t.CLASS == t.NONE else found


def _form(value: Any) -> RecordForm | None:
    kind = type(value)
    if kind is int:
        return _int(value)
    if kind is str:
        return _text(value)
    if kind is bool:
        return RecordForm(t.INT | t.AS_BOOL, int(value))
    if kind is float:
        return _float(value)
    if value is None:
        return RecordForm(t.NONE, 0)
    plain = _plain(value)
    found = None if plain is None else _form(plain)
    return None if found is None else found._replace(kind=found.kind & t.CLASS | t.ODD)


def _int(value: int) -> RecordForm | None:
    if LOWEST <= value < BEYOND:
        return RecordForm(t.INT, value)
    try:
        same = float(value)
    except OverflowError:
        return None
    return RecordForm(t.REAL | t.AS_INT, bits(same)) if same == value else None


def _float(value: float) -> RecordForm:
    if value.is_integer() and LOWEST <= value < BEYOND:
        return RecordForm(t.INT | t.AS_FLOAT, int(value))
    return RecordForm(t.REAL, bits(NAN if value != value else value))


def _text(value: str) -> RecordForm | None:
    try:
        found = value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return None
    return RecordForm(t.TEXT, len(found), _filled(found)) if len(found) <= t.LONGEST else None


def _tuple(key: tuple[Any, ...]) -> RecordForm | None:
    kind = type(key)
    if len(key) > t.PARTS or kind.__eq__ is not tuple.__eq__ or kind.__hash__ is not tuple.__hash__:
        return None
    forms: list[RecordForm] = []
    for value in key:
        form = None if isinstance(value, tuple) else _form(value)
        if form is None:
            return None
        forms.append(form)
    odd = kind is not tuple or any(form.kind & ~t.CLASS == t.ODD for form in forms)
    heads = _filled(bytes([len(forms), *(form.kind for form in forms)]))
    record = heads + b"".join(map(_part, forms))
    return RecordForm(t.TUPLE | (t.ODD if odd else 0), len(record) // 8, record) if len(record) <= t.LONGEST else None


def _part(form: RecordForm) -> bytes:
    if form.kind & t.CLASS == t.NONE:
        return b""
    return struct.pack("=q", form.value) + (form.record or b"")


def _plain(value: Any) -> Any:
    """Return the int, float or str that an object of another class equals; None if there is none."""
    candidates: list[Any] = []
    try:
        if isinstance(value, str):
            candidates = [str.__str__(value)]
        elif isinstance(value, (Number, int)):
            real: Any = value.real if isinstance(value, complex) and value.imag == 0 else value
            near = _near(real)
            candidates = [] if near is None else [int(real), near] if abs(near) < 2 * BEYOND else [near]
        for plain in candidates:
            if plain == value and hash(plain) == hash(value):
                return plain
    except Exception:  # a number like no other: a signalling NaN
        return None
    return None


def _near(value: Any) -> float | None:
    try:
        found = float(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return found if math.isfinite(found) or (math.isinf(found) and found == value) else None


def _filled(record: bytes) -> bytes:
    return record + bytes(-len(record) % 8)
