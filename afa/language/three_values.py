"""Predicates of three values, as Python's of two: where is an expression true, and where is it None?

    true(p)      an expression that holds where p is true, and never meets a None
    missing(x)   one that holds where the value x is None; None where it never is

Operands that are never None get no test: a query pays for the values that it lets be absent. A comparison with NaN is false, and
its negation true, as in Python.
"""

from __future__ import annotations

from collections.abc import Callable

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


def true(expr: Expr, absent: Absent) -> Expr:
    """Return an expression that holds exactly where a predicate is true.

    >>> from afa.expression.nodes import FieldRead
    >>> from afa.expression.text import text_of_expr
    >>> x = Compare("<", FieldRead("e", "x"), FieldRead("r", "last"))
    >>> text_of_expr(true(Not(x), lambda leaf: leaf == FieldRead("r", "last")))
    'r.last is not None and not e.x < r.last'
    """
    return _holds(expr, True, absent)


def false(expr: Expr, absent: Absent) -> Expr:
    """Return an expression that holds exactly where a predicate is false."""
    return _holds(expr, False, absent)


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
            chosen = true(test, absent)
            return either([both([chosen, _holds(then, truth, absent)]), both([no(chosen), _holds(other, truth, absent)])])
        case IsNone(x):
            found = missing(x, absent) or FALSE
            return found if truth else no(found)
    plain = value(expr, absent)
    if truth and _false_of_none(expr, absent):
        return plain
    there = present(expr, absent)
    return both([*there, plain if truth else Not(plain)])


def present(expr: Expr, absent: Absent) -> list[Expr]:
    """Return the tests that all hold where a value is not None."""
    found = missing(expr, absent)
    if found is None:
        return []
    return [no(part) for part in found.items] if isinstance(found, Or) else [no(found)]


def missing(expr: Expr, absent: Absent) -> Expr | None:
    """Return an expression that holds exactly where a value is None. None: it never is."""
    match expr:
        case Const(const):
            return TRUE if const is None else None
        case IsNone():
            return None
        case If(test, then, other):
            chosen = true(test, absent)
            parts = [(chosen, missing(then, absent)), (no(chosen), missing(other, absent))]
            return _any([None if part is None else both([way, part]) for way, part in parts])
        case Not(x):
            return missing(x, absent)
        case And(items) | Or(items):
            if all(missing(item, absent) is None for item in items):
                return None
            return no(either([true(expr, absent), false(expr, absent)]))
        case Unary() | Binary() | Compare() | Call() | In() | Text():
            return _any([missing(x, absent) for x in operands(expr)])
    return IsNone(expr) if absent(expr) else None


def value(expr: Expr, absent: Absent) -> Expr:
    """Return the value where it is not None, with all tests within it made two-valued."""
    match expr:
        case If(test, then, other):
            return If(true(test, absent), value(then, absent), value(other, absent))
        case Not(x) if missing(x, absent) is not None:
            return false(x, absent)
        case And(items) | Or(items) if any(missing(item, absent) is not None for item in items):
            return true(expr, absent)
        case IsNone(x):
            return missing(x, absent) or FALSE
    return rebuilt(expr, lambda child: value(child, absent))


def nullable(expr: Expr, absent: Absent) -> Expr:
    """Return the value, None where it is None."""
    if not any(absent(leaf) for leaf in _leaves(expr)):
        return expr
    gone = missing(expr, absent)
    if gone is None or gone == IsNone(expr):
        return value(expr, absent)
    return If(gone, Const(None), value(expr, absent))


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
            return missing(x, absent) == IsNone(x) and Const(None) not in constants
        case Compare("==", left, right):
            gone = [side for side in (left, right) if missing(side, absent) is not None]
            return len(gone) == 1 and missing(gone[0], absent) == IsNone(gone[0])
    return False


def _any(parts: list[Expr | None]) -> Expr | None:
    found = [part for part in parts if part is not None and part != FALSE]
    return either(found) if found else None


def _leaves(expr: Expr) -> list[Expr]:
    inner = list(children(expr))
    return [leaf for child in inner for leaf in _leaves(child)] if inner else [expr]
