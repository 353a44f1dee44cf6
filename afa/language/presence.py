"""Which fields of an event are there if a component has taken it: a comparison with None holds of nothing.

    B b with b.volume < 150           b.volume is there, so that RETURN b.volume is never None
    A+ a[] with a[1].price > 3        the first a.price is there; the others need not be

What is known to be there costs no test and no room in the register: CSV knows no types without None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from afa.expression.nodes import And, Binary, Call, Compare, Const, Expr, FieldRead, If, In, IsNone, Not, Or, Text, Unary, operands
from afa.language.pattern import Component

Fields = frozenset[str]
NOTHING: Fields = frozenset()


def implied(expr: Expr, truth: bool = True) -> Fields:
    """Return the fields of the event under test that are there wherever a predicate has this truth.

    >>> price, size = FieldRead("e", "price"), FieldRead("e", "size")
    >>> below = Compare("<", price, size)
    >>> sorted(implied(Not(below))), sorted(implied(Or((below, IsNone(price)))))
    (['price', 'size'], [])
    """
    match expr:
        case Not(x):
            return implied(x, not truth)
        case And(items) | Or(items):
            found = [implied(item, truth) for item in items]
            return NOTHING.union(*found) if isinstance(expr, And) is truth else found[0].intersection(*found[1:])
        case If(_, then, other):
            return implied(then, truth) & implied(other, truth)
        case IsNone(x):
            return NOTHING if truth else _needed(x)
        case Const(value) if bool(value) is not truth and value is not None:
            return NOTHING
    return _needed(expr)


def _needed(expr: Expr) -> Fields:
    """Return the fields of the event without which a value is None."""
    match expr:
        case FieldRead("e", name):
            return frozenset({name})
        case Unary() | Binary() | Compare() | Call() | In() | Text():
            return NOTHING.union(*map(_needed, operands(expr)))
    return NOTHING


class Presence:
    """What is there of the events that components of all positions have taken; ``most``: how many each takes (2: two or more)."""

    def __init__(self, components: Iterable[Component], most: Mapping[str, int]) -> None:
        self._first: dict[str, Fields] = {}
        self._any: dict[str, Fields] = {}
        for component in components:
            where = NOTHING.union(*map(implied, component.where))
            first, rest = (where.union(*map(implied, asked)) for asked in (component.first, component.rest))
            every = first if most[component.name] == 1 else first & rest
            self._first[component.name] = self._first.get(component.name, first) & first
            self._any[component.name] = self._any.get(component.name, every) & every

    def fields_of(self, names: Iterable[str], first: bool = False) -> Fields:
        """Return the fields that are there in each event that one of these components takes; ``first``: in its first one."""
        found = [(self._first if first else self._any).get(name, NOTHING) for name in names]
        return found[0].intersection(*found[1:]) if found else NOTHING
