"""The interpreted engine: takes any payload and any function, and is the reference for every faster one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from afa.change import Change
from afa.conditions.promised import PACE, PromisesByKey, room
from afa.engine import ByRows, Numbered, Setup, Sizes
from afa.interpreted import interpreted_states as saved
from afa.interpreted.onekey import OneKey
from afa.interpreted.state import State
from afa.journal import forget_places
from afa.model.arctable import ArcTable
from afa.model.copies import COPIES
from afa.state.states import States
from punctuation.deadlines import Deadlines


class InterpretedEngine(ByRows):
    """One `State` a key. See `afa.engine.Engine` for what each method promises."""

    name = "interpreted"

    def __init__(self, setup: Setup) -> None:
        automaton, table, progress, journal, sequence, _, faults, gaps = setup
        self.states: dict[Hashable, State] = {}
        self.automaton = automaton
        self._one = OneKey(automaton, table, progress, journal, sequence, faults, gaps)
        self._progress = progress
        self._journal = journal
        self._gaps = gaps
        self.alone = gaps is None
        self._due: list[State] = []  # keys that the present punctuation concerns
        self._deadlines = Deadlines()
        self._restless: dict[Hashable, None] = {}  # keys touched since their deadline was last set
        self._touched: dict[Hashable, State] = {}  # keys of this call
        self._changed: dict[Hashable, None] = {}  # keys touched since the last snapshot; of those that are gone, those that it has
        self._saved: set[Hashable] = set()  # keys that it has
        self._sizes: dict[Hashable, tuple[int, ...]] = {}
        self._measure: dict[Hashable, None] = {}  # keys touched since their size was last taken
        self._held = [0] * 5
        self._had_timeouts = bool(table.timeouts)
        self._final = progress.final
        self._looked = 0  # changes taken when it was looked last for keys to prune

    def state(self, key: Hashable) -> State:
        """Return the state of a key, made if there is none, and noted as touched."""
        s = self.states.get(key)
        if s is None:
            s = self._one.new(key)
            self._journal.put(self.states, key, s)
        self._touched[key] = s
        self._changed[key] = None
        self._restless[key] = None
        self._measure[key] = None
        return s

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        """Apply event changes of one key in the cheapest order: those that cancel out are skipped, the rest go by LE."""
        if len(changes) > 1 and self._one.most + sum(abs(change.diff) for change in changes) <= COPIES:
            changes = _netted(changes)
        self._one.apply(self.state(key), changes)

    # -- numbers without gaps: see `afa.operator.gapless` ------------------------------------------------------------------

    @property
    def numbers(self) -> Numbered | None:
        """What it tells where numbers are gapless; None: they are not."""
        return None if self._gaps is None else self

    def numbered(self, key: Hashable, number: int) -> tuple[int, Any] | None:
        """Return LE and event, ``(payload, RE)``, of the step of a key with a number; of one that is final, None as its event."""
        s = self.states.get(key)
        return None if s is None else self._one.numbered(s, number)

    def neighbours(self, key: Hashable, le: int, number: int) -> list[tuple[int, int]]:
        """Return LE and number of the steps of a key beside a place, and of the one there."""
        s = self.states.get(key)
        return [] if s is None else self._one.neighbours(s, le, number)

    def waiting(self, key: Hashable, payload: Any, le: int, re: int) -> int:
        """Return how many retractions of an event wait."""
        s = self.states.get(key)
        return 0 if s is None else s.pending.get((payload, le, re), 0)

    def final_gaps(self) -> list[tuple[Hashable, int, int]]:
        """Return key, first and last number of the gaps that have become final since it was last asked."""
        return self._one.final_gaps()

    @property
    def open_gaps(self) -> int:
        """How many gaps can still close, over all keys."""
        return sum(len(s.gaps) for s in self.states.values())

    # -- calls -------------------------------------------------------------------------------------------------------------

    def overdue(self, t: int) -> list[Change]:
        """Remove and return the retractions whose insertion can no longer arrive."""
        for key in self._deadlines.due(t):
            self._restless[key] = None
        self._due = [self.states[key] for key in self._restless if key in self.states]
        return [change for s in self._due for change in self._one.overdue(s, t)]

    def tick(self) -> None:
        """Follow the clock."""
        for s in self._due:
            self.state(s.key)
            self._one.tick(s)

    def clean(self) -> None:
        """Drop what the effective punctuation has made final."""
        for s in self._due:
            self._one.clean(s)

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        """Drop what punctuations with conditions have made superfluous, of keys that have grown since; amortized O(1) a step."""
        if changes - self._looked < len(self.states) // PACE:
            return
        self._journal.set(self, "_looked", changes)
        for key, s in list(self.states.items()):
            if len(s.index) >= room(s.size):
                self._one.prune(self.state(key), promises.of(key), arcs)
                self._journal.set(s, "size", len(s.index))

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Let the keys follow a table; only what lies from ``le`` on is visited, in the default mode nothing."""
        concerned = [self.state(key) for key in list(self.states)] if le < self._progress.now else []
        self._one.swap(concerned, table, le, re)
        if table.timeouts or self._had_timeouts:  # waits may end at other instants than their deadlines say
            self._restless.update(dict.fromkeys(self.states))
        self._had_timeouts = bool(table.timeouts)

    def collect(self) -> list[Change]:
        """Return the minimal difference since the last collect."""
        changes = [change for s in self._touched.values() for change in self._one.collect(s)]
        for key in [key for key, s in self._touched.items() if s.empty and key in self.states]:
            self._journal.drop(self.states, key)
            self._weigh(key)
            if key not in self._saved:
                del self._changed[key]
        self._touched.clear()
        if self._progress.final > self._final:
            self._final = self._progress.final
            self._settle()
        return changes

    def _settle(self) -> None:
        """After a punctuation: when does each key that was visited want the next one?"""
        for key in self._restless:
            s = self.states.get(key)
            self._deadlines.set(key, None if s is None else self._one.deadline(s))
        self._restless.clear()

    def commit(self) -> None:
        """Forget what the call has touched. The journal belongs to the operator, which clears it."""
        self._touched.clear()

    def rollback(self) -> None:
        """Drop what depends on undone states: the journal has restored these, but deadlines and sizes may have come from them."""
        for s in (*self._touched.values(), *self._due):
            s.delta.clear()
            forget_places(s.index)
            forget_places(s.matches)
            forget_places(s.gaps)
        self._one.final_gaps()
        self.forget()
        self._touched.clear()
        self._final = self._progress.final
        self._deadlines = Deadlines()
        self._restless = dict.fromkeys(self.states)
        self._changed.update(self._restless)
        self._measure, self._held, self._sizes = dict(self._restless), [0] * 5, {}

    def let_raise(self) -> None:
        """Raise what users' functions raise from now on."""
        self._one.let_raise()

    def keys(self) -> list[Hashable]:
        """Return the keys that hold any state."""
        return list(self.states)

    def sizes(self) -> Sizes:
        """Return what is held. O(steps of the keys touched since the last look)."""
        for key in list(self._measure):
            self._weigh(key)
        return Sizes._make([*self._held, len(self.states)])

    def _weigh(self, key: Hashable) -> None:
        """Take the size of a key anew; what is gone weighs nothing, and is forgotten."""
        s = self.states.get(key)
        new = s.sizes() if s is not None else (0,) * 5
        old = self._sizes.pop(key, (0,) * 5)
        if s is not None:
            self._sizes[key] = new
        self._held = [held + more - less for held, more, less in zip(self._held, new, old)]
        self._measure.pop(key, None)

    def save(self, changed: bool = False) -> States:
        """Return the states of all keys, or of those that changed since the last snapshot."""
        keys = list(self._changed if changed else self.states)
        return saved.save(self.automaton, self._progress.final, keys, self.states, self._gaps is not None)

    def saved(self) -> None:
        """Take note that a snapshot was taken."""
        self._journal.set(self, "_saved", set(self.states))
        self._journal.set(self, "_changed", {})

    def load(self, states: States) -> None:
        """Load the states of keys that are not held yet."""
        for key, cover, changes, pruned in saved.load(self.automaton, states):
            s = self._one.fill(key, cover, changes, pruned)
            self._saved.add(key)
            if not s.empty:
                self.states[key] = s
                self.state(key)
            if any(le < self._progress.final for _, le, *_ in changes):  # it was not cleaned since it was saved
                self._changed[key] = None
            else:
                self._changed.pop(key, None)
        self._touched.clear()

    def check(self) -> None:
        """Assert the invariants of [AFA10] Sec. 5.1 for every key, and that the sizes are true."""
        for s in self.states.values():
            self._one.check(s)
        fresh = [s.sizes() for s in self.states.values()]
        sizes = self.sizes()
        assert sizes.events == sum(size[0] for size in fresh), "statistics.events"
        assert sizes.partial_matches == sum(size[1] for size in fresh), "statistics.partial_matches"
        assert sizes.keys == len(fresh), "statistics.keys"


def _netted(changes: Sequence[Change]) -> list[Change]:
    counts: dict[tuple[Any, Any, Any], int] = {}
    for change in changes:
        event = (change.le, change.re, change.payload)
        counts[event] = counts.get(event, 0) + change.diff
    kept = [Change(payload, le, re, n) for (le, re, payload), n in counts.items() if n]
    kept.sort(key=lambda change: (change.le, change.diff))
    return kept
