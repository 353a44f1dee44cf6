"""Bind arcs to a tick: each `afa.span` becomes the number of ticks that it lasts."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from operator import is_not
from typing import Any

from afa.errors import AutomatonError
from afa.expression.arc_functions import (
    Derived,
    GivenExpression,
    Readable,
    Schemas,
    WrittenFunction,
    by_hand,
    expression_of,
    functions_of,
)
from afa.expression.kinds import Unreadable
from afa.expression.spans import in_ticks, mentions_span
from afa.expression.text import text_of_expr
from afa.model.arc import Arc


def bound_arc(arc: Arc, tick: str | None, schemas: Schemas) -> Arc:
    """Returns an arc with its spans as ticks, equal to the given one; the very same one if there are none.

    An arc that was bound already is bound anew, by what it was bound from; without a ``tick`` it stays as it is. Raises
    AutomatonError where there is no ``tick``, a span is no whole number of ticks, or a function reads a span and can't be taken
    apart.
    """
    given, arc = arc, arc.origin or arc
    if given is not arc and tick is None:
        return given
    found = {}
    for kind, function in functions_of(arc):
        read = function.text if isinstance(function, WrittenFunction) else function
        if (isinstance(function, Readable) and not isinstance(function, WrittenFunction)) or not mentions_span(read):
            continue
        try:
            expr = expression_of(function, kind, schemas.event_schema, schemas.register_schema)
        except Unreadable as error:
            wanted = f"expected a {kind.role} that can be taken apart, as it reads afa.span(..),"
            raise AutomatonError(f"{wanted} but {error.reason} in {arc!r}; {error.hint}") from None
        ticks = in_ticks(expr, tick, f"the {kind.role} of {arc!r}")
        if ticks is not expr:
            said = text_of_expr(expr, schemas.register_schema)
            found[kind.role] = GivenExpression(ticks, kind, schemas.register_schema, said if by_hand(function) else Derived(said))
    same = all(isinstance(own := getattr(given, role), GivenExpression) and own == new for role, new in found.items())
    return given if same else arc.bound(found)


class Binder:
    """Binds the arcs of one operator; an arc that comes again is the same bound arc, as long as that is in use."""

    def __init__(self, tick: str | None, automaton: Any) -> None:
        self.tick, self._automaton = tick, automaton
        self._bound: weakref.WeakValueDictionary[int, Arc] = weakref.WeakValueDictionary()  # by the id of what it was bound from
        self._fits: weakref.WeakValueDictionary[int, Arc] = weakref.WeakValueDictionary()  # arcs that were not refused, by id
        self._last: tuple[Sequence[Any], list[Any]] = (), []  # the arcs of the last call of `all`, and these bound
        self.know(automaton.arcs)

    def know(self, arcs: Iterable[Arc]) -> None:
        """Remember bound arcs."""
        self._bound.update({id(arc.origin): arc for arc in arcs if arc.origin is not None})

    def all(self, arcs: Sequence[Any]) -> list[Any]:
        """Return the arcs of a batch, bound; the very same list as long as they are the same."""
        given, bound = self._last
        if len(given) != len(arcs) or any(map(is_not, given, arcs)):
            bound = [self.arc(arc) if isinstance(arc, Arc) else arc for arc in arcs]
            self._last = tuple(arcs), bound
        return bound

    def fitting(self, arc: Any) -> Arc:
        """Return an arc with its spans as ticks; refuse one that can't mean anything to the automaton."""
        if self._fits.get(id(arc)) is not arc:
            self._automaton.check_arc(arc)
            self._fits[id(arc)] = arc
        return self.arc(arc)

    def arc(self, arc: Arc) -> Arc:
        """Return an arc with its spans as ticks; see `bound_arc`."""
        known = self._bound.get(id(arc.origin or arc))
        if known is None:
            known = bound_arc(arc, self.tick, self._automaton)
            self._bound[id(known.origin or known)] = known
        return known
