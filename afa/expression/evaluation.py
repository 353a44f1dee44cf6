"""Evaluate expressions by Python's own operators: the slow and obvious version of what compiled code does."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from afa.expression.nodes import (
    And,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    Field,
    If,
    In,
    IsNone,
    Make,
    Not,
    Or,
    Text,
    Unary,
)

UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
CALL: dict[str, Callable[..., Any]] = {
    "min": min, "max": max, "abs": abs, "round": round, "int": int, "float": float, "bool": bool, "len": len,
}  # fmt: skip


def evaluate(expr: Expr, event: Any, register: Any) -> Any:
    """Return the value of ``expr``, with Python's own meaning.

    Parameters
    ----------
    expr : Expr
    event : NamedTuple or None
        None where the function sees no event.
    register : NamedTuple
        Of a Make the value is one of its class.

    Raises
    ------
    Exception
        Whatever Python's operators raise.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class R(NamedTuple):
    ...     n: int = 0
    >>> evaluate(Make((Binary("//", Field("r", "n"), Const(2)),)), None, R(-7))
    R(n=-4)
    """

    def value(x: Expr) -> Any:
        return evaluate(x, event, register)

    match expr:
        case Const(const):
            return const
        case Field(side, name):
            return getattr(event if side == "e" else register, name)
        case Unary(op, x):
            return UNARY[op](value(x))
        case Not(x):
            return not value(x)
        case Binary(op, left, right):
            return BINARY[op](value(left), value(right))
        case Compare(op, left, right):
            return COMPARE[op](value(left), value(right))
        case And(items) | Or(items):
            result = None
            for item in items:
                result = value(item)
                if bool(result) is isinstance(expr, Or):
                    break
            return result
        case If(test, then, other):
            return value(then) if value(test) else value(other)
        case Call(name, items):
            return CALL[name](*[value(item) for item in items])
        case In(x, items):
            return value(x) in [item.value for item in items]
        case IsNone(x):
            return value(x) is None
        case Text("contains", x, (const,)):
            return const.value in value(x)
        case Text(method, x, consts):
            return getattr(value(x), method)(tuple(const.value for const in consts))
        case Make(items):
            return type(register)(*[value(item) for item in items])
    raise TypeError(f"expected an expression but got {expr!r}")
