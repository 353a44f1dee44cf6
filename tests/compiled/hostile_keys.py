"""Keys that are hard to tell apart, one by one and in columns of every form."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

TEXTS = ["", "a", "b", "é", "日本語", "x" * 7, "x" * 8, "x" * 9, "x" * 40, "\0", "\0\0", "\0a"]
INTS = [2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**20, 10**25 + 1, 2**1030]
FLOATS = [0.0, -0.0, 1.0, 2.0, 0.5, math.nan, float("nan"), math.inf, -math.inf, 1e20, 1e300, 2.0**63, -(2.0**63), 2.0**64, 5e-324]


class Pair(NamedTuple):
    a: Any
    b: Any


class Number(IntEnum):
    ONE = 1
    SEVEN = 7


class Text(str):
    __slots__ = ()


ODD = [
    *(Decimal(1), Decimal("0.5"), Decimal("1E+30"), Decimal("1E+100000"), Decimal("NaN")),
    *(Fraction(1), Fraction(1, 2), Fraction(1, 3), complex(1, 0), complex(0, 1), complex(0.5, 0)),
    *(Number.ONE, Number.SEVEN, Text("a"), Text("zz"), np.float32(0.5), np.int8(3), np.str_("a")),
    *(b"a", datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), "\ud800"),
]


def scalar(rng: random.Random) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: rng.randrange(-3, 4),
        lambda: float(rng.randrange(-3, 4)),
        lambda: rng.random() < 0.5,
        lambda: rng.choice(TEXTS),
        lambda: rng.choice(INTS),
        lambda: rng.choice(FLOATS),
        lambda: rng.choice(ODD),
    ]
    return rng.choice(kinds)()


def key(rng: random.Random) -> Any:
    form = rng.random()
    if form < 0.55:
        return scalar(rng)
    parts = [rng.choice([None, scalar(rng), scalar(rng)]) for _ in range(rng.choice([0, 1, 2, 2, 2, 3, 9, 17]))]
    if form < 0.6 and len(parts) > 1:
        return Pair(*parts[:2])
    if form < 0.63:
        return ((1, 2), *parts)
    return frozenset(parts) if form < 0.65 else tuple(parts)


def columns(rng: random.Random) -> tuple[list[Any], bool]:
    """Return columns of keys, and whether a key is the value of the one column."""
    n, single = rng.choice([1, 3, 50]), rng.random() < 0.5
    found = [column(rng, n, not single) for _ in range(1 if single else rng.choice([1, 2, 3, 8]))]
    least = min(map(len, found))
    return [each[:least] for each in found], single


def column(rng: random.Random, n: int, nulls: bool) -> Any:
    array = _array(rng, n, nulls and rng.random() < 0.5)
    if rng.random() < 0.3:
        array = array.slice(rng.randrange(max(1, n // 2)))
    form = rng.random()
    if not nulls and form < 0.2 and type(array) not in (pa.DictionaryArray, pa.Date32Array):
        return array.to_numpy(zero_copy_only=False)
    if form < 0.3 and type(array) in (pa.StringArray, pa.Int64Array):
        return np.array(array.to_pylist(), object)
    return pa.chunked_array([array[: n // 3], array[n // 3 :]]) if form > 0.8 else array


def _array(rng: random.Random, n: int, none: bool) -> Any:
    def values(items: list[Any]) -> list[Any]:
        return [None if none and rng.random() < 0.3 else rng.choice(items) for _ in range(n)]

    kind = rng.randrange(8)
    if kind == 0:
        return pa.array(values([-3, -1, 0, 1, 2]), rng.choice([pa.int8(), pa.int16(), pa.int32(), pa.int64()]))
    if kind == 1:
        return pa.array(values([0, 1, 2] if rng.random() < 0.5 else [0, 1, 2**63 - 1, 2**63, 2**64 - 1]), pa.uint64())
    if kind == 2:
        return pa.array(values(FLOATS), rng.choice([pa.float64(), pa.float32()]))
    if kind == 3:
        return pa.array(values([True, False]))
    if kind == 4:
        return pa.array(values([datetime.date(2020, 1, day) for day in (1, 2)]))
    if kind == 5:
        return pa.array(values([b"a", b""]))
    array = pa.array(values(TEXTS), rng.choice([pa.string(), pa.large_string(), pa.string_view()]))
    return array.dictionary_encode() if rng.random() < 0.4 and not pa.types.is_string_view(array.type) else array
