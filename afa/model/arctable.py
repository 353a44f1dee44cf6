"""Arcs in force, by the state that they leave: the arctable of [AFA10] Sec. 5.1 and 5.2.

A table is a value: each change of arcs makes a new table, so that state can keep the table that it was computed with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from afa.model.arc import CONSUME, EPSILON, SKIP, TIMEOUT, Arc
from punctuation.time import BEGINNING, FOREVER


class ArcEvent(NamedTuple):
    """An arc with a lifetime. It serves the events whose LE lies in ``[le, re)`` ([AFA10] Sec. 2.3)."""

    arc: Arc
    le: int
    re: int


ByState = Mapping[str, tuple[ArcEvent, ...]]


class ArcTable:
    """The arc events in force, in order of arrival; equal ones count twice.

    ``made``: what engines have made of this table, for other engines that are given the very same one. None: no other engine is.

    >>> arc = Arc("a", "b", lambda e, r: True)
    >>> table = ArcTable.of([arc])
    >>> table.ended(ArcEvent(arc, BEGINNING, FOREVER), 5).events
    (ArcEvent(arc=arc a -> b, le=-9223372036854775808, re=5),)
    """

    def __init__(self, events: Iterable[ArcEvent]) -> None:
        self.events = tuple(events)
        self.made: list[Any] | None = None

    @cached_property
    def arcs(self) -> tuple[Arc, ...]:
        """Each arc once."""
        return tuple({id(event.arc): event.arc for event in self.events}.values())

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The states that the arcs name."""
        return tuple(dict.fromkeys(state for arc in self.arcs for state in (arc.src, arc.dst)))

    @cached_property
    def consuming(self) -> ByState:
        """The arc events of this kind, by source state."""
        return _by_state(self.events, CONSUME)

    @cached_property
    def skips(self) -> ByState:
        """The arc events of this kind, by source state."""
        return _by_state(self.events, SKIP)

    @cached_property
    def epsilon(self) -> ByState:
        """The arc events of this kind, by source state."""
        return _by_state(self.events, EPSILON)

    @cached_property
    def timeouts(self) -> ByState:
        """The arc events of this kind, by source state."""
        return _by_state(self.events, TIMEOUT)

    @cached_property
    def marks(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """The lifetimes in which an arc with ``final=True`` makes a state final, by state."""
        marks: dict[str, list[tuple[int, int]]] = {}
        for arc, le, re in self.events:
            if arc.final:
                marks.setdefault(arc.dst, []).append((le, re))
        return {state: tuple(spans) for state, spans in marks.items()}

    @classmethod
    def of(cls, arcs: Iterable[Arc]) -> ArcTable:
        """Make the table of arcs that were always in force."""
        return cls(ArcEvent(arc, BEGINNING, FOREVER) for arc in arcs)

    def final(self, state: str, t: int) -> bool:
        """Return whether an arc in force at ``t`` makes the state final.

        Only instants of the arc's lifetime count: otherwise an arc inserted now would turn partial matches of the past into matches
        behind the punctuation.
        """
        return any(le <= t < re for le, re in self.marks.get(state, ()))

    def find(self, arc: Arc, after: int) -> ArcEvent | None:
        """Return the arc event that a retraction without a lifetime ends: an equal arc that is in force past ``after``.

        Of several, the very same arc comes before one of its name, then the one that began last, then the one that lasts longest.
        So the answer depends on the set of arc events alone, not on their order.
        """
        found = [event for event in self.events if event.re > after and event.arc == arc]
        return max(found, key=lambda event: (event.arc is arc, event.le, event.re), default=None)

    def count(self, event: ArcEvent) -> int:
        """Return how many copies of exactly this arc event are in force."""
        return self.events.count(event)

    def added(self, event: ArcEvent, copies: int = 1) -> ArcTable:
        """Return the table with one more arc event."""
        return ArcTable((*self.events, *(event for _ in range(copies))))

    def removed(self, event: ArcEvent, copies: int = 1) -> ArcTable:
        """Return the table without so many copies of an arc event."""
        events = list(self.events)
        for _ in range(copies):
            same = [i for i, other in enumerate(events) if other == event]
            del events[next((i for i in same if events[i].arc is event.arc), same[0])]
        return ArcTable(events)

    def ended(self, event: ArcEvent, t: int) -> ArcTable:
        """Return the table in which an arc event ends at ``t``, or is gone if nothing of its lifetime is left."""
        table = self.removed(event)
        return table if t <= event.le else table.added(event._replace(re=t))

    def cleaned(self, t: int) -> ArcTable:
        """Return the table without the arc events that no event with LE >= t can take ([AFA10] Sec. 5.4)."""
        kept = tuple(event for event in self.events if event.re > t)
        return self if len(kept) == len(self.events) else ArcTable(kept)


def _by_state(events: tuple[ArcEvent, ...], kind: str) -> dict[str, tuple[ArcEvent, ...]]:
    table: dict[str, list[ArcEvent]] = {}
    for event in events:
        if event.arc.kind == kind:
            table.setdefault(event.arc.src, []).append(event)
    return {state: tuple(found) for state, found in table.items()}
