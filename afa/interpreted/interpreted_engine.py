"""The interpreted engine: takes any payload and any function, and is the reference for every faster one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from afa.change import Change
from afa.conditions.promised import PACE, PromisesByKey, room
from afa.engine import Budget, ByRows, Ends, Living, NumberedEngine, Setup, Sizes, Step
from afa.interpreted import cleanup, pruning
from afa.interpreted import interpreted_states as saved
from afa.interpreted.algorithm import LOOK, Algorithm
from afa.interpreted.invariants import check
from afa.interpreted.key_reading import ends_of, held_steps, living
from afa.interpreted.longest import Longest, longest_changes
from afa.interpreted.state import Entry, State
from afa.journal import forget_places
from afa.model.arctable import ArcTable
from afa.model.copies import COPIES, added, refuse_ties
from afa.model.event_order import placing
from afa.model.transitions import Transitions
from afa.state.states import States
from punctuation.deadlines import Deadlines
from punctuation.time import FOREVER

PARTIAL_MATCH, EVENT = 200, 700
"""Bytes, about, of a partial match in its list, and of an event with its step."""


class InterpretedEngine(ByRows):
    """One `State` a key. See `afa.engine.Engine` for what each method promises."""

    name = "interpreted"

    def __init__(self, setup: Setup) -> None:
        automaton, table, progress, journal, sequence, _, faults, gaps, _, longest = setup
        self.states: dict[Hashable, State] = {}
        self.automaton = automaton
        self._transitions = Transitions(automaton, table, faults)
        self._longest = longest
        self._shown = automaton.match if longest else None
        self._algorithm = (Longest if longest else Algorithm)(self._transitions, progress, gaps)
        self._sequence = None if sequence is None else placing(sequence, automaton.event_schema)
        self._missing: list[tuple[Hashable, int, int]] = []  # key, first and last number of gaps that became final in this call
        self._most = 0  # copies that there ever were of one event, or of its retraction
        self._progress = progress
        self._journal = journal
        self._gaps = gaps
        self.alone = gaps is None
        self._due: list[State] = []  # keys that the present punctuation concerns
        self._deadlines, self._cleanings = Deadlines(), Deadlines()  # by what is promised, and by the floor
        self._restless: dict[Hashable, None] = {}  # keys touched since their deadline was last set
        self._touched: dict[Hashable, State] = {}  # keys of this call
        self._changed: dict[Hashable, None] = {}  # keys touched since the last snapshot; of those that are gone, those that it has
        self._saved: set[Hashable] = set()  # keys that it has
        self._sizes: dict[Hashable, tuple[int, ...]] = {}
        self._measure: dict[Hashable, None] = {}  # keys touched since their size was last taken
        self._held = [0] * 9
        self._tied: list[tuple[State, Any]] = []  # steps that came to hold several events in this call, where that is refused
        self._had_timeouts = bool(table.timeouts)
        self._settled = progress.events, progress.floor
        self._looked = 0  # changes taken when it was looked last for keys to prune

    def bound(self, budget: Budget) -> None:
        self._algorithm.budget, self._algorithm.look = budget, self._claim
        self._algorithm.every = LOOK if budget.max_bytes is None else min(LOOK, budget.max_bytes // (4 * EVENT))

    def _claim(self) -> None:
        """Claim what all that is held may take, by its number."""
        budget, sizes = self._algorithm.budget, self.sizes()
        self._measure.update(dict.fromkeys(self._touched))  # the call goes on with them
        wanted = PARTIAL_MATCH * sizes.partial_matches + EVENT * (sizes.events + sizes.pending)
        assert budget is not None
        if wanted > budget.claimed:
            budget.claim(self, wanted - budget.claimed)
        budget.hold(self, wanted)

    def state(self, key: Hashable) -> State:
        """Return the state of a key, made if there is none, and noted as touched."""
        s = self.states.get(key)
        if s is None:
            s = self._made(key)
            self._journal.put(self.states, key, s)
        self._touched[key] = s
        self._changed[key] = None
        self._restless[key] = None
        self._measure[key] = None
        return s

    def _made(self, key: Hashable) -> State:
        return State(key, self._journal, self._sequence is not None)

    def _on(self, s: State) -> Algorithm:
        """Return the algorithm, for work on one key."""
        self._transitions.key = s.key
        return self._algorithm

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        """Apply event changes in the cheapest order: those that cancel out are skipped, the rest go by LE, all of a step at once.

        An event counts as often as it was inserted more than retracted; where that is negative, retractions wait.
        """
        if len(changes) > 1 and self._most + sum(abs(change.diff) for change in changes) <= COPIES:
            changes = _netted(changes)
        s = self.state(key)
        algorithm = self._on(s)
        steps: dict[Any, tuple[int, dict[tuple[Any, int], int]]] = {}
        for payload, le, re, diff, _ in changes:
            assert le is not None
            assert re is not None
            at = le if self._sequence is None else (le, self._sequence(payload))
            entry = s.index.get(at)
            diffs = steps.setdefault(at, (le, {}))[1]
            event, waiter = (payload, re), (payload, le, re)
            there = (entry.events.get(event, 0) if entry else 0) + diffs.get(event, 0)
            waiting = s.pending.get(waiter, 0)
            count = added(there - waiting, diff, payload, le)
            self._most = max(self._most, abs(count))
            diffs[event] = diffs.get(event, 0) + max(count, 0) - there
            if waiting != max(-count, 0):
                self._pend(s, waiter, max(-count, 0))
        changed = [(at, *steps[at]) for at in sorted(steps) if any(steps[at][1].values())]
        algorithm.grown(len(changes))
        algorithm.begin_steps()
        for i, (at, le, diffs) in enumerate(changed, 1):
            algorithm.coming = changed[i][0] if i < len(changed) else None
            if s.pruned is not None and pruning.behind(s, at):
                pruning.insert(algorithm, s, at, le, diffs)
            else:
                algorithm.change_step(s, at, le, diffs)
            if not self.automaton.ties:
                self._tied.append((s, at))
        algorithm.end_steps(s)
        if self._gaps is not None:
            cleanup.forget_cover(algorithm, s)

    def check_ties(self) -> None:
        tied, self._tied = self._tied, []
        for s, at in tied:
            entry = s.index.get(at)
            if entry is not None and len(entry.events) > 1:
                refuse_ties([payload for payload, _ in entry.events], entry.le, s.key, self._transitions.faults)

    def _pend(self, s: State, event: tuple[Any, int, int], count: int) -> None:
        if count:
            self._journal.put(s.pending, event, count)
        else:
            self._journal.drop(s.pending, event)

    # -- numbers without gaps: see `afa.engine.NumberedEngine` ---------------------------------------------------------------------

    @property
    def numbers(self) -> NumberedEngine | None:
        return None if self._gaps is None else self

    def numbered(self, key: Hashable, number: int) -> tuple[int, Any] | None:
        s = self.states.get(key)
        i = 0 if s is None else bisect_left(s.index.keys(), number, key=itemgetter(1))
        if s is None or i == len(s.index) or s.index.keys()[i][1] != number:
            return None
        y: Entry = s.index.peekitem(i)[1]
        return y.le, next(iter(y.events), None)

    def neighbours(self, key: Hashable, le: int, number: int) -> list[tuple[int, int]]:
        s, at = self.states.get(key), (le, number)
        return [] if s is None else [y.key for y in (s.before(at), s.index.get(at), s.after(at)) if y is not None]

    def waiting(self, key: Hashable, payload: Any, le: int, re: int) -> int:
        s = self.states.get(key)
        return 0 if s is None else s.pending.get((payload, le, re), 0)

    def final_gaps(self) -> list[tuple[Hashable, int, int]]:
        found, self._missing = self._missing, []
        return found

    @property
    def open_gaps(self) -> int:
        return sum(len(s.gaps) for s in self.states.values())

    # -- calls -------------------------------------------------------------------------------------------------------------

    def overdue(self, t: int) -> list[Change]:
        for key in self._deadlines.due(t):
            self._restless[key] = None
        self._due = [self.states[key] for key in self._restless if key in self.states]
        found = [(s, event) for s in self._due for event in s.pending if event[1] < t]
        changes = [Change(*event, -s.pending[event], s.key) for s, event in found]
        for s, event in found:
            self._pend(s, event, 0)
        return changes

    def tick(self) -> None:
        for s in self._due:
            self.state(s.key)
            self._tick(s)

    def _tick(self, s: State) -> None:
        self._missing += ((s.key, *gap) for gap in cleanup.tick(self._on(s), s))

    def clean(self) -> None:
        for key in self._cleanings.due(self._progress.floor):
            self._restless[key] = None
        self._due = [self.state(key) for key in self._restless if key in self.states]
        for s in self._due:
            self._clean(s)

    def _clean(self, s: State) -> None:
        cleanup.clean(self._on(s), s, self._progress.floor)

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        """Prune keys that have grown since; amortized O(1) a step."""
        if self._longest or changes - self._looked < len(self.states) // PACE:
            return
        self._journal.set(self, "_looked", changes)
        for key, s in list(self.states.items()):
            if len(s.index) >= room(s.size):
                pruning.prune(self._on(self.state(key)), s, promises.of_key(key), arcs)
                self._journal.set(s, "size", len(s.index))

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Only what lies from ``le`` on is visited, in the default mode nothing."""
        concerned = [self.state(key) for key in list(self.states)] if le < self._progress.now else []
        for s in concerned:
            self._tick(s)  # the last punctuations may not have concerned it: a new time-out fires up to the present clock
            self._on(s).leave_arcs(s, le, re)
        self._journal.note(setattr, self._transitions, "table", self._transitions.table)
        self._transitions.table = table
        for s in concerned:
            self._on(s).enter_arcs(s, le, re)
        if table.timeouts or self._had_timeouts:  # waits may end at other instants than their deadlines say
            self._restless.update(dict.fromkeys(self.states))
        self._had_timeouts = bool(table.timeouts)

    def collect(self) -> list[Change]:
        changes: list[Change] = []
        for s in self._touched.values():
            if self._longest:
                changes += longest_changes(s, self.automaton.match)
            else:
                changes += self._changes(s)
            s.delta.clear()
            cleanup.drop_final(s, self._algorithm.final(s))
        for key in [key for key, s in self._touched.items() if s.empty and key in self.states]:
            self._journal.drop(self.states, key)
            self._weigh(key)
            if key not in self._saved:
                del self._changed[key]
        self._touched.clear()
        reached = self._progress.events, self._progress.floor
        if reached != self._settled:
            self._settled = reached
            self._settle()
        return changes

    def _changes(self, s: State) -> Iterator[Change]:
        for (le, re, register), old in s.delta.items():
            now = s.count(le, re, register)
            if (now > 0) != (old > 0):
                yield Change(self.automaton.match(register), le, re, 1 if now else -1, s.key)

    def _settle(self) -> None:
        """After a punctuation: when does each key that was visited want the next one?"""
        for key in self._restless:
            s = self.states.get(key)
            says, shrinks = (None, None) if s is None else self._deadlines_of(s)
            self._deadlines.set(key, says)
            self._cleanings.set(key, shrinks)
        self._restless.clear()

    def _deadlines_of(self, s: State) -> tuple[int | None, int | None]:
        return cleanup.deadlines(self._on(s), s)

    def commit(self) -> None:
        self._touched.clear()

    def rollback(self) -> None:
        """Drop what depends on undone states: the journal has restored these, but deadlines and sizes may have come from them."""
        self._algorithm.begin_steps()
        self._tied = []
        for s in (*self._touched.values(), *self._due):
            s.delta.clear()
            forget_places(s.index)
            forget_places(s.matches)
            forget_places(s.gaps)
        self._missing = []
        self.forget()
        self._touched.clear()
        self._settled = self._progress.events, self._progress.floor
        self._deadlines, self._cleanings = Deadlines(), Deadlines()
        self._restless = dict.fromkeys(self.states)
        self._changed.update(self._restless)
        self._measure, self._held, self._sizes = dict(self._restless), [0] * 9, {}

    def let_raise(self) -> None:
        self._transitions.faults = None

    def keys(self) -> list[Hashable]:
        return list(self.states)

    known_keys = keys

    def steps(self, key: Hashable, low: int, high: int, starts: Collection[Any] | None = None) -> list[Step]:
        s = self.states.get(key)
        return [] if s is None else held_steps(self._on(s), s, low, high, starts)

    def living(self, t: int) -> Living:
        found = [living(self._on(s), s, t, self._longest) for s in self.states.values()]
        begun, rows = zip(*found) if found else ((FOREVER,), (0,))
        return Living(min(begun), sum(rows), len(found))

    def sizes(self) -> Sizes:
        """O(steps of the keys touched since the last look)."""
        for key in list(self.states if self._progress.lags else self._measure):
            self._weigh(key)
        held, more = self._held[:5], self._held[5:]
        return Sizes._make([*held, len(self.states), *more])

    def memory_bytes(self) -> int:
        return 0

    def by_state(self) -> dict[str, int]:
        return dict(Counter(p.state for s in self.states.values() for y in s.index.values() for p in y.nodes))

    def by_key(self) -> list[tuple[Hashable, int, int]]:
        self.sizes()
        return [(key, held[1], 0) for key, held in self._sizes.items()]

    def ends(self) -> Ends:
        found = [ends_of(self._on(s), s, self.automaton.register_schema) for s in self.states.values()]
        return Ends(*(sum(column) for column in zip(*found))) if found else Ends()

    def _weigh(self, key: Hashable) -> None:
        """Take the size of a key anew; what is gone weighs nothing, and is forgotten."""
        s = self.states.get(key)
        new = s.sizes(self._progress.final, self._shown) if s is not None else (0,) * 9
        old = self._sizes.pop(key, (0,) * 9)
        if s is not None:
            self._sizes[key] = new
        self._held = [held + more - less for held, more, less in zip(self._held, new, old)]
        self._measure.pop(key, None)

    def save(self, changed: bool = False) -> States:
        keys = list(self._changed if changed else self.states)
        return saved.save(self.automaton, self._progress.floor, keys, self.states, self._gaps is not None)

    def saved(self) -> None:
        self._journal.set(self, "_saved", set(self.states))
        self._journal.set(self, "_changed", {})

    def load(self, states: States) -> None:
        for key, cover, changes, pruned in saved.load(self.automaton, states):
            s = self._made(key)
            saved.fill(self._on(s), s, cover, changes, self._sequence, pruned, self.automaton)
            self._most = max([self._most, *(n for y in s.index.values() for n in y.events.values()), *s.pending.values()])
            self._saved.add(key)
            if not s.empty:
                self.states[key] = s
                self.state(key)
            if any(le < self._progress.floor for _, le, *_ in changes):  # it was not cleaned since it was saved
                self._changed[key] = None
            else:
                self._changed.pop(key, None)
            if not self.automaton.ties:
                self._tied += ((s, at) for at in s.index)
        self.check_ties()
        self._touched.clear()

    def check(self) -> None:
        for s in self.states.values():
            self._check(s)
        fresh = [s.sizes(self._progress.final, self._shown) for s in self.states.values()]
        sizes = self.sizes()
        assert sizes.events == sum(size[0] for size in fresh), "statistics.events"
        assert sizes.partial_matches == sum(size[1] for size in fresh), "statistics.partial_matches"
        assert sizes.keys == len(fresh), "statistics.keys"
        assert sizes.ties == sum(size[5] for size in fresh), "statistics.ties"

    def _check(self, s: State) -> None:
        check(self._on(s), s)


def _netted(changes: Sequence[Change]) -> list[Change]:
    counts: dict[tuple[Any, Any, Any], int] = {}
    for change in changes:
        event = (change.le, change.re, change.payload)
        counts[event] = counts.get(event, 0) + change.diff
    kept = [Change(payload, le, re, n) for (le, re, payload), n in counts.items() if n]
    kept.sort(key=lambda change: (change.le, change.diff))
    return kept
