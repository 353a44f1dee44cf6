"""Evaluate an event part over whole columns at once, by numpy, wherever that means exactly what Python means.

Comparisons, ``and``/``or``/``not`` and ``in`` of numbers; ``+ - *`` and ``/`` by a constant of floats, which neither raise nor
round otherwise; whatever reads one str only, once for each text. All else (ints that could overflow, ints against floats, what
could raise) is left to be asked row by row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from afa.conditions.condition import NO_REGISTER, Condition
from afa.expression.evaluation import callable_of
from afa.expression.kinds import CONDITION
from afa.expression.nodes import And, Binary, Compare, Const, Expr, FieldRead, In, IsNone, Not, Or, Unary, walk
from afa.expression.types import may_raise
from afa.schema import Schema
from afa.state.plain import values_of
from afa.state.states import Column
from punctuation.time import BEGINNING, FOREVER

Columns = Mapping[str, Column]
Vector = Callable[[Columns], Any]
INT, FLOAT, BOOL = "int", "float", "bool"
COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply}


class _Unfit(Exception):  # noqa: N818  (no error: rows are asked one by one)
    """The expression can't be evaluated by numpy, which would mean something else than Python."""


def vector_of(expr: Expr, event_schema: Schema, register_schema: Schema) -> Vector | None:
    """Returns the truth of an event part, which reads no register, as a function of columns. None: evaluate it row by row.

    It leads from the columns of the fields to an array of bools, or one bool for all rows.

    >>> from typing import NamedTuple
    >>> from afa.expression import FENCE, parse
    >>> class E(NamedTuple):
    ...     x: float
    ...     who: str
    >>> schemas = Schema.of(E, "event"), Schema.of(E, "register")
    >>> found = vector_of(parse("x > 1 and who.startswith('a')", FENCE, *schemas), *schemas)
    >>> found({"x": Column(np.array([2.0, 2.0, 0.0])), "who": Column(np.array([0, 1, 0]), None, ["ash", "elm"])}).tolist()
    [True, False, False]
    >>> vector_of(parse("1 / x > 1", FENCE, *schemas), *schemas) is None
    True
    """
    if may_raise(expr, event_schema, register_schema):
        return None
    try:
        found = _VectorReader(event_schema, register_schema).truth(expr)
    except _Unfit:
        return None

    def vector(columns: Columns) -> Any:
        with np.errstate(all="ignore"):
            return found(columns)

    return vector


class _VectorReader:
    """Makes the functions of one expression's nodes."""

    def __init__(self, event_schema: Schema, register_schema: Schema) -> None:
        self._fields = {field.name: field for field in event_schema.fields}
        self._register_schema = register_schema

    def truth(self, expr: Expr) -> Vector:
        """Return the truth of a value."""
        if self._reads_one_text(expr):
            return self._by_text(expr)
        match expr:
            case Const(value):
                return lambda columns: np.bool_(bool(value))
            case And(items) | Or(items):
                parts = [self.truth(item) for item in items]
                join = np.logical_and if isinstance(expr, And) else np.logical_or
                return lambda columns: functools.reduce(join, [part(columns) for part in parts])
            case Not(x):
                inner = self.truth(x)
                return lambda columns: np.logical_not(inner(columns))
            case Compare(op, left, right):
                return self._two(COMPARE[op], left, right)
            case In(x, items):
                same = [self._two(np.equal, x, item) for item in items]
                return lambda columns: functools.reduce(np.logical_or, [one(columns) for one in same], np.bool_(False))
            case IsNone(FieldRead(_, name)) if name in self._fields:
                return lambda columns: np.bool_(False) if columns[name].present is None else ~columns[name].present
        number = self._number(expr)[1]
        return lambda columns: np.not_equal(number(columns), 0)

    def _reads_one_text(self, expr: Expr) -> bool:
        names = {node.name for node in walk(expr) if isinstance(node, FieldRead)}
        return len(names) == 1 and all(self._fields[name].type is str for name in names)

    def _by_text(self, expr: Expr) -> Vector:
        """Return a function that reads one str field: it is evaluated once for each different text, and once for None."""
        (name,) = {node.name for node in walk(expr) if isinstance(node, FieldRead)}
        function, optional = callable_of(expr, CONDITION, self._register_schema), self._fields[name].optional

        def asked(text: str | None) -> bool:
            return bool(function(SimpleNamespace(**{name: text}), None))

        def vector(columns: Columns) -> Any:
            column = columns[name]
            table = np.array([asked(text) for text in column.texts or ()] or [False], np.bool_)
            found = table[column.values]
            return found if column.present is None or not optional else np.where(column.present, found, asked(None))

        return vector

    def _two(self, function: Any, left: Expr, right: Expr) -> Vector:
        """Return two numbers, converted to one kind."""
        (kind, one), (other_kind, other) = self._number(left), self._number(right)
        if kind != other_kind:
            if isinstance(right, Const):
                other = _constant(_exactly(right.value, kind))
            elif isinstance(left, Const):
                one = _constant(_exactly(left.value, other_kind))
            else:
                raise _Unfit
        return lambda columns: function(one(columns), other(columns))

    def _number(self, expr: Expr) -> tuple[str, Vector]:
        """Return a number and its kind."""
        match expr:
            case Const(bool() | int() | float() as value):
                return type(value).__name__, _constant(value)
            case FieldRead(_, name):
                field = self._fields[name]
                if field.optional or field.type not in (int, float, bool):
                    raise _Unfit
                return field.type.__name__, lambda columns: columns[name].values
            case Unary("-", x):
                return FLOAT, self._floats(np.negative, x)
            case Binary("+" | "-" | "*" as op, left, right):
                return FLOAT, self._floats(ARITHMETIC[op], left, right)
            case Binary("/", left, Const(int() | float()) as right):
                return FLOAT, self._floats(np.divide, left, right)
            case Binary("%", FieldRead(_, name), Const(int() as n)) if self._fields[name] == (name, int, False) and n > 0:
                return INT, lambda columns: np.remainder(columns[name].values, n)
        raise _Unfit

    def _floats(self, function: Any, *items: Expr) -> Vector:
        """Return an operation on floats, of which at least one is no constant."""
        if all(isinstance(item, Const) for item in items):
            raise _Unfit
        parts = []
        for item in items:
            kind, part = self._number(item)
            if kind != FLOAT:
                if not isinstance(item, Const):
                    raise _Unfit
                part = _constant(_exactly(item.value, FLOAT))
            parts.append(part)
        return lambda columns: function(*[part(columns) for part in parts])


def _constant(value: Any) -> Vector:
    return lambda columns: value


def _exactly(value: Any, kind: str) -> Any:
    """Return a number as an equal one of another kind."""
    try:
        found = {INT: int, FLOAT: float, BOOL: bool}[kind](value)
    except (OverflowError, ValueError) as error:
        raise _Unfit from error
    if found != value or (kind == INT and not BEGINNING <= found <= FOREVER):
        raise _Unfit
    return found


class RowSelection(dict[str, Column]):
    """Some rows of columns, picked when they are asked for."""

    def __init__(self, columns: Mapping[str, Column], rows: Any) -> None:
        self._columns, self._rows = columns, rows

    def __missing__(self, name: str) -> Column:
        values, present, texts = self._columns[name]
        self[name] = Column(values[self._rows], None if present is None else present[self._rows], texts)
        return self[name]


class ColumnCondition:
    """A condition of which it is known whether columns answer it."""

    def __init__(self, condition: Condition, holds: Callable[[Any], bool] | None = None) -> None:
        """``holds`` asks one event in place of `Condition.holds`."""
        self._condition, self._holds = condition, holds or condition.holds
        self._vector = vector_of(condition.expr, condition.event_schema, NO_REGISTER)

    def truths(self, fields: dict[str, Column], n: int) -> Any:
        """Return of which of ``n`` events it is true: an array or a list, or one truth for all."""
        return self._one_by_one(fields, n) if self._vector is None else self._vector(fields)

    def _one_by_one(self, fields: dict[str, Column], n: int) -> list[bool]:
        """Ask the condition of each event, and once only of those that look alike to it."""
        condition, cls = self._condition, self._condition.event_schema.cls
        kinds = {field.name: field.type for field in condition.event_schema.fields if field.name in condition.fields}
        columns = [values_of(fields[name], kind) for name, kind in kinds.items()]
        known: dict[Any, bool] = {}
        found = []
        for items in zip(*columns) if columns else [()] * n:
            holds = known.get(items)
            if holds is None:
                record = dict(zip(kinds, items))
                holds = known[items] = self._holds(cls(*[record.get(name) for name in cls._fields]))  # type: ignore[attr-defined]
            found.append(holds)
        return found
