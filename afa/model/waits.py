"""Warn of a time-out that the window cuts off: it waits as long as the window lasts, or longer, and fires never.

    window = 100, r.since = e.ts of an event at t, at(r) = r.since + 100
    T = t + 100, and m is at most t + window = t + 100; it fires at T < m only: never. A window of 101 is needed.

A field that is an `afa.Instant` holds the LE of its event; of another int field that is likely, no more. So this is
a warning, once for each arc: an event may also bring a lifetime of its own, which is longer.
"""

from __future__ import annotations

import logging
import weakref
from typing import NamedTuple

from afa.expression.arc_functions import by_hand, expression_of
from afa.expression.kinds import AT, EPSILON_TRANSFER, TRANSFER, FunctionKind, Unreadable
from afa.expression.nodes import Binary, Const, Expr, FieldRead, Make
from afa.model.arc import TIMEOUT, Arc
from afa.model.automaton import Automaton

LOGGER = logging.getLogger("afa")
_told: weakref.WeakValueDictionary[int, Arc] = weakref.WeakValueDictionary()
"""Arcs that were warned of, by id: arcs of one name are equal and still two."""


class Since(NamedTuple):
    """A value of a register's field: a field of an event, and a number of ticks more."""

    field: str
    more: int


UNKNOWN = Since("", 0)


def warn_of_waits(automaton: Automaton, window: int | None, tick: str | None = None) -> None:
    """Let the log say of each time-out that can't fire within the window which window it takes, once for each arc.

    ``tick``: the unit of all that is said, if it is known.
    """
    unit = f" {tick}" if tick else ""
    for arc in automaton.arcs if window is not None else ():
        since = (
            None if arc.kind != TIMEOUT or _told.get(id(arc.origin or arc)) is (arc.origin or arc) else waits_since(arc, automaton)
        )
        if since is not None and window is not None and since.more >= window:
            _told[id(arc.origin or arc)] = arc.origin or arc
            instant = automaton.event_schema is not None and automaton.event_schema.instant == since.field
            if_time = "" if instant else f", if e.{since.field} is the event's time"
            LOGGER.warning(
                "%r never fires with window=%s%s%s: it waits until e.%s + %s%s, and no match lasts until then; "
                "give a window of %s%s at least",
                arc, window, unit, if_time, since.field, since.more, unit, since.more + 1, unit,
            )  # fmt: skip


def waits_since(arc: Arc, automaton: Automaton) -> Since | None:
    """Return from which field of an event a time-out counts, and how many ticks at least; None: it counts otherwise, or who knows.

    >>> class Order(NamedTuple):
    ...     ts: int
    >>> class R(NamedTuple):
    ...     since: int = 0
    >>> arcs = [Arc("a", "b", "True", "R(e.ts)"), Arc.timeout("b", "c", "r.since + 100")]
    >>> waits_since(arcs[1], Automaton(start="a", final={"c"}, arcs=arcs, event=Order, register=R()))
    Since(field='ts', more=100)
    """
    wait = _linear(_expression(arc, AT, automaton))
    if wait is None or wait[0].side != "r":
        return None
    field, more = wait
    values = _values(field.name, automaton).get(arc.src, frozenset())
    if not values or UNKNOWN in values:
        return None
    first = min(values, key=lambda since: since.more)
    return Since(first.field, first.more + more)


def _values(name: str, automaton: Automaton) -> dict[str, frozenset[Since]]:
    """Return by state what a field of the register can hold there."""
    values = {automaton.start: frozenset({UNKNOWN})}
    ahead = [automaton.start]
    while ahead:
        state = ahead.pop()
        for arc in automaton.arcs:
            if arc.src == state:
                known = values.get(arc.dst, frozenset())
                more = known | _after(arc, name, values[state], automaton)
                if more != known:
                    values[arc.dst] = more
                    ahead.append(arc.dst)
    return values


def _after(arc: Arc, name: str, before: frozenset[Since], automaton: Automaton) -> frozenset[Since]:
    """Returns the values that the field can hold behind an arc."""
    if arc.transfer is None:
        return before
    made = _expression(arc, TRANSFER if arc.reads_event else EPSILON_TRANSFER, automaton)
    names = [field.name for field in automaton.register_schema.fields]
    item = made.items[names.index(name)] if isinstance(made, Make) else None
    if item == FieldRead("r", name):
        return before
    found = _linear(item)
    types = {field.name: field.type for field in automaton.event_schema.fields} if automaton.event_schema else {}
    if found is None or found[0].side != "e" or types.get(found[0].name) is not int:
        return frozenset({UNKNOWN})
    return frozenset({Since(found[0].name, found[1])})


def _expression(arc: Arc, kind: FunctionKind, automaton: Automaton) -> Expr | None:
    """Return a function of an arc as an expression; None: it can't be read, or nobody wrote it by hand."""
    function = getattr(arc, kind.role)
    if not by_hand(getattr(arc.origin or arc, kind.role)):  # a span's ticks are not, where they are counted
        return None
    try:
        return expression_of(function, kind, automaton.event_schema, automaton.register_schema)
    except Unreadable:
        return None


def _linear(expr: Expr | None) -> tuple[FieldRead, int] | None:
    """Return the field and the number of ``field + number``; None: it is none."""
    match expr:
        case FieldRead():
            return expr, 0
        case Binary("+", left, Const(int() as more)) | Binary("+", Const(int() as more), left):
            found = _linear(left)
            return None if found is None else (found[0], found[1] + more)
        case Binary("-", left, Const(int() as less)):
            found = _linear(left)
            return None if found is None else (found[0], found[1] - less)
    return None
