"""The values that a translator gives to syntax nodes on the way from Python's ast to an expression.

Expr     a scalar
Make     a register
Event    the event
Row      a plain tuple
Live     an object from outside the function: a function, a class, a module, a tuple of constants
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from afa.expression import nodes
from afa.expression.kinds import Kind
from afa.expression.live import Live, not_scalar
from afa.expression.nodes import Const, Expr, If, IsNone, Make
from afa.expression.refusal import Unreadable
from afa.expression.types import may_raise, types_of
from afa.schema import Schema

SIZE, DEPTH = 2000, 100
"""How many nodes one expression may have, and how deep they may nest."""


class Event(NamedTuple):
    """The event as a whole."""


class Row(NamedTuple):
    """A plain tuple of values."""

    items: tuple[Value, ...]


Value = Expr | Event | Row | Live
Names = dict[str, "Value | None"]
"""The local names and their values. None: bound on some paths only."""


def as_scalar(value: Value, node: ast.AST | None) -> Expr:
    """Return the value if it is a scalar, else refuse it."""
    if isinstance(value, Live):
        raise not_scalar(value, node)
    if isinstance(value, Make | Event | Row):
        what = {Make: "the register", Event: "the event", Row: "a tuple"}[type(value)]
        raise Unreadable(f"{what} as a whole stands where a value is meant", "name the field", node)
    return value


def returned(value: Value, kind: Kind, register_schema: Schema) -> Expr:
    """Return a returned value in the form that the kind asks for: a register for a transfer, else a scalar.

    Raises
    ------
    Unreadable
    """
    check_size(value)
    if kind.role != "transfer":
        return as_scalar(value, None)
    if isinstance(value, Make | Row) and len(value.items) == len(register_schema.fields):
        return Make(tuple(as_scalar(item, None) for item in value.items))
    if isinstance(value, Live):
        raise not_scalar(value, None)
    call = f"{register_schema.cls.__name__}({', '.join(field.name for field in register_schema.fields)})"
    raise Unreadable("the transfer returns no register on some way", f"return {call} or r._replace(...) on all")


def forget(names: Names, inner: Names) -> None:
    """Take the value from names that only some of the paths that meet here have bound."""
    for name, value in inner.items():
        if names.get(name, ...) is not value:
            names[name] = None


def check_size(value: Value) -> None:
    """Refuse an expression that has grown too large: substitution can double it at every step.

    Raises
    ------
    Unreadable
    """
    todo = [(item, 1) for item in (value.items if isinstance(value, Make | Row) else (value,))]
    count = 0
    while todo:
        node, depth = todo.pop()
        count += 1
        if count > SIZE or depth > DEPTH:
            raise Unreadable(f"more than {SIZE} operations or {DEPTH} levels when written out", "split it over several arcs")
        if isinstance(node, Expr):
            todo.extend((child, depth + 1) for child in nodes.children(node))


def kept(x: Value, result: Value, schemas: tuple[Schema | None, Schema], node: ast.AST | None) -> Value:
    """Return ``result`` with ``x`` evaluated before it, if ``x`` could raise and ``result`` does not evaluate it anyway.

    Otherwise a division whose value is not used would raise in Python and nowhere else.
    """
    if isinstance(x, Make | Row):
        for item in reversed(x.items):
            result = kept(item, result, schemas, node)
        return result
    if not isinstance(x, Expr) or isinstance(x, Const | nodes.Field) or not may_raise(x, *schemas):
        return result
    check_size(result)  # before it is searched: it may hold what was kept once more
    if isinstance(result, Make | Row):
        items = result.items
        if any(isinstance(item, Expr) and evaluates(item, x) for item in items):
            return result
        i = next((i for i, item in enumerate(items) if isinstance(item, Expr)), None)
        if i is not None:
            first = as_scalar(kept(x, items[i], schemas, node), node)
            return type(result)((*items[:i], first, *items[i + 1 :]))  # type: ignore[arg-type]
    elif isinstance(result, Expr):
        if evaluates(result, x):
            return result
        zeros = {float: Const(0.0), int: Const(0), bool: Const(False), str: Const("")}
        types = types_of(result, *schemas)
        zero = next((zeros[kind] for kind in zeros if kind in types), Const(None))  # never taken; of the type of the result
        return If(nodes.Or((IsNone(x), Const(True))), result, zero)
    raise Unreadable("a value that could raise is not used", "leave it out", node)


def evaluates(expr: Expr, x: Expr) -> bool:
    """Return whether evaluating ``expr`` always evaluates ``x``, whatever the event and the register are."""
    if expr == x:
        return True
    match expr:
        case nodes.And(items) | nodes.Or(items):
            return evaluates(items[0], x)
        case If(test, then, other):
            return evaluates(test, x) or (evaluates(then, x) and evaluates(other, x))
    return any(evaluates(child, x) for child in nodes.children(expr))
