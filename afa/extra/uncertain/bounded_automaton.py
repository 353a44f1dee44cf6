"""An automaton that carries along when its match may happen at the latest, in any world: two fields more of events and registers.

    event     .. latest                          the upper end of its interval
    register  .. first_by, last_by               that of the first event that it took; that of the last one
    match     in every world LE <= min(last_by, first_by + window - 1), first time <= first_by

Two changes make ties what they are in a world, where no event of an instant is before another one: an ignorable arc passes over an
instant if its fence holds of *all* events there (`Arc.skip`), so that none of them stands in for one that it does not pass.
"""

from __future__ import annotations

import typing
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from afa.errors import AfaError
from afa.expression.arc_functions import KINDS, GivenExpression, expression_of
from afa.expression.kinds import FunctionKind, Unreadable
from afa.expression.nodes import Compare, Const, Expr, FieldRead, If, Make
from afa.model.arc import CONSUME, SKIP, Arc
from afa.model.automaton import Automaton, changed
from afa.model.binding import bound_arc
from afa.schema import Schema
from punctuation.time import FOREVER

LATEST, FIRST_BY, LAST_BY = "latest", "first_by", "last_by"


class Bounded(NamedTuple):
    """An automaton that shows the bounds behind what the user's matches show; ``given``: the user's, bound to the tick."""

    automaton: Automaton
    given: Automaton
    event: Schema
    register: Schema
    tick: str | None
    made: weakref.WeakKeyDictionary[Arc, Arc]

    def arc(self, arc: Arc) -> Arc:
        """Returns an arc of the user's automaton as one of this one; of one without a name always the same.

        AutomatonError: the arc does not fit the user's automaton.
        """
        self.given.check_arc(arc)
        arc = bound_arc(arc, self.tick, self.given)
        if arc.name is not None:
            return _bounded_arc(arc, self.given, self.event, self.register)
        if arc not in self.made:
            self.made[arc] = _bounded_arc(arc, self.given, self.event, self.register)
        return self.made[arc]


def bounded(given: Automaton, tick: str | None = None) -> Bounded:
    """Returns an automaton with bounds. AfaError: it has no event schema, or has fields of these names."""
    if given.event_schema is None:
        raise AfaError(f"expected an automaton with an event schema, Automaton(.., event=...), but got {given!r}")
    if not given.event_schema.scalar:
        raise AfaError(
            f"expected an event of ints, floats, bools and strs, which are columns, but got {given.event_schema.describe()}"
        )
    given = given.bound(tick)
    assert given.event_schema is not None
    event = _with_fields(given.event_schema.cls, {LATEST: int})
    register = _with_fields(type(given.register), {FIRST_BY: int, LAST_BY: int})
    schemas = Schema.of(event, "event"), Schema.of(register, "register")
    made = {arc: _bounded_arc(arc, given, *schemas) for arc in given.arcs}
    own = register(*given.register, FOREVER, FOREVER)
    automaton = changed(given, arcs=made.values(), register=own, event=event, shown=None)  # shows the whole register
    return Bounded(automaton, given, *schemas, tick, weakref.WeakKeyDictionary(made))


def _with_fields(cls: Any, more: dict[str, type]) -> Any:
    hints = typing.get_type_hints(cls, include_extras=True)
    for name in more:
        if name in hints:
            raise AfaError(f"expected a {cls.__name__} without the field {name!r}, which stands for a bound here")
    return NamedTuple(cls.__name__, [*hints.items(), *more.items()])


def _bounded_arc(arc: Arc, given: Automaton, event: Schema, register: Schema) -> Arc:
    functions: dict[str, Any] = {}
    for kind in KINDS[arc.kind]:
        function = getattr(arc, kind.role)
        if function is not None:
            functions[kind.role] = _read(arc, function, kind, given, event, register)
    finals = given.final.union(each.dst for each in given.arcs if each.final)
    kind_of = arc.kind
    if arc.ignorable and arc.kind == CONSUME and arc.src not in finals:
        kind_of = SKIP
    elif arc.kind == CONSUME and arc.transfer is None:
        stays = Make(tuple(FieldRead("r", field.name) for field in given.register_schema.fields))
        functions["transfer"] = _with_bounds(stays, KINDS[CONSUME][1], register)
    found = Arc.__new__(Arc)
    fence, transfer, at = (functions.get(role) for role in ("fence", "transfer", "at"))
    found._fill(kind_of, arc.src, arc.dst, fence, transfer, at, arc.name, arc.final, arc.select)
    return found


def _read(arc: Arc, function: Any, kind: FunctionKind, given: Automaton, event: Schema, register: Schema) -> Any:
    """Returns a function over the fields of the user's classes as one over those with bounds."""
    assert given.event_schema is not None
    try:
        expr = expression_of(function, kind, given.event_schema if arc.reads_event else None, given.register_schema)
    except Unreadable:
        return _called(arc, function, kind, given)
    if kind.role != "transfer":
        return GivenExpression(expr, kind, register)
    return _with_bounds(expr, kind, register, taken=arc.kind == CONSUME)


def _with_bounds(expr: Expr, kind: FunctionKind, register: Schema, taken: bool = True) -> GivenExpression:
    """Returns a transfer that also keeps the bounds; ``taken``: of an arc that takes its event."""
    assert isinstance(expr, Make)
    first, latest = FieldRead("r", FIRST_BY), FieldRead("e", LATEST)
    bounds = (If(Compare("==", first, Const(FOREVER)), latest, first), latest) if taken else (first, FieldRead("r", LAST_BY))
    return GivenExpression(Make((*expr.items, *bounds)), kind, register)


def _called(arc: Arc, function: Callable[..., Any], kind: FunctionKind, given: Automaton) -> Callable[..., Any]:
    """Returns a function in Python over the user's classes as one over those with bounds."""
    assert given.event_schema is not None
    events, registers = given.event_schema.cls, type(given.register)
    n, m = len(given.event_schema.fields), len(given.register_schema.fields)
    taken = arc.kind == CONSUME

    def of_event(e: Any, r: Any) -> Any:
        found = function(events(*e[:n]), registers(*r[:m]))
        if kind.role != "transfer":
            return found
        bounds = (e[n] if r[m] == FOREVER else r[m], e[n]) if taken else r[m:]
        return type(r)(*found, *bounds)

    def of_register(r: Any) -> Any:
        found = function(registers(*r[:m]))
        return type(r)(*found, *r[m:]) if kind.role == "transfer" else found

    return of_event if arc.reads_event else of_register
