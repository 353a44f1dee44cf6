"""Explain a query: what became of each part of it, and what it costs.

Under skip till any match each choice of events is a match of its own. Those that hold equal values are one partial match, so that a
repetition costs as much as the values differ that it has to hold:

    flat           nothing of what it takes is read later
    by value       a value of one event (last, first), the smallest, the largest, a count: as many partial matches as values
    exponential    a sum or a mean: every subset has its own; conditions on them wait for the match where they can (`postponed`)

Where a scan chooses (AFTER MATCH SKIP), attempts that hold equal values share all that becomes of them: a row costs as much as the
values differ that conditions read, *by start*.
"""

from __future__ import annotations

from typing import NamedTuple

from afa.expression.nodes import Expr
from afa.expression.text import text_of_expr
from afa.language.items import Item, items_of
from afa.language.lowering import Lowered
from afa.language.match_states import END, WAITS, MatchState
from afa.language.pattern import ANY, Tree, named_in
from afa.language.postponed import QueryPlan

NOT_ON_SPARK = (
    ", by .operator(): so flat holds of that only; on Spark (afa.spark.match) it is carried, by up to 2^n partial matches"
)
FLAT, BY_VALUE, EXPONENTIAL, BY_START = "flat", "by value", "exponential", "by start"


class StateExplanation(NamedTuple):
    """A state: where a match rests, by which strategy it waits, what it skips, what it holds."""

    name: str
    strategy: str
    skips: str | None
    holds: tuple[str, ...]

    def __str__(self) -> str:
        skips = "skips nothing" if self.skips is None else f"skips by {self.strategy}: {self.skips}"
        if self.strategy == END:
            skips = f"waits for {END}, skips {self.skips}"
        return f"state {self.name}: {skips}; holds {', '.join(self.holds) or 'nothing'}"


class FieldExplanation(NamedTuple):
    """A field of the register: what it holds on the way, and whether a match shows it."""

    name: str
    type: str
    holds: str | None
    shown: bool

    def __str__(self) -> str:
        return f"field {self.name}: {self.type}" + (f", {self.holds}" if self.holds else "") + (", shown" if self.shown else "")


class Cost(NamedTuple):
    """What a repetition costs, under skip till any match or in a scan that chooses, and the conditions that make it so."""

    component: str
    kind: str
    why: tuple[str, ...]

    def __str__(self) -> str:
        if self.kind == BY_START:
            read = "; ".join(self.why)
            return f"cost of {self.component}: one partial match for each value that open attempts hold, as read by {read}"
        what = {
            FLAT: "flat: nothing of what it takes is read later",
            BY_VALUE: "one partial match for each value that it holds",
            EXPONENTIAL: "exponential: every choice of events has its own sum",
        }[self.kind]
        said = f"cost of {self.component} under any: {what}" + (f", as read by {'; '.join(self.why)}" if self.why else "")
        if self.kind != EXPONENTIAL:
            return said
        return f"{said}; a condition on what a whole match has taken can wait: leave it out, and say it to the operator as having="


class QueryExplanation(NamedTuple):
    """What became of a query; ``print`` shows it."""

    states: tuple[StateExplanation, ...]
    register: tuple[FieldExplanation, ...]
    costs: tuple[Cost, ...]
    warnings: tuple[str, ...]
    back: str | None = None
    waits: str | None = None
    types: str | None = None

    def __str__(self) -> str:
        warnings = [f"warning: {warning}" for warning in self.warnings]
        back = [] if self.back is None else [f"in front of the operator: {self.back}"]
        waits = [] if self.waits is None else [f"waits for the match: {self.waits}"]
        types = [] if self.types is None else [f"types: {self.types}"]
        return "\n".join(
            [*back, *map(str, self.states), *map(str, self.register), *types, *map(str, self.costs), *waits, *warnings]
        )


def explained(made: QueryPlan) -> QueryExplanation:
    """Explain what a tree became, and what waits for the match."""
    lowered = made.lowered
    steps, names = lowered.steps, lowered.names
    states = [_state(lowered, state) for state in steps.states[1:]]
    fields = [_field(lowered, i) for i in range(len(lowered.registers.slots))]
    if lowered.automaton.choice is not None:  # what its matches show is no register of partial matches
        for field in lowered.automaton.match_schema.fields:
            kind = (field.type.__name__ if field.type else "Any") + (" | None" if field.optional else "")
            fields.append(FieldExplanation(field.name, kind, None, True))
    costs = {}
    for state in steps.states[1:]:
        found = _cost(lowered, state)
        if found is not None:
            costs[names[state]] = found
    warnings, back = tuple(_warnings(lowered)), lowered.back
    said = None if back is None else str(back)
    held = made.waiting
    waits = None if held is None else f"{held.text}; asked of the paths of each match, within {held.budget:,} steps{NOT_ON_SPARK}"
    return QueryExplanation(
        tuple(states), tuple(fields), tuple(dict.fromkeys(costs.values())), warnings, said, waits, _types(lowered.tree)
    )


def _types(tree: Tree) -> str | None:
    """Return of which type each component is; None: events have no type."""
    if tree.type_column is None:
        return None
    said = [(each.name, each.type) for each in named_in((*tree.before, tree.pattern, *tree.after))]
    return ", ".join(f"{name} is any event" if kind is None else f"{name} is {kind!r}" for name, kind in said)


def _state(lowered: Lowered, state: MatchState) -> StateExplanation:
    registers = lowered.registers
    skip = registers.skips[state]
    held = [slot.name for slot in registers.slots if slot.item is not None and slot.item in registers.live[state]]
    text = None if skip is None else text_of_expr(registers.written(skip))
    noted = [registers.name_of(item) for item in (state.skip.notes if state.skip else ()) if item in registers.live[state]]
    if text is not None and noted:
        text = f"{'everything' if text == 'True' else text}; notes {', '.join(noted)}"
    strategy = state.skip.strategy if state.skip else "contiguity"
    return StateExplanation(lowered.names[state], strategy, "everything" if text == "True" else text, tuple(held))


def _field(lowered: Lowered, i: int) -> FieldExplanation:
    slot = lowered.registers.slots[i]
    kind = (slot.type.__name__ if slot.type else "Any") + (" | None" if slot.optional else "")
    return FieldExplanation(slot.name, kind, None if slot.item is None else repr(slot.item), slot.value is not None)


def _cost(lowered: Lowered, state: MatchState) -> Cost | None:
    """Returns the cost of the repetition in which a match rests; None: no repetition under any, or one that attempts share."""
    if state.position == WAITS:
        return None
    conditions, registers = lowered.conditions, lowered.registers
    component = conditions.positions.components[state.position].name
    if lowered.automaton.choice is not None:
        held = {item for item in registers.live[state] if item != Item("", "last", item.field)}  # all share the row before
        held = held if _repeats(lowered, state) else set()
        return Cost(component, BY_START, tuple(_readers(lowered, held))) if held else None
    loops = [step for step in lowered.steps.steps if step.src == step.dst == state]
    if not loops or not any(edge.to == state.position and edge.gap.strategy == ANY for edge in conditions.ways(state)):
        return None
    moved = {item for item in registers.live[state] if any(lowered.steps.after(step, item) != item for step in loops)}
    sums = {item for item in moved if item.kind == "sum"}
    kind = EXPONENTIAL if sums else BY_VALUE if moved else FLAT
    return Cost(component, kind, tuple(_readers(lowered, sums or moved)))


def _readers(lowered: Lowered, items: set[Item]) -> list[str]:
    """Return the conditions, and the names of RETURN, that read one of these items."""
    conditions = lowered.conditions
    asked = [*conditions.where, *conditions.first, *conditions.rest, *conditions.done, *conditions.absent.values()]
    asked += [exprs for _, exprs in conditions.blocks]
    found = [lowered.registers.text(expr) for exprs in asked for expr in exprs if items & _read(expr)]
    found += [f"RETURN {name}" for name, value in lowered.registers.returns if items & _read(value)]
    return list(dict.fromkeys(found))


def _read(expr: Expr) -> set[Item]:
    return {item.before() for item in items_of(expr)}


def _warnings(lowered: Lowered) -> list[str]:
    repeats = any(step.src == step.dst for step in lowered.steps.steps)
    found = [*lowered.tree.notes]
    if lowered.tree.order is None and lowered.tree.ties and repeats:
        found.append(
            "events of one instant are alternatives, of which a match takes one: a repetition over many of them has as many "
            "matches as there are choices; order_by= names the field that puts them in order"
        )
    open_for_ever = dict.fromkeys(
        lowered.conditions.positions.components[state.position].name
        for state in lowered.steps.states[1:]
        if state.position != WAITS and _repeats(lowered, state)
    )
    if lowered.tree.window is None and lowered.automaton.choice is not None:
        long = f" ({', '.join(open_for_ever)} may take any number)" if open_for_ever else ""
        found.append(
            "without WITHIN a match never expires: an attempt lies open as long as each row that comes is one that it can take"
            f"{long}, and from its first row on all are held; no match is final before the last watermark"
        )
    elif lowered.tree.window is None:
        found.append("without WITHIN a match never expires: what has begun is held for ever")
    return found


def _repeats(lowered: Lowered, state: MatchState) -> bool:
    """Return whether a match can come back to a state, so that rows without a bound may be taken."""
    return state.position in lowered.conditions.positions.behind([state.position])
