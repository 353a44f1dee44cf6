"""Expressions asked of columns mean what they mean of each row."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa.expression import FENCE, callable_of, parse
from afa.expression.nodes import sides
from afa.rewrite.vectors import vector_of
from afa.schema import Schema
from afa.state.states import Column, columns
from punctuation.time import BEGINNING, FOREVER
from tests.expression import worlds

NAN = float("nan")


class Row(NamedTuple):
    size: float
    other: float
    n: int
    m: int
    flag: bool
    name: str
    word: str | None
    extra: int | None


class NoFields(NamedTuple):
    pass


EVENT, REGISTER = Schema.of(Row, "event"), Schema.of(NoFields, "register")
FLOATS = [0.0, 1.5, -1.5, NAN, float("inf"), float("-inf"), 1e308, 5e-324, 2.0**53, 3.0]
INTS = [0, 1, -1, 3, 2**53 + 1, BEGINNING, FOREVER]
NAMES = ["", "ash", "asp", "elm"]

ASKED = [
    "size < 0", "size >= 1.5 and other != size", "0 < size < 3", "size == 9007199254740992", "n == 3.0", "n > 2", "n <= m",
    "size + other > 1", "size * 2 - other <= 3", "-size > other", "size / 2 < 1", "size / 3.0 == 0.5", "n % 3 == 1", "m % 2 == 0",
    "flag", "not flag", "flag == True", "flag < (n == 3)", "n", "size", "n == flag", "size in (0, 1.5, 7)", "n in (1, 3, 2.5)",
    "n in (1.0, 'x')", "name == 'ash'", "name != 'ash' and n > 0", "name in ('ash', 'elm')", "name.startswith('as')", "'s' in name",
    "len(name) > 2", "name", "name < 'b'", "word is None", "word is not None and n == 1", "word == 'ash'", "extra is None or flag",
    "extra is not None", "True", "1 < 2 or n == 3", "size > 0 if flag else size < 0", "max(size, other) > 1", "abs(size) > 1",
    "n + m > 3", "n > size", "n == 9007199254740993.0", "extra == 1", "size // 2 == 0", "size < float('nan')", "size != inf",
]  # fmt: skip
VECTORS = 37
"""So many of them at least are asked of whole columns."""


def rows(seed: int, n: int) -> list[Row]:
    rng = np.random.default_rng(seed)

    def one(values: Any) -> Any:
        return values[rng.integers(len(values))]

    return [
        Row(
            one(FLOATS),
            one(FLOATS),
            one(INTS),
            one(INTS),
            bool(one([0, 1])),
            one(NAMES),
            one([*NAMES, None]),
            one([None, *INTS]),
        )
        for _ in range(n)
    ]


def fields(events: list[Row]) -> dict[str, Column]:
    found = dict(zip(Row._fields, columns(events, EVENT)))
    return found | {"flag": found["flag"]._replace(values=found["flag"].values.astype(np.bool_))}


def asked(text: str) -> Any:
    """The expression of a text."""
    return parse(text, FENCE, EVENT, REGISTER)


@pytest.mark.parametrize("text", ASKED)
def test_columns_are_asked_as_rows_are(text: str) -> None:
    expr = asked(text)
    vector = vector_of(expr, EVENT, REGISTER)
    if vector is None:
        return
    events, function = rows(1, 500), callable_of(expr, FENCE, REGISTER)
    found = np.broadcast_to(vector(fields(events)), 500)
    assert found.tolist() == [bool(function(event, None)) for event in events]


def test_most_are_asked_of_columns() -> None:
    none = [text for text in ASKED if vector_of(asked(text), EVENT, REGISTER) is None]
    assert len(ASKED) - len(none) >= VECTORS, none


@pytest.mark.parametrize("text", ["n > size", "n + m > 3", "1 / size > 2", "extra > 1", "size % 0.5 == 0"])
def test_what_could_overflow_round_or_raise_is_not(text: str) -> None:
    assert vector_of(asked(text), EVENT, REGISTER) is None


def test_of_no_rows() -> None:
    vector = vector_of(asked("name == 'ash' and word is None"), EVENT, REGISTER)
    assert vector is not None
    assert vector(fields([])).tolist() == []


def test_random_expressions() -> None:
    rng, taken = random.Random(7), 0
    events = [worlds.event(rng) for _ in range(60)]
    found = dict(zip(worlds.E._fields, columns(events, worlds.EVENT)))
    found["b"] = found["b"]._replace(values=found["b"].values.astype(np.bool_))
    for number in range(4000):
        expr = worlds.expression(rng, "bool", rng.randint(1, 3))
        vector = None if "r" in sides(expr) else vector_of(expr, *worlds.SCHEMAS)
        if vector is not None:
            function, taken = callable_of(expr, FENCE, worlds.REGISTER), taken + 1
            assert np.broadcast_to(vector(found), 60).tolist() == [bool(function(event, None)) for event in events], (number, expr)
    assert taken > 700, taken
