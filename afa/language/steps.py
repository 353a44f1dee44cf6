"""Steps: from which state to which a match goes by an event, what must hold, and what is known of the match on the way.

start -> states -> F, found by following each state's ways; for each state, how many events each component has taken at least.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from afa.expression.nodes import Compare, Const, Expr, FieldRead, If, IsNone, walk
from afa.language.items import Item, ItemReader, items_of, of_match, replaced
from afa.language.later import HIGHEST
from afa.language.match_states import WAITS, MatchState, Predicates
from afa.language.pattern import EMPTY_MATCH, UNMATCHED
from afa.language.positions import Successor
from afa.language.presence import implied
from afa.language.terms import OF_ROW, OfMatch
from afa.language.three_values import both, either, no, present, true, value

Counts = dict[str, int]


class StateStep(NamedTuple):
    """A way from a state by an event that a component takes. ``dst`` None: the match ends with it (or waits, `StateGraph.wait`)."""

    src: MatchState
    to: int
    dst: MatchState | None


class StateGraph:
    """All states and steps of a pattern; the start state is first, a complete match waits for its window's end in ``wait``."""

    def __init__(self, conditions: Predicates, reader: ItemReader, everywhere: bool = False) -> None:
        self.conditions, self.reader = conditions, reader
        self.names = [component.name for component in conditions.positions.components]
        self._everywhere = everywhere  # whether a match may end at any place
        self.states = conditions.states(-1, frozenset())
        self.steps: list[StateStep] = []
        known = set(self.states)
        for state in self.states:  # which grows
            found = [step for edge in conditions.ways(state) for step in self._by(state, edge)]
            self.steps += found
            new = dict.fromkeys(step.dst for step in found if step.dst is not None and step.dst not in known)
            known.update(new)
            self.states += new
        self._drop_dead_ends()
        self.wait = None if conditions.wait is None else MatchState(WAITS, frozenset(), conditions.wait)
        self.states += [] if self.wait is None else [self.wait]
        self._least = self._counted()

    def _by(self, src: MatchState, edge: Successor) -> list[StateStep]:
        conditions = self.conditions
        seen = conditions.seen_after(src.seen, edge.to)
        ends: list[MatchState | None] = [None] if self._everywhere or edge.to in conditions.positions.last else []
        return [StateStep(src, edge.to, dst) for dst in [*conditions.states(edge.to, seen), *ends]]

    def _drop_dead_ends(self) -> None:
        """Drop states from which no match ends."""
        alive: set[MatchState | None] = {None}
        while True:
            more = {step.src for step in self.steps if step.dst in alive} - alive
            if not more:
                break
            alive |= more
        self.steps = [step for step in self.steps if step.dst in alive]
        self.states = [self.states[0], *(state for state in self.states[1:] if state in alive)]

    def _counted(self) -> dict[MatchState, Counts]:
        """Return how many events each component has taken at least, by state."""
        names = set(self.reader.groups)
        top = 1 + max((item.needs for item in self.conditions.items), default=0)
        least = {state: dict.fromkeys(names, top) for state in self.states}
        least[self.states[0]] = dict.fromkeys(names, 0)
        changed = True
        while changed:
            changed = False
            for step in self.steps:
                dst = step.dst or self.wait
                if dst is None:
                    continue
                after = self.counts_after(step, least[step.src])
                here = least[dst]
                lower = {name: min(n, here[name], top) for name, n in after.items()}
                if lower != here:
                    least[dst], changed = lower, True
        return least

    def counts_after(self, step: StateStep, before: Counts) -> Counts:
        """Return the counts when the event of a step is taken."""
        taken, groups = self.names[step.to], self.reader.groups
        return {name: n + (taken in groups[name]) for name, n in before.items()}

    def absent(self, state: MatchState, leaf: Expr) -> bool:
        """Return whether a field or an item can be None where a match rests in a state."""
        if isinstance(leaf, Item):
            return self.reader.optional(leaf) or self._least[state][leaf.component] < leaf.needs
        field = self.reader.types.get(getattr(leaf, "name", ""))
        return field is not None and field.optional

    def absent_after(self, step: StateStep, leaf: Expr) -> bool:
        """Return whether a field or an item can be None once a step is taken: its fence says what is there."""
        if isinstance(leaf, FieldRead):
            asked = self.conditions.required(step.src.seen, step.to, known=True)
            return self.absent(step.src, leaf) and not any(leaf.name in implied(expr) for expr in asked)
        return self.absent(step.src, leaf)

    def after(self, step: StateStep, item: Item) -> Expr:
        """Return the value of an item when the event of a step is taken, over items as they are before."""
        if item.noted is not None:
            return Const(None) if step.src.position < 0 else item
        return self.reader.after(item, self.names[step.to], item.component in step.src.seen)

    def value_after(self, step: StateStep, expr: Expr) -> Expr:
        """Return an expression over items as they are when the event of a step is taken.

        A row that no match holds has no values but those of its columns, and what is made of them.
        """
        held = self.names[step.to] != UNMATCHED
        measured, expr = any(isinstance(node, OfMatch) for node in walk(expr)), of_match(expr, held)
        components = {item.component for item in items_of(expr)}
        if not held and not measured and components and OF_ROW not in components:
            return Const(None)
        return replaced(expr, lambda item: self.after(step, item), last=self.names[step.to])

    def fence(self, step: StateStep) -> Expr:
        """Returns the fence of a step: a two-valued expression over the event, and items as they are before it."""
        conditions, src = self.conditions, step.src
        parts = [*conditions.required(src.seen, step.to), *conditions.left(src.position, step.to)]
        if conditions.limit is not None and src.position >= 0:
            parts.append(conditions.limit)
        if step.dst is None:
            parts += [self.value_after(step, expr) for expr in (*conditions.done[step.to], *conditions.ended)]
        if self.names[step.to] not in (EMPTY_MATCH, UNMATCHED):
            parts += [*(conditions.begins if src.position < 0 else ()), *(conditions.ends if step.dst is None else ())]
        found = true(both(parts), lambda leaf: self.absent(src, leaf))
        return both([found, *(no(blocked) for blocked in self._blocked(step))])

    def _blocked(self, step: StateStep) -> Iterator[Expr]:
        """Yields conditions that hold if a match has skipped an event that must not lie before the event of a step."""
        for at, exprs in self.conditions.blocks:
            if (at is None and step.dst is None) or at == self.names[step.to]:
                yield true(both([self.value_after(step, expr) for expr in exprs]), lambda leaf: self.absent(step.src, leaf))

    def skipped(self, state: MatchState) -> Expr | None:
        """Returns the condition on an event that is skipped, in the form of `fence`. None: no event is skipped."""
        if state.skip is None:
            return None
        return both([self.not_true(state, expr) for expr in (*state.skip.takes, *state.skip.absent)])

    def not_true(self, state: MatchState, expr: Expr) -> Expr:
        """Return that a condition is not true of an event that comes in a state."""
        return no(true(expr, lambda leaf: self.absent(state, leaf)))

    def noted(self, state: MatchState, item: Item) -> Expr | None:
        """Returns the value of an item when an event has been skipped in a state; None: it does not change."""
        if state.skip is None or item not in state.skip.notes or item.noted is None:
            return None

        def absent(leaf: Expr) -> bool:
            return self.absent(state, leaf)

        new = value(item.noted.value, absent)
        number = [Compare("==", new, new)] if item.noted.type is float else []  # no NaN: no comparison by order holds of it
        further = either([IsNone(item), Compare(">" if item.kind == HIGHEST else "<", new, item)])
        there = present(item.noted.value, absent)
        return If(both([true(both([*item.noted.where]), absent), *there, *number, further]), new, item)
