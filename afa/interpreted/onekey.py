"""Carry out a call on the state of one key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from afa.change import Change
from afa.conditions.promised import Promises
from afa.interpreted import cleanup, pruning
from afa.interpreted import interpreted_states as saved
from afa.interpreted.algorithm import Algorithm
from afa.interpreted.invariants import check
from afa.interpreted.state import Entry, State
from afa.journal import Journal
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.copies import added
from afa.model.raised import Faults
from afa.model.transitions import Transitions
from afa.state.states import Pruned
from punctuation.progress import Progress


class OneKey:
    """The work on one key's state. Every write leaves its inverse in the journal."""

    def __init__(
        self,
        automaton: Automaton,
        table: ArcTable,
        progress: Progress,
        journal: Journal,
        sequence: str | None,
        faults: Faults | None = None,
        gaps: str | None = None,
    ) -> None:
        self._automaton = automaton
        self._journal = journal
        self._sequence = sequence
        self._transitions = Transitions(automaton, table, faults)
        self._algorithm = Algorithm(self._transitions, progress, gaps)
        self._missing: list[tuple[Any, int, int]] = []  # key, first and last number of gaps that have become final in this call
        self._progress = progress
        self.most = 0  # copies that there ever were of one event, or of its retraction

    def let_raise(self) -> None:
        """Raise what users' functions raise from now on."""
        self._transitions.faults = None

    def new(self, key: Any) -> State:
        """Return an empty state."""
        return State(key, self._journal, self._sequence is not None)

    def apply(self, s: State, changes: Iterable[Change]) -> None:
        """Apply event changes that are checked and not late. All changes of one step are applied at once, step by step in order.

        An event counts as often as it was inserted more than retracted; where that is negative, retractions wait.
        """
        self._transitions.key = s.key
        steps: dict[Any, tuple[int, dict[tuple[Any, int], int]]] = {}
        for payload, le, re, diff, _ in changes:
            assert le is not None
            assert re is not None
            key = le if self._sequence is None else (le, getattr(payload, self._sequence))
            entry = s.index.get(key)
            diffs = steps.setdefault(key, (le, {}))[1]
            event, waiter = (payload, re), (payload, le, re)
            there = (entry.events.get(event, 0) if entry else 0) + diffs.get(event, 0)
            waiting = s.pending.get(waiter, 0)
            count = added(there - waiting, diff, payload, le)
            self.most = max(self.most, abs(count))
            diffs[event] = diffs.get(event, 0) + max(count, 0) - there
            if waiting != max(-count, 0):
                self._pend(s, waiter, max(-count, 0))
        for key, (le, diffs) in steps.items():
            if not any(diffs.values()):
                continue
            if pruning.behind(s, key):
                pruning.insert(self._algorithm, s, key, le, diffs)
            else:
                self._algorithm.change_step(s, key, le, diffs)
        cleanup.forget_cover(self._algorithm, s)

    def _pend(self, s: State, event: tuple[Any, int, int], count: int) -> None:
        if count:
            self._journal.put(s.pending, event, count)
        else:
            self._journal.drop(s.pending, event)

    def overdue(self, s: State, t: int) -> list[Change]:
        """Remove and return the retractions whose insertion can't come any more, as ``t`` is promised."""
        found = [event for event in s.pending if event[1] < t]
        changes = [Change(*event, -s.pending[event], s.key) for event in found]
        for event in found:
            self._pend(s, event, 0)
        return changes

    def swap(self, states: Iterable[State], table: ArcTable, le: int, re: int) -> None:
        """Put a table in force that differs in ``[le, re)`` only. ``states`` are those with a step or a wait from ``le`` on."""
        states = list(states)
        for s in states:
            self.tick(s)  # the last punctuations may not have concerned it: a new time-out fires up to the present clock
            self._algorithm.leave_arcs(s, le, re)  # after `tick`, which says whose state it is
        self._journal.note(setattr, self._transitions, "table", self._transitions.table)
        self._transitions.table = table
        for s in states:
            self._transitions.key = s.key
            self._algorithm.enter_arcs(s, le, re)

    def tick(self, s: State) -> None:
        """Follow the clock."""
        self._transitions.key = s.key
        self._missing += ((s.key, *gap) for gap in cleanup.tick(self._algorithm, s))

    def final_gaps(self) -> list[tuple[Any, int, int]]:
        """Return the gaps that have become final since it was last asked."""
        found, self._missing = self._missing, []
        return found

    def numbered(self, s: State, number: int) -> tuple[int, Any] | None:
        """Return LE and event, ``(payload, RE)``, of the step with a number; None as the event of one that is final."""
        i = bisect_left(s.index.keys(), number, key=itemgetter(1))
        if i == len(s.index) or s.index.keys()[i][1] != number:
            return None
        y: Entry = s.index.peekitem(i)[1]
        return y.le, next(iter(y.events), None)

    def neighbours(self, s: State, le: int, number: int) -> list[tuple[int, int]]:
        """Return LE and number of the steps beside a place, and of the one there."""
        found = [s.before((le, number)), s.index.get((le, number)), s.after((le, number))]
        return [y.key for y in found if y is not None]

    def clean(self, s: State) -> None:
        """Drop what the effective punctuation has made final."""
        self._transitions.key = s.key
        cleanup.clean(self._algorithm, s, self._progress.final)

    def prune(self, s: State, promises: Promises, arcs: int) -> None:
        """Drop what punctuations with conditions have made superfluous."""
        self._transitions.key = s.key
        pruning.prune(self._algorithm, s, promises, arcs)

    def deadline(self, s: State) -> int | None:
        """Return the smallest punctuation that changes anything for this state."""
        self._transitions.key = s.key
        return cleanup.deadline(self._algorithm, s)

    def collect(self, s: State) -> Sequence[Change]:
        """Return the minimal difference of the matches in force since the last collect, then forget final matches."""
        changes = []
        for (le, re, register), old in s.delta.items():
            now = s.count(le, re, register)
            if (now > 0) != (old > 0):
                changes.append(Change(self._automaton.match(register), le, re, 1 if now else -1, s.key))
        s.delta.clear()
        cleanup.drop_final(s, self._algorithm.final(s))
        return changes

    def fill(self, key: Any, cover: Any, changes: list[Any], pruned: Pruned | None) -> State:
        """Return the state of a key from what `afa.interpreted.interpreted_states.load` returned."""
        self._transitions.key = key
        s = saved.fill(self._algorithm, self.new(key), cover, changes, self._sequence, pruned, self._automaton)
        self.most = max([self.most, *(n for entry in s.index.values() for n in entry.events.values()), *s.pending.values()])
        return s

    def check(self, s: State) -> None:
        """Assert the invariants of [AFA10] Sec. 5.1."""
        check(self._algorithm, s)
