"""Negation that names a later component: ``~(Halt n)`` with ``n.price > b.price``, where b comes behind n.

What b will be is not known when an n comes. But no n between the neighbours had a price above b's if the highest one was not above
it. So a match takes note of the highest price that it skips (of the lowest, for ``<``), and compares it with b's when b is there.
This tells no more than order: equality would need all prices.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from afa.errors import AutomatonError
from afa.expression.nodes import FLIPPED, And, Compare, Expr, FieldRead, If, Not, Or, walk
from afa.language.pattern import Component
from afa.language.positions import Positions
from afa.language.terms import Aggregate, Ref

HIGHEST, LOWEST = "highest", "lowest"
ORDER = {"<": LOWEST, "<=": LOWEST, ">": HIGHEST, ">=": HIGHEST}
OTHERS = "compare {absent} with an earlier component, with a constant, or by order"


@dataclass(frozen=True, slots=True)
class Noted:
    """What a match takes note of: the highest or lowest value of the skipped events that satisfy conditions."""

    value: Expr
    where: tuple[Expr, ...]
    type: type


class Bound(NamedTuple):
    """A conjunct that names later components, turned so that the value of the absent one stands on the left."""

    value: Expr
    op: str
    other: Expr


class UnorderedError(Exception):
    """A conjunct names a later component otherwise than by order: what it is, and what to write."""

    def __init__(self, got: str, hint: str) -> None:
        super().__init__(got)
        self.got, self.hint = got, hint


def bound(expr: Expr, absent: str, later: Collection[str]) -> Bound:
    """Returns a conjunct of an absent component that names later ones, as a comparison by order.

    >>> found = bound(Compare("<", Ref("b", "one", "price"), FieldRead("e", "price")), "n", {"b"})
    >>> found.op, found.value
    ('>', FieldRead(side='e', name='price'))
    """
    match expr:
        case Compare(op, left, right) if op in ORDER:
            turned = _names(left, later)
            value, other = (right, left) if turned else (left, right)
            if _names(value, later) or any(isinstance(node, FieldRead) for node in walk(other)):
                hint = f"let all of {absent} stand on one side of {op}, and all of what comes later on the other"
                raise UnorderedError("both on one side", hint)
            return Bound(value, FLIPPED[op] if turned else op, other)
        case Compare(op):
            hint = "only the highest or the lowest value of what was skipped is known then; " + OTHERS.format(absent=absent)
            raise UnorderedError(f"a comparison by {op}", hint)
        case Or():
            raise UnorderedError("one by or", f"write one negation for each part: ~({absent}1), ~({absent}2)")
        case And():
            raise UnorderedError("one by and within another", "write each part as a condition of its own")
        case Not():
            raise UnorderedError("one by not", "turn the comparison round: write <= for not >")
        case If():
            raise UnorderedError("one by if", "write one negation for each part")
    raise UnorderedError("another one", OTHERS.format(absent=absent))


def names_later(expr: Expr, later: Collection[str]) -> list[Expr]:
    """Return the terms of an expression that name one of these components."""
    return [node for node in walk(expr) if isinstance(node, Ref | Aggregate) and node.component in later]


def _names(expr: Expr, later: Collection[str]) -> bool:
    return bool(names_later(expr, later))


def earlier(absent: Component, positions: Positions, groups: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return the names of which an event can have been taken before an event that an absent component must not take."""
    gaps = {p for p, edges in enumerate(positions.edges) if any(absent in edge.gap.absent for edge in edges)}
    taken = {component.name for p, component in enumerate(positions.components) if gaps & {p, *positions.behind([p])}}
    return frozenset(name for name, members in groups.items() if taken & set(members))


class Later(NamedTuple):
    """The conditions of an absent component, where some name later components."""

    component: Component
    early: tuple[Expr, ...]  # asked when an event is skipped
    bounds: tuple[Bound, ...]  # all of one value, in one direction
    names: frozenset[str]  # the later components that the bounds name

    @property
    def kind(self) -> str:
        """Which value of what was skipped is to be known: the highest or the lowest."""
        return ORDER[self.bounds[0].op]

    @classmethod
    def of(cls, component: Component, later: Collection[str]) -> Later | None:
        """Take the conditions of an absent component apart; None: none names a later component.

        Raises AutomatonError where one does so otherwise than by order, or they bound several values.
        """
        late = [expr for expr in component.where if _names(expr, later)]
        if not late:
            return None
        names = frozenset(node.component for expr in late for node in names_later(expr, later))  # type: ignore[attr-defined]
        what = f"conditions of the absent {component.name} on {', '.join(sorted(names))}, which comes after it"
        try:
            bounds = tuple(bound(expr, component.name, later) for expr in late)
        except UnorderedError as error:
            raise AutomatonError(f"expected {what}, by order (<, <=, >, >=) but got {error.got}; {error.hint}") from None
        if len({(each.value, ORDER[each.op]) for each in bounds}) > 1:
            raise AutomatonError(
                f"expected {what}, to bound one value from one side but got several; "
                f"only one value can be noted, the highest or the lowest: ask one of them of an earlier component"
            )
        early = tuple(expr for expr in component.where if expr not in late)
        return cls(component, early, bounds, names)
