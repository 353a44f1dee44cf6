"""What a gate holds back, lets go and drops: its state, and what each event and promise does to it. See `afa.replay.gated`."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from afa.change import Change
from afa.errors import AfaError
from afa.model.copies import as_plain, as_total
from afa.replay.awaited import as_boxes, plain_boxes, rows_of
from afa.replay.held_events import HeldEvents
from afa.replay.held_rows import HeldRows
from afa.replay.open_spans import OpenSpans, Span
from afa.replay.witness import Box, Witness
from afa.schema import any_payload
from afa.state.sound import wanted
from punctuation.calls import whole
from punctuation.time import BEGINNING, FOREVER, as_time
from speculation.stage import Stage

H = TypeVar("H", bound="HoldsBack")


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


class HoldsBack(Stage):
    """The base of `Gate`: events by key until a witness comes."""

    _numbers = ("reason", "promised", "told", "_peak", "_passed", "_released", "_dropped", "_annihilated", "_witnesses", "_stale")

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

    # -- what `Gated` uses ---------------------------------------------------------------------------------------------------------

    def is_witness(self, change: Change) -> bool:
        """Return whether an event in its form is a witness."""
        payload, le = change.payload, change.le
        for since, until, fields in self._asked:
            if since <= le < until:
                for place, contains in fields:
                    if not contains(payload[place]):
                        break
                else:
                    return True
        return False

    def passes(self, change: Change) -> list[Change] | None:
        """Take a change in its form, above the promise. Returns what goes to the operator; None: the change is held."""
        if change.diff > 0 and self.is_witness(change):
            return self._let_go(change)
        return [change] if self.goes(change) else None

    def goes(self, change: Change) -> bool:
        """Take such a change that is no witness. Returns whether it goes to the operator; else it is held."""
        if self.spans.has(change.key, change.le):  # type: ignore[arg-type]
            self._passed += abs(change.diff)
            return True
        self._annihilated += self._waiting.add(change)
        if self._waiting.copies > self._peak:
            self._peak = self._waiting.copies
        return False

    def _let_go(self, witness: Change) -> list[Change]:
        """Open the span around a witness. Returns what was held there, and the witness."""
        span = self._around(witness)
        self.spans.open(*span)
        released: list[Change] = self._waiting.take_span(*span)
        rows = self._waiting.take_rows([span])
        if rows is not None:
            released += self._waiting.changes_of(rows)
        self._released += sum(abs(each.diff) for each in released)
        self._witnesses += witness.diff
        self._passed += witness.diff
        return [*released, witness]

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
    def _made(cls: type[H], numbers: list[Any]) -> H:
        window, require, reason, boxes, names, spans, promised, told, *counts = numbers
        stage = cls.__new__(cls)
        wanted("require=True or False, and a reason", type(require) is bool and isinstance(reason, (str, type(None))), numbers)
        stage._begin(window, require, None)
        stage.reason, stage._restored = reason, True
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
