"""Registers: which items a match holds in each state, in which fields, and what RETURN shows.

An item is live in a state if something on the way from there reads it before it is written anew; elsewhere its field has its
initial value, so that matches with equal futures are one partial match. RETURN's fields stand first and alone are shown; a field of
RETURN that is an item of the match holds it on the way.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from afa.errors import AutomatonError
from afa.expression.nodes import Const, Expr, FieldRead, Make
from afa.expression.text import text_of_expr
from afa.expression.types import types_of
from afa.language.items import ZEROS, Item, items_of, of_match, of_one_type, replaced
from afa.language.match_states import MatchState
from afa.language.payload_classes import made
from afa.language.steps import StateGraph, StateStep
from afa.language.terms import Ref
from afa.language.three_values import missing, nullable
from afa.schema import Schema


class RegisterField(NamedTuple):
    """A field of the register."""

    name: str
    type: type | None  # None: any value
    optional: bool
    item: Item | None  # what it holds on the way
    value: Expr | None  # RETURN's value, over items; None: it is not shown

    @property
    def initial(self) -> Any:
        """The value of the field where it holds nothing."""
        counts = self.item is not None and self.item.kind == "count"  # 0, also where a row that no match holds shows None
        return None if (self.optional and not counts) or self.type is None else ZEROS[self.type]


class Running(NamedTuple):
    """What a query keeps to that takes the place of another one in a running operator."""

    names: frozenset[str] = frozenset()  # that no state may have: there partial matches lack what it needs
    fields: tuple[RegisterField, ...] = ()  # that the register has, whether it needs them or not


FRESH = Running()


class Registers:
    """The register of a query; ``shown`` is the class of payloads.

    ``asks``: whether it holds what conditions read. ``optional``: RETURN's values that may be None, whatever the states say.
    ``kept``: fields that it has, whether one reads them or not. ``payload``: the name of what is shown, its times and its dates.
    """

    def __init__(
        self,
        steps: StateGraph,
        returns: tuple[tuple[str, Expr], ...],
        payload: tuple[str, tuple[str, ...], tuple[str, ...]],
        asks: bool = True,
        optional: Collection[str] = (),
        kept: Collection[RegisterField] = (),
    ) -> None:
        _check_names(returns)
        self._more = {field.item: field for field in kept}
        self.steps, self.returns, self._asks, self._may_lack = steps, returns, asks, optional
        self.fences = {step: steps.fence(step) for step in steps.steps}
        self.skips = {state: steps.skipped(state) for state in steps.states}
        self.live = self._live()
        self.fields: dict[Item, FieldRead] = {}
        self.slots = self._slots()
        self.fields = {slot.item: FieldRead("r", slot.name) for slot in self.slots if slot.item is not None}
        fields = tuple((slot.name, slot.type, slot.optional) for slot in self.slots)
        name, times, dates = payload
        self.shown = made(name, fields[: len(returns)], times, dates)
        whole = self.shown if len(fields) == len(returns) else made("Register", fields)
        self.initial = whole(*(slot.initial for slot in self.slots))
        self.schema = Schema.of(whole, "register")

    # -- which items are held where -----------------------------------------------------------------------------------------

    def _live(self) -> dict[MatchState, set[Item]]:
        live: dict[MatchState, set[Item]] = {state: set() for state in self.steps.states}
        for state, skip in self.skips.items():
            live[state] |= set() if skip is None else set(items_of(skip))
        for step, fence in self.fences.items():
            live[step.src] |= set(items_of(fence)) if self._asks else set()
            if step.dst is None:
                live[step.src] |= {item for _, value in self.returns for item in items_of(self.steps.value_after(step, value))}
        updates = {(state, item): self.steps.noted(state, item) for state in live if state.skip for item in state.skip.notes}
        if self.steps.wait is not None:
            live[self.steps.wait] |= set(items_of(self.deadline))
        changed = True
        while changed:
            changed = False
            for step in self.steps.steps:
                held = live.get(step.dst or self.steps.wait, ())  # type: ignore[arg-type]
                read = {inner for item in held for inner in items_of(self.steps.after(step, item))}
                if not read <= live[step.src]:
                    live[step.src] |= read
                    changed = True
            for (state, item), update in updates.items():
                read = set(items_of(update)) if update is not None and item in live[state] else set()
                if not read <= live[state]:
                    live[state] |= read
                    changed = True
        return live

    # -- fields --------------------------------------------------------------------------------------------------------------

    def _slots(self) -> list[RegisterField]:
        live = set().union(*self.live.values())
        held = sorted({*live, *(item for item in self._more if item is not None)}, key=self._order)
        types = self._temporary([item for item in held if item in live])
        left, slots = list(held), []
        for name, value in self.returns:
            kind, value = self._typed(value, types)
            item = value if isinstance(value, Item) and value in left else None
            optional = name in self._may_lack or any(self._gone(step, value) for step in self.steps.steps if step.dst is None)
            if item is not None:
                left.remove(item)
                optional = optional or self._optional(item)
            slots.append(RegisterField(name, kind, optional, item, value))
        taken = {slot.name for slot in slots}
        for item in left:
            name = self.name_of(item)
            while name in taken:
                name += "_"
            taken.add(name)
            if item in live:
                slots.append(RegisterField(name, self.steps.reader.type_of(item), self._optional(item), item, None))
            else:
                slots.append(self._more[item])
        return slots

    def _order(self, item: Item) -> tuple[Any, ...]:
        names = [*self.steps.reader.groups]
        fields = [None, *self.steps.reader.types]
        place = names.index(item.component) if item.component in names else len(names)
        of = [(fields.index(each) if each in fields else len(fields), each or "") for each in (item.field, item.by)]
        return place, item.component, item.kind, of, item.back

    def name_of(self, item: Item) -> str:
        """Return the name of an item's field, where it has one of its own."""
        if item in self.fields:
            return self.fields[item].name
        component = item.component.lstrip("_") or "match"
        field = re.sub(r"\W+", "_", item.field).strip("_") if item.field else ""  # a virtual one is an expression
        if item.kind == "last" and not item.back and (not item.component or self.steps.reader.most[item.component] == 1):
            return f"{component}_{field}"
        kind = item.kind + (str(item.back + 1) if item.back else "")
        return "_".join(filter(None, (component, kind, field, item.by and re.sub(r"\W+", "_", item.by).strip("_"))))

    def _optional(self, item: Item) -> bool:
        """Return whether an item is None in some state in which it is held."""
        return any(item in held and self.steps.absent(state, item) for state, held in self.live.items())

    def _gone(self, step: StateStep, value: Expr) -> bool:
        after = self.steps.value_after(step, value)
        return missing(after, lambda leaf: self.steps.absent_after(step, leaf)) is not None

    def _temporary(self, held: list[Item]) -> dict[Item, FieldRead]:
        """Return a field for each item that RETURN names: for their types."""
        items = dict.fromkeys([*held, *(item for _, value in self.returns for item in items_of(value))])
        reader = self.steps.reader
        fields = {item: FieldRead("r", f"f{i}") for i, item in enumerate(items)}
        self._types = Schema.of(made("Types", tuple((f.name, reader.type_of(i), False) for i, f in fields.items())), "register")
        return fields

    def _typed(self, value: Expr, fields: dict[Item, FieldRead]) -> tuple[type | None, Expr]:
        """Return the type of RETURN's value, and the value as one of this type."""
        mapped = replaced(of_match(value), fields.__getitem__, last="")
        return of_one_type(value, types_of(mapped, self.steps.reader.event, self._types))

    @property
    def deadline(self) -> Item:
        """The time of the first event, where a match waits for its window's end."""
        at = self.steps.reader.event.instant
        assert at is not None
        found = self.steps.reader.read(Ref("", "first", at))
        assert isinstance(found, Item)
        return found

    def reset(self) -> Make | None:
        """Returns the register of a match that has waited, with no more in it than the match shows. None: it has no more."""
        items = tuple(FieldRead("r", s.name) if s.value is not None else Const(s.initial) for s in self.slots)
        others = [slot for slot in self.slots if slot.value is None and slot.item != self.deadline]
        return Make(items) if others else None

    # -- what a step makes of the register -----------------------------------------------------------------------------------

    def after(self, step: StateStep) -> Make:
        """Return the register behind a step, over the event and the register."""
        items, dst = [], step.dst or self.steps.wait
        for slot in self.slots:
            if step.dst is None and slot.value is not None:
                found = self._shown(step, slot.value)
            elif dst is not None and slot.item is not None and slot.item in self.live[dst]:
                found = self.steps.after(step, slot.item)
                found = found if self.steps.reader.is_plain(slot.item) else self._two_valued(step, found)
            else:
                found = Const(slot.initial)
            if found == Const(slot.initial) and (slot.item is None or slot.item not in self.live[step.src]):
                found = FieldRead("r", slot.name)  # which has it already
            items.append(self.written(found))
        return Make(tuple(items))

    def noted(self, state: MatchState) -> Make | None:
        """Return the register when an event has been skipped in a state; None: it is what it was."""
        notes = state.skip.notes if state.skip else ()
        found = {item: self.steps.noted(state, item) for item in notes if item in self.live[state]}
        if not found:
            return None
        items = [FieldRead("r", slot.name) if slot.item is None else found.get(slot.item) for slot in self.slots]
        return Make(
            tuple(FieldRead("r", slot.name) if item is None else self.written(item) for slot, item in zip(self.slots, items))
        )

    def _shown(self, step: StateStep, value: Expr) -> Expr:
        return self._two_valued(step, self.steps.value_after(step, value))

    def _two_valued(self, step: StateStep, value: Expr) -> Expr:
        return nullable(value, lambda leaf: self.steps.absent_after(step, leaf))

    def written(self, expr: Expr) -> Expr:
        """Return an expression with the fields of the register in place of items."""
        return replaced(expr, self.fields.__getitem__)

    def text(self, expr: Expr) -> str:
        """Returns a condition as text, its items by the names of their fields."""
        return text_of_expr(replaced(expr, lambda item: FieldRead("r", self.name_of(item))))


def _check_names(returns: tuple[tuple[str, Expr], ...]) -> None:
    names = [name for name, _ in returns]
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise AutomatonError(f"expected a name for what RETURN shows (letters, digits, _; not the first) but got {name!r}")
        if names.count(name) > 1:
            raise AutomatonError(f"expected each name once in RETURN but got {name!r} {names.count(name)} times; say AS another")
