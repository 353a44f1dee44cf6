"""Text and back. That the text means to Python what the expression means: `test_reading_random.py`."""

from __future__ import annotations

import ast
import random

import pytest

from afa.expression import FENCE, TRANSFER, parse, text_of_expr
from tests.expression.worlds import EVENT, REGISTER, SCHEMAS, expression, transfer


def test_text_and_back() -> None:
    rng = random.Random(1)
    for _ in range(3000):
        expr = expression(rng, rng.choice(["bool", "int", "float", "str"]))
        text = text_of_expr(expr)
        assert parse(text, FENCE, *SCHEMAS) == expr, text
        assert text.count("(") <= ast.unparse(ast.parse(text)).count("("), text  # no parentheses too many


@pytest.mark.parametrize("as_replace", [True, False])
def test_registers_and_back(as_replace: bool) -> None:
    rng = random.Random(3)
    for _ in range(500):
        expr = transfer(rng)
        text = text_of_expr(expr, REGISTER if as_replace else None)
        assert parse(text, TRANSFER, EVENT, REGISTER) == expr, text
