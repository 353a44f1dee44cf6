"""Evaluate expressions by Python's own operators, one closure for each node: slowly and obviously, the twin of compiled code."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from afa.expression import nodes
from afa.expression.functions import FUNCTIONS
from afa.expression.kinds import FunctionKind
from afa.expression.nodes import (
    And,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    In,
    IsNone,
    Make,
    Not,
    Or,
    Span,
    Text,
    Unary,
)
from afa.schema import Schema

UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
CALL: dict[str, Callable[..., Any]] = {
    "min": min, "max": max, "abs": abs, "round": round, "int": int, "float": float, "bool": bool, "len": len, "str": str,
    "upper": operator.methodcaller("upper"), "lower": operator.methodcaller("lower"), "contains": lambda x, text: x in text,
    **{name: function.call for name, function in FUNCTIONS.items()},
}  # fmt: skip


KEPT = 256
"""Of how many expressions `evaluate` keeps the closures: they take as long to make as to call ten times."""
Step = Callable[[Any, Any], Any]
"""``step(event, register)``."""


def evaluate(expr: Expr, event: Any, register: Any) -> Any:
    """Return the value of ``expr``, with Python's own meaning: it raises what Python's operators raise.

    ``event`` is None where the function sees none. The value of a Make is of the class of ``register``.

    >>> from typing import NamedTuple
    >>> class R(NamedTuple):
    ...     n: int = 0
    >>> evaluate(Make((Binary("//", FieldRead("r", "n"), Const(2)),)), None, R(-7))
    R(n=-4)
    """
    cls: Any = type(register)
    return _kept(expr, cls)(event, register)


def callable_of(expr: Expr, kind: FunctionKind, register_schema: Schema) -> Callable[..., Any]:
    """Returns a function of ``(e, r)`` or ``(r)`` that means ``expr``; a Make gives an instance of the register's class.

    >>> from typing import NamedTuple
    >>> from afa.expression import EPSILON_TRANSFER, parse
    >>> class R(NamedTuple):
    ...     n: int = 0
    >>> schema = Schema.of(R, "register")
    >>> half = callable_of(parse("R(r.n // 2)", EPSILON_TRANSFER, None, schema), EPSILON_TRANSFER, schema)
    >>> half(R(-7))
    R(n=-4)
    """
    step = _step(expr, register_schema.cls)
    return step if kind.sees_event else lambda register: step(None, register)


@functools.lru_cache(maxsize=KEPT)
def _kept(expr: Expr, cls: type) -> Step:
    return _step(expr, cls)


def _step(expr: Expr, cls: type) -> Step:
    """Return the function of one node, made from those of the nodes below it."""
    below = [_step(child, cls) for child in nodes.children(expr)]
    match expr:
        case Const(const):
            return lambda e, r: const
        case Span():
            return lambda e, r: expr._unbound()
        case FieldRead("e", name):
            return lambda e, r: getattr(e, name)
        case FieldRead(_, name):
            return lambda e, r: getattr(r, name)
        case And() | Or():
            return _until(isinstance(expr, Or), below)
        case If():
            test, then, other = below
            return lambda e, r: then(e, r) if test(e, r) else other(e, r)
        case In(_, items):
            x, values = below[0], [item.value for item in items]
            return lambda e, r: x(e, r) in values
        case IsNone():
            (x,) = below
            return lambda e, r: x(e, r) is None
        case Make():
            return _all(cls, below)
    return _all(operation_of(expr), below[:1] if isinstance(expr, Text) else below)


def operation_of(expr: Expr) -> Callable[..., Any]:
    """Return what a node does with the values of its `operands`, of a node that evaluates all of them."""
    match expr:
        case Unary(op):
            return UNARY[op]
        case Not():
            return operator.not_
        case Binary(op):
            return BINARY[op]
        case Compare(op):
            return COMPARE[op]
        case Call(name):
            return CALL[name]
        case In(_, items):
            values = [item.value for item in items]
            return lambda x: x in values
        case IsNone():
            return lambda x: x is None
        case Text("contains", _, (const,)):
            return lambda x: const.value in x
        case Text(method, _, consts):
            texts = tuple(const.value for const in consts)
            return lambda x: getattr(x, method)(texts)
    raise TypeError(f"expected an expression but got {expr!r}")


def _all(function: Callable[..., Any], items: list[Step]) -> Step:
    """Return a function of what the items are."""
    if len(items) == 1:
        (x,) = items
        return lambda e, r: function(x(e, r))
    if len(items) == 2:
        left, right = items
        return lambda e, r: function(left(e, r), right(e, r))
    return lambda e, r: function(*[item(e, r) for item in items])


def _until(stop: bool, items: list[Step]) -> Step:
    """Return the first operand whose truth is ``stop``, or the last one."""

    def step(e: Any, r: Any) -> Any:
        value = None
        for item in items:
            value = item(e, r)
            if bool(value) is stop:
                break
        return value

    return step
