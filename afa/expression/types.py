"""Infer which types an expression's value can have, and whether its evaluation could raise. Both err on the safe side."""

from __future__ import annotations

import math

from afa.expression import nodes
from afa.expression.functions import FUNCTIONS, NUMBER
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

Types = frozenset[type]

NONE = type(None)
NUMBERS: Types = frozenset({int, float, bool})
WHOLE: Types = frozenset({int, bool})
TEXTS: Types = frozenset({str})
ANYTHING: Types = frozenset({int, float, bool, str, NONE, object})
"""All types. ``object`` stands for those of a field annotated Any, and of a power (a complex number)."""

FLOAT_BITS = 1000
"""An int below 2**1000 becomes a float without OverflowError."""


def types_of(expr: Expr, event_schema: Schema | None, register_schema: Schema) -> Types:
    """Return the types that the value of ``expr`` can have where Python does not raise.

    >>> from typing import NamedTuple
    >>> class R(NamedTuple):
    ...     n: int | None = 0
    >>> found = types_of(Binary("/", FieldRead("r", "n"), Const(2)), None, Schema.of(R, "register"))
    >>> sorted(t.__name__ for t in found)
    ['float']
    """
    match expr:
        case Const(value):
            return frozenset({type(value)})
        case Span():
            return frozenset({int})
        case FieldRead(side, name):
            return _field_types(event_schema if side == "e" else register_schema, name)
        case Not() | Compare() | In() | IsNone() | Text() | Call("contains", _):
            return frozenset({bool})
        case Call("str" | "upper" | "lower", _):
            return TEXTS
        case Call(name, _) if name in FUNCTIONS:
            return frozenset({FUNCTIONS[name].result})
        case If(_, then, other):
            return types_of(then, event_schema, register_schema) | types_of(other, event_schema, register_schema)
        case Call(("int" | "len") as name, _):
            return frozenset({int})
        case Call(("float" | "bool") as name, _):
            return frozenset({float}) if name == "float" else frozenset({bool})
        case Make():
            return frozenset({tuple})
    operands = [types_of(x, event_schema, register_schema) for x in nodes.children(expr)]
    match expr:
        case Binary("**", _, Const(int() as n)) if operands[0] <= NUMBERS | {NONE}:
            return frozenset(float if t is float or n < 0 else int for t in operands[0] if t is not NONE)
        case And() | Or() | Call("min" | "max", _):
            return frozenset[type]().union(*operands)
        case Unary():
            return _plain(operands[0])
        case Binary(op, _, _):
            return _arithmetic(op, operands[0], operands[1])
        case Call("round", items):
            return frozenset({int}) if len(items) == 1 else _plain(operands[0]) | {int}
        case Call("abs", _):
            return _plain(operands[0])
    return ANYTHING


def may_raise(expr: Expr, event_schema: Schema | None, register_schema: Schema) -> bool:
    """Return whether the evaluation of ``expr`` could raise for some event and register of the schemas. O(size ** 2).

    >>> from typing import NamedTuple
    >>> class R(NamedTuple):
    ...     n: int = 0
    ...     m: int | None = None
    >>> schema = Schema.of(R, "register")
    >>> [may_raise(Compare("<", FieldRead("r", name), Const(1)), None, schema) for name in "nm"]
    [False, True]
    """
    return any(not _total(node, event_schema, register_schema) for node in nodes.walk(expr))


def bits(expr: Expr) -> float:
    """Return how many bits the value of ``expr`` has at most if it is an int."""
    match expr:
        case Const(value):
            return value.bit_length() if isinstance(value, int) else 0
        case Binary("**", left, Const(int() as n)):
            return bits(left) * max(n, 1)
        case Binary("**", _, _):
            return math.inf
        case Binary(op, left, right):
            return bits(left) + bits(right) if op == "*" else max(bits(left), bits(right)) + 1
        case If(_, then, other):
            return max(bits(then), bits(other))
        case And(items) | Or(items) | Call("min" | "max", items):
            return max(bits(item) for item in items)
        case Unary(_, x) | Call("abs", (x,)):
            return bits(x) + 1
        case Call("round" | "int", items):
            return max(15_000, bits(items[0]) + 1)  # the longest str that int() takes has 4300 digits
        case Call("floor" | "ceil" | "trunc", (x,)):
            return max(1_025, bits(x))  # a float's
    return 64


def _field_types(schema: Schema | None, name: str) -> Types:
    for field in schema.fields if schema is not None else ():
        if field.name == name and field.type is not None:
            return frozenset({field.type, NONE}) if field.optional else frozenset({field.type})
    return ANYTHING


def _plain(types: Types) -> Types:
    """Return the types of ``-x`` or ``abs(x)``: a bool becomes an int, None raises."""
    return frozenset(int if t is bool else t for t in types if t is not NONE)


def _arithmetic(op: str, left: Types, right: Types) -> Types:
    left, right = left - {NONE}, right - {NONE}  # raises
    if op == "**":
        return ANYTHING if not (left | right) <= NUMBERS else NUMBERS | {object}
    if op == "+" and left | right == TEXTS:
        return TEXTS
    if not (left | right) <= NUMBERS:
        return ANYTHING
    if op == "/":
        return frozenset({float})
    found: set[type] = set()
    if float in left | right:
        found.add(float)
    if left & WHOLE and right & WHOLE:
        found.add(int)
        if op in "&|^" and bool in left and bool in right:
            found.add(bool)
    return frozenset(found)


def _total(node: Expr, event_schema: Schema | None, register_schema: Schema) -> bool:
    """Return whether the operation of ``node`` itself never raises, whatever its operands can be."""
    if isinstance(node, (Const, Span, FieldRead, IsNone, Make)):
        return True
    operands = [types_of(x, event_schema, register_schema) for x in nodes.children(node)]
    used = frozenset[type]().union(*operands)
    match node:
        case Not() | And() | Or() | If() | In() | Call("bool", _) | Compare("==" | "!=", _, _):
            return object not in used
        case Compare():
            return used <= NUMBERS or used <= TEXTS
        case Unary(op, _):
            return used <= ({int} if op == "~" else NUMBERS)  # ~ of a bool warns
        case Binary(op, left, right):
            return _total_arithmetic(op, left, right, operands[0], operands[1])
        case Call("min" | "max", _):
            return used <= NUMBERS or used <= TEXTS
        case Call("abs", _):
            return used <= NUMBERS
        case Call("float", (x,)):
            return used <= NUMBERS and bits(x) < FLOAT_BITS
        case Call("int", _) | Call("round", (_,)):
            return used <= WHOLE
        case Call("len" | "upper" | "lower" | "contains", _) | Text():
            return used <= TEXTS
        case Call(name, items) if name in FUNCTIONS and FUNCTIONS[name].total:
            numbers = FUNCTIONS[name].of == NUMBER
            return used <= NUMBERS and all(bits(x) < FLOAT_BITS for x in items) if numbers else operands[0] <= TEXTS
        case Call("str", (x,)):
            return object not in used and bits(x) < FLOAT_BITS  # longer ints have no text
    return False


def _total_arithmetic(op: str, left: Expr, right: Expr, lefts: Types, rights: Types) -> bool:
    if op in "&|^":
        return (lefts | rights) <= WHOLE
    if op == "+" and (lefts | rights) <= TEXTS:
        return True
    if op == "**" or not (lefts | rights) <= NUMBERS:
        return False
    divides = op in ("/", "//", "%")
    if divides and not (isinstance(right, Const) and right.value):
        return False
    mixed = op == "/" or float in lefts | rights
    return not mixed or (bits(left) < FLOAT_BITS and bits(right) < FLOAT_BITS)
