"""How a key is told from others: as a word, as a record, or only by Python. See `afa.compiled.kernel.key_layout`.

Keys that are equal in Python are one key, so that they have one form here: 1, True and 1.0, 10**20 and 1e20, a tuple and a named
one. What Python alone tells from others equals nothing that has a form. Left out: objects of classes of their own that claim to
equal a str.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable
from numbers import Number
from typing import Any, NamedTuple

from afa.compiled.kernel import key_layout as t
from afa.compiled.record_words import bits
from afa.schema import NAN

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
