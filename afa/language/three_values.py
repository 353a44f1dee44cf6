"""Predicates of three values, as Python's of two: where is an expression true, and where is it None?

    true(p)      an expression that holds where p is true, and never meets a None
    missing(x)   one that holds where the value x is None; None where it never is

Operands that are never None get no test: a query pays for the values that it lets be absent. A comparison with NaN is false, and
its negation true, as in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from afa.errors import QueryError
from afa.expression.nodes import (
    And,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    If,
    In,
    IsNone,
    Not,
    Or,
    Text,
    Unary,
    children,
    conjunction,
    conjuncts_of,
    disjunction,
    operands,
    rebuilt,
)

Absent = Callable[[Expr], bool]
"""Whether a leaf (a field, an item) can be None."""
TRUE, FALSE = Const(True), Const(False)
MOST = 10_000
"""How many parts an expression may have in two values: each CASE within the test of a CASE multiplies them by three."""


def true(expr: Expr, absent: Absent) -> Expr:
    """Returns an expression that holds exactly where a predicate is true.

    >>> from afa.expression.nodes import FieldRead
    >>> from afa.expression.text import text_of_expr
    >>> x = Compare("<", FieldRead("e", "x"), FieldRead("r", "last"))
    >>> text_of_expr(true(Not(x), lambda leaf: leaf == FieldRead("r", "last")))
    'r.last is not None and not e.x < r.last'
    """
    return _holds(_bounded(expr), True, absent)


def present(expr: Expr, absent: Absent) -> list[Expr]:
    """Returns the tests that all hold where a value is not None."""
    return _present(_bounded(expr), absent)


def missing(expr: Expr, absent: Absent) -> Expr | None:
    """Returns an expression that holds exactly where a value is None. None: it never is."""
    return _missing(_bounded(expr), absent)


def value(expr: Expr, absent: Absent) -> Expr:
    """Returns the value where it is not None, with all tests within it made two-valued."""
    return _value(_bounded(expr), absent)


def nullable(expr: Expr, absent: Absent) -> Expr:
    """Returns the value, None where it is None."""
    if _always_there(_bounded(expr), absent):
        return expr
    gone = _missing(expr, absent)
    if gone is None or gone == IsNone(expr):
        return _value(expr, absent)
    return Const(None) if gone == TRUE else If(gone, Const(None), _value(expr, absent))


class _Sizes(NamedTuple):
    """How many parts there are at the most where it is said when an expression holds, when it is None, and what its value is."""

    holds: int
    missing: int
    value: int


def _bounded(expr: Expr) -> Expr:
    """Returns the expression; refuses one that would come to more than `MOST` parts."""
    if max(_sizes(expr)) > MOST:
        raise QueryError(
            f"expected conditions of at most {MOST:,} parts once NULL is told apart in each of their tests but got more: CASE "
            "within the test of CASE multiplies them; define a variable for the inner one"
        )
    return expr


def _sizes(expr: Expr) -> _Sizes:
    """As the functions below go. O(parts of the expression)."""
    below = [_sizes(child) for child in children(expr)]
    holds, gone, values = (sum(each) for each in zip(*below, strict=True)) if below else (0, 0, 0)
    match expr:
        case If():
            test, then, other = below
            by = test.holds
            return _Sizes(2 * by + then.holds + other.holds, 2 * by + then.missing + other.missing, by + then.value + other.value)
        case Not() | And() | Or():
            return _Sizes(1 + holds, 1 + max(gone, 2 * holds), 1 + max(holds, values))
        case IsNone():
            return _Sizes(1 + gone, 1, 1 + gone)
    return _Sizes(1 + values + gone, 1 + gone, 1 + values)


def _holds(expr: Expr, truth: bool, absent: Absent) -> Expr:
    match expr:
        case Const(const):
            return FALSE if const is None or bool(const) is not truth else TRUE
        case Not(x):
            return _holds(x, not truth, absent)
        case And(items) | Or(items):
            parts = [_holds(item, truth, absent) for item in items]
            return both(parts) if isinstance(expr, And) is truth else either(parts)
        case If(test, then, other):
            chosen = _holds(test, True, absent)
            return either([both([chosen, _holds(then, truth, absent)]), both([no(chosen), _holds(other, truth, absent)])])
        case IsNone(x):
            found = _missing(x, absent) or FALSE
            return found if truth else no(found)
    plain = _value(expr, absent)
    if truth and _false_of_none(expr, absent):
        return plain
    return both([*_present(expr, absent), plain if truth else Not(plain)])


def _present(expr: Expr, absent: Absent) -> list[Expr]:
    found = _missing(expr, absent)
    if found is None:
        return []
    return [no(part) for part in found.items] if isinstance(found, Or) else [no(found)]


def _missing(expr: Expr, absent: Absent) -> Expr | None:
    match expr:
        case Const(const):
            return TRUE if const is None else None
        case IsNone():
            return None
        case If(test, then, other):
            chosen = _holds(test, True, absent)
            parts = [(chosen, _missing(then, absent)), (no(chosen), _missing(other, absent))]
            return _any([None if part is None else both([way, part]) for way, part in parts])
        case Not(x):
            return _missing(x, absent)
        case And(items) | Or(items):
            if all(_missing(item, absent) is None for item in items):
                return None
            return no(either([_holds(expr, True, absent), _holds(expr, False, absent)]))
        case Unary() | Binary() | Compare() | Call() | In() | Text():
            return _any([_missing(x, absent) for x in operands(expr)])
    return IsNone(expr) if absent(expr) else None


def _value(expr: Expr, absent: Absent) -> Expr:
    match expr:
        case If(test, then, other):
            return If(_holds(test, True, absent), _value(then, absent), _value(other, absent))
        case Not(x) if _missing(x, absent) is not None:
            return _holds(x, False, absent)
        case And(items) | Or(items) if any(_missing(item, absent) is not None for item in items):
            return _holds(expr, True, absent)
        case IsNone(x):
            return _missing(x, absent) or FALSE
    found = rebuilt(expr, lambda child: _value(child, absent))
    return found if Const(None) not in operands(found) else Const(None)  # no native form has None


def both(parts: list[Expr]) -> Expr:
    """Return the conjunction, without what is true anyway and what stands there twice."""
    kept = list(dict.fromkeys(inner for part in parts for inner in conjuncts_of(part)))
    kept = [part for part in kept if part != TRUE]
    if FALSE in kept:
        return FALSE
    return conjunction(kept) if kept else TRUE


def either(parts: list[Expr]) -> Expr:
    """Return the disjunction, without what is false anyway and what stands there twice."""
    kept = list(dict.fromkeys(part for part in parts if part != FALSE))
    if TRUE in kept:
        return TRUE
    return disjunction(kept) if kept else FALSE


def no(expr: Expr) -> Expr:
    """Return the negation of a two-valued expression."""
    if isinstance(expr, Const):
        return FALSE if expr.value else TRUE
    return expr.x if isinstance(expr, Not) else Not(expr)


def _false_of_none(expr: Expr, absent: Absent) -> bool:
    """Return whether Python says False where an operand is None: what equals a value that is there."""
    match expr:
        case In(x, constants):
            return _missing(x, absent) == IsNone(x) and Const(None) not in constants
        case Compare("==", left, right):
            gone = [side for side in (left, right) if _missing(side, absent) is not None]
            return len(gone) == 1 and _missing(gone[0], absent) == IsNone(gone[0])
    return False


def _any(parts: list[Expr | None]) -> Expr | None:
    found = [part for part in parts if part is not None and part != FALSE]
    return either(found) if found else None


def _always_there(expr: Expr, absent: Absent) -> bool:
    """Return whether Python's value is that of three values: nothing is None but what a choice gives."""
    if isinstance(expr, If):
        return all(_always_there(each, absent) for each in children(expr))
    return isinstance(expr, Const) or not any(absent(leaf) or leaf == Const(None) for leaf in _leaves(expr))


def _leaves(expr: Expr) -> list[Expr]:
    inner = list(children(expr))
    return [leaf for child in inner for leaf in _leaves(child)] if inner else [expr]
