"""Items: the values of a match that predicates and RETURN read, each of which a field of the register can hold.

    first, last     a field of the first event that a component has taken, or of the one so many behind it; of the last one, or of
                    the one so many before it
    min, max, sum   over the events that a component has taken, without those where the field is None
    count           of these events; of all where no field is named
    any             the first value that is there
    max_by, min_by  a field of the first event with the largest, smallest value of another field
    highest, lowest what a match has noted of the events that it skipped (`afa.language.later`); None: there were none

`read` writes predicates over items (avg is sum / count); `after` says what becomes of an item when an event is taken. An item is
one of a component, of several (a subset), or of all (""). A field may be virtual, an expression over one event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from afa.errors import AutomatonError
from afa.expression.nodes import Binary, Call, Compare, Const, Expr, FieldRead, If, IsNone, changed, walk
from afa.expression.types import NONE, NUMBERS, Types, types_of
from afa.language.later import Noted
from afa.language.pattern import NO_ROW
from afa.language.presence import Presence
from afa.language.terms import Aggregate, Classifier, OfMatch, Ref, Unseen
from afa.language.three_values import both, either, missing, no
from afa.schema import NAN, Field, Schema


@dataclass(frozen=True, slots=True)
class Item(Expr):
    """A value of the match; ``now``: as it is when the event under test counts as well."""

    component: str
    kind: str  # "first", "last", "min", "max", "sum", "count", "any", "max_by", "min_by", "highest", "lowest"
    field: str | None
    back: int = 0  # of "last"; of "first" how many behind it
    now: bool = False
    noted: Noted | None = None  # of "highest" and "lowest": of which events
    by: str | None = None  # of "max_by" and "min_by"

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


ZEROS: dict[type | None, Any] = {int: 0, float: 0.0, bool: False, str: ""}


def of_one_type(value: Expr, types: Types) -> tuple[type | None, Expr]:
    """Returns the type of a value that can have these (None: any), and the value as one of this type."""
    types -= {NONE}
    kind: type | None = (
        next(iter(types), int) if len(types) < 2 else (float if float in types else int) if types <= NUMBERS else None
    )
    kind = kind if kind in ZEROS else None
    value = changed(value, lambda node: Const(ZEROS.get(kind)) if isinstance(node, Unseen) else None)
    return kind, value if kind is None or len(types) < 2 else Call(kind.__name__, (value,))


def _named(value: Expr, taken: str) -> Expr:
    """Return the value of a virtual field of an event that a component takes."""
    return changed(value, lambda node: Const(taken) if isinstance(node, Classifier) else None)


def _there(value: Expr) -> Expr:
    """Return a value where it is known not to be None: of a choice between it and None the other one."""
    match value:
        case If(_, Const(None), there) | If(_, there, Const(None)):
            return _there(there)
    return value


class ItemReader:
    """Writes terms as items.

    A name in ``groups`` stands for itself, for the components of a subset, or for all (""); ``most`` says how many events these
    take at most (2: two or more); ``virtual``: fields that are expressions over one event.
    """

    def __init__(
        self,
        event: Schema,
        groups: Mapping[str, frozenset[str]],
        most: Mapping[str, int],
        there: Presence | None = None,
        virtual: Iterable[tuple[str, Expr]] = (),
    ) -> None:
        self.there = Presence((), {}) if there is None else there
        self.types = {field.name: field for field in event.fields}
        self.event, self.groups, self.most = event, groups, most
        self._virtual: dict[str, Expr] = {}
        for name, value in virtual:
            kind, value = of_one_type(value, types_of(_named(value, ""), event, event))
            self._virtual[name], self.types[name] = value, Field(name, kind, missing(value, self._lacks) is not None)

    def read(self, expr: Expr) -> Expr:
        """Returns an expression over the event and items.

        Raises AutomatonError where a component or a field is unknown, or a sum is one of strings.
        """
        return changed(expr, self._read)

    def _read(self, expr: Expr) -> Expr | None:
        match expr:
            case Ref(component, which, field, back):
                self._check(component, field)
                if which == "first" and (self.most[component] != 1 or back):
                    return Item(component, "first", field, back)
                return Item(component, "last", field, back)
            case Aggregate(component, function, field, now, by):
                self._check(component, by)
                return self._aggregate(component, function, field, now, by)
            case FieldRead("e", name):
                self._check("", name)
                return self._virtual.get(name)
        return None

    def _aggregate(self, component: str, function: str, field: str | None, now: bool, by: str | None = None) -> Expr:
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
            return Item(component, function, field, now=now, by=by)
        return Binary("/", Item(component, "sum", field, now=now), self._aggregate(component, "count", field, now))

    def _check(self, component: str, field: str | None) -> None:
        if component not in self.groups:
            known = ", ".join(name for name in self.groups if name)
            raise AutomatonError(f"expected one of the components {known} but got {component!r}")
        if field is not None and field not in self.types:
            raise AutomatonError(f"expected a field of {self.event.cls.__name__} but got {field!r}; {self.event.hint(field)}")

    # -- what becomes of an item --------------------------------------------------------------------------------------------

    def is_plain(self, item: Item) -> bool:
        """Return whether `after` gives a two-valued expression: no field of the item is virtual."""
        return item.field not in self._virtual and item.by not in self._virtual

    def after(self, item: Item, taken: str, seen: bool) -> Expr:
        """Returns an item's value when a component, ``taken``, has taken the event: one of three values.

        ``seen``: whether the item's component has taken events before; it counts for all kinds but "last".
        """
        if taken not in self.groups[item.component]:
            return item
        if item.kind == "last":
            return self._event(item, taken) if not item.back else Item(item.component, "last", item.field, item.back - 1)
        if item.kind == "first":
            new = self._event(item, taken) if seen or not item.back else Const(None)
            if item.back and seen:  # the event is the one that counts if so many have been taken before it
                return If(Compare("==", Item(item.component, "count", None), Const(item.back)), new, item)
            return item if seen else new
        if item.by is not None:
            return self._by(item, taken, seen)
        optional = self.optional(item) or (item.kind == "count" and item.field is not None)
        gone = self._gone(item.field, taken) if optional else None
        if item.kind == "count":
            one = If(gone, Const(0), Const(1)) if gone is not None else Const(1)
            return Binary("+", item, one) if seen else one
        new = self._event(item, taken)
        if not seen:
            return new
        if item.kind == "any":
            return If(IsNone(item), new, item) if optional else item
        new = new if gone is None else _there(new)
        more = Binary("+", item, new) if item.kind == "sum" else Call(item.kind, (item, new))
        return If(gone, item, If(IsNone(item), new, more)) if gone is not None else more

    def _by(self, item: Item, taken: str, seen: bool) -> Expr:
        """Return the value of "max_by" or "min_by" when an event is taken that may be the largest, or smallest, so far."""
        assert item.by is not None
        new, gone = self._event(item, taken), self._gone(item.by, taken)
        if not seen:
            return new if gone is None else If(gone, Const(None), new)
        best = Item(item.component, item.kind[:3], item.by)
        further: list[Expr] = [IsNone(best)] if self.types[item.by].optional else []
        further.append(Compare(">" if item.kind == "max_by" else "<", self._field(item.by, taken), best))
        return If(both([*([] if gone is None else [no(gone)]), either(further)]), new, item)

    def _event(self, item: Item, taken: str) -> Expr:
        assert item.field is not None
        found = self._field(item.field, taken)
        return Call("int", (found,)) if item.kind == "sum" and self.types[item.field].type is bool else found

    def _field(self, name: str, taken: str) -> Expr:
        """Return a field of the event that a component takes."""
        value = self._virtual.get(name)
        return FieldRead("e", name) if value is None else _named(value, taken)

    def _gone(self, name: str | None, taken: str) -> Expr | None:
        """Return the condition that a field of the event is None; None: it never is."""
        return IsNone(self._field(str(name), taken)) if self.types[str(name)].optional else None

    def _lacks(self, leaf: Expr) -> bool:
        return isinstance(leaf, FieldRead) and self.types[leaf.name].optional

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
        if item.kind == "count" or item.field is None:
            return False
        if not self.types[item.field].optional and (item.by is None or not self.types[item.by].optional):
            return False
        return item.field not in self.there.fields_of(self.groups[item.component], item.kind == "first")


def items_of(expr: Expr) -> Iterator[Item]:
    """Yield the items that an expression reads."""
    return (node for node in walk(expr) if isinstance(node, Item))


def of_match(expr: Expr, held: bool = True) -> Expr:
    """Return an expression of a row that a match holds, or that none does."""
    return changed(expr, lambda node: (node.x if held else Const(None)) if isinstance(node, OfMatch) else None)


def replaced(expr: Expr, change: Callable[[Item], Expr], last: str | None = None) -> Expr:
    """Return an expression with its items changed; ``last``: the component that took the last event."""

    def other(node: Expr) -> Expr | None:
        if isinstance(node, Classifier) and last is not None:
            return Const(None if last in NO_ROW else last)
        return change(node) if isinstance(node, Item) else None

    return changed(expr, other)


# -- an item's value, event by event ----------------------------------------------------------------------------------------------


def begin_of(item: Item) -> Any:
    """Returns the internal value of an item before any event; see `value_of`."""
    return 0 if item.kind == "count" else () if item.kind in ("first", "last") else None


def step_of(item: Item) -> Callable[[Any, Any], Any]:
    """Returns the step from one internal value of an item to the next, by an event that the item counts."""
    name, kind = item.field, item.kind
    if name is None:
        return lambda part, payload: part + 1
    if kind == "last":
        return lambda part, payload: (*part, _one_nan(getattr(payload, name)))[-1 - item.back :]
    if kind == "first":
        return lambda part, payload: part if len(part) > item.back else (*part, _one_nan(getattr(payload, name)))

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
        return part[item.back] if len(part) > item.back else None
    if item.kind == "last":
        return part[0] if len(part) > item.back else None
    return part
