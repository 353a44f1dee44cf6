"""What terms and predicates mean, for the oracle of queries: Python's values, and SQL's three truth values (None: unknown)."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

from afa.expression.nodes import (
    And,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    In,
    IsNone,
    Not,
    Or,
    Text,
    Unary,
)
from afa.language.terms import Aggregate, Classifier, Ref

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
CALLS = {"min": min, "max": max, "abs": abs, "round": round, "int": int, "float": float, "bool": bool, "len": len}
CALLS |= {"atan": math.atan, "floor": math.floor}


class Taken(NamedTuple):
    """The payloads that a match has taken in order, each with its component; names for several components."""

    picks: tuple[tuple[str, Any], ...]
    subsets: dict[str, tuple[str, ...]]

    def of(self, name: str) -> list[Any]:
        """The payloads of a component, of a subset, or of all (no name)."""
        names = self.subsets.get(name, (name,))
        return [payload for component, payload in self.picks if component in names or not name]


def holds(expr: Expr, event: Any, taken: Taken) -> bool:
    """Whether a predicate is true, not unknown."""
    return truth(expr, event, taken) is True


def truth(expr: Expr, event: Any, taken: Taken) -> bool | None:
    """The truth of a value; None: unknown."""
    found = value(expr, event, taken)
    return None if found is None else bool(found)


def value(expr: Expr, event: Any, taken: Taken) -> Any:
    """The value of a term for the event under test (None: there is none), behind what was taken before it."""

    def of(x: Expr) -> Any:
        return value(x, event, taken)

    match expr:
        case Const(const):
            return const
        case FieldRead("e", name):
            return getattr(event, name)
        case Ref():
            return ref(expr, taken)
        case Aggregate():
            return aggregate(expr, event, taken)
        case Classifier():
            return taken.picks[-1][0]
        case IsNone(x):
            return of(x) is None
        case Not(x):
            found = truth(x, event, taken)
            return None if found is None else not found
        case And(items) | Or(items):
            ends = isinstance(expr, Or)
            found = [truth(item, event, taken) for item in items]
            return ends if ends in found else None if None in found else not ends
        case If(test, then, other):
            return of(then) if holds(test, event, taken) else of(other)
        case In(x, items):
            return among(of(x), [item.value for item in items])
    operands = [of(x) for x in operands_of(expr)]
    if any(operand is None for operand in operands):
        return None
    match expr:
        case Compare(op):
            return COMPARE[op](*operands)
        case Binary(op):
            return BINARY[op](*operands)
        case Unary(op):
            return UNARY[op](*operands)
        case Call(name):
            return CALLS[name](*operands)
        case Text("contains", _, (const,)):
            return const.value in operands[0]
        case Text(method, _, consts):
            return getattr(operands[0], method)(tuple(const.value for const in consts))
    raise TypeError(f"expected a term but got {expr!r}")


def operands_of(expr: Expr) -> tuple[Expr, ...]:
    """The operands of an operation that is unknown where one of them is."""
    match expr:
        case Compare(_, left, right) | Binary(_, left, right):
            return left, right
        case Call(_, items):
            return items
    return (expr.x,)


def among(x: Any, items: list[Any]) -> bool | None:
    """``x in items``, where None is no value: neither in nor not in."""
    if x is None:
        return None
    if any(x == item for item in items if item is not None):
        return True
    return None if None in items else False


def ref(term: Ref, taken: Taken) -> Any:
    """A field of one event that was taken; None: there is no such event."""
    events = taken.of(term.component)
    i = 0 if term.which == "first" else len(events) - 1 - term.back
    return getattr(events[i], term.field) if 0 <= i < len(events) else None


def aggregate(term: Aggregate, event: Any, taken: Taken) -> Any:
    """A value over all that a component has taken; None is left out, as in SQL."""
    events = [*taken.of(term.component), *([event] if term.now else [])]
    if term.field is None:
        return len(events)
    values = [getattr(each, term.field) for each in events]
    values = [each for each in values if each is not None]
    if term.function == "count":
        return len(values)
    if not values:
        return None
    if term.function == "avg":
        return sum(values) / len(values)
    return {"min": min, "max": max, "sum": sum}[term.function](values)
