"""What `Operator` and `Keyed` share: promises, arcs in force, keys, all-or-nothing calls, the output in its order.

push, push_arc, push_many
  -> transaction          a journal of inverses; a call that fails leaves no trace
       -> check, late?    as typed events with full lifetimes; a named policy takes late ones
       -> engine          one state per key
       -> collect         the minimal difference, retractions first, then insertions, each by LE
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from afa.arcinput import ArcInput
from afa.arctable import ArcTable
from afa.automaton import Automaton
from afa.change import Change
from afa.engine import KeyState, make_engine
from afa.errors import AfaError, AutomatonError, ChangeError, blame
from afa.journal import Journal
from afa.schema import taker
from afa.statistics import Statistics
from punctuation.deadlines import Deadlines
from punctuation.late import Late, Policy
from punctuation.progress import Progress
from punctuation.promise import Punctuation
from punctuation.time import FOREVER, as_time

Output = list["Change | Punctuation"]


class Core:
    """One automaton over many keys."""

    def __init__(
        self,
        automaton: Automaton,
        *,
        window: int | None,
        engine: str,
        sequence: str | None,
        late: Policy,
        arc_punctuation: bool,
    ) -> None:
        if not isinstance(automaton, Automaton):
            raise AfaError(f"expected an Automaton but got {automaton!r}")
        window = None if window is None else as_time(window, "window")
        if window is not None and window < 1:
            raise AfaError(f"expected a window of at least one tick but got window={window!r}")
        _check_sequence(automaton, sequence)
        self.automaton = automaton
        self.window = window
        self.sequence = sequence
        self.late = Late(late)
        self.progress = Progress(arc_punctuation)
        self.journal = Journal()
        table = ArcTable.of(automaton.arcs)
        self.arcs = ArcInput(table, self.progress, self.journal, self.late, self._swap)
        self.engine = make_engine(engine, automaton, table, self.progress, self.journal, sequence)
        self.states: dict[Hashable, KeyState] = {}
        self.changes = self.outputs = self.retractions = 0
        self._take = taker(automaton.event_schema)
        self._deadlines = Deadlines()
        self._restless: dict[Hashable, None] = {}  # keys touched since their deadline was last set
        self._touched: dict[Hashable, KeyState] = {}  # keys of this call
        self._sizes: dict[Hashable, tuple[int, ...]] = {}
        self._measure: dict[Hashable, None] = {}  # keys touched since their size was last taken
        self._held = [0] * 5
        self._had_timeouts = bool(table.timeouts)

    # -- calls -------------------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        marks, late = self.progress.marks(), self.late.count
        numbers = (self.changes, self.outputs, self.retractions)
        try:
            yield
            self.late.hand_over()
        except BaseException:
            self.journal.rollback()
            self.progress.restore(marks)
            self.late.count = late
            self.late.waiting.clear()
            self.changes, self.outputs, self.retractions = numbers
            for s in self._touched.values():
                s.delta.clear()
            self._restless = dict.fromkeys(self.states)  # deadlines may have been set on what is undone,
            self._measure.update(self._restless)  # and sizes taken of it
            raise
        finally:
            self._touched.clear()
        self.journal.commit()

    def run(self, items: Iterable[tuple[str, Any, Hashable]], net: bool) -> Output:
        """Carry out one call: ``("event" | "arc", change or punctuation, key)`` in order of arrival.

        With ``net`` the output is one minimal difference and at most one punctuation; else what each item alone would give.
        """
        out: Output = []
        with self.transaction():
            batch: dict[Hashable, list[Change]] = {}
            before = self.progress.final
            for port, item, key in items:
                if port == "event" and isinstance(item, Change):
                    change = self.check_event(item, key)
                    if change is not None:
                        batch.setdefault(key, []).append(change)
                else:
                    self._flush(batch)
                    self._control(port, item)
                if not net:
                    self._flush(batch)
                    out += self._collect(before)
                    before = self.progress.final
            if net:
                self._flush(batch)
                out += self._collect(before)
        return out

    def _flush(self, batch: dict[Hashable, list[Change]]) -> None:
        """Apply the events of a batch, in the order that is cheapest: what annihilates is not applied, the rest by LE."""
        for key, changes in batch.items():
            try:
                self.engine.apply(self.state(key), _netted(changes) if len(changes) > 1 else changes)
            except Exception as error:
                if key is not None:
                    blame(error, f"of key {key!r}")
                raise
        batch.clear()

    def _control(self, port: str, item: Any) -> None:
        if isinstance(item, Punctuation):
            t = as_time(item.t, "t")
            promised = self.progress.promise_events(t) if port == "event" else self.progress.promise_arcs(t)
            if promised:
                self._punctuate()
        elif port == "arc" and isinstance(item, Change):
            self.arcs.change(item)
        else:
            raise ChangeError(f"expected a change (insert, retract) or a Punctuation but got {item!r} on the {port} input")

    def put_table(self, table: ArcTable) -> None:
        """Put a table of arcs in force, before there is any state; for a restore."""
        self.arcs.table = table
        self._swap(table, FOREVER, FOREVER)

    def forget_call(self) -> None:
        """Let the state as it is be where the next call begins; after a restore."""
        self._touched.clear()
        self.journal.commit()

    def state(self, key: Hashable) -> Any:
        """The state of a key, made if there is none, and noted as touched."""
        s = self.states.get(key)
        if s is None:
            s = self.engine.new(key)
            self.journal.put(self.states, key, s)
        self._touched[key] = s
        self._restless[key] = None
        self._measure[key] = None
        return s

    # -- events ------------------------------------------------------------------------------------------------------------

    def check_event(self, change: Change, key: Hashable) -> Change | None:
        """The change with a typed payload and a full lifetime; None if it is late and the policy took it.

        Raises
        ------
        ChangeError, LateEventError
        """
        payload = self._take(change.payload)
        if change.le is None:
            raise ChangeError(f"expected an event with a time but got le=None for {payload!r}")
        le = as_time(change.le, "le")
        if change.re is not None:
            re = as_time(change.re, "re")
        elif self.window is None:
            re = FOREVER
        else:
            re = as_time(le + self.window, "le + window")
        if re <= le:
            raise ChangeError(f"expected re > le but got le={le}, re={re} for {payload!r}")
        diff = change.diff
        if type(diff) is not int or not diff:
            diff = as_time(diff, "diff")
            if not diff:
                raise ChangeError(f"expected diff=1 or -1 but got diff=0 for {payload!r}")
        if self.sequence is not None:
            _check_number(payload, self.sequence, (int, float) if self.automaton.event_schema is None else (int, float, str))
        checked = Change(payload, le, re, diff, key)
        if le < self.progress.events:
            at = "" if key is None else f" of key {key!r}"
            self.late.take(checked, f"expected le >= {self.progress.events} (promised) but got le={le} for {payload!r}{at}")
            return None
        self.progress.see(le)
        self.changes += abs(diff)
        return checked

    def _swap(self, table: ArcTable, le: int, re: int) -> None:
        """Let the keys follow a table of arcs; only what lies from ``le`` on is visited, in the default mode nothing."""
        concerned = [self.state(key) for key in list(self.states)] if le < self.progress.now else []
        self.engine.swap(concerned, table, le, re)
        if table.timeouts or self._had_timeouts:  # waits may end at other instants than their deadlines say
            self._restless.update(dict.fromkeys(self.states))
        self._had_timeouts = bool(table.timeouts)

    # -- punctuations ------------------------------------------------------------------------------------------------------

    def _punctuate(self) -> None:
        promised = self.progress.events
        for key in self._deadlines.due(promised):
            self._restless[key] = None
        due = [self.states[key] for key in self._restless if key in self.states]
        for s in due:
            for change in self.engine.overdue(s, promised):
                at = "" if s.key is None else f" of key {s.key!r}"
                self.late.take(
                    change,
                    f"expected the insertion of {change.payload!r} at le={change.le}{at} before {promised} "
                    f"(promised) but got its retraction only",
                )
        self.arcs.overdue()
        for s in due:
            self.state(s.key)
            self.engine.tick(s)
        if self.progress.advance():
            for s in due:
                self.engine.clean(s)
            self.arcs.clean()

    def _settle(self) -> None:
        """After a punctuation: when does each key that was visited want the next one?"""
        for key in self._restless:
            s = self.states.get(key)
            self._deadlines.set(key, None if s is None else self.engine.deadline(s))
        self._restless.clear()

    # -- output ------------------------------------------------------------------------------------------------------------

    def _collect(self, final_before: int) -> Output:
        changes = [change for s in self._touched.values() for change in self.engine.collect(s)]
        for key in [key for key, s in self._touched.items() if s.empty and key in self.states]:
            self.journal.drop(self.states, key)
            self._weigh(key)
        _sort(changes)
        withdrawn = sum(change.diff < 0 for change in changes)
        self.retractions += withdrawn
        self.outputs += len(changes) - withdrawn
        out: Output = list(changes)
        self._touched.clear()
        if self.progress.final > final_before:
            out.append(Punctuation(self.progress.final))
            self._settle()
        return out

    @property
    def statistics(self) -> Statistics:
        """Numbers over all keys. O(steps of the keys touched since the last look)."""
        for key in list(self._measure):
            self._weigh(key)
        events, nodes, intervals, matches, pending = self._held
        pending += sum(self.arcs.pending.values())
        return Statistics(
            events=events,
            partial_matches=nodes,
            intervals=intervals,
            matches=matches,
            pending=pending,
            keys=len(self.states),
            state_size=events + nodes + intervals + matches + pending,
            changes=self.changes,
            outputs=self.outputs,
            retractions=self.retractions,
            late=self.late.count,
            stale=self.progress.stale,
        )

    def _weigh(self, key: Hashable) -> None:
        """Take the size of a key anew; what is gone weighs nothing, and is forgotten."""
        s = self.states.get(key)
        new = s.sizes() if s is not None else (0,) * 5
        old = self._sizes.pop(key, (0,) * 5)
        if s is not None:
            self._sizes[key] = new
        self._held = [held + more - less for held, more, less in zip(self._held, new, old)]
        self._measure.pop(key, None)

    def check(self) -> None:
        """Assert all invariants; for tests."""
        for s in self.states.values():
            self.engine.check(s)
        fresh = [s.sizes() for s in self.states.values()]
        statistics = self.statistics
        assert statistics.events == sum(sizes[0] for sizes in fresh), "statistics.events"
        assert statistics.partial_matches == sum(sizes[1] for sizes in fresh), "statistics.partial_matches"
        assert statistics.keys == len(fresh), "statistics.keys"
        assert self.progress.final == self.progress.effective, "the effective punctuation was not passed on"
        assert all(event.re > self.progress.final for event in self.arcs.table.events), "Cleanup: arcs that ended"


def _sort(changes: list[Change]) -> None:
    """Retractions first, then insertions, each by LE; what ties is put in an order that does not depend on arrival either."""
    changes.sort(key=lambda change: (change.diff, change.le, change.re))
    if any(a[1:4] == b[1:4] for a, b in itertools.pairwise(changes)):
        changes.sort(key=lambda change: (change.diff, change.le, change.re, repr(change.key), repr(change.payload)))


def _netted(changes: list[Change]) -> list[Change]:
    counts: dict[tuple[Any, Any, Any], int] = {}
    for change in changes:
        event = (change.le, change.re, change.payload)
        counts[event] = counts.get(event, 0) + change.diff
    kept = [Change(payload, le, re, n) for (le, re, payload), n in counts.items() if n]
    kept.sort(key=lambda change: (change.le, change.diff))
    return kept


def _check_sequence(automaton: Automaton, sequence: str | None) -> None:
    if sequence is None or automaton.event_schema is None:
        return
    for field in automaton.event_schema.fields:
        if field.name == sequence:
            if field.optional or field.type not in (int, float, str):
                raise AutomatonError(f"expected an int, float or str field but got sequence={sequence!r}: {field}")
            return
    raise AutomatonError(f"expected a field of {automaton.event_schema.describe()} but got sequence={sequence!r}")


def _check_number(payload: Any, sequence: str, kinds: tuple[type, ...]) -> None:
    number = getattr(payload, sequence, None)
    if type(number) not in kinds or number != number:
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ChangeError(f"expected {names} but got {sequence}={number!r} in {payload!r}")
