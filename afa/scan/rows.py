"""The rows of a key, and what becomes of all attempts by each.

Each row begins an attempt. An attempt is an ordered list of threads, (state, register), the preferred one first; all attempts with
equal lists are one *class*: what becomes of one becomes of all. What a row makes of a class is a *link*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from afa.interpreted.state import Entry
from afa.model.arc import Arc
from afa.model.transitions import Transitions

Threads = tuple[tuple[str, Any], ...]
NEW: Threads = ()
"""In the place of a class: the attempt that begins with the row."""


class Link(NamedTuple):
    """What a row makes of a class."""

    to: Threads | None  # None: no thread goes on
    took: tuple[tuple[int, str], ...]  # of each thread in ``to``, the thread that it comes from, and the arc
    accept: tuple[int, str] | None  # the thread that ends a match here, and the arc


class Row(Entry):
    """A step with its links, by the classes that there are before it, and NEW; ``nodes`` are the classes behind it."""

    __slots__ = ("links",)

    def __init__(self, key: Any, le: int, serial: int) -> None:
        super().__init__(key, le, serial)
        self.links: dict[Threads, Link] = {}

    @property
    def event(self) -> tuple[Any, int] | None:
        """The payload and the RE of its event; None: there are several, which is refused where it stays so."""
        return next(iter(self.events)) if len(self.events) == 1 else None


class Ordered:
    """The arcs of each state in order of rank, of a table; those without a rank are never taken."""

    def __init__(self, transitions: Transitions, rank: Any) -> None:
        self._transitions, self._rank = transitions, rank
        self._table: Any = None
        self._arcs: dict[str, list[tuple[str, Arc, int, int]]] = {}

    def of(self, state: str) -> Sequence[tuple[str, Arc, int, int]]:
        """Return the arcs of a state, each with its name and its lifetime."""
        if self._table is not self._transitions.table:
            self._table, self._arcs = self._transitions.table, {}
        found = self._arcs.get(state)
        if found is None:
            named = [(str(arc.name), arc, begin, end) for arc, begin, end in self._table.consuming.get(state, ())]
            found = sorted((each for each in named if each[0] in self._rank), key=lambda each: self._rank[each[0]])
            self._arcs[state] = found
        return found


def derive(row: Row, before: Iterable[Threads], transitions: Transitions, ordered: Ordered) -> None:
    """Derive the links of a row from the classes that there are before it."""
    begin: Threads = ((transitions.automaton.start, transitions.automaton.register),)
    row.links = {source: _link(source or begin, row, transitions, ordered) for source in (*before, NEW)}
    row.nodes = dict.fromkeys((link.to for link in row.links.values() if link.to is not None), 1)  # type: ignore[assignment,arg-type]


def _link(threads: Threads, row: Row, transitions: Transitions, ordered: Ordered) -> Link:
    """Let all threads of an attempt take a row, in order. What ends a match cuts off what is preferred less."""
    found: dict[tuple[str, Any], tuple[int, str]] = {}
    if row.event is None:
        return Link(None, (), None)
    payload, final = row.event[0], transitions.automaton.final
    for i, (state, register) in enumerate(threads):
        for name, arc, begin, end in ordered.of(state):
            if not begin <= row.le < end:
                continue
            after = transitions.consume(arc, payload, register, row.le)
            if after is None:
                continue
            if arc.dst in final:
                return Link(tuple(found) or None, tuple(found.values()), (i, name))
            found.setdefault((arc.dst, after), (i, name))
    return Link(tuple(found) or None, tuple(found.values()), None)
