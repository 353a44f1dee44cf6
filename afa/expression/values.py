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
from afa.expression.kinds import HINT, FunctionKind, Unreadable
from afa.expression.live import Live, constant, is_field, is_own, is_plain, not_scalar
from afa.expression.nodes import Const, Expr, If, IsNone, Make
from afa.expression.types import may_raise, types_of
from afa.schema import Schema

SIZE, DEPTH = 2000, 100
"""How many nodes one expression may have, and how deep they may nest."""


class Event(NamedTuple):
    """The event as a whole."""


class TupleValue(NamedTuple):
    """A plain tuple of values."""

    items: tuple[Value, ...]


Value = Expr | Event | TupleValue | Live
Names = dict[str, "Value | None"]
"""The local names and their values. None: bound on some paths only."""


def as_scalar(value: Value, node: ast.AST | None) -> Expr:
    """Return the value if it is a scalar, else refuse it."""
    if isinstance(value, Live):
        raise not_scalar(value, node)
    if isinstance(value, Make | Event | TupleValue):
        what = {Make: "the register", Event: "the event", TupleValue: "a tuple"}[type(value)]
        raise Unreadable(f"{what} as a whole stands where a value is meant", "name the field", node)
    return value


def returned(value: Value, kind: FunctionKind, register_schema: Schema) -> Expr:
    """Return a returned value in the form that the kind asks for: a register for a transfer, else a scalar."""
    check_size(value)
    if kind.role != "transfer":
        return as_scalar(value, None)
    if isinstance(value, Make | TupleValue) and len(value.items) == len(register_schema.fields):
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
    """Refuse an expression that has grown too large: substitution can double it at every step."""
    todo = [(item, 1) for item in (value.items if isinstance(value, Make | TupleValue) else (value,))]
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
    if isinstance(x, Make | TupleValue):
        for item in reversed(x.items):
            result = kept(item, result, schemas, node)
        return result
    if not isinstance(x, Expr) or isinstance(x, Const | nodes.FieldRead) or not may_raise(x, *schemas):
        return result
    check_size(result)  # before it is searched: it may hold what was kept once more
    if isinstance(result, Make | TupleValue):
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


class RecordTranslator:
    """The part of a translator that knows events, registers and tuples."""

    def __init__(self, event_schema: Schema | None, register_schema: Schema) -> None:
        self.event_schema = event_schema
        self.register_schema = register_schema

    def types(self, x: Expr) -> frozenset[type]:
        return types_of(x, self.event_schema, self.register_schema)

    def keep(self, x: Value, result: Value, node: ast.AST | None) -> Value:
        """Return ``result`` with ``x`` evaluated before it; see `kept`."""
        return kept(x, result, (self.event_schema, self.register_schema), node)

    def member(self, base: Live, node: ast.Attribute) -> Value:
        """Return an attribute of an object from outside the function."""
        raise not_scalar(base, node)

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        """``e.field``, ``r.field``, or an attribute of an object from outside."""
        name = node.attr
        if isinstance(base, Live):
            return self.member(base, node)
        if isinstance(base, Event | Make):
            schema = self.schema_of(base, node)
            if not is_field(schema.cls, name):
                raise Unreadable(f"{name} is no field of {schema.cls.__name__}", schema.hint(name), node)
            return self.field(base, [field.name for field in schema.fields].index(name))
        raise Unreadable(f".{name} of a value", HINT, node)

    def schema_of(self, base: Event | Make, node: ast.AST) -> Schema:
        """Return the schema of the event or of the register."""
        schema = self.event_schema if isinstance(base, Event) else self.register_schema
        if schema is None:
            raise Unreadable("the automaton has no event schema", "give the Automaton event=", node)
        return schema

    def field(self, base: Event | Make, i: int) -> Expr:
        """Return the i-th field. The other fields that a new register was made of are still evaluated."""
        if isinstance(base, Event):
            assert self.event_schema is not None
            return nodes.FieldRead("e", self.event_schema.fields[i].name)
        found: Value = base.items[i]
        for other in reversed(base.items):
            found = self.keep(other, found, None)
        return as_scalar(found, None)

    def item(self, base: Value, index: Expr, node: ast.Subscript) -> Value:
        """``e[0]``, ``r[0]``, ``CONSTANTS[0]``: by a constant index."""
        if not isinstance(index, Const) or type(index.value) is not int:
            raise Unreadable("an index that is no constant int", "name the field", node)
        if isinstance(base, Live) and type(base.value) is tuple:
            base = TupleValue(tuple(constant(item, base.name) for item in base.value))
        if isinstance(base, Event | Make):
            schema = self.schema_of(base, node)
            length, own = len(schema.fields), is_plain(schema.cls, "__getitem__")
        else:
            length, own = (len(base.items), True) if isinstance(base, TupleValue) else (0, False)
        if not own or not -length <= index.value < length:
            raise Unreadable(f"[{index.value}] of something that has no such item", "name the field", node)
        if isinstance(base, TupleValue):
            found = base.items[index.value]
            for other in reversed(base.items):
                found = self.keep(other, found, node)
            return found
        assert isinstance(base, Event | Make)
        return self.field(base, index.value % length)

    def replace(self, base: Make, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Make:
        """``r._replace(field=value)``."""
        fields = [field.name for field in self.register_schema.fields]
        own = all(is_own(self.register_schema.cls, name) for name in ("_replace", "_make"))
        if arguments or not set(keywords) <= set(fields) or not own:
            raise Unreadable("_replace of something that is no field", f"its fields: {', '.join(fields) or 'none'}", node)
        made: Value = Make(tuple(as_scalar(keywords.get(name, x), node) for name, x in zip(fields, base.items)))
        for name, x in reversed(list(zip(fields, base.items))):
            if name in keywords:
                made = self.keep(x, made, node)
        assert isinstance(made, Make)
        return made

    def construct(self, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Make:
        """``R(...)``, with the defaults of its fields."""
        schema = self.register_schema
        fields = [field.name for field in schema.fields]
        given = {**dict(zip(fields, arguments)), **keywords}
        doubled = len(arguments) + len(keywords) != len(given)
        defaults = getattr(schema.cls, "_field_defaults", {})
        missing = [name for name in fields if name not in given and name not in defaults]
        unknown = [name for name in keywords if name not in fields]
        if missing or unknown or doubled or not is_own(schema.cls, "__new__") or not is_own(schema.cls, "__init__"):
            wrong = f"without {missing[0]}" if missing else "with other arguments than its fields"
            raise Unreadable(f"{schema.cls.__name__}(...) {wrong}", f"give it {', '.join(fields) or 'nothing'}", node)
        values = [given[name] if name in given else constant(defaults[name], name) for name in fields]
        return Make(tuple(as_scalar(item, node) for item in values))
