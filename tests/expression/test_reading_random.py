"""Random lambdas, read from their source, against Python itself: the same value, or the same exception."""

from __future__ import annotations

import linecache
import random
from itertools import count
from typing import Any

import pytest

from afa.expression import (
    EPSILON_FENCE,
    FENCE,
    TRANSFER,
    FunctionKind,
    callable_of,
    evaluate,
    may_raise,
    parse,
    read,
    split,
    text_of_expr,
)
from afa.expression.functions import FUNCTIONS
from afa.expression.intervals import ranges
from tests.expression.worlds import (
    EVENT,
    FLOATS,
    INTS,
    REGISTER,
    SCHEMAS,
    STRS,
    E,
    R,
    clauses,
    event,
    expression,
    outcome,
    register,
    transfer,
)

numbers = count()


def functions(sources: list[str], **names: Any) -> list[Any]:
    """The functions of a file of lambdas, one a line."""
    text = "functions = [\n" + "".join(f"    {source},\n" for source in sources) + "]\n"
    filename = f"<lambdas {next(numbers)} of the tests>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    tabled = {name: function.call for name, function in FUNCTIONS.items()}
    scope: dict[str, Any] = {"inf": float("inf"), "nan": float("nan"), "R": R, "E": E, **tabled, **names}
    exec(compile(text, filename, "exec"), scope)
    found: list[Any] = scope["functions"]
    return found


def worlds(rng: random.Random, n: int) -> list[tuple[E, R]]:
    return [(event(rng), register(rng)) for _ in range(n)]


@pytest.mark.parametrize("seed", range(5))
def test_fences(seed: int) -> None:
    rng = random.Random(seed)
    wanted = [expression(rng, rng.choice(["bool", "bool", "int", "float", "str"])) for _ in range(300)]
    for function, expr in zip(functions([f"lambda e, r: {text_of_expr(expr)}" for expr in wanted]), wanted):
        found = read(function, FENCE, *SCHEMAS)
        assert found == expr
        closures = callable_of(found, FENCE, REGISTER)
        safe = not may_raise(found, *SCHEMAS)
        for e, r in worlds(rng, 6):
            python = outcome(function, e, r)
            assert outcome(evaluate, found, e, r) == python
            assert outcome(closures, e, r) == python
            assert not (safe and isinstance(python, type)), f"{text_of_expr(found)} raised on {e} {r}"


def test_transfers() -> None:
    rng = random.Random(11)
    wanted = [transfer(rng) for _ in range(150)]
    texts = [text_of_expr(expr, rng.choice([None, REGISTER])) for expr in wanted]
    for function, expr in zip(functions([f"lambda e, r: {text}" for text in texts]), wanted):
        found = read(function, TRANSFER, *SCHEMAS)
        assert found == expr
        for e, r in worlds(rng, 6):
            python = outcome(lambda e, r, function=function: R(*function(e, r)), e, r)
            assert outcome(evaluate, found, e, r) == python
            assert outcome(callable_of(found, TRANSFER, REGISTER), e, r) == python


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_of_a_fence_are_the_fence(seed: int) -> None:
    rng = random.Random(100 + seed)
    parts_seen = [0, 0, 0]
    for _ in range(300):
        fence = expression(rng, depth=5, optional=0.2)
        parts = split(fence, *SCHEMAS)
        parts_seen = [seen + (part is not None) for seen, part in zip(parts_seen, parts)]
        for e, r in worlds(rng, 12):
            whole = outcome(lambda e, r, fence=fence: bool(evaluate(fence, e, r)), e, r)
            assert outcome(_in_parts, parts, e, r) == whole, (text_of_expr(fence), parts, e, r)
    assert min(parts_seen) > 10


def _in_parts(parts: Any, e: Any, r: Any) -> bool:
    sides = [(e, None), (None, r), (e, r)]
    return all(bool(evaluate(part, *side)) for part, side in zip(parts, sides) if part is not None)


@pytest.mark.parametrize("seed", range(3))
def test_ranges_hold_all_that_a_fence_allows(seed: int) -> None:
    rng = random.Random(200 + seed)
    checked = narrow = 0
    for i in range(600):
        fence = clauses(rng) if i % 2 else expression(rng, depth=3, optional=0.5)
        found = ranges(fence, EVENT)
        for e, r in worlds(rng, 15):
            if outcome(lambda e, r, fence=fence: bool(evaluate(fence, e, r)), e, r) == (bool, "True"):
                checked += 1
                for name, value in zip(e._fields, e):
                    assert found[name].contains(value), (text_of_expr(fence), name, value, found[name])
        for range_ in found.values():
            assert not (range_.empty and any(range_.contains(v) for v in (*INTS, *FLOATS, *STRS, None)))
        narrow += any(not found[name].contains(value) for e, _ in worlds(rng, 5) for name, value in zip(e._fields, e))
    assert checked > 1000
    assert narrow > 100


def test_epsilon_fences_see_no_event() -> None:
    rng = random.Random(13)
    for _ in range(200):
        expr = expression(rng, optional=0.3)
        text = text_of_expr(expr)
        if "e." in text:
            continue
        (function,) = functions([f"lambda r: {text}"])
        assert read(function, EPSILON_FENCE, None, REGISTER) == expr
        assert parse(text, FunctionKind("fence", False), None, REGISTER) == expr
