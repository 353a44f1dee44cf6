"""Bare numbers that stand for time: ``WITHIN 60``, ``b.at - a.at < 30``, ``b.at < a.at + 30``.

They count ticks. Where times are timestamps and nobody says what a tick is, 60 is 60 nanoseconds of one table, 60 microseconds of
another one: a query that matches nothing, without a word. Every way in on which the unit of a column becomes the tick asks here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from afa.errors import QueryError
from afa.expression.nodes import Binary, Call, Compare, Const, Expr, FieldRead, If, In, Moment, Ticks, Unary, changed, walk
from afa.expression.text import text_of_expr
from afa.language.pattern import Component, Tree
from afa.language.terms import Aggregate, Final, OfMatch, Ref
from afa.schema import Schema

TIME, LENGTH, NUMBER, OTHER = "time", "length", "number", "other"
"""An instant; the difference of two; a bare number but 0, which is as long in any unit; all else, of which nothing is known."""
LIKE = ("abs", "min", "max", "round", "int", "float")
"""Functions whose value is of the kind of what they are given."""


def check_units(pattern: Any, tick: str | None, times: Collection[str] | None, way_out: str = "tick=") -> None:
    """Refuse a query with a bare number that stands for time, over timestamps, where no tick is said (QueryError).

    A pattern is a Query, or has ``bare_durations`` (`Derive`); any other is let through: ``window=`` of an automaton and
    ``within=`` of a temporal pattern are in ticks. ``tick`` is what the user said to the query or to the call, not the unit of a
    column. ``times`` are the columns of timestamps beside LE, as far as they are known; None: times are ints, counted by
    bare numbers. ``way_out`` is how the caller lets a tick be said.
    """
    if tick is not None or times is None:
        return
    found = next(_of_query(pattern, times) if isinstance(getattr(pattern, "tree", None), Tree) else _of_situations(pattern), None)
    if found is None:
        return
    said, instead = found
    raise QueryError(
        f"expected durations with units, as times are timestamps and nothing says what a bare number counts, but got {said}; "
        f"write {instead}, or say {way_out}, what one int of it counts"
    )


def _of_situations(pattern: Any) -> Iterator[tuple[str, str]]:
    yield from ((said, 'it with a unit, "10 minutes"') for said in getattr(pattern, "bare_durations", ()))


def _of_query(query: Any, columns: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yields each bare number that stands for time as it is written, and the text to write instead."""
    tree, schema = query.tree, Schema.of(query.tree.event, "event")
    named = {field.name for field in schema.fields if field.type is int and field.name in columns} | {*schema.times, tree.time}
    named |= {name for name, field, _ in tree.neighbours if field == "" or field in named}
    times = frozenset(name for name in named if name is not None)
    if tree.window is not None and tree.bare:
        yield (
            f"WITHIN {tree.window}",
            f"WITHIN {tree.window} seconds (INTERVAL '{tree.window}' SECOND, within(seconds={tree.window}))",
        )
    for node, name in nodes_of((tree.pattern, tree.before, tree.after, tree.returns or ()), "e"):
        parts = (node.left, node.right) if isinstance(node, Compare) else (node.x, *node.items) if isinstance(node, In) else ()
        if parts and _kind(parts, times) is None:
            yield _written(node, name), "span('30 seconds') (INTERVAL '30' SECOND, afa.span(..)) for 30"


def nodes_of(part: Any, name: str) -> Iterator[tuple[Expr, str]]:
    """Yield the nodes of all expressions of a part of a tree, each with the name of the event under test."""
    if isinstance(part, Expr):
        yield from ((node, name) for node in walk(part))
    elif isinstance(part, tuple):
        for each in part:
            yield from nodes_of(each, name)
    elif is_dataclass(part):
        for field in fields(part):
            yield from nodes_of(getattr(part, field.name), part.name if isinstance(part, Component) else name)


def _kind(parts: Collection[Expr], times: frozenset[str]) -> str | None:
    """Returns the common kind of values that meet in an operation; None: a bare number stands for time among them."""
    kinds = {_kind_of(part, times) for part in parts}
    timely = kinds & {TIME, LENGTH}
    if None in kinds or (timely and NUMBER in kinds):
        return None
    return OTHER if not timely or OTHER in kinds else TIME if TIME in kinds else LENGTH


def _kind_of(expr: Expr, times: frozenset[str]) -> str | None:
    match expr:
        case Ticks():
            return LENGTH
        case Moment():
            return TIME
        case Const(value):
            return OTHER if isinstance(value, str | bool | None) or not value else NUMBER
        case FieldRead(_, name) | Ref(_, _, name):
            return TIME if name in times else OTHER
        case Aggregate(_, function, name):
            return TIME if name in times and function in ("min", "max", "first", "last", "avg") else OTHER
        case Final(x) | OfMatch(x) | Unary(_, x):
            return _kind_of(x, times)
        case Call(name, items) if name in LIKE:
            return _kind(items[:1] if name == "round" else items, times)
        case If(_, then, other):
            return _kind((then, other), times)
        case Binary(op, left, right):
            return _calculated(op, left, right, times)
    return OTHER


def _calculated(op: str, left: Expr, right: Expr, times: frozenset[str]) -> str | None:
    kinds = _kind_of(left, times), _kind_of(right, times)
    if None in kinds:
        return None
    if op == "-" and kinds == (TIME, TIME):
        return LENGTH
    if op in "+-" or (op == "%" and kinds[0] in (TIME, LENGTH)) or (op in ("/", "//") and kinds[0] == TIME):
        return _kind((left, right), times)
    if kinds == (NUMBER, NUMBER):
        return NUMBER
    if (op == "*" and LENGTH in kinds) or (op in ("/", "//") and kinds[0] == LENGTH and kinds[1] != LENGTH):
        return LENGTH if NUMBER in kinds else OTHER
    return OTHER


def _written(node: Expr, name: str) -> str:
    """Return a comparison as it may have been written; ``name``: of the event under test."""

    def term(part: Expr) -> Expr | None:
        match part:
            case FieldRead(_, field):
                return FieldRead(name, field)
            case Ref(component, "one", field) | Ref("" as component, _, field):
                return FieldRead(component or "prev", field)
            case Ref(component, function, field) | Aggregate(component, function, field):
                return FieldRead(f"{function}({component}", f"{field})")
        return None

    return text_of_expr(changed(node, term))
