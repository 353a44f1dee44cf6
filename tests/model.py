"""The model: which changes an operator accepts, and what a prefix leaves in force; what matches then is the oracle's business."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

from punctuation import Punctuation
from punctuation.time import BEGINNING, FOREVER
from tests import oracle
from tests.text import function

OK, LATE, ERROR = "ok", "late", "error"


class Model:
    """What the contract says about acceptance, the time of an arc change in default mode, promises and lateness.

    Parameters are those of `Operator` and `Keyed`. ``late`` is "raise", "drop" or any other text for a callback. With a ``key``
    each key's events are a stream of their own, and a match's register comes as ``(key, register)``. ``known`` is what the oracle
    has said of this automaton and sequence, in any model: what is in force again is not asked again.
    """

    def __init__(
        self,
        automaton: Any,
        window: int | None = None,
        order_by: str | None = None,
        arc_punctuation: bool = False,
        late: str = "raise",
        key: str | None = None,
        known: dict[Any, Any] | None = None,
        retractions: bool = True,
        keep_payloads: bool = True,
        longest: bool = False,
    ) -> None:
        self.known = {} if known is None else known
        self.retractions, self.keep_payloads, self.longest = retractions, keep_payloads, longest
        self.automaton, self.window, self.sequence = automaton, window, order_by
        self.arc_punctuation, self.late, self.key = arc_punctuation, late, key
        self.copies: Counter[tuple[Any, int, int]] = Counter()  # of events; negative: retractions that wait for their insertion
        self.arcs = oracle.own_arcs(automaton)  # one entry for each copy
        self.waiting: list[oracle.ArcEvent] = []  # retractions of arcs that wait
        self.seen: int | None = None  # the largest event LE or punctuation
        self.event_promise = self.arc_promise = BEGINNING
        self.some: list[Punctuation] = []  # promises with a condition, of events that make it true
        self.dropped: list[Any] = []  # (payload, le, diff) of what the late policy took

    def matches(self) -> set[tuple[Any, int, int]]:
        """What is in force now, by the oracle."""
        changes = [(*event, n) for event, n in self.copies.items()]
        if self.key is None:
            return self._matches(changes)
        parts: dict[Any, list[Any]] = {}
        for change in changes:
            parts.setdefault(getattr(change[0], self.key), []).append(change)
        return {((key, register), le, re) for key, part in parts.items() for register, le, re in self._matches(part)}

    def _matches(self, changes: list[Any]) -> set[tuple[Any, int, int]]:
        events = frozenset((payload, le, re) for payload, le, re, n in changes if n > 0)
        case = events, tuple((id(arc), le, re) for arc, le, re in self.arcs), self.event_promise
        if case not in self.known:
            arcs = list(self.arcs)  # held, so that an id stands for one arc
            found = oracle.matches(self.automaton, changes, arcs, self.event_promise, self.sequence)
            self.known[case] = arcs, found
        found = self.known[case][1]
        if self.automaton.shown is not None:
            found = {(self.automaton.match(register), le, re) for register, le, re in found}
        return oracle.longest(found) if self.longest else set(found)

    @property
    def effective(self) -> int:
        """The effective punctuation."""
        return min(self.event_promise, self.arc_promise) if self.arc_punctuation else self.event_promise

    @property
    def promise_of_arcs(self) -> int:
        return max([self.arc_promise if self.arc_punctuation else self.event_promise, *(some.t for some in self.some)])

    def push(self, item: Any) -> str:
        """Apply a change of an event, or a punctuation, and say how it ends; nothing changes unless that is OK."""
        if isinstance(item, Punctuation):
            return self._punctuate(item.t, on_events=True) if item.where is None else self._promise_some(item)
        if item.diff < 0 and not self.retractions:
            return ERROR
        re = item.re if item.re is not None else FOREVER if self.window is None else item.le + self.window
        if item.le < self.event_promise or any(item.le < some.t and _holds(some, item.payload) for some in self.some):
            return self._late(item)
        event = (oracle.one_nan(item.payload), item.le, re)
        if abs(item.diff) > FOREVER or abs(self.copies[event] + item.diff) > FOREVER:
            return ERROR
        self.copies[event] += item.diff
        self._see(item.le)
        return OK

    def push_arc(self, item: Any) -> str:
        """The same for the arc input."""
        if isinstance(item, Punctuation):
            return self._punctuate(item.t, on_events=False) if self.arc_punctuation else OK
        if item.le is None:
            return self._default(item)
        if item.le < self.promise_of_arcs:
            return self._late(item)
        if not self.keep_payloads and self.seen is not None and item.le <= self.seen:
            return ERROR
        entry = oracle.ArcEvent(item.payload, item.le, FOREVER if item.re is None else item.re)
        here, there = (self.arcs, self.waiting) if item.diff > 0 else (self.waiting, self.arcs)
        if entry in there:
            _remove(there, entry)
        else:
            here.append(entry)
        return OK

    def fork(self) -> Model:
        """A copy that shares nothing that changes."""
        other = copy.copy(self)
        other.copies = Counter(self.copies)
        other.arcs, other.waiting, other.dropped = list(self.arcs), list(self.waiting), list(self.dropped)
        other.some = list(self.some)
        return other

    def _see(self, t: int) -> None:
        self.seen = t if self.seen is None else max(self.seen, t)

    def _default(self, item: Any) -> str:
        begin = BEGINNING if self.seen is None else self.seen + 1
        if item.diff > 0:
            self.arcs.append(oracle.ArcEvent(item.payload, begin, FOREVER))
            return OK
        entries = [entry for entry in self.arcs if entry.arc == item.payload and entry.re > begin]
        if not entries:
            return ERROR
        entry = max(entries, key=lambda entry: (entry.arc is item.payload, entry.le, entry.re))
        _remove(self.arcs, entry)
        if entry.le < begin:
            self.arcs.append(entry._replace(re=begin))
        return OK

    def _late(self, item: Any) -> str:
        if self.late == "raise":
            return LATE
        self.dropped.append((oracle.one_nan(item.payload), item.le, item.diff))
        return OK

    def _promise_some(self, item: Punctuation) -> str:
        if self.retractions:
            return ERROR
        self.some.append(item)
        self._see(item.t)
        return OK

    def _punctuate(self, t: int, on_events: bool) -> str:
        if t <= (self.event_promise if on_events else self.arc_promise):
            return OK
        events = [(event, n) for event, n in self.copies.items() if n < 0 and event[1] < t] if on_events else []
        passes_arcs = not on_events or not self.arc_punctuation
        arcs = [entry for entry in self.waiting if entry.le < t] if passes_arcs else []
        if (events or arcs) and self.late == "raise":
            return LATE
        for event, n in events:
            del self.copies[event]
            self.dropped.append((*event[:2], n))
        for entry in arcs:
            _remove(self.waiting, entry)
            self.dropped.append((*entry[:2], -1))
        if on_events:
            self.event_promise = t
        else:
            self.arc_promise = t
        self._see(t)
        return OK


def _holds(promise: Punctuation, payload: Any) -> bool:
    """Whether the condition of a promise is true of an event; where it raises it is not."""
    assert isinstance(promise.where, str)
    try:
        return bool(function(f"lambda e: {promise.where}")(payload))
    except Exception:
        return False


class Blocks(Model):
    """What a prefix leaves in force for AFA+O; matches are those of the oracle within each block of adjacent numbers.

    ``join``: the events beside a gap that can't close any more follow each other. ``repeated`` is as of `Ordered`: "raise" or
    "drop".
    """

    def __init__(self, *args: Any, join: bool = False, repeated: str = "raise", **options: Any) -> None:
        super().__init__(*args, **options)
        self.join, self.repeated = join, repeated

    def push(self, item: Any) -> str:
        """The same; an insertion whose number is in force, or whose time stands against its number, is none."""
        if not isinstance(item, Punctuation) and item.diff > 0 and item.le >= self.event_promise:
            number = item.payload.seq
            others = [(payload.seq, le) for (payload, le, _), n in self.copies.items() if n > 0]
            if any(other == number for other, _ in others):
                return OK if self.repeated == "drop" else ERROR
            if any((other < number and le > item.le) or (other > number and le < item.le) for other, le in others):
                return ERROR
        return super().push(item)

    def _matches(self, changes: list[Any]) -> set[tuple[Any, int, int]]:
        found = set()
        for block, promised in blocks(changes, self.event_promise, self.join):
            found |= oracle.matches(self.automaton, block, self.arcs, promised, self.sequence)
        return oracle.longest(found) if self.longest else found


def blocks(changes: list[Any], promised: int, join: bool) -> list[tuple[list[Any], int]]:
    """The events in force, by blocks of adjacent numbers, each with the promise as far as it is one for the end of this block."""
    events = sorted((change for change in changes if change[3] > 0), key=lambda change: change[0].seq)
    found: list[list[Any]] = []
    for before, event in zip([None, *events], events):
        closed = before is not None and (event[0].seq == before[0].seq + 1 or (join and event[1] < promised))
        if closed:
            found[-1].append(event)
        else:
            found.append([event])
    ends = [min(promised, block[0][1]) for block in found[1:]] + [promised]
    return list(zip(found, ends))


def _remove(entries: list[oracle.ArcEvent], entry: oracle.ArcEvent) -> None:
    """Take out one equal entry, of the same arc rather than of another one of its name."""
    same = [i for i, other in enumerate(entries) if other == entry]
    del entries[next((i for i in same if entries[i].arc is entry.arc), same[0])]
