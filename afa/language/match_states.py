"""States: where a match rests, and what it may skip there.

A state is a position, with what has been taken before where that counts, and with what the match skips while it waits: neighbours
of one position with different gaps make several states, among which a computation chooses when it takes the event. So a negation
after ``a+`` forbids events between the last a and b only: in one state the match waits for a further a, in the other for b.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from afa.expression.nodes import Compare, Const, Expr, Field
from afa.language.items import Item, Reader, items_of, replaced
from afa.language.pattern import NEXT, PARTITION, STRICT, Component, Gap
from afa.language.positions import Edge, Positions
from afa.language.three_values import both

START, FINAL = "start", "F"


class Skip(NamedTuple):
    """What a match skips while it waits: each event of which none of these predicates is true."""

    strategy: str
    takes: tuple[Expr, ...]
    absent: tuple[Expr, ...]


class State(NamedTuple):
    """A state.

    Parameters
    ----------
    position : int
        -1: the start state.
    seen : frozenset of str
        Which of the components that tell their first event from others have taken one.
    skip : Skip or None
        None: nothing is skipped.
    """

    position: int
    seen: frozenset[str]
    skip: Skip | None


class Conditions:
    """The predicates of a pattern's components over items.

    Attributes
    ----------
    told : set of str
        The components of which a state must say whether they have taken an event.
    """

    def __init__(self, positions: Positions, reader: Reader, type_column: str | None, returns: list[Expr]) -> None:
        self.positions, self.reader, self.type_column = positions, reader, type_column
        self.where = [self._read(c, c.where, typed=True) for c in positions.components]
        self.first = [self._read(c, c.first) for c in positions.components]
        self.rest = [self._read(c, c.rest) for c in positions.components]
        self.done = [self._read(c, c.done) for c in positions.components]
        absent = {c for edges in positions.edges for edge in edges for c in edge.gap.absent}
        self.absent = {c: self._read(c, c.where, typed=True) for c in absent}
        asked = [*self.where, *self.first, *self.rest, *self.done, *self.absent.values()]
        self.items = {replace(item, now=False) for exprs in [*asked, returns] for expr in exprs for item in items_of(expr)}
        self.told = {c.name for c in positions.components if c.first or c.rest}
        self.told |= {item.component for item in self.items if item.kind != "last"}
        self._later = [self._takable(p) for p in range(len(positions.components))]

    def _read(self, component: Component, exprs: tuple[Expr, ...], typed: bool = False) -> tuple[Expr, ...]:
        found = tuple(self.reader.read(expr) for expr in exprs)
        if typed and component.type is not None and self.type_column is not None:
            return (Compare("==", Field("e", self.type_column), Const(component.type)), *found)
        return found

    def _takable(self, position: int) -> frozenset[str]:
        """Return the components that may still take an event when one was taken at a position."""
        todo, reached = [position], set()
        while todo:
            for edge in self.positions.edges[todo.pop()]:
                if edge.to not in reached:
                    reached.add(edge.to)
                    todo.append(edge.to)
        return frozenset[str]().union(*(self.reader.counted[self.positions.components[p].name] for p in reached))

    def take(self, seen: frozenset[str], to: int) -> tuple[Expr, ...]:
        """Return what all must be true of an event that is taken at a position."""
        name = self.positions.components[to].name
        exprs = self.where[to] + (self.rest[to] if name in seen else self.first[to])

        def now(item: Item) -> Expr:
            before = replace(item, now=False)
            return self.reader.after(before, name, item.component in seen) if item.now else item

        return tuple(replaced(expr, now) for expr in exprs)

    def left(self, position: int, to: int) -> tuple[Expr, ...]:
        """Return what must be true of a component's events when another position follows."""
        names = [self.positions.components[p].name for p in (position, to)] if position >= 0 else ["", ""]
        return self.done[position] if names[0] != names[1] else ()

    def seen_after(self, seen: frozenset[str], to: int) -> frozenset[str]:
        """Return the components that count and have taken events when one was taken at a position."""
        return (seen | (self.told & self.reader.counted[self.positions.components[to].name])) & self._later[to]

    def edges(self, position: int) -> list[Edge]:
        """Return what may follow a position; -1: a match may begin with it."""
        if position < 0:
            return [Edge(to, Gap(STRICT), False) for to in self.positions.first]
        return self.positions.edges[position]

    def skip(self, position: int, seen: frozenset[str], edge: Edge) -> Skip | None:
        """Return what is skipped between a position and what follows it."""
        gap = edge.gap
        if gap.strategy in (STRICT, PARTITION) or position < 0:
            return None
        takes: tuple[Expr, ...] = ()
        if gap.strategy == NEXT:
            edges = self.positions.edges[position]
            edges = [edge for edge in edges if edge.again] or edges
            takes = tuple(dict.fromkeys(both([*self.take(seen, edge.to)]) for edge in edges))
        return Skip(gap.strategy, takes, tuple(both([*self.absent[c]]) for c in gap.absent))

    def states(self, position: int, seen: frozenset[str]) -> list[State]:
        """Return the states in which a match can rest at a position."""
        skips = dict.fromkeys(self.skip(position, seen, edge) for edge in self.edges(position))
        return [State(position, seen, skip) for skip in skips]

    def ways(self, state: State) -> list[Edge]:
        """Return what may follow a state."""
        edges = self.edges(state.position)
        return [edge for edge in edges if self.skip(state.position, state.seen, edge) == state.skip]
