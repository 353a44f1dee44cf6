"""Shapes: an expression with its constants taken out. Functions of one shape share one compiled body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from afa.expression.nodes import Const, Expr, Text, rebuilt
from afa.expression.text import text_of_expr


class ExpressionShape(NamedTuple):
    """The shape of an expression: its text with parameters in place of its constants, and the constants' values.

    Parameters are numbered as `walk` meets the constants: a node before those below it, its fields in order (of an If: test, then,
    other). Each is written ``$n:type``. Parameters are ints, floats, bools and strs; None stays: it is another form of code. An
    In has a parameter for each item; all constants of a Text are one, ``$n:table:startswith``, whose value is their tuple.
    """

    text: str
    params: tuple[Any, ...]


@dataclass(frozen=True)
class _Param(Expr):
    """A parameter in the place of a constant."""

    text: str

    def __str__(self) -> str:
        return self.text


def shape(expr: Expr) -> ExpressionShape:
    """Take the constants out of an expression. O(nodes).

    >>> from afa.expression.nodes import Compare, FieldRead, In, Or
    >>> n = FieldRead("r", "n")
    >>> shape(Or((Compare("<", n, Const(3)), In(n, (Const(7), Const(8.0))))))
    ExpressionShape(text='r.n < $0:int or r.n in ($1:int, $2:float)', params=(3, 7, 8.0))
    >>> shape(Text("startswith", FieldRead("e", "name"), (Const("a"), Const("b"))))
    ExpressionShape(text='e.name.startswith($0:table:startswith)', params=(('a', 'b'),))
    """
    params: list[Any] = []
    return ExpressionShape(text_of_expr(_bare(expr, params)), tuple(params))


def _bare(expr: Expr, params: list[Any]) -> Expr:
    """Return the expression with parameters in place of its constants; append the constants to a list."""
    if isinstance(expr, Const):
        return expr if expr.value is None else _param(type(expr.value).__name__, expr.value, params)
    if isinstance(expr, Text):
        x = _bare(expr.x, params)
        table = tuple(const.value for const in expr.consts)
        return Text(expr.method, x, (_param(f"table:{expr.method}", table, params),))  # type: ignore[arg-type]
    return rebuilt(expr, lambda child: _bare(child, params))


def _param(kind: str, value: Any, params: list[Any]) -> _Param:
    params.append(value)
    return _Param(f"${len(params) - 1}:{kind}")
