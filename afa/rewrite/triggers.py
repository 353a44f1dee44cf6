"""Triggering sets: all that is kept of an event if payloads are not ([AFA10] App. F.1).

Where each fence is an event part and a register part, and no transfer reads the event, all that an event is ever asked is which
event parts are true of it. So the automaton is rewritten into one over a *triggering set*, an int with a bit for each event part:

    Arc("a", "b", "x < 9 and r.n < 3", "(r.n + 1,)")   ->   Arc("a", "b", "triggers & 4 and r.n < 3", "(r.n + 1,)")

Bits are given for lifetimes: at an instant each bit has one event part, equal ones share theirs, and an arc that comes may take a
bit whose arcs have ended. The set of an event is made by the arcs that hold the bits at its LE, which no change of an arc concerns
any more once the event has come. Both engines run the rewritten automaton as any other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from afa.errors import AutomatonError, ChangeError
from afa.expression.nodes import Expr
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.rewrite.reduction import ArcParts, Reduction, refused
from afa.rewrite.vectors import RowSelection
from afa.state.states import Column, records
from punctuation.time import BEGINNING, FOREVER, as_count

BITS = 62
"""How many event parts may be in force at one instant."""


class Triggers:
    """The arcs in force, rewritten; a value: `followed_by` gives the next one.

    ``bits`` has the bit of each arc event, as a snapshot has it (None: of an epsilon arc, a time-out, or an arc that every event
    may take). The bits of those in force ``before`` stay where ``keep`` says so of the LE of their arc event. Raises
    AutomatonError where an arc does not split, more than 62 event parts are in force at one instant, or bits that were given
    clash.

    >>> from typing import NamedTuple
    >>> from afa import Automaton
    >>> class Reading(NamedTuple):
    ...     floor: int
    >>> own = [Arc("a", "b", "floor == 1"), Arc("b", "b", "floor > 2"), Arc("b", "c", "floor == 1")]
    >>> program = Automaton(start="a", final={"c"}, arcs=own, event=Reading)
    >>> triggers = Triggers(Reduction(program, None), ArcTable.of(own).events)
    >>> triggers.bits, triggers.set_of(Reading(1), 0), triggers.set_of(Reading(2), 0), triggers.set_of(Reading(3), 0)
    ([0, 1, 0], 1, 0, 2)
    """

    def __init__(
        self,
        reduction: Reduction,
        events: Sequence[ArcEvent],
        bits: Sequence[int | None] | None = None,
        before: Triggers | None = None,
        keep: Callable[[int], bool] = lambda le: False,
    ) -> None:
        self.reduction = reduction
        self.events: Sequence[ArcEvent] = tuple(events)
        known = before._parts if before is not None else {}
        self._parts: dict[int, ArcParts] = {}
        for arc in {id(event.arc): event.arc for event in events if event.arc.reads_event}.values():
            self._parts[id(arc)] = known.get(id(arc)) or self._shared(reduction.parts(arc), known)
        wanted: list[int | None] = [None] * len(self.events)
        if bits is not None:
            wanted = list(bits)
        elif before is not None:
            held = {place: bit for place, bit in before.places.items() if keep(place[1])}
            wanted = [held.get((id(event.arc), event.le)) for event in self.events]
        self.bits: list[int | None] = self._given(wanted)
        arcs = before._arcs if before is not None else {}
        self._arcs: dict[tuple[int, int | None], Arc] = {}
        self.table = ArcTable(event._replace(arc=self._arc(event.arc, bit, arcs)) for event, bit in zip(self.events, self.bits))

    # -- arcs that change ------------------------------------------------------------------------------------------------------

    def followed_by(self, events: Sequence[ArcEvent], le: int, now: int) -> Triggers:
        """Return those of other arcs in force, which differ from ``le`` on; all events so far have an LE below ``now``.

        Raises AutomatonError where an arc does not split, ChangeError where they may not differ there.
        """
        if le < now:
            new, old = Counter(map(_exactly, events)), Counter(map(_exactly, self.events))
            changed = {*(new - old), *(old - new)}
            arc = next(event.arc for event in (*events, *self.events) if _exactly(event) in changed)
            raise ChangeError(
                f"expected a change of an arc from {now} on (keep_payloads=False: the payloads before it are gone) "
                f"but got le={le} for {arc!r}"
            )
        return self._only(events) if le == FOREVER else Triggers(self.reduction, events, None, self, lambda begin: begin < now)

    def _only(self, events: Sequence[ArcEvent]) -> Triggers:
        """Return the triggers without the arc events that have ended: the others are as they were."""
        left = {(id(event.arc), event.le, event.re) for event in events}
        there = [(id(event.arc), event.le, event.re) in left for event in self.events]
        found = object.__new__(Triggers)
        found.reduction, found._parts, found._arcs = self.reduction, self._parts, self._arcs
        found.events, found.bits = tuple(events), list(compress(self.bits, there))
        found.table = ArcTable(compress(self.table.events, there))
        return found

    def restored(self, events: Sequence[ArcEvent], bits: Sequence[int | None]) -> Triggers:
        """Return those of a snapshot; AutomatonError or ValueError where the bits do not fit."""
        given = [bit if bit is None else as_count(bit + 1) - 1 for bit in bits]
        found = Triggers(self.reduction, events, given)
        twins = any(found.places[id(event.arc), event.le] != bit for event, bit in zip(found.events, found.bits))
        if found.bits != given or twins:
            raise ValueError(f"expected a bit for each arc that needs one but got bits={bits!r}")
        return found

    # -- bits ------------------------------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> dict[tuple[int, int], int | None]:
        """The bit of each arc event, by ``(id(arc), le)``."""
        return {(id(event.arc), event.le): bit for event, bit in zip(self.events, self.bits)}

    def rewrites(self, arc: Arc) -> list[Arc]:
        """Return all arcs over triggering sets that were made of a consuming arc: it may have other bits at other times."""
        return [rewritten for (of, _), rewritten in self._arcs.items() if of == id(arc)]

    def __deepcopy__(self, memo: dict[int, Any]) -> Triggers:
        return self  # a value

    def _shared(self, parts: ArcParts, known: Mapping[int, ArcParts]) -> ArcParts:
        """With the event part of another arc, if it has an equal one: by that object it is known."""
        others = [*known.values(), *self._parts.values()]
        return parts._replace(event=next((other.event for other in others if other.event == parts.event), parts.event))

    def _given(self, wanted: Sequence[int | None]) -> list[int | None]:
        """Return each arc event's bit. One without a bit gets that of an equal part, or the lowest free one, in order of LE."""
        bits: list[int | None] = [None] * len(self.events)
        busy: list[tuple[Expr | None, int]] = [(None, BEGINNING)] * BITS  # the part that holds each bit, and until when
        for i in sorted(range(len(self.events)), key=lambda i: self.events[i].le):
            arc, le, re = self.events[i]
            part = self._parts[id(arc)].event if arc.reads_event else None
            if part is None:
                continue
            bit = wanted[i]
            if bit is None:
                bit = next((b for b, (other, _) in enumerate(busy) if other is part), None)
            if bit is None:
                bit = next((b for b, (_, end) in enumerate(busy) if end <= le), None)
            if bit is None:
                raise refused(arc, f"more than {BITS} different event parts are in force at le={le}", "arcs")
            other, end = busy[bit]
            if other is not part and end > le:
                raise AutomatonError(f"expected one event part at a time but got two at le={le} for bit={bit!r}, with {arc!r}")
            busy[bit] = (part, max(end, re) if other is part else re)
            bits[i] = bit
        return bits

    def _arc(self, arc: Arc, bit: int | None, known: Mapping[tuple[int, int | None], Arc]) -> Arc:
        if not arc.reads_event:
            return arc
        key = id(arc), bit
        if key not in self._arcs:
            self._arcs[key] = known.get(key) or self.reduction.arc(self._parts[id(arc)], bit)
        return self._arcs[key]

    # -- events ----------------------------------------------------------------------------------------------------------------

    def set_of(self, payload: Any, le: int) -> int:
        """Return the triggering set of an event. O(event parts in force)."""
        found = 0
        for mask, parts in self._at(bisect_right(self._bounds, le)):
            if parts.ask(payload, le):
                found |= mask
        return found

    def of_columns(self, columns: Mapping[str, Column], le: Any) -> Any:
        """Return the triggering sets of events in columns; as `set_of`. O(events) for each event part in force at all of them."""
        found = np.zeros(len(le), np.int64)
        order = None if (le[1:] >= le[:-1]).all() else np.argsort(le, kind="stable")
        times = le if order is None else le[order]
        held = {(bit, le, re): arc for (arc, le, re), bit in zip(self.events, self.bits) if bit is not None}
        for (bit, begin, end), arc in held.items():
            low, high = np.searchsorted(times, [begin, end]).tolist()
            if low == high:
                continue
            rows: Any = slice(low, high) if order is None or high - low == len(le) else order[low:high]
            found[rows] |= np.where(self._asked(self._parts[id(arc)], RowSelection(columns, rows), le[rows]), 1 << bit, 0)
        return found

    def _asked(self, parts: ArcParts, columns: RowSelection, le: Any) -> Any:
        """Of which rows an event part is true."""
        if parts.vector is not None:
            return parts.vector(columns)
        fields = self.reduction.schema.fields
        payloads = records([columns[field.name] for field in fields], self.reduction.schema, len(le))
        return np.fromiter(map(parts.ask, payloads, le.tolist()), np.bool_, len(le))

    def asks(self, arc: Arc) -> Callable[[Any], bool]:
        """Return whether an arc's event part may be true of an event, by its set. Bits may belong to other arcs at other times."""
        bits = [bit for event, bit in zip(self.events, self.bits) if event.arc is arc]
        if None in bits:
            return lambda kept: True
        mask = sum({1 << bit for bit in bits if bit is not None})
        return lambda kept: bool(kept[0] & mask)

    @cached_property
    def _bounds(self) -> list[int]:
        """The instants at which it changes what is asked."""
        return sorted({t for event, bit in zip(self.events, self.bits) if bit is not None for t in (event.le, event.re)})

    @cached_property
    def _known(self) -> dict[int, list[tuple[int, ArcParts]]]:
        return {}

    def _at(self, place: int) -> list[tuple[int, ArcParts]]:
        """Returns the event parts in force between two of the bounds, each with its bit."""
        if place not in self._known:
            at = self._bounds[place - 1] if place else BEGINNING - 1
            held = {bit: arc for (arc, le, re), bit in zip(self.events, self.bits) if bit is not None and le <= at < re}
            self._known[place] = [(1 << bit, self._parts[id(arc)]) for bit, arc in sorted(held.items())]
        return self._known[place]


def _exactly(event: ArcEvent) -> tuple[int, int, int]:
    """Returns a key that differs between arc events whose arcs have one name."""
    return id(event.arc), event.le, event.re
