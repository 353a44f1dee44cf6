"""The type of a value in SQL: what may be compared, counted with, and taken for a condition."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from afa.expression.functions import FUNCTIONS
from afa.expression.nodes import And, Binary, Call, Compare, Const, Expr, FieldRead, If, In, IsNone, Not, Or, Text, Unary
from afa.language.terms import Aggregate, Classifier, Final, ListAggregate, MatchNumber, OfMatch, Ref

Kind = type | None
"""int, float, bool or str, list of an array; of NULL the type of None; None: any."""
NULL = type(None)
CALLS = {"int": int, "float": float, "len": int, "str": str, "upper": str, "lower": str, "bool": bool}
CALLED = {int: "an int", float: "a float", bool: "a condition", str: "a text", list: "an array"}


def kind_of(expr: Expr, fields: Mapping[str, Kind]) -> Kind:
    """Return the type of a value.

    >>> kind_of(Binary("+", FieldRead("e", "n"), Const(2.5)), {"n": int}), kind_of(Ref("a", "last", "s"), {"s": str})
    (<class 'float'>, <class 'str'>)
    """
    match expr:
        case Const(value):
            return type(value)
        case FieldRead(_, name) | Ref(_, _, name):
            return fields.get(name)
        case Aggregate(_, function, field):
            return (
                int if function == "count" else float if function == "avg" else fields.get(field or "")
            )  # of all others the field's
        case ListAggregate(_, function):
            return int if function == "distinct" else str if function == "text" else list
        case Classifier():
            return str
        case MatchNumber():
            return int
        case Compare() | In() | IsNone() | Not() | And() | Or() | Text():
            return bool
        case If(_, then, other):
            return of_both(kind_of(then, fields), kind_of(other, fields))
        case Binary(op, left, right):
            return float if op == "/" else of_both(kind_of(left, fields), kind_of(right, fields))
        case Unary(_, x) | Final(x) | OfMatch(x) | Call("abs", (x,)):
            return kind_of(x, fields)
        case Call("min" | "max", (first, *others)):
            return functools.reduce(of_both, (kind_of(each, fields) for each in others), kind_of(first, fields))
        case Call(name):
            return FUNCTIONS[name].result if name in FUNCTIONS else CALLS.get(name)
    return None


def of_both(one: Kind, other: Kind) -> Kind:
    """Return the type of what is the one or the other."""
    if one in (other, NULL):
        return other
    return one if other is NULL else float if {one, other} == {int, float} else None


def alike(one: Kind, other: Kind) -> bool:
    """Return whether two values can be compared."""
    return one is other or None in (one, other) or NULL in (one, other) or {one, other} == {int, float}


def is_number(kind: Kind) -> bool:
    """Return whether one can count with a value."""
    return kind in (None, NULL, int, float)
