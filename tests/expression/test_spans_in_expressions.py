"""Random expressions with durations in the place of ints: written, read back and bound they are the expressions with the ints."""

from __future__ import annotations

import random
from typing import Any

import pytest

from afa.compiled.code.native_arc import compiled_arc
from afa.compiled.code.payload_layout import Layout
from afa.errors import AutomatonError
from afa.expression import FENCE, Unreadable, may_raise, parse, read, split, text_of_expr, types_of
from afa.expression.nodes import Binary, Call, Const, Expr, In, Span, Text, Unary, minus, walk
from afa.expression.spans import in_ticks
from afa.model.arc import Arc
from tests.expression.worlds import EVENT, REGISTER, SCHEMAS, expression

TICKS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}


def spanned(expr: Expr, length: int, rng: random.Random) -> Expr:
    """The expression with some of its ints as durations of so many ticks, where an int is no form of its own."""
    if isinstance(expr, Const):
        value = expr.value
        if type(value) is not int or rng.random() < 0.3:
            return expr
        return Span(value * length) if value >= 0 else Unary("-", Span(-value * length)) if value > -(2**63) else expr
    if isinstance(expr, In | Text) or (isinstance(expr, Binary) and expr.op == "**"):
        return expr
    names: tuple[str, ...] = type(expr).__slots__
    values: list[Any] = []
    for name in names:
        value = getattr(expr, name)
        if isinstance(value, Expr):
            value = spanned(value, length, rng)
        elif isinstance(value, tuple):
            keep = isinstance(expr, Call) and expr.name in ("round", "str")
            value = tuple(item if keep and i else spanned(item, length, rng) for i, item in enumerate(value))
        values.append(value)
    return minus(values[1]) if isinstance(expr, Unary) and expr.op == "-" else type(expr)(*values)


@pytest.mark.parametrize("tick", TICKS)
def test_random_expressions(tick: str) -> None:
    rng = random.Random(tick)
    event, register = Layout.of(EVENT), Layout.of(REGISTER)
    spans = compiled = 0
    for _ in range(400):
        plain = expression(rng, "bool", 4)
        said = spanned(plain, TICKS[tick], rng)
        text = text_of_expr(said)
        assert in_ticks(said, tick, "here") == in_ticks(plain, tick, "here") == plain, text
        if said == plain:
            assert in_ticks(said, None, "here") is said
            continue
        spans += 1
        with pytest.raises(AutomatonError, match="expected tick=, what one int of LE counts"):
            in_ticks(said, None, "here")
        assert types_of(said, *SCHEMAS) >= types_of(plain, *SCHEMAS)
        may_raise(said, *SCHEMAS)
        split(said, *SCHEMAS)
        try:
            assert parse(text, FENCE, *SCHEMAS) == said, text
            assert in_ticks(parse(text, FENCE, *SCHEMAS), tick, "here") == parse(text_of_expr(plain), FENCE, *SCHEMAS)
        except AutomatonError:  # which text may not say, with ints neither
            continue
        bound = Arc("a", "b", text).bound({"fence": _known(in_ticks(said, tick, "here"))})
        one, other = compiled_arc(bound, event, register), compiled_arc(Arc("a", "b", text_of_expr(plain)), event, register)
        assert (one.code is None, one.reason) == (other.code is None, other.reason)
        if one.code is not None and other.code is not None:
            compiled += one.code.shape == other.code.shape
            assert one.code.shape == other.code.shape
    assert spans > 60
    assert compiled > 20


def _known(expr: Expr) -> Any:
    from afa.expression.arc_functions import GivenExpression

    return GivenExpression(expr, FENCE, REGISTER, "said")


def test_functions_say_spans_as_text_does() -> None:
    import afa

    wait = afa.span("3 s")
    functions = {
        "i < span('3 s')": lambda e, r: e.i < wait,
        "i < span('3000 ms')": lambda e, r: e.i < afa.span("3 s"),
        "-span('3 s') < e.i and not e.i > 2 * span('3 s')": lambda e, r: -wait < e.i and not e.i > 2 * wait,
    }
    for text, function in functions.items():
        assert read(function, FENCE, *SCHEMAS) == parse(text, FENCE, *SCHEMAS)
        assert sum(isinstance(node, Span) for node in walk(read(function, FENCE, *SCHEMAS))) >= 1
    with pytest.raises(Unreadable, match="expected a unit of time"):
        read(lambda e, r: e.i < afa.span("3 moons"), FENCE, *SCHEMAS)
