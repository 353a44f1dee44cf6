"""Text and back; the text means to Python what the expression means."""

from __future__ import annotations

import ast
import math
import random

import pytest

from afa.expression import FENCE, TRANSFER, evaluate, parse, text_of_expr
from tests.expression.worlds import EVENT, REGISTER, SCHEMAS, E, R, event, expression, outcome, register, transfer

NAMES = {"inf": math.inf, "nan": math.nan, "R": R, "E": E}


def test_text_and_back() -> None:
    rng = random.Random(1)
    for _ in range(3000):
        expr = expression(rng, rng.choice(["bool", "int", "float", "str"]))
        text = text_of_expr(expr)
        assert parse(text, FENCE, *SCHEMAS) == expr, text


def test_text_means_to_python_what_it_says() -> None:
    rng = random.Random(2)
    for _ in range(1500):
        expr = expression(rng, rng.choice(["bool", "int", "float", "str"]))
        text = text_of_expr(expr)
        assert text.count("(") <= ast.unparse(ast.parse(text)).count("("), text  # no parentheses too many
        code = compile(text, "text", "eval")
        for _ in range(3):
            e, r = event(rng), register(rng)
            python = outcome(lambda e, r, code=code: eval(code, NAMES, {"e": e, "r": r}), e, r)
            assert outcome(evaluate, expr, e, r) == python, (text, e, r)


@pytest.mark.parametrize("as_replace", [True, False])
def test_registers_and_back(as_replace: bool) -> None:
    rng = random.Random(3)
    for _ in range(500):
        expr = transfer(rng)
        text = text_of_expr(expr, REGISTER if as_replace else None)
        assert parse(text, TRANSFER, EVENT, REGISTER) == expr, text
