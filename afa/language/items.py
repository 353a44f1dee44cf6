"""Items: the values of a match that predicates and RETURN read, each of which a field of the register can hold.

    first, last     a field of the first event that a component has taken; of the last one, or of the one so many before it
    min, max, sum   over the events that a component has taken, without those where the field is None
    count           of these events; of all where no field is named
    highest, lowest what a match has noted of the events that it skipped (`afa.language.later`); None: there were none

`read` writes predicates over items (avg is sum / count); `after` says what becomes of an item when an event is taken. An item is
one of a component, of several (a subset), or of all ("").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from afa.errors import AutomatonError
from afa.expression.nodes import Binary, Call, Const, Expr, FieldRead, If, IsNone, changed, walk
from afa.language.later import Noted
from afa.language.presence import Presence
from afa.language.terms import Aggregate, Classifier, Ref
from afa.schema import NAN, Schema


@dataclass(frozen=True, slots=True)
class Item(Expr):
    """A value of the match; ``now``: as it is when the event under test counts as well."""

    component: str
    kind: str  # "first", "last", "min", "max", "sum", "count", "highest", "lowest"
    field: str | None
    back: int = 0  # of "last"
    now: bool = False
    noted: Noted | None = None  # of "highest" and "lowest": of which events

    def __repr__(self) -> str:
        what = f"{self.kind}({self.field or ''})" + (f" back {self.back}" if self.back else "")
        if self.noted is not None:
            what = f"{self.kind} of what was skipped"
        return f"{self.component or 'any'}: {what}"

    def before(self) -> Item:
        """Return the item as it is when the event under test does not count yet."""
        return replace(self, now=False)

    @property
    def needs(self) -> int:
        """How many events the component must have taken for the item to be there."""
        return 0 if self.kind == "count" or self.noted is not None else self.back + 1


class ItemReader:
    """Writes terms as items.

    A name in ``groups`` stands for itself, for the components of a subset, or for all (""); ``most`` says how many events these
    take at most (2: two or more).
    """

    def __init__(
        self, event: Schema, groups: Mapping[str, frozenset[str]], most: Mapping[str, int], there: Presence | None = None
    ) -> None:
        self.there = Presence((), {}) if there is None else there
        self.types = {field.name: field for field in event.fields}
        self.event, self.groups, self.most = event, groups, most

    def read(self, expr: Expr) -> Expr:
        """Returns an expression over the event and items.

        Raises AutomatonError where a component or a field is unknown, or a sum is one of strings.
        """
        return changed(expr, self._read)

    def _read(self, expr: Expr) -> Expr | None:
        match expr:
            case Ref(component, which, field, back):
                self._check(component, field)
                if which == "first" and self.most[component] != 1:
                    return Item(component, "first", field)
                return Item(component, "last", field, back if which == "last" else 0)
            case Aggregate(component, function, field, now):
                return self._aggregate(component, function, field, now)
            case FieldRead("e", name):
                self._check("", name)
        return None

    def _aggregate(self, component: str, function: str, field: str | None, now: bool) -> Expr:
        self._check(component, field)
        if function == "count":
            optional = field is not None and self.types[field].optional
            return Item(component, "count", field if optional else None, now=now)
        if function in ("first", "last"):
            return Item(component, "last" if self.most[component] == 1 else function, field, now=now)
        if field is None:
            raise AutomatonError(f"expected {function}(..) of a field but got {function}({component})")
        if self.types[field].type is str and function in ("sum", "avg"):
            raise AutomatonError(f"expected a number to {function} but got {field}, a str of {self.event.cls.__name__}")
        if function != "avg":
            return Item(component, function, field, now=now)
        return Binary("/", Item(component, "sum", field, now=now), self._aggregate(component, "count", field, now))

    def _check(self, component: str, field: str | None) -> None:
        if component not in self.groups:
            known = ", ".join(name for name in self.groups if name)
            raise AutomatonError(f"expected one of the components {known} but got {component!r}")
        if field is not None and field not in self.types:
            names = ", ".join(self.types)
            raise AutomatonError(f"expected a field of {self.event.cls.__name__} but got {field!r}; its fields: {names}")

    # -- what becomes of an item --------------------------------------------------------------------------------------------

    def after(self, item: Item, taken: str, seen: bool) -> Expr:
        """Returns an item's value when a component, ``taken``, has taken the event.

        ``seen``: whether the item's component has taken events before; it counts for all kinds but "last".
        """
        if taken not in self.groups[item.component]:
            return item
        if item.kind == "last":
            return self._event(item) if not item.back else Item(item.component, "last", item.field, item.back - 1)
        if item.kind == "first":
            return item if seen else self._event(item)
        optional = self.optional(item) or (item.kind == "count" and item.field is not None)
        gone = IsNone(FieldRead("e", str(item.field)))
        if item.kind == "count":
            one = If(gone, Const(0), Const(1)) if optional else Const(1)
            return Binary("+", item, one) if seen else one
        new = self._event(item)
        if not seen:
            return new
        more = Binary("+", item, new) if item.kind == "sum" else Call(item.kind, (item, new))
        return If(gone, item, If(IsNone(item), new, more)) if optional else more

    def _event(self, item: Item) -> Expr:
        assert item.field is not None
        found = FieldRead("e", item.field)
        return Call("int", (found,)) if item.kind == "sum" and self.types[item.field].type is bool else found

    def type_of(self, item: Item) -> type | None:
        """Return the type of an item's values: a scalar, or None for objects."""
        if item.noted is not None:
            return item.noted.type
        kind = int if item.field is None else self.types[item.field].type
        return int if item.kind == "count" or (item.kind == "sum" and kind is bool) else kind

    def optional(self, item: Item) -> bool:
        """Return whether an item can be None though its component has taken enough events."""
        if item.noted is not None:
            return True
        if item.kind == "count" or item.field is None or not self.types[item.field].optional:
            return False
        return item.field not in self.there.fields_of(self.groups[item.component], item.kind == "first")


def items_of(expr: Expr) -> Iterator[Item]:
    """Yield the items that an expression reads."""
    return (node for node in walk(expr) if isinstance(node, Item))


def replaced(expr: Expr, change: Callable[[Item], Expr], last: str | None = None) -> Expr:
    """Return an expression with its items changed; ``last``: the component that took the last event."""

    def other(node: Expr) -> Expr | None:
        if isinstance(node, Classifier) and last is not None:
            return Const(last)
        return change(node) if isinstance(node, Item) else None

    return changed(expr, other)


# -- an item's value, event by event ----------------------------------------------------------------------------------------------


def begin_of(item: Item) -> Any:
    """Returns the internal value of an item before any event; see `value_of`."""
    return 0 if item.kind == "count" else () if item.kind == "last" else None


def step_of(item: Item) -> Callable[[Any, Any], Any]:
    """Returns the step from one internal value of an item to the next, by an event that the item counts."""
    name, kind = item.field, item.kind
    if name is None:
        return lambda part, payload: part + 1
    if kind == "last":
        return lambda part, payload: (*part, _one_nan(getattr(payload, name)))[-1 - item.back :]
    if kind == "first":
        return lambda part, payload: (_one_nan(getattr(payload, name)),) if part is None else part

    def step(part: Any, payload: Any) -> Any:
        new = getattr(payload, name)
        if new is None:
            return part
        if kind == "count":
            return part + 1
        if kind == "sum":
            new = int(new) if type(new) is bool else new
            return _one_nan(new if part is None else part + new)
        return _one_nan(new if part is None else (min if kind == "min" else max)(part, new))

    return step


def _one_nan(value: Any) -> Any:
    """Return a value that equals itself in sets."""
    return NAN if value != value else value


def value_of(item: Item, part: Any) -> Any:
    """Returns the value of an item by its internal value; None: no event has one."""
    if item.kind == "first":
        return None if part is None else part[0]
    if item.kind == "last":
        return part[0] if len(part) > item.back else None
    return part
