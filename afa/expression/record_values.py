"""Translate accesses to events, registers and tuples: their fields, their items, and the making of new registers."""

from __future__ import annotations

import ast

from afa.expression import nodes
from afa.expression.live import Live, constant, is_field, is_own, is_plain, not_scalar
from afa.expression.nodes import Const, Expr, Make
from afa.expression.refusal import HINT, Unreadable
from afa.expression.types import types_of
from afa.expression.values import Event, Row, Value, as_scalar, kept
from afa.schema import Schema


class Records:
    """The part of a translator that knows events, registers and tuples."""

    def __init__(self, event_schema: Schema | None, register_schema: Schema) -> None:
        self.event_schema = event_schema
        self.register_schema = register_schema

    def types(self, x: Expr) -> frozenset[type]:
        """Return the types that a value can have."""
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
                known = ", ".join(field.name for field in schema.fields) or "none"
                raise Unreadable(f"{name} is no field of {schema.cls.__name__}", f"its fields: {known}", node)
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
            return nodes.Field("e", self.event_schema.fields[i].name)
        found: Value = base.items[i]
        for other in reversed(base.items):
            found = self.keep(other, found, None)
        return as_scalar(found, None)

    def item(self, base: Value, index: Expr, node: ast.Subscript) -> Value:
        """``e[0]``, ``r[0]``, ``CONSTANTS[0]``: by a constant index."""
        if not isinstance(index, Const) or type(index.value) is not int:
            raise Unreadable("an index that is no constant int", "name the field", node)
        if isinstance(base, Live) and type(base.value) is tuple:
            base = Row(tuple(constant(item, base.name) for item in base.value))
        if isinstance(base, Event | Make):
            schema = self.schema_of(base, node)
            length, own = len(schema.fields), is_plain(schema.cls, "__getitem__")
        else:
            length, own = (len(base.items), True) if isinstance(base, Row) else (0, False)
        if not own or not -length <= index.value < length:
            raise Unreadable(f"[{index.value}] of something that has no such item", "name the field", node)
        if isinstance(base, Row):
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
