"""The values of an event's fields for which a fence can be true, as alternatives: boxes. Never too few; in doubt all values.

A fence is read clause by clause, in the order in which Python evaluates it. Of what stands behind a clause that may raise nothing
is taken, since an event for which it raises must be met as well. Where a clause raises for None only, None is one more alternative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from afa.errors import AutomatonError
from afa.expression.arc_functions import expression_of
from afa.expression.intervals import EVERYTHING, ValueRange, ranges
from afa.expression.kinds import FunctionKind, Unreadable
from afa.expression.nodes import Expr, FieldRead, walk
from afa.expression.splitting import clauses
from afa.expression.types import may_raise
from afa.model.arc import Arc
from afa.schema import Field as SchemaField
from afa.schema import Schema
from punctuation.time import BEGINNING, FOREVER

ONLY_NONE = ValueRange(values=(), nan=False, none=True)


class Box(NamedTuple):
    """Values of some fields, all of which an event has, and LEs in ``[since, until)``.

    >>> box = Box((("x", ValueRange(low=3, nan=False, none=False)),), until=9)
    >>> [box.allows({"x": x}, le) for x, le in [(4, 5), (2, 5), (4, 9)]]
    [True, False, False]
    """

    fields: tuple[tuple[str, ValueRange], ...] = ()  # the fields that can't have any value, by name
    # since, until: ticks
    since: int = BEGINNING
    until: int = FOREVER

    @property
    def everything(self) -> bool:
        """Whether it allows every event."""
        return not self.fields and not self.timed

    @property
    def timed(self) -> bool:
        """Whether it asks for some LEs only."""
        return self.since > BEGINNING or self.until < FOREVER

    def allows(self, values: Any, le: int) -> bool:
        """Return whether an event with these values, by name, is in the box."""
        return self.since <= le < self.until and all(found.contains(values[name]) for name, found in self.fields)

    def meet(self, other: Box) -> Box | None:
        """Return the events that are in both boxes; None: there are none."""
        met = dict(self.fields)
        for name, found in other.fields:
            met[name] = met.get(name, EVERYTHING).meet(found)
        since, until = max(self.since, other.since), min(self.until, other.until)
        if since >= until or any(found.empty for found in met.values()):
            return None
        return Box(tuple(sorted(met.items())), since, until)

    def text(self, schema: Schema | None) -> str:
        """Return the box in words: ``notional >= 100 and side = 'buy'``."""
        types = {field.name: field for field in schema.fields} if schema is not None else {}
        return " and ".join(_said(name, found, types.get(name)) for name, found in self.fields) or "any event"


class ArcLifetime(NamedTuple):
    """An arc, and the lifetime in which it is in force."""

    arc: Arc
    since: int = BEGINNING
    until: int = FOREVER


def boxes_of(serving: ArcLifetime, event: Schema | None, register: Schema) -> tuple[Box, ...]:
    """Return the events that an arc may take: alternatives. None at all: its fence is never true."""
    alone = Box((), serving.since, serving.until)
    expr = fence_of(serving.arc, event, register)
    if expr is None or event is None or not event.scalar:
        return (alone,)
    found, aside = alone, []
    for clause, nones in safe_clauses(expr, event, register):
        aside += [both for name in nones if (both := found.meet(Box(((name, ONLY_NONE),)))) is not None]
        allowed = ranges(clause, event)
        told = tuple((field.name, one) for field in event.fields if not _free(one := allowed[field.name], field))
        met = None if any(one.empty for one in allowed.values()) else found.meet(Box(told))
        if met is None:
            return tuple(aside)
        found = met
    return (found, *aside)


def safe_clauses(fence: Expr, event: Schema | None, register: Schema) -> Iterable[tuple[Expr, list[str]]]:
    """Yield the clauses of a fence up to the first one that may raise, each with the event's fields that it can't take as None.

    What raises for registers that are None is taken: a partial match that raises there the operator refuses, if it comes to it.
    """
    for clause in clauses(fence):
        if may_raise(clause, event, register):
            if may_raise(clause, _whole(event), _whole(register) or register):
                return
            asked = {node.name for node in walk(clause) if isinstance(node, FieldRead) and node.side == "e"}
            yield clause, [field.name for field in event.fields if field.optional and field.name in asked] if event else []
        else:
            yield clause, []


def fence_of(arc: Arc, event: Schema | None, register: Schema) -> Expr | None:
    """Return the fence of an arc as an expression; None: it can't be read."""
    try:
        return expression_of(arc.fence, FunctionKind("fence", arc.reads_event), event if arc.reads_event else None, register)
    except (Unreadable, AutomatonError):
        return None


def opaque(servings: Sequence[ArcLifetime], event: Schema | None, register: Schema) -> tuple[Arc, ...]:
    """Return the arcs whose fences can't be read, so that they allow everything."""
    return tuple(serving.arc for serving in servings if serving.arc.reads_event and fence_of(serving.arc, event, register) is None)


def _free(allowed: ValueRange, field: SchemaField) -> bool:
    """Return whether a range allows every value that a field can have."""
    nan = allowed.nan or field.type not in (float, None)
    none = allowed.none or not field.optional
    return nan and none and allowed._replace(nan=True, none=True) == EVERYTHING


def _whole(schema: Schema | None) -> Schema | None:
    """Return the schema with no field that may be None."""
    return None if schema is None else schema._replace(fields=tuple(field._replace(optional=False) for field in schema.fields))


def _said(name: str, found: ValueRange, field: Any) -> str:
    if found == ONLY_NONE:
        return f"{name} is None"
    if found.values is not None and len(found.values) == 1 and not found.none:
        return f"{name} = {found.values[0]!r}"
    if found.values is not None and not found.none:
        return f"{name} in ({', '.join(map(repr, found.values))})"
    text = found.text(field is None or field.type in (float, None), field is None or field.optional)
    return (
        f"{name} {text}".replace(" and ", f" and {name} ")
        if text.startswith((">", "<")) and " or " not in text
        else f"{name} {text}"
    )
