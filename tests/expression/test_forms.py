"""Every form is read, and means what Python makes of it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from afa.expression import EPSILON_FENCE, EPSILON_TRANSFER, FENCE, TRANSFER, FunctionKind, callable_of, evaluate, read, text_of_expr
from tests.expression import defs, lambdas, worlds
from tests.expression.worlds import REGISTER, SCHEMAS, R, outcome


def plain(value: Any, kind: FunctionKind) -> Any:
    """A tuple of a transfer is the register; numpy's bool of a fence is its truth."""
    if kind.role == "transfer":
        return R(*value)
    return value.item() if isinstance(value, np.bool_) else value


def compare(function: Any, kind: FunctionKind) -> None:
    rng = random.Random(1)
    found = read(function, kind, *SCHEMAS)
    closures = callable_of(found, kind, REGISTER)
    for _ in range(60):
        e, r = worlds.event(rng), worlds.register(rng)
        python = outcome(lambda e, r: plain(function(e, r), kind), e, r)
        assert outcome(lambda e, r: plain(evaluate(found, e, r), kind), e, r) == python, (found, e, r)
        assert outcome(lambda e, r: plain(closures(e, r), kind), e, r) == python, (found, e, r)


def place(function: Any) -> str:
    """Where a function stands: each worker must give a test the same name."""
    code = getattr(function, "__code__", None)
    if code is None:  # a method, a partial
        return str(getattr(function, "__name__", type(function).__name__))
    return f"{Path(code.co_filename).stem}:{code.co_firstlineno}"


@pytest.mark.parametrize("function", [*lambdas.FENCES, *defs.FENCES], ids=place)
def test_fences(function: Any) -> None:
    compare(function, FENCE)


@pytest.mark.parametrize("function", [*lambdas.TRANSFERS, *defs.TRANSFERS], ids=place)
def test_transfers(function: Any) -> None:
    compare(function, TRANSFER)


def test_there_are_many_forms() -> None:
    assert len(lambdas.FENCES) + len(defs.FENCES) + len(lambdas.TRANSFERS) + len(defs.TRANSFERS) > 170


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda r: r.n < lambdas.LIMIT, EPSILON_FENCE),
        (lambda r: lambdas.bump(r), EPSILON_TRANSFER),
        (lambdas.bump, EPSILON_TRANSFER),
    ],
)
def test_functions_of_the_register_alone(function: Any, kind: FunctionKind) -> None:
    found = read(function, kind, None, REGISTER)
    assert [evaluate(found, None, R(n)) for n in (-5, 0, 7)] == [function(R(n)) for n in (-5, 0, 7)]


def keeping(kept: Any) -> Any:
    """A decorator that keeps a function beside the one it decorates."""

    def keep(function: Any) -> Any:
        function.kept = kept
        return function

    return keep


@keeping(lambda e, r: e.i < 3)
def decorated(e: Any, r: Any, other: Any = lambda e, r: e.i < 4, *, last: Any = lambda e, r: e.i < 5) -> bool:
    return bool(e.i > 6)


def test_functions_in_decorators_and_defaults_are_themselves() -> None:
    """They stand where the def begins, and have code of their own there."""
    inner = [decorated.kept, decorated.__defaults__[0], decorated.__kwdefaults__["last"]]
    assert [text_of_expr(read(function, FENCE, *SCHEMAS)) for function in inner] == ["e.i < 3", "e.i < 4", "e.i < 5"]
    nested = lambda e, r, other=lambda e, r: e.i < 8: e.i < 9  # noqa: E731
    assert [text_of_expr(read(f, FENCE, *SCHEMAS)) for f in (nested.__defaults__[0], nested)] == ["e.i < 8", "e.i < 9"]
