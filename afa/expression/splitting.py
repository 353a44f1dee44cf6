"""Split a fence into three parts: what only the event decides, only the register, or both together ([AFA10] App. F.1)."""

from __future__ import annotations

from typing import NamedTuple

from afa.expression.nodes import And, Expr, Not, Or, conjunction, sides
from afa.expression.types import may_raise
from afa.schema import Schema

EVENT, REGISTER, MIXED = 0, 1, 2


class Split(NamedTuple):
    """A fence as ``event and register and mixed``, evaluated in this order. None: the fence has no such part."""

    event: Expr | None
    register: Expr | None
    mixed: Expr | None


def split(fence: Expr, event_schema: Schema | None, register_schema: Schema) -> Split:
    """Split a fence into parts whose conjunction has the truth value of the fence, and raises where the fence raises.

    O(clauses * size). Nothing moves across a clause that could raise: a clause that could comes after all that stood before it, and
    all that stood after it comes after it, if need be in the mixed part.

    >>> from typing import NamedTuple
    >>> from afa.expression import FENCE, parse, text_of_expr
    >>> class E(NamedTuple):
    ...     x: int
    >>> class R(NamedTuple):
    ...     n: int = 0
    >>> schemas = Schema.of(E, "event"), Schema.of(R, "register")
    >>> def shown(text):
    ...     return [part and text_of_expr(part) for part in split(parse(text, FENCE, *schemas), *schemas)]
    >>> shown("r.n < 3 and x > r.n and x < 9")
    ['e.x < 9', 'r.n < 3', 'e.x > r.n']
    >>> shown("r.n != 0 and 5 // r.n > 1 and x < 9")
    [None, 'r.n != 0 and 5 // r.n > 1', 'e.x < 9']
    """
    parts: tuple[list[Expr], ...] = ([], [], [])
    floor = EVENT
    for clause in clauses(fence):
        natural = {frozenset("e"): EVENT, frozenset("r"): REGISTER, frozenset(): EVENT}.get(sides(clause), MIXED)
        raises = may_raise(clause, event_schema, register_schema)
        least = max(floor, *(i for i, part in enumerate(parts) if part)) if raises and any(parts) else floor
        place = natural if natural >= least else (least if not sides(clause) and least == REGISTER else MIXED)
        parts[place].append(clause)
        floor = place if raises else floor
    return Split(*(conjunction(part) if part else None for part in parts))


def clauses(fence: Expr) -> list[Expr]:
    """Return the clauses of a fence, all of which must be true, in the order in which Python evaluates them."""
    match fence:
        case And(items):
            return [clause for item in items for clause in clauses(item)]
        case Not(Or(items)):
            return [clause for item in items for clause in clauses(Not(item))]
        case Not(Not(x)):
            return clauses(x)
    return [fence]
