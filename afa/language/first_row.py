"""What a condition says of the first row that a variable takes, where nothing of it came before: constants are folded."""

from __future__ import annotations

from afa.expression.nodes import And, Compare, Const, Expr, If, IsNone, Not, Or, operands, rebuilt
from afa.language.terms import Aggregate, Ref
from afa.language.three_values import FALSE, both, either

UNKNOWN = Const(None)


def reads_before(expr: Expr, variable: str) -> bool:
    """Return whether an expression asks what the variable has taken before."""
    return at_first(expr, variable) != expr


def at_first(expr: Expr, variable: str) -> Expr:
    """Return an expression as it is for the first row of a variable.

    >>> from afa.expression.nodes import FieldRead
    >>> before = Ref("a", "last", "x")
    >>> at_first(Or((IsNone(before), Compare("<", FieldRead("e", "x"), before))), "a")
    Const(value=True)
    >>> at_first(Compare("<", FieldRead("e", "x"), before), "a")
    Const(value=None)
    """

    def fold(x: Expr) -> Expr:
        return at_first(x, variable)

    match expr:
        case Ref(component) if component == variable:
            return UNKNOWN
        case Aggregate(component, function, _, now) if component == variable and not now:
            return Const(0) if function == "count" else UNKNOWN
        case IsNone(x):
            inner = fold(x)
            return Const(inner.value is None) if isinstance(inner, Const) else IsNone(inner)
        case Not(x):
            inner = fold(x)
            if isinstance(inner, Const):
                return inner if inner.value is None else Const(not inner.value)
            return Not(inner)
        case And(items):
            return both([fold(item) for item in items])
        case Or(items):
            return either([fold(item) for item in items])
        case If(test, then, other):
            inner = fold(test)
            if isinstance(inner, Const):
                return fold(then) if inner.value is not None and inner.value else fold(other)
            return If(inner, fold(then), fold(other))
    folded = rebuilt(expr, fold)
    if UNKNOWN in operands(folded):
        return UNKNOWN
    match folded:
        case Compare("==", Const() as left, Const() as right):
            return Const(left == right)
    return folded


def with_last(expr: Expr, variable: str, required: frozenset[str]) -> Expr:
    """Return an expression as it is for all other rows: there is a last row of the variable, with these fields at least."""
    match expr:
        case IsNone(Ref(component, "last", field, 0)) if component == variable and field in required:
            return FALSE
        case If(Compare("==", Aggregate(component, "count", None, False), Const(0)), _, other) if component == variable:
            return with_last(other, variable, required)
    return rebuilt(expr, lambda part: with_last(part, variable, required))


def positive(expr: Expr) -> Expr:
    """Return a condition in which what is unknown counts as false, as it does where it is not negated."""
    match expr:
        case Const(None):
            return FALSE
        case And(items):
            return both([positive(item) for item in items])
        case Or(items):
            return either([positive(item) for item in items])
    return expr
