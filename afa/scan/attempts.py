"""The rows of a key, and what becomes of all attempts by each.

Each row begins an attempt. An attempt is an ordered list of threads, (state, register), the preferred one first; all attempts with
equal lists are one *class*: what becomes of one becomes of all. What a row makes of a class is a *link*. Who is in a class is said
nowhere, so that a late row leaves the classes behind it as they are, though other attempts are in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from afa.interpreted.state import Entry
from afa.model.arc import Arc
from afa.model.choice import Choice
from afa.model.transitions import Transitions

Threads = tuple[tuple[str, Any], ...]
NEW: Threads = ()
"""In the place of a class: the attempt that begins with the row."""


class ClassMove(NamedTuple):
    """What a row makes of a class."""

    to: Threads | None  # None: no thread goes on
    took: tuple[tuple[int, int], ...]  # of each thread in ``to``, the thread that it comes from, and the place that took the row
    accept: tuple[int, int] | None  # the thread that ends a match here, and the place


OVER = ClassMove(None, (), None)


class Row(Entry):
    """A step with its links, by the classes that there are before it, and NEW; ``nodes`` are the classes behind it, each with
    the LE from which on it is over."""

    __slots__ = ("links",)

    def __init__(self, key: Any, le: int, serial: int) -> None:
        super().__init__(key, le, serial)
        self.links: dict[Threads, ClassMove] = {}

    @property
    def payload(self) -> Any:
        """The payload of its event; None: there are several, which is refused where it stays so."""
        return next(iter(self.events))[0] if len(self.events) == 1 else None

    @property
    def re(self) -> int:
        """The smallest RE of its events."""
        return min(re for _, re in self.events)


class RankedArcs:
    """The arcs of each state of the table in force, in order of preference."""

    def __init__(self, transitions: Transitions, choice: Choice) -> None:
        self._transitions, self.choice = transitions, choice
        self._table: Any = None
        self._arcs: dict[str, list[tuple[int, int, Arc, int, int]]] = {}

    def of(self, state: str) -> Sequence[tuple[int, int, Arc, int, int]]:
        """Return the arcs of a state: rank, place, the arc, its lifetime."""
        if self._table is not self._transitions.table:
            self._table, self._arcs = self._transitions.table, {}
        found = self._arcs.get(state)
        if found is None:
            arcs = [(self.choice.of(arc), arc, begin, end) for arc, begin, end in self._table.consuming.get(state, ())]
            found = [(ranked.rank, ranked.place, arc, begin, end) for ranked, arc, begin, end in arcs if ranked is not None]
            found.sort(key=itemgetter(0, 1))
            self._arcs[state] = found
        return found


def derive(row: Row, before: Mapping[Threads, int], transitions: Transitions, ordered: RankedArcs) -> None:
    """Derive the links of a row from the classes that there are before it, each with the LE from which on it is over.

    That of an attempt is the smallest RE of its rows, that of a class the largest of its attempts'.
    """
    begin: Threads = ((transitions.automaton.start, transitions.automaton.register),)
    row.links = {source: _link(source, row, transitions, ordered) if until > row.le else OVER for source, until in before.items()}
    row.links[NEW] = _link(begin, row, transitions, ordered)
    classes: dict[Any, int] = {}
    row.nodes = classes
    for source, link in row.links.items():
        if link.to is not None:
            until = min(before.get(source, row.re), row.re)
            classes[link.to] = max(until, classes.get(link.to, until))


def _link(threads: Threads, row: Row, transitions: Transitions, ordered: RankedArcs) -> ClassMove:
    """Let all threads of an attempt take a row, in order. What ends a match cuts off what is preferred less."""
    found: dict[tuple[str, Any], tuple[int, int]] = {}
    if row.payload is None:
        return OVER
    payload, final = row.payload, transitions.automaton.final
    for i, (state, register) in enumerate(threads):
        for _, place, arc, begin, end in ordered.of(state):
            if not begin <= row.le < end:
                continue
            after = transitions.consume(arc, payload, register, row.le)
            if after is None:
                continue
            if arc.dst in final:
                return ClassMove(tuple(found) or None, tuple(found.values()), (i, place))
            found.setdefault((arc.dst, ordered.choice.held(payload, after)), (i, place))
    return ClassMove(tuple(found) or None, tuple(found.values()), None)
