"""What stands in WHERE and RETURN of SASE+ text: Python's expressions, read by what reads the text of arcs.

The allow-list over ``ast`` reads them once they are written as Python (`sase_code`); fields of components become `FieldTerm` and
`AggregateTerm`. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any, NamedTuple

from afa.errors import AutomatonError
from afa.expression.from_text import check_bounds
from afa.expression.functions import FUNCTIONS
from afa.expression.kinds import Unreadable
from afa.expression.live import Live
from afa.expression.nodes import Const, Expr, changed
from afa.expression.nodes import FieldRead as FieldNode
from afa.expression.spans import in_ticks
from afa.expression.translate import BUILTINS, Translator
from afa.expression.types import NUMBERS, TEXTS
from afa.expression.values import Names, Value, check_size
from afa.language.conjuncts import AggregateTerm, FieldTerm, PatternPlace
from afa.language.neighbours import beside
from afa.language.sase_code import Code
from afa.language.sase_grammar import RefusedError
from afa.language.terms import AGGREGATES
from afa.schema import Field, Schema
from speculation.last_before import FARTHEST

BESIDE = {"prev": -1, "next": 1}
"""Words for fields of neighbours; and in which direction these stand."""
FURTHEST = 100
"""The largest k of a[i-k] and a[a.LEN-k]."""


class WrittenExpression(NamedTuple):
    """An expression, its terms still as written, and where each of them stands."""

    expr: Expr
    position: int
    terms: dict[Expr, int]


class Attributes(NamedTuple):
    """``[attr]``: equal in all events of a match."""

    names: tuple[str, ...]
    position: int


class SaseExpressionReader(Translator):
    """Translates conditions and values; fields of components become placeholders in a register, for their types' sake.

    ``tick`` is what one int of LE counts, for ``span('10 minutes')``.
    """

    def __init__(self, event_schema: Schema, where: Mapping[str, PatternPlace], tick: str | None = None) -> None:
        self.tick = tick
        super().__init__(event_schema, Schema(_None, ()))
        self.where = where
        self.seen: dict[Expr, tuple[str, ast.AST]] = {}

    def conjuncts(self, tokens: list[Any]) -> list[WrittenExpression | Attributes]:
        """Returns the conjuncts of a condition, in their order."""
        code = Code(tokens)
        found: list[WrittenExpression | Attributes] = []
        todo = [code.parsed()]
        while todo:
            node = todo.pop()
            if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
                todo.extend(reversed(node.values))
            elif isinstance(node, ast.List):
                found.append(self.attributes(node, code))
            elif isinstance(node, ast.Tuple):
                raise RefusedError(
                    "expected conditions joined with and but got a comma; write and between them", code.place_of(node)
                )
            else:
                parts = [each for part in ast.walk(node) if isinstance(part, ast.BoolOp) for each in part.values]
                fields = next((part for part in parts if isinstance(part, ast.List)), None)
                if fields is not None:
                    raise RefusedError(
                        f"expected {ast.unparse(fields)} joined with and to all other conditions but got it within one of them; "
                        f"put alternatives in parentheses: {ast.unparse(fields)} and (.. or ..)",
                        code.place_of(fields),
                    )
                found.append(self.written(node, code, truth=True))
        return found

    def attributes(self, node: ast.List, code: Code) -> Attributes:
        """``[attr]``, ``[attr, attr]``."""
        for item in node.elts:
            if not isinstance(item, ast.Name):
                hint = "write [symbol], the name of a field of all events"
                raise RefusedError("expected fields in [ ] but got another expression; " + hint, code.place_of(item))
            self._field(item.id, code, item)
        if not node.elts:
            raise RefusedError("expected a field in [ ] but got none; write [symbol], say", code.place_of(node))
        return Attributes(tuple(item.id for item in node.elts if isinstance(item, ast.Name)), code.place_of(node))

    def value_of(self, tokens: list[Any]) -> WrittenExpression:
        """Return a value of RETURN."""
        code = Code(tokens)
        return self.written(code.parsed(), code, truth=False)

    def written(self, node: ast.expr, code: Code, truth: bool) -> WrittenExpression:
        """Return an expression with its terms as written."""
        self.seen = {}
        self.register_schema = Schema(_None, ())
        try:
            found = self.truth(node, {}) if truth else self.scalar(node, {})
            check_size(found)
            check_bounds(found, self.event_schema, self.register_schema)
        except Unreadable as error:
            column = code.place_of(error.node if error.node is not None else node)
            expected = "a condition" if truth else "a value"
            raise RefusedError(f"expected {expected} but got {error.reason}; {error.hint}", column) from None
        terms = {name: term for term, (name, _) in self.seen.items()}
        expr = changed(found, lambda each: terms[each.name] if isinstance(each, FieldNode) else None)
        return WrittenExpression(expr, code.place_of(node), {term: code.place_of(place) for term, (_, place) in self.seen.items()})

    # -- values --------------------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr, names: Names) -> Value:
        """Return a value; fields of components are taken out first."""
        match node:
            case ast.Attribute(ast.Name(id=name), attribute) if name in self.where:
                return self.field_of(name, attribute, node)
            case ast.Attribute(ast.Subscript(ast.Name(id=name), index), attribute) if name in self.where:
                return self.indexed(name, index, attribute, node)
            case ast.Call(ast.Name(id=function), [argument], []) if function.lower() in AGGREGATES:
                found = self.aggregate(function.lower(), argument, node)
                if found is not None:
                    return found
            case ast.Call(ast.Name(id=function)) if function in FUNCTIONS:
                return self.tabled(function, *self.arguments(node, names), node)
            case ast.Call(ast.Name(id=function)) if function.lower() in BESIDE:
                return self.neighbour(function.lower(), *self.arguments(node, names), node)
            case ast.Call(ast.Name(id=function)) if function.lower() == "span":
                return self.span_of(node, names)
            case ast.Subscript(ast.Name(id=name), _) if name in self.where:
                raise Unreadable(f"{name}[..] without a field", f"name a field behind it: {self.fields}", node)
            case (
                ast.Attribute(ast.Name(id=name), _)
                | ast.Subscript(ast.Name(id=name), _)
                | ast.Attribute(ast.Subscript(ast.Name(id=name), _), _)
            ):
                raise self.no_component(name, node)
            case ast.Slice():
                raise Unreadable("a range of events as a value", "ranges stand in aggregates: max(a[..i-1].x)", node)
        return super().value(node, names)

    def name(self, node: ast.Name, names: Names) -> Value:
        """Returns the value of a bare name: a builtin, or a number that Python has no literal for."""
        name = node.id
        if name in ("inf", "nan"):
            return Const(float(name))
        if name.lower() in BUILTINS:
            return Live(getattr(builtins, name.lower()), name.lower())
        if name in self.where:
            raise Unreadable(f"the component {name} where a value is meant", f"name a field of it: {self.fields}", node)
        if name == "i":
            raise Unreadable("i outside of brackets", "i stands in a[i] and a[i-1]; count(a[..i-1]) is i - 1", node)
        if name.lower() in ("true", "false", "null", "none"):
            meant = {"true": "True", "false": "False"}.get(name.lower(), "None")
            raise Unreadable(name, f"write {meant}", node)
        if name.lower() in (*BESIDE, "lag", "lead"):
            raise Unreadable(name, "write prev(a.x) or next(a.x, 2), fields of the events beside it", node)
        if name.lower() in AGGREGATES:
            raise Unreadable(f"{name} of another thing than one range", f"write {name}(a[].x), {name}(a[..i-1].x)", node)
        if any(field.name == name for field in self.schema.fields):
            raise Unreadable(f"the field {name} of no component", f"write {next(iter(self.where))}.{name}, say", node)
        raise self.no_component(name, node)

    def link(self, op: ast.cmpop, left: Expr, right: Expr, node: ast.AST) -> Expr:
        """One comparison; of values that can be compared."""
        kinds = [self.types(x) - {type(None)} for x in (left, right)]
        for one, other in (kinds, kinds[::-1]):
            if one and other and one <= TEXTS and other <= NUMBERS:
                raise Unreadable("a comparison of a text with a number", "compare values of one type", node)
        return super().link(op, left, right, node)

    def span_of(self, node: ast.Call, names: Names) -> Expr:
        """``span('10 minutes')``, in ticks."""
        span = self.duration(*self.arguments(node, names), node)
        try:
            return in_ticks(span, self.tick, "a condition")
        except AutomatonError as error:
            raise Unreadable(str(error), "write WITHIN in the same unit", node) from None

    # -- terms ---------------------------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """The event schema."""
        assert self.event_schema is not None
        return self.event_schema

    @property
    def fields(self) -> str:
        """The fields of an event, in words."""
        return ", ".join(field.name for field in self.schema.fields)

    def no_component(self, name: str, node: ast.AST) -> Unreadable:
        """Return the reason why a name means nothing."""
        return Unreadable(f"{name}, which is no component", f"the components: {', '.join(self.where)}", node)

    def field_of(self, name: str, attribute: str, node: ast.Attribute) -> Expr:
        """``a.x``, ``a.LEN``."""
        place = self.where[name]
        if place.many:
            if attribute.upper() == "LEN":
                return self.term(AggregateTerm(name, "count", None, "all"), int, node)
            hint = (
                f"write {name}[1].{attribute}, {name}[i].{attribute}, {name}[{name}.LEN].{attribute} or max({name}[].{attribute})"
            )
            raise Unreadable(f"{name}.{attribute} of a component that takes several events", hint, node)
        return self.term(FieldTerm(name, "one", attribute), self.field_type(attribute, node), node)

    def indexed(self, name: str, index: ast.expr, attribute: str, node: ast.Attribute) -> Expr:
        """``a[1].x``, ``a[i].x``, ``a[i-k].x``, ``a[a.LEN].x``, ``a[a.LEN-k].x``."""
        if not self.where[name].many:
            raise Unreadable(f"[..] behind {name}, which takes one event", f"write {name}.{attribute}", node)
        type_ = self.field_type(attribute, node)
        match index:
            case ast.Constant(value=1):
                return self.term(FieldTerm(name, "first", attribute), type_, node)
            case ast.Name(id="i"):
                return self.term(FieldTerm(name, "this", attribute), type_, node)
            case ast.BinOp(ast.Name(id="i"), ast.Sub(), ast.Constant(value=int() as k)) if 1 <= k <= FURTHEST:
                return self.term(FieldTerm(name, "before", attribute, k - 1), type_, node)
            case ast.Attribute(ast.Name(id=other), length) if other == name and length.upper() == "LEN":
                return self.term(FieldTerm(name, "last", attribute), type_, node)
            case ast.BinOp(ast.Attribute(ast.Name(id=other), length), ast.Sub(), ast.Constant(value=int() as k)) if (
                other == name and length.upper() == "LEN" and 1 <= k <= FURTHEST
            ):
                return self.term(FieldTerm(name, "last", attribute, k), type_, node)
            case ast.Slice():
                raise Unreadable(f"a range of {name} as a value", f"ranges stand in aggregates: max({name}[].{attribute})", node)
        hint = f"write {name}[1], {name}[i], {name}[i-1], {name}[{name}.LEN] or {name}[{name}.LEN-1]"
        raise Unreadable(f"another index of {name}", hint, index)

    def aggregate(self, function: str, argument: ast.expr, node: ast.Call) -> Expr | None:
        """``avg(a[].x)``, ``max(a[..i-1].x)``, ``count(a[])``; None: no range stands there."""
        match argument:
            case ast.Attribute(ast.Subscript(ast.Name(id=name), ast.Slice() as span), attribute):
                attribute_: str | None = attribute
            case ast.Subscript(ast.Name(id=name), ast.Slice() as span):
                attribute_ = None
            case _:
                return None
        if name not in self.where:
            raise self.no_component(name, argument)
        if not self.where[name].many:
            raise Unreadable(f"{function} of {name}, which takes one event", f"write {name}.{attribute_ or 'x'}", node)
        if attribute_ is None and function != "count":
            raise Unreadable(f"{function} without a field", f"write {function}({name}[].x), x one of {self.fields}", node)
        which = self.span(name, span)
        if attribute_ is None:
            return self.term(AggregateTerm(name, "count", None, which), int, node)
        type_ = self.field_type(attribute_, argument)
        if function == "count":
            return self.term(AggregateTerm(name, function, attribute_, which), int, node)
        if function in ("first", "last"):
            if which != "all":
                hint = f"write {name}[1].{attribute_}, {name}[i-1].{attribute_}"
                raise Unreadable(f"{function} of a part of {name}", hint, node)
            return self.term(FieldTerm(name, function, attribute_), type_, node)
        if type_ in (None, str):
            hint = f"its value at one event is {name}[{name}.LEN].{attribute_}; count({name}[]) counts"
            raise Unreadable(f"{function} of {attribute_}, which is no number", hint, node)
        result = float if function == "avg" else int if function == "sum" and type_ is bool else type_
        return self.term(AggregateTerm(name, function, attribute_, which), result, node)

    def neighbour(self, word: str, given: list[Any], named: dict[str, Any], node: ast.Call) -> Expr:
        """``prev(a.x)``, ``next(a[i].x, 2)``."""
        terms = {name: term for term, (name, _) in self.seen.items()}
        found = beside(BESIDE[word], [terms.get(getattr(each, "name", ""), each) for each in given], named)
        if found is None or not isinstance(found.x, FieldTerm):
            hint = f"write {word}(a.x) or {word}(a.x, 2), up to {FARTHEST} steps"
            raise Unreadable(f"{word} of another thing than a field of one event", hint, node)
        return self.term(found, self.field_type(found.x.field, node), node)

    def span(self, name: str, span: ast.Slice) -> str:
        """``[]``, ``[..i-1]``, ``[1..i-1]``, ``[..i]``, ``[..a.LEN]``."""
        if span.step is None and (span.lower is None or (isinstance(span.lower, ast.Constant) and span.lower.value == 1)):
            match span.upper:
                case None if span.lower is None:
                    return "all"
                case ast.Name(id="i"):
                    return "now"
                case ast.BinOp(ast.Name(id="i"), ast.Sub(), ast.Constant(value=1)):
                    return "before"
                case ast.Attribute(ast.Name(id=other), length) if other == name and length.upper() == "LEN":
                    return "all"
        raise Unreadable(f"another range of {name}", f"write {name}[], {name}[..i-1] or {name}[..i]", span)

    def field_type(self, attribute: str, node: ast.AST) -> type | None:
        """Return the type of a field of the event."""
        found = next((field for field in self.schema.fields if field.name == attribute), None)
        if found is None:
            end = getattr(node, "end_col_offset", 1) - 1
            at = ast.Name(attribute, lineno=1, col_offset=end)
            raise Unreadable(f"{attribute}, which is no field of {self.schema.cls.__name__}", self.schema.hint(attribute), at)
        return found.type

    def term(self, term: Expr, type_: type | None, node: ast.AST) -> Expr:
        """Return the placeholder of a term."""
        if term not in self.seen:
            name = f"_{len(self.seen)}"
            self.seen[term] = name, node
            self.register_schema = Schema(_None, (*self.register_schema.fields, Field(name, type_, True)))
        return FieldNode("r", self.seen[term][0])

    def _field(self, name: str, code: Code, node: ast.AST) -> None:
        try:
            self.field_type(name, node)
        except Unreadable as error:
            raise RefusedError(f"expected a field but got {error.reason}; {error.hint}", code.place_of(node)) from None


class _None(NamedTuple):
    """The register of placeholders."""
