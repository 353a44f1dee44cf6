"""Barriers: events that no arc takes, so that no run and no time-out goes past them.

A derived automaton sees the user's events with one more field, `BARRIER` or a name like it: 0 in an event, 1 in a barrier. Each
consuming arc's fence is ``e.barrier == 0 and <the user's fence>``. The two are put together as expressions, so that arcs compile as
before; what can't be taken apart is called in Python with the user's own event. All else of an arc stays: ends, name, ignorable or
not; epsilon and time-out arcs see no event and are the user's own objects.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AfaError, AutomatonError, ChangeError
from afa.expression import Kind
from afa.expression.arc_functions import expression_of
from afa.expression.nodes import Compare, Const, Expr, Field, conjunction
from afa.expression.written import Readable
from afa.model.arc import CONSUME, Arc
from afa.model.automaton import Automaton
from afa.model.keys import Keys
from afa.schema import Schema

BARRIER = "barrier"
_COLUMNS = ("le", "re", "diff", "kind", "arc", "key", "payload")
_NEUTRAL: dict[type | None, Any] = {int: 0, float: 0.0, bool: False, str: ""}


class Guard(Readable):
    """A user's fence or transfer as it stands in a derived automaton.

    Parameters
    ----------
    arc : Arc
        The user's, which lives as long as this.
    kind : Kind
    function : callable
    schema : Schema
        Of the user's events.
    field : str
        The one that barriers have set.
    """

    __slots__ = ("_function", "_schema", "arc", "field", "kind")

    def __init__(self, arc: Arc, kind: Kind, function: Any, schema: Schema, field: str) -> None:
        self.arc, self.kind, self.field = arc, kind, field
        self._function, self._schema = function, schema

    def expression(self, event_schema: Schema | None, register_schema: Schema) -> Expr:
        """The user's expression over the user's events, whose fields the derived ones have too; of a fence behind the test."""
        found = expression_of(self._function, self.kind, self._schema, register_schema)
        if self.kind.role != "fence":
            return found
        return conjunction([Compare("==", Field("e", self.field), Const(0)), found])

    def __call__(self, event: Any, register: Any) -> Any:
        """The user's function of the user's event; a barrier takes no arc, and no user's function sees one."""
        if self.kind.role == "fence" and event[-1]:
            return False
        return self._function(tuple.__new__(self._schema.cls, event[:-1]), register)


class Derived:
    """An automaton whose events can be barriers.

    Parameters
    ----------
    automaton : Automaton
    number : str
        The int field that numbers the events.
    keys : Keys or None

    Raises
    ------
    AfaError
        The automaton has no event schema.
    AutomatonError
        ``number`` is no int field of the event.

    Examples
    --------
    >>> class Tick(NamedTuple):
    ...     change: float
    ...     seq: int
    >>> derived = Derived(Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", "change < 0")]), "seq", None)
    >>> print(derived.automaton.explain())
    arc a -> b: compiled
        fence     e.barrier == 0 and e.change < 0
        change    < 0
        barrier   0
    >>> derived.event(Tick(-0.5, 7)), derived.barrier(None, 8), derived.automaton.arcs[0].fence(derived.barrier(None, 8), None)
    (Tick(change=-0.5, seq=7), Tick(change=0.0, seq=8), False)
    """

    def __init__(self, automaton: Automaton, number: str, keys: Keys | None) -> None:
        self.schema = _schema_of(automaton, number)
        self.original = automaton
        self.number = number
        self.place = [field.name for field in self.schema.fields].index(number)
        self.field = self._free_name(keys)
        self._event = _derived_class(self.schema, self.field)
        self._arcs: weakref.WeakValueDictionary[int, Arc] = weakref.WeakValueDictionary()  # by the id of the user's arc
        self.automaton = Automaton(
            start=automaton.start,
            final=automaton.final,
            arcs=[self.arc(arc) for arc in automaton.arcs],
            register=automaton.register,
            event=self._event,
        )
        self.neutral = tuple(None if field.optional else _NEUTRAL[field.type] for field in self.schema.fields)
        names = [field.name for field in self.schema.fields]
        self.names = frozenset([*names, *(keys.names if keys else ())])  # of a table's columns, those that are the user's
        self._key_places = [(i, names.index(name)) for i, name in enumerate(keys.names) if name in names] if keys else []
        self._keys = keys

    def _free_name(self, keys: Keys | None) -> str:
        taken = {*(field.name for field in self.schema.fields), *(keys.names if keys else ()), *_COLUMNS}
        name = BARRIER
        while name in taken:
            name += "_"
        return name

    # -- arcs --------------------------------------------------------------------------------------------------------------

    def arc(self, arc: Arc) -> Arc:
        """The arc as it stands in the derived automaton: one object for one arc, for as long as either is in use there."""
        if arc.kind != CONSUME:
            return arc
        known = self._arcs.get(id(arc))
        if known is None:
            fence, transfer = (
                None if function is None else Guard(arc, Kind(role, True), function, self.schema, self.field)
                for role, function in (("fence", arc.fence), ("transfer", arc.transfer))
            )
            assert fence is not None
            known = self._arcs[id(arc)] = Arc(arc.src, arc.dst, fence, transfer, name=arc.name, final=arc.final)
        return known

    # -- events ------------------------------------------------------------------------------------------------------------

    def event(self, payload: Any) -> Any:
        """A user's event as the derived automaton has it.

        Raises
        ------
        ChangeError, Int64Error
            It does not fit the user's schema.
        """
        return self._event(*self.schema.take(payload), 0)

    def barrier(self, key: Hashable, number: int) -> Any:
        """The barrier of a number: nothing in its fields but that, and the key."""
        values = self._of_key(key) if self._key_places else self.neutral
        return self._event(*values[: self.place], number, *values[self.place + 1 :], 1)

    def _of_key(self, key: Hashable) -> tuple[Any, ...]:
        """A barrier's fields but for the number."""
        assert self._keys is not None
        values: list[Any] = [*self.neutral]
        try:
            parts = self._keys.parts(key)
            for part, place in self._key_places:
                values[place] = parts[part]
            return tuple(self.schema.take(tuple(values)))
        except (ChangeError, IndexError, TypeError):  # a key that was given, and is none that an event makes
            return self.neutral

    def users(self, change: Change) -> Change:
        """A change with the user's event or arc in it."""
        payload = change.payload
        if isinstance(payload, Arc):
            guard = payload.fence if payload.kind == CONSUME else None
            return change._replace(payload=guard.arc) if isinstance(guard, Guard) else change
        return change._replace(payload=tuple.__new__(self.schema.cls, payload[:-1]))


def _schema_of(automaton: Any, number: Any) -> Schema:
    if not isinstance(automaton, Automaton):
        raise AfaError(f"expected an Automaton but got {automaton!r}")
    schema = automaton.event_schema
    if schema is None:
        raise AfaError(f"expected an automaton with event=<a NamedTuple with the field {number!r}> but got {automaton!r}")
    for field in schema.fields:
        if field.name == number:
            if field.type is int and not field.optional:
                return schema
            raise AutomatonError(f"expected an int field but got number={number!r}: {field}")
    raise AutomatonError(f"expected a field of {schema.describe()} but got number={number!r}")


def _derived_class(schema: Schema, field: str) -> type:
    """The user's record with one more field, which its text does not show: messages speak of the user's events."""
    hints: list[tuple[str, Any]] = []
    for name, kind, optional in schema.fields:
        hints.append((name, Any if kind is None else kind | None if optional else kind))
    made = NamedTuple(schema.cls.__name__, [*hints, (field, int)])  # type: ignore[misc]

    def text(self: Any) -> str:
        return repr(tuple.__new__(schema.cls, self[:-1]))

    made.__repr__ = text  # type: ignore[method-assign]
    return made
