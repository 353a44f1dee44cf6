"""Events numbered without gaps ([AFA10] Sec. 5.3, AFA+O): repeated numbers, final gaps, numbers that contradict times.

An engine matches adjacent numbers only. The operator has to decide three things for it:

    take      the number of an insertion is in force already: it is *repeated*, and left out
    settled   the events of one key are applied: their numbers must ascend with their times
    hand_over gaps that a promise has come past are told

Between two calls numbers ascend with time, so that the engine's index of steps by time is an index by number too: what is in
force is looked up there. Changes that were taken and not yet applied stand over it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from afa.change import Change
from afa.engine import NumberedEngine
from afa.errors import AfaError, AutomatonError, ChangeError
from afa.model.automaton import Automaton
from afa.model.event_order import EventOrder, is_list
from afa.schema import Field, Schema
from punctuation.late import copied_callback

Repeated = str | Callable[[Change], Any]
OnGap = Callable[[Hashable, int, int], Any]


@dataclass(frozen=True)
class Gapless:
    """A field numbers the events of a key n, n + 1, n + 2, .. in the order of their LEs: ``Operator(.., gapless=Gapless("seq"))``.

    Parameters
    ----------
    field : str
        An int field of the event.
    gaps : "break" or "join"
        What becomes of a gap that can't close any more, as a punctuation has passed the event behind it. ``"break"``: no match
        spans it, ever. ``"join"``: the events beside it follow each other, so that the final output is that of the plain operator.
    repeated : "raise" or "drop" or callable
        What becomes of an insertion whose number is in force. ``"raise"``: the call is refused. ``"drop"``: left out and counted. A
        callable gets the change, once all else of its call has worked; what it raises rejects the call.
    on_gap : callable, optional
        ``on_gap(key, first, last)`` is told of each such gap, with its missing numbers, once all else of the call has worked.

    Raises
    ------
    AfaError
        A policy is unknown.
    """

    field: str
    _: KW_ONLY
    gaps: str = "break"
    repeated: Repeated = "raise"
    on_gap: OnGap | None = None

    def __repr__(self) -> str:
        said = [
            f", {each.name}={getattr(self, each.name)!r}" for each in fields(self)[1:] if getattr(self, each.name) != each.default
        ]
        return f"Gapless({self.field!r}{''.join(said)})"

    def __post_init__(self) -> None:
        if not isinstance(self.field, str):
            raise AfaError(f"expected the name of the field that numbers the events but got field={self.field!r}")
        if self.repeated not in ("raise", "drop") and not callable(self.repeated):
            raise AfaError(f'expected repeated="raise", "drop" or a callable but got repeated={self.repeated!r}')
        if self.gaps not in ("break", "join"):
            raise AfaError(f'expected gaps="break" or "join" but got gaps={self.gaps!r}')
        if self.on_gap is not None and not callable(self.on_gap):
            raise AfaError(f"expected a callable on_gap(key, first, last) but got on_gap={self.on_gap!r}")


class EventNumbers:
    """The part of an operator that watches over the numbers of its events.

    Raises `AfaError` where the automaton has no event schema, `AutomatonError` where the event has no such field of ints.
    """

    engine: NumberedEngine
    """That of the operator, once it is made."""

    def __init__(self, automaton: Automaton, said: Gapless) -> None:
        self.field, self.gaps, self.repeated, self.on_gap = said.field, said.gaps, said.repeated, said.on_gap
        self._place = _place(automaton, said.field)
        self.gap_count = self.missing = self.repeats = 0
        self._told: list[Change] = []  # repeated ones, for the callback
        self._here: dict[tuple[Hashable, int], tuple[int, Any] | None] = {}  # changes to come: LE and event of a number, None: gone
        self._waits: dict[tuple[Hashable, Any, int, int], int] = {}  # the same: more retractions of an event that wait
        self._applied: dict[tuple[Hashable, int], tuple[int, Any] | None] = {}  # what came before, and is not checked yet

    # -- calls -------------------------------------------------------------------------------------------------------------

    @property
    def said(self) -> Gapless:
        return Gapless(self.field, gaps=self.gaps, repeated=self.repeated, on_gap=self.on_gap)

    @property
    def counters(self) -> tuple[int, int, int]:
        """Return the counters: gaps that have become final, numbers that were missing in them, repeated events."""
        return self.gap_count, self.missing, self.repeats

    def statistics(self) -> dict[str, int]:
        """Return the fields of `afa.operator.statistics.Statistics` that tell of numbers."""
        return {"gaps": self.gap_count, "missing": self.missing, "repeated": self.repeats, "barriers": self.engine.open_gaps}

    def put_counters(self, counters: tuple[int, int, int]) -> None:
        """Restore the counters, and forget the call under way."""
        self.gap_count, self.missing, self.repeats = counters
        self._told = []
        self._here, self._waits, self._applied = {}, {}, {}

    def __deepcopy__(self, memo: dict[int, Any]) -> EventNumbers:
        other = memo[id(self)] = copy.copy(self)
        other.engine = copy.deepcopy(self.engine, memo)
        other.repeated, other.on_gap = copied_callback(self.repeated, memo), copied_callback(self.on_gap, memo)
        other.put_counters(self.counters)
        return other

    def hand_over(self) -> None:
        """Hand the callbacks the final gaps and the repeated events of the call under way."""
        told, self._told = self._told, []
        gaps = self.engine.final_gaps()
        self.gap_count += len(gaps)
        self.missing += sum(last - first + 1 for _, first, last in gaps)
        if callable(self.repeated):
            for change in told:
                self.repeated(change)
        if self.on_gap is not None:
            for gap in gaps:
                self.on_gap(*gap)

    # -- numbers -----------------------------------------------------------------------------------------------------------

    def take(self, change: Change) -> Change | None:
        """Return the part of a change, typed and not late, that takes effect. None: no part does.

        Raises `ChangeError` where an insertion's number is in force, and ``repeated="raise"``.
        """
        payload, le, re, diff, key = change
        assert le is not None
        assert re is not None
        at, waiter, event = (key, payload[self._place]), (key, payload, le, re), (payload, re)
        here = self._here[at] if at in self._here else self.engine.numbered(key, at[1])
        if diff < 0:
            rest = -diff
            if here == (le, event):
                self._here[at] = None
                rest -= 1
            self._waits[waiter] = self._waits.get(waiter, 0) + rest
            return change
        met = min(diff, self.engine.waiting(key, payload, le, re) + self._waits.get(waiter, 0))
        if met:
            self._waits[waiter] = self._waits.get(waiter, 0) - met
        taken = met
        if met < diff and here is None:
            self._here[at] = le, event
            taken += 1
        if taken < diff:
            self._repeat(change._replace(diff=diff - taken), here or (le, event))
        return change._replace(diff=taken) if taken else None

    def _repeat(self, change: Change, here: tuple[int, Any]) -> None:
        if self.repeated == "raise":
            number = change.payload[self._place]
            raise ChangeError(
                f"expected each number once but got {self.field}={number} again at le={change.le}{_of_key(change.key)}: "
                f'it is in force at le={here[0]}; retract that first, or make the operator with repeated="drop"'
            )
        self.repeats += change.diff
        if callable(self.repeated):
            self._told.append(change)

    def applied(self) -> None:
        """Take note that the taken changes have been applied; more may come before their numbers are checked."""
        self._applied |= self._here
        self._here, self._waits = {}, {}

    def settled(self) -> None:
        """Check, after the taken changes have been applied, that numbers ascend with time around them, else raise `ChangeError`."""
        self.applied()
        here, self._applied = self._applied, {}
        wrong: list[tuple[tuple[int, int], tuple[int, int], Hashable]] = []
        for (key, number), event in here.items():
            if event is not None:
                for other in _against(self.engine, key, number, event[0]):
                    first, second = sorted([(number, event[0]), other])
                    wrong.append((first, second, key))
        if wrong:  # one that does not depend on the order in which they were taken
            (number, le), (other_number, other_le), key = min(wrong, key=lambda found: (*found[:2], repr(found[2])))
            name = self.field
            raise ChangeError(
                f"expected times that follow the numbers but got {name}={number} at le={le} and {name}={other_number} "
                f"at le={other_le}{_of_key(key)}"
            )


def _against(engine: NumberedEngine, key: Hashable, number: int, le: int) -> Iterator[tuple[int, int]]:
    """Yield number and LE of the neighbours of an event that stand on the wrong side of it."""
    for other_le, other in engine.neighbours(key, le, number):
        if (other, other_le) != (number, le) and (other < number) is not ((other_le, other) < (le, number)):
            yield other, other_le


def _field(schema: Schema, option: str, name: str) -> tuple[int, Field]:
    """Return the field that an option names, and its place."""
    for found in enumerate(schema.fields):
        if found[1].name == name:
            return found
    raise AutomatonError(f"expected a field of {schema.describe()} but got {option}={name!r}")


def _place(automaton: Automaton, field: str) -> int:
    """Return the place of the number among the fields of an event."""
    if automaton.event_schema is None:
        raise AfaError(f"expected an automaton with event=<a NamedTuple with the field {field!r}> but got {automaton!r}")
    i, found = _field(automaton.event_schema, "gapless", field)
    if found.type is not int or found.optional:
        raise AutomatonError(f"expected an int field but got gapless={field!r}: {found}")
    return i


def _of_key(key: Hashable) -> str:
    return "" if key is None else f" of key {key!r}"


# -- the field that orders events of one LE --------------------------------------------------------------------------------


def order_of(automaton: Automaton, order_by: str | None, gapless: Gapless | None, keep_payloads: bool = True) -> str | None:
    """Return the field that orders events of one LE, or the list (`afa.model.event_order`), or None.

    Raises `AutomatonError` where the event has no such field, `AfaError` where options contradict each other.
    """
    schema = automaton.event_schema
    if is_list(order_by):
        EventOrder.of(order_by, schema)  # which checks it
        if not keep_payloads:
            raise AfaError(
                f"order_by={order_by!r} can't be combined with keep_payloads=False because one field of an event is kept"
            )
    elif order_by is not None and schema is not None:
        _, field = _field(schema, "order_by", order_by)
        if field.optional:
            raise AutomatonError(
                f"expected a field that is never None, as None is before and after nothing, but got order_by={order_by!r} "
                f"of {schema.describe()}; annotate it without None, or say where it stands: {order_by} nulls last"
            )
        if field.type not in (int, float, str):
            got = "Any" if field.type is None else field.type.__name__
            raise AutomatonError(f"expected an int, float or str field but got order_by={order_by!r}, which is {got}")
    if gapless is None:
        return order_by
    if order_by not in (None, gapless.field):
        raise AfaError(f"expected the field {gapless.field!r}, which numbers the events, or none but got order_by={order_by!r}")
    return gapless.field


def check_number(payload: Any, sequence: str, order: EventOrder | None, typed: bool) -> None:
    """Raise `ChangeError` unless an event has a value in that field that orders; ``typed``: it has the form of a schema."""
    if order is not None:
        order.check(payload)
        return
    kinds: tuple[type, ...] = (int, float, str) if typed else (int, float)
    number = getattr(payload, sequence, None)
    if type(number) not in kinds or number != number:
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ChangeError(f"expected {names} but got {sequence}={number!r} in {payload!r}")
