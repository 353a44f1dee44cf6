"""Gate: a stage that lets an operator see only what may be in a match: events within a window of a witness.

    every accepted run has a witness     an event of its pattern that is rare (`afa.replay.witness`)
    a run is shorter than a window       so all its events lie in the span (LE of the witness - window, LE of the witness + window)

Of each key the gate holds events until a witness comes; then it lets go what it holds in the span around it, and what comes there
later passes. What a promise has left a window behind can't be needed any more, and is dropped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.errors import AfaError
from afa.model.automaton import Automaton
from afa.model.copies import as_plain, as_total
from afa.replay.awaited import as_boxes, asked, obstacle, plain_boxes, rows_of, said, without_witness
from afa.replay.gated_operator import Gated
from afa.replay.held_events import HeldEvents
from afa.replay.held_rows import HeldRows
from afa.replay.open_spans import OpenSpans, Span
from afa.replay.witness import Box, Serving, Witness, necessary
from afa.replay.witness.witnesses import Share, guessed
from afa.schema import any_payload
from afa.state.sound import wanted
from punctuation.calls import whole
from punctuation.durations import Duration
from punctuation.time import BEGINNING, FOREVER, as_time
from speculation.stage import Output, Stage


class GateStatistics(NamedTuple):
    """The numbers of one `Gate`, in copies: a change with ``diff=2`` counts as two.

    Parameters
    ----------
    held : int
        Changes that are held now: events, and retractions that wait for their event.
    peak_held : int
        The most changes that were ever held.
    passed : int
        Changes that went to the operator when they came, while the gate was not open.
    released : int
        Changes that went to the operator after they had been held.
    dropped : int
        Events that were never needed: a promise has left them a window behind.
    annihilated : int
        Pairs of an event and its retraction that met while one of them was held.
    witnesses : int
        Witnesses that have come.
    spans : int
        Open spans, of all keys.
    stale : int
        Punctuations that promised nothing new.
    """

    held: int
    peak_held: int
    passed: int
    released: int
    dropped: int
    annihilated: int
    witnesses: int
    spans: int
    stale: int


class Gate(Stage):
    """A stage before an operator that holds events back until a rare necessary one lies within the window of them.

    Every match needs a *witness*: an event of which the automaton alone tells that each accepted run has one
    (`afa.replay.witness`). A run is shorter than the window, so all its events lie less than a window before or behind its witness.
    Of each key the operator gets the events in these open spans only: late, when the witness comes; what comes into such a span
    later passes at once, whatever its LE. All others are dropped once a promise has left them a window behind.

    **What it means.** The net output of the operator behind a gate is that of the operator alone, after every prefix of the input,
    where the automaton has no time-outs: a match in force has its witness, all that its runs have seen lies in the witness's span.
    Time-outs wait for the clock, which events that are held do not move: what fires by them fires later, nothing fires that would
    not fire without the gate. All that lies below what has been promised behind the gate is the same; after a promise of FOREVER
    all is.

    A promise t leaves as ``min(t, the least LE that is still held)``, so at most a window late: what is held may still be let go.

    **What is not looked at is not refused.** A function that would raise on an event, two events that would tie, are found when the
    event is let go, or never. Where a retraction is let go before its event has come, it is late when the operator's promise
    passes it, which is behind the gate's.

    Parameters
    ----------
    automaton : Automaton
        That of the operator. Also a query: then it is not compared.
    window : int (ticks), str or timedelta, optional
        The operator's; needed if that has none, and events bring an RE of their own. No event may last longer.
    share : callable, optional
        ``share(box)`` says how rare the events of a `Box` are; of several witnesses the rarest is taken. None: a guess from the
        form of the condition.
    require : bool
        What becomes of all with which no gate can stand. False: it *opens*, for good: it lets go what it holds, makes good its
        promise, passes on all that comes from there on, and `reason` says why. True: it is refused.
    tick : str, optional
        What one int of LE counts; the operator's, unless said.

    Attributes
    ----------
    reason : str or None
        Why the gate is open. It is from the beginning where there is no witness or no window, and with ``gapless=``, ``cancel=`` or
        ``arc_punctuation=True``; and from then on where an arc changes, an event lasts longer than the window, or a promise
        comes with a condition.
    witness : Witness or None
        For what it waits.

    Raises
    ------
    AfaError
        By ``before``, where ``require=True`` and one of these stands against it; the operator has another automaton or window, or
        has taken something already.

    Notes
    -----
    O(log n) for each event that comes alone, with n held of its key or, where it is the first one at its LE, of all. Rows of a
    table are sorted by key and LE, and wait as rows: O(n log n) a table, O(log n) for each span and table held. Rows that are late,
    retractions, or last longer than the window, and tables with a column ``kind``, go one by one. Held is what lies
    above the promise - window.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton, Operator, Punctuation, insert
    >>> class Order(NamedTuple):
    ...     kind: str
    ...     size: int
    >>> alarm = Automaton(
    ...     start="0", final={"2"}, event=Order,
    ...     arcs=[
    ...         Arc("0", "1", "kind == 'placed'"), Arc("1", "1", "kind == 'placed'"),
    ...         Arc("1", "2", "kind == 'cancelled' and size > 1000000"),
    ...     ],
    ... )
    >>> op = Gate(alarm).before(Operator(alarm, window=10))
    >>> op.stage.witness.text(alarm.event_schema)
    "kind = 'cancelled' and size > 1000000 (1 -> 2)"
    >>> op.push_many([insert(Order("placed", 5), le) for le in (1, 12, 15)])
    []
    >>> [(match.le, match.re) for match in op.push(insert(Order("cancelled", 2_000_000), le=20))]  # 12 and 15 are let go
    [(20, 22), (20, 25)]
    >>> [(match.le, match.re, match.diff) for match in op.push(insert(Order("placed", 5), le=11))]  # late, and passes
    [(20, 21, 1)]
    >>> op.push(Punctuation(30)), op.statistics.changes
    ([Punctuation(t=30)], 4)
    >>> op.stage.statistics
    GateStatistics(held=0, peak_held=3, passed=2, released=2, dropped=1, annihilated=0, witnesses=1, spans=0, stale=0)
    """

    _automaton: Automaton | None = None
    _numbers = ("reason", "promised", "told", "_peak", "_passed", "_released", "_dropped", "_annihilated", "_witnesses", "_stale")

    def __init__(
        self,
        automaton: Any,
        window: Duration | None = None,
        *,
        share: Share | None = None,
        require: bool = False,
        tick: str | None = None,
    ) -> None:
        if not isinstance(automaton, Automaton) and not isinstance(getattr(automaton, "automaton", None), Automaton):
            raise AfaError(f"expected an Automaton, or a query, but got {automaton!r}")
        if type(require) is not bool:
            raise AfaError(f"expected require=True or False but got require={require!r}")
        self._begin(window, require, tick)
        self._automaton = automaton if isinstance(automaton, Automaton) else None
        self._share = share or guessed

    def _begin(self, window: Any, require: bool, tick: str | None) -> None:
        super().__init__(tick)
        self._waiting: Any = HeldEvents(self._journal)
        self.spans = OpenSpans(self._journal)
        self.window: Any = self._window(window)
        self.require = require
        self.reason: str | None = None
        self.witness: Witness | None = None
        self.boxes: tuple[Box, ...] = ()
        self._asked: list[Any] = []
        self._events: Any = None
        self._restored = False
        self.promised = self.told = BEGINNING
        """What the input has promised, and what the operator has been told of it."""
        self._peak = self._passed = self._released = self._dropped = self._annihilated = self._witnesses = self._stale = 0

    def before(self, operator: Any) -> Gated:
        """Put this stage at the input of an `Operator` or a `Keyed` that has taken nothing yet."""
        return Gated(self, operator)

    @property
    @whole
    def statistics(self) -> GateStatistics:
        """The numbers of changes that are held, and of those that have come and gone so far."""
        return GateStatistics(
            held=self._waiting.copies,
            peak_held=self._peak,
            passed=self._passed,
            released=self._released,
            dropped=self._dropped,
            annihilated=self._annihilated,
            witnesses=self._witnesses,
            spans=len(self.spans),
            stale=self._stale,
        )

    def take(self, item: Any, out: Output) -> None:
        """Refuse to stand alone: the operator knows the form of events."""
        raise AfaError("expected a Gate before an operator but got one alone: Gate(automaton).before(operator)")

    # -- the operator --------------------------------------------------------------------------------------------------------------

    def follow(self, core: Any) -> None:
        """Take note of the operator, and find the witness."""
        self._fit(core)
        self._events = core.automaton.event_schema
        servings = [Serving(event.arc, event.le, event.re) for event in core.arcs.table.events]
        if self.reason is None:
            self.reason = obstacle(core, self.window)
        if self.reason is None and self._restored:
            known = set(self.boxes)
            found = necessary(core.automaton, servings, lambda box: 1e-9 if box in known else 1.0)
            self.witness = next((each for each in found.witnesses if set(each.boxes) <= known), None)
            wanted("an operator that has the Gate's witness", self.witness, self.boxes)
        elif self.reason is None:
            found = necessary(core.automaton, servings, self._share)
            self.witness = min(found.witnesses, key=self._rarity, default=None)
            self.reason = None if self.witness else without_witness(found)
            self.boxes = self.witness.boxes if self.witness else ()
        if self.reason is not None and self.require:
            raise AfaError(f"expected an operator before which a Gate can stand but got one where {self.reason}")
        if self.reason is None:
            self._asked = asked(self.boxes, self._events)

    def _fit(self, core: Any) -> None:
        """Refuse an operator with another window or automaton."""
        if self.window is None:
            self.window = core.window
        elif core.window is not None and core.window != self.window:
            raise AfaError(f"expected a Gate with the operator's window={core.window} but got window={self.window}")
        mine = None if self._automaton is None else self._automaton.bound(core.tick)
        if mine is not None and said(mine) != said(core.automaton):
            raise AfaError("expected a Gate with the operator's automaton but got another one")
        names = () if core.keys is None else core.keys.names
        wanted("rows of the operator's keys", not self._waiting.tables or self._waiting.key_names == names, self._waiting.key_names)
        self._waiting.key_names = names

    def _rarity(self, witness: Witness) -> float:
        return sum(self._share(box) for box in witness.boxes)

    # -- what `Gated` uses ---------------------------------------------------------------------------------------------------------

    def is_witness(self, change: Change) -> bool:
        """Return whether an event in its form is a witness."""
        payload, le = change.payload, change.le
        return any(
            since <= le < until and all(contains(payload[place]) for place, contains in fields)
            for since, until, fields in self._asked
        )

    def passes(self, change: Change) -> list[Change] | None:
        """Take a change in its form, above the promise. Returns what goes to the operator; None: the change is held."""
        key, le = change.key, change.le
        released: list[Change] = []
        if change.diff > 0 and self.is_witness(change):
            self._witnesses += change.diff
            span = self._around(change)
            self.spans.open(*span)
            released = self._waiting.take_span(*span)
            rows = self._waiting.take_rows([span])
            if rows is not None:
                released += self._waiting.changes_of(rows)
            self._released += sum(abs(each.diff) for each in released)
        elif not self.spans.has(key, le):  # type: ignore[arg-type]
            self._annihilated += self._waiting.add(change)
            self._peak = max(self._peak, self._waiting.copies)
            return None
        self._passed += abs(change.diff)
        return [*released, change]

    def _around(self, change: Any) -> Span:
        """Return the span around a witness in which all events of its runs lie."""
        return change.key, max(change.le - self.window + 1, BEGINNING), min(change.le + self.window, FOREVER)

    def take_rows(self, rows: Any) -> list[Any] | None:
        """Take rows: insertions above the promise that last no longer than the window.

        Returns the tables and the lists of changes that go to the operator, with the rows to pass; None: they must go one by one.
        """
        new = HeldRows.of(rows, self._waiting.key_names) if self._waiting.takes_rows(rows) else None
        if new is None:
            return None
        opened = self._opened_by(rows)
        changes = [change for span in opened for change in self._waiting.take_span(*span)]
        released = self._waiting.take_rows(opened)
        self._released += sum(abs(change.diff) for change in changes)
        self._released += 0 if released is None else sum(released.column("diff").to_pylist())
        there = [places for span in self.spans.meeting(new.least, new.latest) if len(places := new.places(*span))]
        found: list[Any] = [changes] if changes else []
        found += [released] if released is not None else []
        if there:
            at = there[0] if len(there) == 1 else np.unique(np.concatenate(there))
            self._passed += new.copies(at)
            found.append(new.at(at))
            new = new.without(at)
        self._waiting.hold(new)
        self._peak = max(self._peak, self._waiting.copies)
        return found

    def _opened_by(self, rows: Any) -> list[Span]:
        """Open the spans around the witnesses among rows. Returns those spans, joined where they meet."""
        found = rows_of(self.boxes, rows, self._events)
        if not found.any():
            return []
        some = rows.filter(found)
        self._witnesses += sum(some.column("diff").to_pylist())
        opened = OpenSpans(self._journal)
        for change in self._waiting.changes_of(some):
            span = self._around(change)
            opened.open(*span)
            self.spans.open(*span)
        return list(opened)

    def promise(self, t: int) -> tuple[list[Change], int | None]:
        """Take a promise of the input. Returns the retractions that are late now, and what to promise the operator, if anything."""
        if t <= self.promised:
            self._stale += 1
            return [], None
        self.promised = t
        overdue = self._waiting.take_overdue(t)
        self._dropped += self._waiting.take_below(FOREVER if t == FOREVER else max(t - self.window, BEGINNING))
        self.spans.close(t)
        least = self._waiting.least
        t = t if least is None else min(t, least)
        if t <= self.told:
            return overdue, None
        self.told = t
        return overdue, t

    def open(self, reason: str) -> tuple[list[Change], int | None]:
        """Open for good. Returns what was held, and what is promised to the operator behind that, if anything."""
        if self.require:
            raise AfaError(f"expected what a Gate can hold (require=True) but got a change where {reason}")
        self.reason = reason
        released = self._waiting.take_all()
        self._released += sum(abs(change.diff) for change in released)
        self.spans.close(FOREVER)
        told, self.told = self.told, self.promised
        return released, self.promised if self.promised > told else None

    # -- snapshots: see `Stage.of` -------------------------------------------------------------------------------------------------

    def numbers(self) -> list[Any]:
        """Return all but what is held, as plain data."""
        boxes = plain_boxes(self.boxes)
        counts = [as_plain(getattr(self, name)) for name in self._numbers[3:]]
        options = [self.window, self.require, self.reason, boxes, list(self._waiting.key_names)]
        return [*options, [list(span) for span in self.spans], self.promised, self.told, *counts]

    @classmethod
    def _made(cls, numbers: list[Any]) -> Gate:
        window, require, reason, boxes, names, spans, promised, told, *counts = numbers
        stage = cls.__new__(cls)
        wanted("require=True or False, and a reason", type(require) is bool and isinstance(reason, (str, type(None))), numbers)
        stage._begin(window, require, None)
        stage.reason, stage._restored, stage._share = reason, True, guessed
        stage.boxes = as_boxes(boxes)
        stage.promised, stage.told = as_time(promised, "promised"), as_time(told, "promised")
        wanted("a promise up to that of the input", told <= promised, numbers)
        wanted("names of the key's columns", all(isinstance(name, str) for name in names), names)
        stage._waiting.key_names = tuple(names)
        for key, low, high in spans:
            wanted("spans above the promise", low < as_time(high, "high") and high > promised, [low, high])
            stage.spans.open(None if key is None else any_payload(key), low, high)
        for name, count in zip(cls._numbers[3:], counts, strict=True):
            setattr(stage, name, as_total(count))
        return stage

    def _check_waiting(self) -> None:
        waiting = self._waiting
        least = waiting.least
        wanted("nothing held below what was promised", least is None or least >= self.told, least)
        wanted("nothing held by an open gate", self.reason is None or not waiting.copies, waiting.copies)
        held = any(self.spans.has(change.key, change.le) for change in waiting.changes)
        wanted("nothing held in an open span", not held, "some")
