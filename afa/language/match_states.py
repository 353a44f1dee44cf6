"""States: where a match rests, and what it may skip there.

A state is a position, with what has been taken before where that counts, and with what the match skips while it waits: neighbours
of one position with different gaps make several states, among which a computation chooses when it takes the event. So a negation
after ``a+`` forbids events between the last a and b only: in one state the match waits for a further a, in the other for b.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from afa.errors import AutomatonError
from afa.expression.nodes import Binary, Compare, Const, Expr, FieldRead
from afa.expression.types import NONE, NUMBERS, TEXTS, types_of
from afa.language.items import Item, ItemReader, items_of, replaced
from afa.language.later import Later, Noted, earlier
from afa.language.pattern import NEXT, PARTITION, STRICT, Component, Gap, Tree
from afa.language.positions import Positions, Successor
from afa.language.terms import Ref
from afa.language.three_values import both

START, FINAL, WAIT = "start", "F", "wait"
END = "the window's end"
"""In the place of a strategy: what a complete match waits for."""
WAITS = -2
"""The position of a match that is complete, and waits for its window's end."""


class Skip(NamedTuple):
    """What a match skips while it waits: each event of which none of these predicates is true; and what it notes of them."""

    strategy: str
    takes: tuple[Expr, ...]
    absent: tuple[Expr, ...]
    notes: tuple[Item, ...] = ()


class Prohibition(NamedTuple):
    """What must not be true when ``at`` has taken its event (None: when the match ends), for what was noted."""

    at: str | None
    exprs: tuple[Expr, ...]


class MatchState(NamedTuple):
    """A state."""

    position: int  # -1: the start state; or `WAITS`
    seen: frozenset[str]  # which of the components that tell their first event from others have taken one
    skip: Skip | None  # None: nothing is skipped


class Predicates:
    """The predicates of a pattern's components over items.

    ``told`` are the components of which a state must say whether they have taken an event; all of ``ended`` must be true when the
    match has its last event. ``asks``: whether they are asked; else items are those of ``returns``.
    """

    def __init__(
        self, tree: Tree, positions: Positions, reader: ItemReader, returns: list[Expr], ended: list[Expr], asks: bool = True
    ) -> None:
        self.positions, self.reader, self.type_column = positions, reader, tree.type_column
        self.where = [self._read(c, c.where, typed=True) for c in positions.components]
        self.first = [self._read(c, c.first) for c in positions.components]
        self.rest = [self._read(c, c.rest) for c in positions.components]
        self.done = [self._read(c, c.done) for c in positions.components]
        absent = dict.fromkeys(c for edges in positions.edges for edge in edges for c in edge.gap.absent)
        self.notes: dict[Component, Item] = {}
        self.blocks: list[Prohibition] = []
        later = [found for found in (Later.of(c, self._behind(c)) for c in absent) if found is not None]
        for found in later:
            self._note(found)
        self.absent = {c: self._read(c, c.where, typed=True) for c in [*absent, *tree.after] if c not in self.notes}
        self.wait = Skip(END, (), tuple(both([*self.absent[c]]) for c in tree.after)) if tree.after else None
        self.limit = self._limit(tree)
        asked = [*self.where, *self.first, *self.rest, *self.done, *self.absent.values()]
        self.ended = ended
        self.begins, self.ends = (tuple(map(reader.read, exprs)) for exprs in (tree.begins, tree.ends))
        asked += [tuple(ended), () if self.limit is None else (self.limit,), *(each.exprs for each in self.blocks)]
        asked += [(noted.value, *noted.where) for noted in (item.noted for item in self.notes.values()) if noted is not None]
        asked = [*(asked if asks else ()), tuple(returns)]
        self.items = {replace(item, now=False) for exprs in asked for expr in exprs for item in items_of(expr)}
        self.told = {c.name for c in positions.components if c.first or c.rest}
        self.told |= {item.component for item in self.items if item.kind != "last" and item.noted is None}
        self._later = [self._takable(p) for p in range(len(positions.components))]

    def _read(self, component: Component, exprs: tuple[Expr, ...], typed: bool = False) -> tuple[Expr, ...]:
        found = tuple(self.reader.read(expr) for expr in exprs)
        if typed and component.type is not None and self.type_column is not None:
            return (Compare("==", FieldRead("e", self.type_column), Const(component.type)), *found)
        return found

    def _behind(self, absent: Component) -> frozenset[str]:
        """Return the names of which all events come behind those that an absent component must not take."""
        groups = self.reader.groups
        return frozenset(groups) - earlier(absent, self.positions, groups) - {""}

    def _note(self, later: Later) -> None:
        """Let a match note what conditions of an absent component on later ones must know, and ask them then."""
        component, reader = later.component, self.reader
        value = reader.read(later.bounds[0].value)
        plain = replaced(value, lambda item: Const((reader.type_of(item) or object)()))
        types = types_of(plain, reader.event, reader.event) - {NONE}
        if len(types) != 1 or not types <= NUMBERS | TEXTS:
            got = ", ".join(sorted(each.__name__ for each in types)) or "None"
            raise AutomatonError(
                f"expected a value of one type, a number or a str, of the absent {component.name} to compare with what comes after "
                f"it but got {got}"
            )
        noted = Noted(value, self._read(component, later.early, typed=True), next(iter(types)))
        item = self.notes[component] = Item(component.name, later.kind, None, noted=noted)
        names = [c.name for c in self.positions.components]
        once = [name for name in later.names if len(later.names) == 1 and name in names and reader.most[name] == 1]
        exprs = tuple(Compare(each.op, item, reader.read(each.other)) for each in later.bounds)
        self.blocks.append(Prohibition(once[0] if once else None, exprs))

    def _limit(self, tree: Tree) -> Expr | None:
        """Says that an event lies in the window, where the operator's is longer, as what is absent behind the match asks."""
        if not tree.after:
            return None
        if tree.window is None:
            raise AutomatonError("expected a window (WITHIN) for a negation at the end: it says until when nothing may come")
        at = self.reader.event.instant
        if at is None:
            name = tree.event.__name__
            raise AutomatonError(
                f"expected a field annotated afa.Instant in {name} for a negation at the end, which reads the time of the first "
                f"event: write at: afa.Instant | None = None in {name}"
            )
        return Compare("<", Binary("-", FieldRead("e", at), self.reader.read(Ref("", "first", at))), Const(tree.window))

    def _takable(self, position: int) -> frozenset[str]:
        """Return the components that may still take an event when one was taken at a position."""
        return self._holding(self.positions.components[p].name for p in self.positions.behind([position]))

    def _holding(self, components: Iterable[str]) -> frozenset[str]:
        """Return the names that stand for one of these components."""
        names = set(components)
        return frozenset(name for name, members in self.reader.groups.items() if members & names)

    def required(self, seen: frozenset[str], to: int, known: bool = False) -> tuple[Expr, ...]:
        """Returns the conditions on an event that is taken at a position.

        ``known``: but those on what counts with the event, of components of which ``seen`` does not tell.
        """
        name = self.positions.components[to].name
        exprs = self.where[to] + (self.rest[to] if name in seen else self.first[to])
        if known:
            exprs = tuple(e for e in exprs if not any(item.now and item.component not in self.told for item in items_of(e)))

        def now(item: Item) -> Expr:
            before = replace(item, now=False)
            return self.reader.after(before, name, item.component in seen) if item.now else item

        return tuple(replaced(expr, now) for expr in exprs)

    def left(self, position: int, to: int) -> tuple[Expr, ...]:
        """Returns the conditions on a component's events when another position follows."""
        names = [self.positions.components[p].name for p in (position, to)] if position >= 0 else ["", ""]
        return self.done[position] if names[0] != names[1] else ()

    def seen_after(self, seen: frozenset[str], to: int) -> frozenset[str]:
        """Return the components that count and have taken events when one was taken at a position."""
        return (seen | (self.told & self._holding([self.positions.components[to].name]))) & self._later[to]

    def edges(self, position: int) -> list[Successor]:
        """Returns the positions that may follow one; of -1 those with which a match may begin."""
        if position < 0:
            return [Successor(to, Gap(STRICT), False) for to in self.positions.first]
        return self.positions.edges[position]

    def skip(self, position: int, seen: frozenset[str], edge: Successor) -> Skip | None:
        """Returns how events are skipped between a position and the next one; None: none are."""
        gap = edge.gap
        if gap.strategy in (STRICT, PARTITION) or position < 0:
            return None
        takes: tuple[Expr, ...] = ()
        if gap.strategy == NEXT:
            edges = self.positions.edges[position]
            edges = [edge for edge in edges if edge.again] or edges
            takes = tuple(dict.fromkeys(both([*self.required(seen, edge.to)]) for edge in edges))
        absent = tuple(both([*self.absent[c]]) for c in gap.absent if c not in self.notes)
        return Skip(gap.strategy, takes, absent, tuple(self.notes[c] for c in gap.absent if c in self.notes))

    def states(self, position: int, seen: frozenset[str]) -> list[MatchState]:
        """Return the states in which a match can rest at a position."""
        skips = dict.fromkeys(self.skip(position, seen, edge) for edge in self.edges(position))
        return [MatchState(position, seen, skip) for skip in skips]

    def ways(self, state: MatchState) -> list[Successor]:
        """Returns the positions that may follow a state."""
        edges = self.edges(state.position)
        return [edge for edge in edges if self.skip(state.position, state.seen, edge) == state.skip]
