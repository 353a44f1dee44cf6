"""Which component an arc takes an event for, and picks: events taken for a component, in an order of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

from afa.model.arc import CONSUME, Arc
from afa.model.arctable import ArcTable


class Pick(NamedTuple):
    """An event of a step as a computation takes it."""

    component: str
    payload: Any
    re: int


def component_of(arc: Arc) -> str | None:
    """Return the component that an arc takes its event for. None: the event is passed over.

    >>> fence = lambda e, r: True
    >>> [component_of(arc) for arc in (Arc("a", "b", fence, select="big"), Arc("a", "b", fence), Arc("b", "b", fence))]
    ['big', 'b', None]
    >>> component_of(Arc("a", "b", fence, select="")), component_of(Arc("b", "b", fence, select="more"))
    (None, 'more')
    """
    if arc.select is not None:
        return arc.select or None
    return None if arc.ignorable else arc.dst


def components_in(table: ArcTable) -> set[str]:
    """Return the names that arcs in force take events for."""
    found = {component_of(event.arc) for event in table.events if event.arc.kind == CONSUME}
    return {name for name in found if name is not None}


def in_order(pick: Pick) -> tuple[Any, ...]:
    """Return a sort key of the picks of one step: by component, then by RE, then by the payload's fields."""
    payload = pick.payload
    return pick.component, pick.re, tuple(map(sort_key, payload)) if isinstance(payload, tuple) else (sort_key(payload),)


def sort_key(value: Any) -> tuple[Any, ...]:
    """Return a sort key of values of any kind: numbers, then text, then others by how they are written; None last."""
    if value is None:
        return (3,)
    if isinstance(value, (bool, int, float)):
        return (0, value != value, 0 if value != value else value)
    return (1, value) if isinstance(value, str) else (2, repr(value))
