"""Refuse arcs that can serve no event: they read a field that there is not, or ask of one field what no value has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from afa.errors import AutomatonError
from afa.expression.arc_functions import by_hand, expression_of, functions_of
from afa.expression.intervals import contradiction
from afa.expression.kinds import Unreadable
from afa.expression.nodes import conjunction
from afa.expression.text import text_of_expr
from afa.expression.unknown_fields import unknown_field
from afa.model.arc import Arc
from afa.schema import Schema

WANTED = "expected a fence that some value satisfies"


def check_servable(arc: Arc, event_schema: Schema | None, register_schema: Schema) -> None:
    """Refuse an arc that reads a field which its schema does not have, or whose fence no event, or no register, can satisfy.

    What can't be read is left alone, as is what a function finds out itself (``hasattr``, ``try``), and a fence that is a constant.
    The message names the arc, the field and the conditions.
    """
    for kind, function in functions_of(arc):
        found = unknown_field(function, kind, event_schema, register_schema)
        if found is not None:
            raise AutomatonError(
                f"expected {kind.role}({kind.parameters}) to read fields of {found.cls} but got {found.read} in {arc!r}, "
                f"{found.where}; {found.hint}"
            )
    why = impossible(arc, event_schema, register_schema)
    if why is not None:
        raise AutomatonError(f"{WANTED} but got {why} in {arc!r}")


def impossible(arc: Arc, event_schema: Schema | None, register_schema: Schema) -> str | None:
    """Return the conditions of a fence that exclude each other, in words; None: none are known.

    A fence that nobody wrote by hand is left alone: that of a query may say of a case that it does not exist.
    """
    for kind, function in functions_of(arc):
        if kind.role != "fence" or not by_hand(function):
            continue
        try:
            fence = expression_of(function, kind, event_schema, register_schema)
        except Unreadable:
            continue
        for side, schema in (("e", event_schema), ("r", register_schema)):
            found = None if schema is None else contradiction(fence, schema, side)
            if found is not None:
                field, conditions = found
                return f"{text_of_expr(conjunction(list(conditions)))}, which no {side}.{field} does,"
    return None


def check_all(arcs: Sequence[Arc], start: str, final: Iterable[str], event_schema: Schema | None, register_schema: Schema) -> None:
    """Refuse, of an automaton that is built, the first arc that can't serve, and say what can't be reached without it."""
    for arc in arcs:
        try:
            check_servable(arc, event_schema, register_schema)
        except AutomatonError as error:
            left = states_from(start, [other for other in arcs if other is not arc])
            lost = sorted(state for state in states_from(start, arcs).intersection(final) if state not in left)
            if lost and str(error).startswith(WANTED):
                raise AutomatonError(f"{error}; without it no event leads to the final state {lost[0]!r}") from None
            raise


def states_from(start: str, arcs: Iterable[Arc]) -> set[str]:
    """Return a state and all those to which arcs lead from it."""
    ways: dict[str, set[str]] = {}
    for arc in arcs:
        ways.setdefault(arc.src, set()).add(arc.dst)
    found, ahead = {start}, [start]
    while ahead:
        more = ways.get(ahead.pop(), set()) - found
        found |= more
        ahead += more
    return found
