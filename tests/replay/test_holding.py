"""Rows and row groups that may hold a value: never too few. Columns of odd values against `ValueRange.contains`, one by one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from afa.expression.intervals import ValueRange
from afa.replay.holding import Extent, values_in, within
from afa.schema import Field

FLOATS = [0.0, -0.0, 1e308, 1.5e308, math.inf, -math.inf, 2.0**53 + 4, 2.0**53 + 2, -(2.0**53) - 4, math.nan, 2.5, 3.0, 7.5]
INTS = [0, 1, 2, 3, 7, 2**53, 2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**63 - 1, -(2**63)]
BOUNDS = [-math.inf, -(2**53) - 3, -3, 0, 2, 2.5, 3.0, 2**53 + 1, 2**53 + 3, 1e300, math.inf]


def ranges() -> list[ValueRange]:
    found = [
        ValueRange(low, high, one, two, None, nan, False)
        for low, high in itertools.combinations(BOUNDS, 2)
        for one, two, nan in itertools.product([False, True], repeat=3)
    ]
    values = [(math.inf,), (1.5e308, 2), (2**53 + 1, 3), (2.5,), (0,), (2.0**53 + 2,), (0, "")]
    return [*found, *(ValueRange(values=each, nan=False, none=False) for each in values)]


@pytest.mark.parametrize(("kind", "column"), [(float, FLOATS), (int, INTS), (bool, [False, True])])
def test_rows_are_never_too_few(kind: type, column: list[Any]) -> None:
    field = Field("x", kind, False)
    for allowed in ranges():
        got = values_in(allowed, np.array(column), field).tolist()
        wrong = [value for value, found in zip(column, got) if allowed.contains(value) and not found]
        assert not wrong, (allowed, wrong)
        if kind is int:
            assert got == [allowed.contains(value) for value in column], allowed


@pytest.mark.parametrize(("kind", "column"), [(float, [x for x in FLOATS if x == x]), (int, INTS)])
def test_row_groups_are_never_too_few(kind: type, column: list[Any]) -> None:
    field = Field("x", kind, False)
    pairs = [(low, high) for low in column for high in column if low <= high]
    some = np.ones(len(pairs), bool)
    extent = Extent(np.array([low for low, _ in pairs]), np.array([high for _, high in pairs]), some, ~some, ~some)
    for allowed in ranges():
        got = within(allowed, extent, field)
        for (low, high), found in zip(pairs, got.tolist()):
            if any(low <= value <= high and allowed.contains(value) for value in column):
                assert found, (allowed, low, high)


def test_nan_and_none_are_beyond_all_bounds() -> None:
    one, yes, no = np.array([5.0]), np.array([True]), np.array([False])
    field = Field("x", float, True)
    small = ValueRange(high=1, nan=False, none=False)
    assert not within(small, Extent(one, one, yes, no, yes), field)[0]
    assert within(small._replace(nan=True), Extent(one, one, yes, no, no), field)[0]
    assert within(small._replace(none=True), Extent(one, one, yes, no, yes), field)[0]
    assert not within(small._replace(none=True), Extent(one, one, yes, no, no), field)[0]
    assert within(small, Extent(one, one, no, no, no), field)[0], "nobody knows the bounds"
    assert not within(small, Extent(one, one, no, yes, yes), field)[0], "only nulls"


def test_texts_that_are_cut_off_are_bounds_of_all_that_begin_alike() -> None:
    field = Field("s", str, False)
    low, high = np.array(["abc"], object), np.array(["abd"], object)
    yes, no = np.array([True]), np.array([False])
    for text, held in (("abdzzz", True), ("abcd", True), ("abe", False), ("abb", False)):
        allowed = ValueRange(values=(text,), nan=False, none=False)
        assert bool(within(allowed, Extent(low, high, yes, no, no), field)[0]) is held, text


def test_texts_and_columns_with_values_missing() -> None:
    coded = pa.array(["a", None, "b", "a"]).dictionary_encode()
    assert values_in(ValueRange(values=("a",), none=False), coded, Field("s", str, True)).tolist() == [True, False, False, True]
    assert values_in(ValueRange(values=("b",), none=True), coded, Field("s", str, True)).tolist() == [False, True, True, False]
    numbers = pa.array([1.0, None, 3.0])
    assert values_in(ValueRange(low=2, none=True), numbers, Field("x", float, True)).tolist() == [False, True, True]
