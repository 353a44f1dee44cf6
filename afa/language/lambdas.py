"""Read the builder's lambdas of ``e``, the event, and ``m``, the match so far: terms as nodes of `afa.language.terms`.

    e.price                                  a field of the event under test
    m.a.price                                of a component that takes one event
    m.a.first.price, m.a.last.price          of one that repeats: its first event, its last one before e
    m.a.last(2).price, m.a.prev(3).price     two events before that; three events before e
    m.a.avg.price  .sum  .min  .max          over all that it has taken before e
    m.a.count, m.a.count.price               how many events; how many whose price is not None
    m.a.now.avg.price, m.a.now.count ..      the same, and e counts as well
    m.prev.price, m.prev(2).price            of the event taken before e, whichever component took it

All else is what arcs' lambdas may say; a name from outside is replaced by its present value.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from afa.errors import QueryError
from afa.expression.from_functions import FunctionReader, Task, apply
from afa.expression.kinds import FunctionKind, Unreadable
from afa.expression.live import Live, constant
from afa.expression.nodes import And, Const, Expr, Make, Or, children, conjuncts_of
from afa.expression.types import ANYTHING, NONE, NUMBERS, TEXTS
from afa.expression.values import Event, Names, TupleValue, Value, as_scalar, check_size
from afa.language.neighbours import WAYS, beside, next_, prev
from afa.language.terms import Aggregate, Beside, Ref
from afa.schema import Field, Schema

PREVIOUS = "prev"
"""What no component may be called: ``m.prev`` is the event before."""
Types = frozenset[type]


class NoFields(NamedTuple):
    """Queries have no register to read."""


class Match(NamedTuple):
    """``m``: the components that it shows, and whether each repeats."""

    components: Mapping[str, bool]
    later: frozenset[str] = frozenset()
    own: str | None = None  # whose predicate it is


class RepeatedStem(NamedTuple):
    """``m.a`` of a component that repeats; ``now``: ``m.a.now``, the event under test counts as well."""

    component: str
    now: bool = False


class EventStem(NamedTuple):
    """``m.a``, ``m.a.first``, ``m.a.last``, ``m.prev``: one event; ``start``: how far back a call of 0 goes."""

    component: str
    which: str
    back: int = 0
    start: int | None = None


class AggregateStem(NamedTuple):
    """``m.a.avg``: an aggregate without its field."""

    component: str
    function: str
    now: bool = False


PARTS = (Match, RepeatedStem, EventStem, AggregateStem)


class ReturnValues(NamedTuple):
    """What a match shows: the class that was called, if any, and each value with its name."""

    cls: type | None
    items: tuple[tuple[str | None, Expr], ...]


def read_predicate(function: Any, of: str, event: Schema, match: Match) -> tuple[Expr, ...]:
    """Returns the conjuncts of a lambda of e, or of e and m; ``of`` is what it is, for errors: ``where of component 'a'``.

    Raises QueryError where it can't be taken apart, or names what is not there.
    """
    count = _parameters(function, of)
    if count not in (1, 2):
        raise QueryError(f"expected a function of e, or of e and m, but got one of {count} parameters as {of}")
    arguments: list[Value] = [Event(), Live(match, "m")]
    found = _read(function, of, event, arguments[:count], FunctionKind("condition", True, count == 2))
    return conjuncts(as_condition(found, of))


def read_done(function: Any, of: str, event: Schema, match: Match) -> tuple[Expr, ...]:
    """Return the conjuncts of a lambda of m: a condition on all events of a component; see `read_predicate`."""
    if _parameters(function, of) != 1:
        raise QueryError(f"expected a function of m but got one of {_parameters(function, of)} parameters as {of}")
    return conjuncts(as_condition(_read(function, of, event, [Live(match, "m")], FunctionKind("condition", False)), of))


def read_values(function: Any, of: str, event: Schema, match: Match) -> ReturnValues:
    """Returns the values that a match shows: a lambda of m returns them as a NamedTuple, a tuple or one value."""
    if _parameters(function, of) != 1:
        raise QueryError(f"expected a function of m but got one of {_parameters(function, of)} parameters as {of}")
    task = MatchTask(FunctionKind("returns", False), event)
    found = _read(function, of, event, [Live(match, "m")], task.kind, task)
    try:
        if isinstance(found, Make) and task.shown is not None:
            return ReturnValues(task.shown, tuple(zip(task.shown._fields, found.items)))  # type: ignore[attr-defined]
        items = found.items if isinstance(found, TupleValue) else (found,)
        return ReturnValues(None, tuple((None, _scalar(item, None)) for item in items))
    except Unreadable as error:
        raise _refused(of, error) from None


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of an ``and`` as predicates of their own; True is none."""
    return tuple(item for item in conjuncts_of(expr) if item != Const(True))


def as_condition(found: Value, of: str) -> Expr:
    """Returns a value whose truth counts."""
    try:
        return _scalar(found, None)
    except Unreadable as error:
        raise _refused(of, error) from None


class MatchTask(Task):
    """The work on one function; ``shown``: the NamedTuple class that it returns."""

    def __init__(self, kind: FunctionKind, event: Schema) -> None:
        super().__init__(kind, event, Schema.of(NoFields, "register"), MatchReader)
        self.shown: type | None = None


class MatchReader(FunctionReader):
    """Translate one function that may read m."""

    task: MatchTask

    def types(self, x: Expr) -> Types:
        """Return the types that a value can have where it is not None."""
        fields = {field.name: field for field in self.event_schema.fields} if self.event_schema else {}
        match x:
            case Beside(inner):
                return self.types(inner)
            case Ref(field=name):
                return _types(fields[name])
            case Aggregate(function="count"):
                return frozenset({int})
            case Aggregate(function="avg"):
                return frozenset({float})
            case Aggregate(field=str(name)):
                return _types(fields[name])
        return super().types(x)

    def short(self, op: ast.boolop, items: list[ast.expr], names: Names, truth: bool) -> Expr:
        """``and``, ``or``: of truth values only, since they have three of them here."""
        found = super().short(op, items, names, truth)
        for item in children(found):
            if not truth and not self.types(item) <= {bool, NONE}:
                word = "and" if isinstance(found, And) else "or"
                raise Unreadable(f"{word} of values that are no truth values", "write x if condition else y", items[0])
        assert isinstance(found, And | Or)
        return found

    def scalar(self, node: ast.expr, names: Names) -> Expr:
        """Return the value of a syntax node that must be a scalar."""
        return _scalar(self.value(node, names), node)

    def operand(self, node: ast.expr, names: Names, truth: bool) -> Value:
        """Return one side of a comparison."""
        found = super().operand(node, names, truth)
        return _scalar(found, node) if isinstance(found, Live) and isinstance(found.value, PARTS) else found

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        """``m.a.count.price``, or any other attribute."""
        if isinstance(base, Aggregate) and base.field is None:
            return Aggregate(base.component, "count", self.known(node).name, base.now)
        return super().attribute(base, node)

    def member(self, base: Live, node: ast.Attribute) -> Value:
        """``m.a``, ``m.a.first``, ``m.a.first.price``, or an attribute of what stands outside."""
        match base.value:
            case Match():
                return self.component(base.value, node)
            case RepeatedStem(component, now):
                return self.aggregate(component, now, node) or self.one_event(component, now, node)
            case EventStem(component, which, back):
                return Ref(component, which, self.known(node).name, back)
            case AggregateStem(component, function, now):
                field = self.known(node)
                if function in ("avg", "sum") and not _types(field) <= NUMBERS:
                    raise Unreadable(f"{function} of {field.name}, which is no number", "aggregate numbers", node)
                if not (_types(field) <= NUMBERS or _types(field) <= TEXTS):
                    raise Unreadable(f"{function} of {field.name}, which is no scalar", "aggregate numbers", node)
                return Aggregate(component, function, field.name, now)
        return super().member(base, node)

    def component(self, match: Match, node: ast.Attribute) -> Value:
        """``m.a``, ``m.prev``."""
        name, path = node.attr, f"m.{node.attr}"
        if name == PREVIOUS:
            return Live(EventStem("", "last", 0, 1), path)
        if name in match.components:
            return Live(RepeatedStem(name) if match.components[name] else EventStem(name, "one"), path)
        if name == match.own:
            raise Unreadable(f"{path} is the event under test", "write e.price", node)
        if name in match.later:
            raise Unreadable(f"{path} is not known yet", f"ask it of component {name!r}, which comes later", node)
        known = ", ".join(match.components) or "none"
        raise Unreadable(f"{path} is no component here", f"components: {known}", node)

    def aggregate(self, component: str, now: bool, node: ast.Attribute) -> Value | None:
        """``m.a.count``, ``m.a.avg`` .. of a component that repeats; None: it is none of them."""
        if node.attr == "count":
            return Aggregate(component, "count", None, now)
        if node.attr in ("avg", "sum", "min", "max"):
            return Live(AggregateStem(component, node.attr, now), f"m.{component}.{'now.' if now else ''}{node.attr}")
        return None

    def one_event(self, component: str, now: bool, node: ast.Attribute) -> Live:
        """``m.a.first``, ``m.a.last``, ``m.a.prev`` of a component that repeats; ``m.a.now``, for its aggregates."""
        word, path = node.attr, f"m.{component}.{node.attr}"
        if now:
            raise Unreadable(f"m.{component}.now.{word} is asked", f"write m.{component}.now.avg.price, or another aggregate", node)
        starts = {"first": None, "last": 0, "prev": 1}
        if word in starts:
            return Live(EventStem(component, "first" if word == "first" else "last", 0, starts[word]), path)
        if word == "now":
            return Live(RepeatedStem(component, True), path)
        hint = f"{component} repeats: write m.{component}.last.{word}, m.{component}.first.{word} or m.{component}.max.{word}"
        raise Unreadable(f"{path} is asked", hint, node)

    def known(self, node: ast.Attribute) -> Field:
        """Return the field of the event that an attribute names."""
        assert self.event_schema is not None
        for field in self.event_schema.fields:
            if field.name == node.attr:
                return field
        raise Unreadable(f"{node.attr} is no field of {self.event_schema.cls.__name__}", self.event_schema.hint(node.attr), node)

    def call_other(self, called: Live, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        """``m.a.prev(2)``, ``prev(e.price)``, the class that a match shows, or a helper function."""
        if called.value in (prev, next_):
            found = beside(WAYS[called.value], arguments, keywords)
            if found is None:
                raise Unreadable(f"{called.name}(...) of another thing than a field", f"write {called.name}(e.price, 2), say", node)
            return found
        if isinstance(called.value, EventStem):
            return self.back(called, arguments, keywords, node)
        if isinstance(called.value, type) and issubclass(called.value, tuple) and hasattr(called.value, "_fields"):
            return self.show(called.value, arguments, keywords, node)
        return super().call_other(called, arguments, keywords, node)

    def back(self, called: Live, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        """``m.a.last(2)``, ``m.a.prev(2)``, ``m.prev(2)``."""
        picked: EventStem = called.value
        count = arguments[0] if len(arguments) == 1 and not keywords else None
        number = count.value if isinstance(count, Const) and type(count.value) is int else None
        if picked.start is None or number is None or number < picked.start:
            raise Unreadable(f"{called.name}(...) of no constant int", "write m.a.prev(2) or m.a.last(1)", node)
        return Live(EventStem(picked.component, "last", number - picked.start), f"{called.name}({number})")

    def show(self, cls: Any, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        """``Trend(m.a.first.price, m.a.count)``: all fields, or those that have defaults left out."""
        given = {**dict(zip(cls._fields, arguments)), **keywords}
        values = {**{name: constant(value, name) for name, value in cls._field_defaults.items()}, **given}
        twice = len(arguments) + len(keywords) != len(given)
        if twice or set(values) != set(cls._fields) or self.task.shown not in (None, cls):
            raise Unreadable(f"{cls.__name__}(...) with other arguments than its fields", f"give it {', '.join(cls._fields)}", node)
        self.task.shown = cls
        made = Make(tuple(_scalar(values[name], node) for name in cls._fields))
        check_size(made)
        return made


def _read(
    function: Any, of: str, event: Schema, arguments: list[Value], kind: FunctionKind, task: MatchTask | None = None
) -> Value:
    try:
        found = apply(function, arguments, task or MatchTask(kind, event))
        check_size(found)
    except Unreadable as error:
        raise _refused(of, error) from None
    except RecursionError:
        raise QueryError(f"expected {of} as a function but got one too deeply nested; write it simpler") from None
    return found


def _scalar(found: Value, node: ast.AST | None) -> Expr:
    """Return a value; a part of m is none."""
    if isinstance(found, Live) and isinstance(found.value, PARTS):
        raise Unreadable(f"{found.name} stands where a value is meant", _how(found), node)
    return as_scalar(found, node)


def _refused(of: str, error: Unreadable) -> QueryError:
    beyond = (
        "; what else Python can only an arc of an automaton asks: Arc(src, dst, function)"
        if error.reason.endswith("is called")
        else ""
    )
    return QueryError(f"expected {of} as a function of fields but {error.reason}; {error.hint}{beyond}")


def _parameters(function: Any, of: str) -> int:
    """Return how many arguments a function must be given."""
    if not callable(function):
        raise QueryError(f"expected a function, a lambda say, but got {function!r} as {of}")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise QueryError(f"expected a function in Python but got {function!r} as {of}") from None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in positional and each.default is inspect.Parameter.empty for each in parameters)


def _types(field: Field) -> Types:
    return ANYTHING if field.type is None else frozenset({field.type})


def _how(found: Live) -> str:
    """Return how to make a value of a part of m."""
    if isinstance(found.value, EventStem | AggregateStem):
        return f"name a field: {found.name}.price, say"
    return "write m.a.price, m.a.last.price .."
