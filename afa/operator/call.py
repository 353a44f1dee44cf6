"""The core that `Operator` and `Keyed` share: all-or-nothing calls, promises, arcs in force, keys, the order of output.

push, push_arc, push_many
  -> calls                one after the other; a call that fails leaves no trace (`punctuation.calls`)
       -> check, late?    as typed events with full lifetimes; a named policy takes late ones
       -> engine          the state of all keys
       -> collect         the minimal difference, retractions first, then insertions, each by LE

A single event is a call that the kernels end, in the step in which their serial moves, so that the call adds little to the cost of
its event. With output Python counts that, and ends the call: DONE.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from afa.arclog.arc_log import Poll
from afa.change import Change, put_in_order
from afa.conditions.promised import Conditions
from afa.cuts import Cuts
from afa.engine import Budget, Engine, Logged, Setup
from afa.engine.budget import PARTIAL_MATCHES
from afa.engines import make_engine, rewritten_engine
from afa.errors import AfaError, ChangeError, blame
from afa.journal import Journal
from afa.lineage.match_ends import LineageSource
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.model.binding import Binder
from afa.model.conflicts import check
from afa.model.keys import Keys
from afa.model.raised import Faults
from afa.model.waits import warn_of_waits
from afa.operator.arc_input import ArcInput
from afa.operator.gapless import EventNumbers, order_of
from afa.operator.kept_lineage import kept_options, lasts, let_go
from afa.operator.lifetimes import timed
from afa.operator.lineages_told import Told, asks, held_of, told_by
from afa.operator.log_polls import here
from afa.operator.members import Members
from afa.operator.named_events import NamedEvents
from afa.operator.named_swap import NamedSwap
from afa.operator.options import Options, traits_of
from afa.operator.rows import in_form
from afa.operator.told_anew import ToldAnew
from afa.operator.touched import TouchedEvents
from afa.operator.twins import twin
from afa.operator.way_back import back_from_push
from afa.operator.weak_method import Weak
from afa.rewrite.reduction import check_rewritten
from afa.schema import Schema, as_ticks, taker
from punctuation.calls import DONE, ENTRIES, Calls, Member
from punctuation.durations import ticks_of_duration
from punctuation.late import Late
from punctuation.progress import Progress
from punctuation.promise import Punctuation

Output = list["Change | Punctuation"]


class Core(Member):
    """One automaton over many keys. Parameters: see `Operator`; ``faults``: see `afa.engine.Setup`."""

    ends = True

    def __init__(
        self,
        automaton: Automaton,
        options: Options,
        *,
        keyed: bool = False,
        faults: Faults | None = None,
        bounded: bool = False,
    ) -> None:
        if not isinstance(automaton, Automaton):
            raise AfaError(f"expected an Automaton but got {automaton!r}")
        if traits := traits_of(automaton):
            check(options.said | traits)
        tick, self.threads, retractions, keep_payloads = options.tick, options.threads, options.retractions, options.keep_payloads
        automaton = automaton.bound(tick)
        if not keep_payloads:
            check_rewritten(automaton)
        self.window = None if options.window is None else ticks_of_duration(options.window, tick, "window")
        if self.window is not None and self.window < 1:
            raise AfaError(f"expected a window of at least one tick but got window={options.window!r}")
        lineage = options.lineage or asks(automaton, options)  # of all paths, or of none
        self.options, self.longest = options, options.longest
        self.gapless = gapless = None if options.numbers is None else EventNumbers(automaton, options.numbers)
        self.automaton = automaton
        self.binder = Binder(tick, automaton)
        self.sequence = sequence = order_of(automaton, options.order_by, options.numbers)
        self.keyed = keyed
        self.retractions = retractions
        self.late = Late(options.late)
        self.progress = Progress(options.arc_punctuation)
        self.progress.lags = self.lineage = lineage
        self.began: int | None = None  # the call in which state was let go last
        self.look_at = 0  # after so many changes it is looked again where what may go on began
        self.journal = Journal()
        table = ArcTable.of(automaton.arcs)
        gaps = None if gapless is None else gapless.gaps
        setup = Setup(automaton, table, self.progress, self.journal, sequence, keyed, faults, gaps, self.threads, self.longest)
        self.faults = faults
        self.asked = options.engine  # by which name
        self.engine: Engine = (make_engine if keep_payloads else rewritten_engine)(options.engine, setup)
        self._numbered: Any = self.engine.numbers
        self.rows_alike = not automaton.ties and self.window is not None  # see `afa.operator.lifetimes`
        self.arcs = ArcInput(table, self.progress, self.journal, self.late, Weak(self._swap), tick)
        self.conditions = Conditions(automaton, tick)
        warn_of_waits(self.automaton, self.window, tick)
        self.changes = self.outputs = self.withdrawn = 0
        self.saved: bytes | None = None  # digest of the last snapshot
        self.keys: Keys | None = None  # how keys are made, if there are any
        self.shapes: dict[tuple[str, ...], Any] = {}  # of tables; see `afa.operator.tables`
        self.shown = automaton.match_schema  # what of a match leaves; a stage may show less
        schema = automaton.event_schema and automaton.event_schema._replace(tick=tick)
        self.taken = schema  # the events that come; a stage may add fields to them
        self.named = None if options.id is None else NamedEvents(automaton, options.id, self.journal)
        self.told: Told = None
        self.told = told_by(self, Weak(self._held_whole), options)
        self.shown = self.told.shown if isinstance(self.told, ToldAnew) else self.shown
        self.watched: TouchedEvents | None = None
        self.drops = True
        self.alone = self.engine.alone and self.named is None and not (self.told and self.told.again)
        self.calls = Calls(self)
        self.budget: Budget | None = None
        if bounded:
            self.bound(Budget(options.partial_matches, options.max_bytes, self.threads))
        self._take = taker(schema)
        self._dated = None if schema is None or schema.instant is None else schema.dated

    def bound(self, budget: Budget) -> None:
        """Refuse from now on what is beyond a budget."""
        self.budget = budget
        self.engine.bound(budget)

    @property
    def members(self) -> Members | None:
        """What comes with each match of the events behind it; a stage may tell it. None: nothing."""
        told = self.watched if self.told is None else self.told
        return None if told is None else told.members

    def watch(self, touched: TouchedEvents, whole: bool) -> None:
        """Let a stage know which events are touched; ``whole``: nothing is dropped any more, as it may ask for all."""
        self.watched, self.drops, self.alone = touched, not whole, False

    def by_rows(self, net: bool) -> bool:
        """Return whether tables go row by row, as each row, or each match that stays, is told of on its own."""
        return self.told is not None and (self.told.again or not net)

    @property
    def matches_shown(self) -> Schema:
        """What of a match is told, in place of which collapsed output may leave."""
        return self.told.inner if isinstance(self.told, ToldAnew) else self.shown

    def held(self) -> LineageSource:
        """Return what lineages are derived from."""
        return held_of(self)

    def _held_whole(self) -> LineageSource:
        """Return what lineages are derived from, of matches with all that they hold."""
        return held_of(self)._replace(shown=self.automaton.match_schema)

    def take_as(self, schema: Schema) -> None:
        """Let events come with these fields only, the first ones of those that the automaton's events have."""
        self.taken = schema._replace(tick=self.tick)
        if self.told is not None and self.told.members is not None:
            self.told.members.event = schema

    def show(self, fields: type) -> None:
        """Let tables of output have the fields of a NamedTuple class only, the first ones of those that matches have."""
        self.shapes.clear()
        shown = self.shown.fields[: len(fields._fields)]  # type: ignore[attr-defined]
        self.shown = Schema(fields, shown, times=tuple(name for name in self.shown.times if name in fields._fields))  # type: ignore[attr-defined]

    # -- calls -------------------------------------------------------------------------------------------------------------

    @property
    def tick(self) -> str | None:
        """What one int of LE counts; None: it was not said."""
        return self.binder.tick

    @property
    def further(self) -> list[list[Any]]:
        """The further options that are on, by name: what a snapshot says of them."""
        found = [*([] if self.told is None else self.told.options), *([["longest", True]] if self.longest else [])]
        if self.budget is not None and self.budget.partial_matches != PARTIAL_MATCHES:
            found.append(["partial_matches", self.budget.partial_matches])
        if self.budget is not None and self.budget.max_bytes is not None:
            found.append(["max_bytes", self.budget.max_bytes])
        return sorted([*found, *kept_options(self)])

    def in_form(self, item: Any, le: str = "le") -> Any:
        """Return an item whose times may be datetimes, or that is a row, in the form of a change; see `afa.operator.rows`."""
        return in_form(item, self.taken, self.keys, self.tick, le)

    def resolved(self, parts: Iterable[Any], rows: Any = None) -> Any:
        """Return the parts of a call, retractions by an id as those of whole events (``id=``); ``rows``: of a table."""
        return parts if self.named is None else self.named.resolved(self, parts, rows)

    def call_begins(self) -> Any:
        """Return all that a call changes and that neither journal nor engine undoes. See `punctuation.calls.Member`."""
        numbers = None if self.gapless is None else self.gapless.counters
        return self.progress.marks(), self.late.count, self.conditions.all, self.changes, self.outputs, self.withdrawn, numbers

    def call_ends(self) -> None:
        """Do the last part of a call: hand callbacks the late changes."""
        if self.late.waiting:
            self.late.hand_over(self.calls)
        if self.gapless is not None:
            self.gapless.hand_over(self._numbered)

    def call_failed(self, before: Any) -> None:
        """Restore the state from before a call."""
        self.journal.rollback()
        self.began = None
        marks, self.late.count, self.conditions.all, self.changes, self.outputs, self.withdrawn, numbers = before
        self.progress.restore(marks)
        self.late.waiting.clear()
        if self.told is not None:
            self.told.begin()
        if self.gapless is not None:
            self.gapless.put_counters(numbers)
        self.engine.rollback()

    def call_worked(self) -> None:
        """Commit the call in journal and engine."""
        self.journal.commit()
        self.engine.commit()

    def push(self, change: Any, key: Hashable) -> Output:
        """Take one item of the event input, as one call."""
        calls, mine, checked = self.calls, False, None
        try:
            with calls.lock:
                if calls.before is not None:
                    calls.enter()
                mine = True
                progress, engine = self.progress, self.engine
                le = change.le if self.alone and type(change) is Change else None
                if type(le) is not int or le < progress.events or le < progress.some or (self.lineage and lasts(self, change)):
                    change = change if type(change) is Change else self.in_form(change)
                    return calls.carry_out(self.run, self.resolved([("event", change, key)]), True)
                engine.began = None
                calls.before = ((back_from_push, (self, progress.now, self.changes, self.outputs, self.withdrawn)),)
                checked = self.typed(change, key)
                if le >= progress.now:
                    progress.now = le + 1
                self.changes += abs(checked.diff)
                out = engine.push(checked)
                if out is None:  # numbers are to be looked at
                    way = calls.before[0]
                    way[0](way[1])
                    checked, calls.before = None, None
                    return calls.carry_out(self.run, [("event", change, key)], True)
                if out or engine.began is None:
                    if self.told is not None:
                        out = self.told.told(out)
                    self.count(out)
                    calls.before = DONE
                    self.journal.commit()
                    engine.commit()
                calls.before = None
                return out  # type: ignore[return-value]  # a list of changes alone
        except BaseException as error:
            if mine:
                calls.leave()
            if checked is not None and key is not None and isinstance(error, Exception):
                blame(error, f"of key {key!r}")
            raise

    # -- calls of many items -----------------------------------------------------------------------------------------------

    def run(self, items: Iterable[tuple[str, Any, Hashable]], net: bool) -> Output:
        """Carry out, within a call, ``("event" | "arc", change or punctuation, key)`` in order of arrival.

        With ``net`` the output is one minimal difference and at most one punctuation; else what each item alone would return.
        """
        return self.run_parts([items] if net else ([item] for item in items))

    def run_parts(self, parts: Iterable[Iterable[tuple[str, Any, Hashable]]]) -> Output:
        """Carry out several parts within a call. Returns each part's minimal difference, then the punctuation if it moved.

        Items are taken one by one, within the call, so that their generator may read the operator's progress and move it.
        """
        out: Output = []
        for part in parts:
            before = self.progress.final
            if self.told is not None:
                self.told.begin()
            self.take(part)
            out += self._collect(before)
        return out

    def take(self, steps: Iterable[Any]) -> None:
        """Carry out items, lists of items and tables in the engine's form, in order of arrival, within a call.

        Their output stays with the engine until it is collected.
        """
        batch: dict[Hashable, list[Change]] = {}
        if self.lineage:
            let_go(self)
        for step in steps:
            kind = type(step)
            if kind is not tuple and kind is not list:
                if batch:
                    self._flush(batch)
                if self.told is not None and self.told.again:
                    self.told.touch_rows(step)
                if self.watched is not None:
                    self.watched.touch_rows(step)
                self.take_columns(step)
                continue
            for port, item, key in (step,) if kind is tuple else step:
                if port == "event" and isinstance(item, Change):
                    change = self.check_event(item, key)
                    if change is not None:
                        batch.setdefault(key, []).append(change)
                else:
                    if batch:
                        self._flush(batch)
                    self._control(port, item)
        if batch:
            self._flush(batch)
        self._settle_numbers()
        if not self.automaton.ties:
            self.engine.check_ties()

    def take_columns(self, columns: Any, cuts: Cuts | None = None) -> None:
        """Carry out a table in the engine's form; see `afa.engine.Engine.run_columns`."""
        if self.lineage:
            let_go(self)
            self.progress.span = max(self.progress.span, columns.longest())
        self.engine.run_columns(columns, self, cuts)
        if cuts is not None:
            self._settle_numbers()

    def logged(self, cuts: Cuts | None = None) -> Logged:
        """Count and return the output as columns; see `afa.engine.Engine.log`."""
        found = self.engine.log(cuts)
        withdrawn = int(np.count_nonzero(found.diff < 0))
        self.withdrawn += withdrawn
        self.outputs += len(found.diff) - withdrawn
        if self.told is not None:
            found = self.told.told_rows(found, self.automaton.match_schema)
        return found

    def progress_to(self, t: int) -> None:
        """Take a promise of the event input under which no retraction waits in vain."""
        self._settle_numbers()
        self.progress.promise_events(t)
        self._punctuate()

    @property
    def refuses_late(self) -> bool:
        """Whether a late event makes the call fail."""
        return self.late.policy == "raise"

    def replace_arcs(self, gone: Sequence[ArcEvent], come: Sequence[ArcEvent], table: ArcTable) -> None:
        """Put a table in force, as one swap, that a batch leads to."""
        for event in come:
            self.automaton.check_arc(event.arc)
        self.arcs.replace(table, gone, come)

    def follow_arcs(self, table: ArcTable) -> None:
        """Take over a table of arcs that the engine has made by carrying out changes of arcs itself."""
        self.arcs.follow(table)

    def take_late(self, change: Change, promised: int, where: str = "") -> None:
        """Let the policy decide about an event that is late."""
        at = "" if change.key is None else f" of key {change.key!r}"
        self.late.take(change, f"expected le >= {promised} (promised{where}) but got le={change.le} for {change.payload!r}{at}")

    def take_numbered(self, change: Change) -> int:
        """Return how many copies of an event, counted already, take effect, where numbers are gapless."""
        assert self.gapless is not None
        found = self.gapless.take(self._numbered, change)
        left = 0 if found is None else found.diff
        self.changes -= abs(change.diff) - abs(left)
        return left

    def numbers_applied(self) -> None:
        """Take note that what `take_numbered` let pass is applied."""
        if self.gapless is not None:
            self.gapless.applied()

    def _settle_numbers(self) -> None:
        """Check that numbers ascend with time: before each promise and arc, and behind all changes of a call."""
        if self.gapless is not None:
            self.gapless.settled(self._numbered)

    def take_record(self, item: Any) -> None:
        """Take a punctuation, or a change of an arc, in the midst of a batch."""
        self._control("event" if isinstance(item, Punctuation) else "arc", item)

    def _flush(self, batch: dict[Hashable, list[Change]]) -> None:
        """Apply the events of a batch."""
        for key, changes in batch.items():
            try:
                self.engine.apply(key, changes)
            except Exception as error:
                if key is not None:
                    blame(error, f"of key {key!r}")
                raise
        batch.clear()
        self.numbers_applied()

    def _control(self, port: str, item: Any) -> None:
        self._settle_numbers()
        if isinstance(item, Punctuation) and item.where is not None:
            self._promise_some(port, item)
        elif isinstance(item, Punctuation):
            t = as_ticks(item.t, "t", self.tick)
            promised = self.progress.promise_events(t) if port == "event" else self.progress.promise_arcs(t)
            if promised:
                self._punctuate()
        elif port == "arc" and isinstance(item, Change):
            self.arcs.change(item._replace(payload=self.binder.fitting(item.payload)))
        elif port == "arc" and isinstance(item, NamedSwap):
            self.arcs.swap(item, self.binder.fitting)
        elif port == "arc" and isinstance(item, Poll):
            where = self.automaton, self.engine, self.asked, self.binder, self.arcs.table, self.progress, self.tick, self.sequence
            self.arcs.poll(item, here(*where))
        else:
            raise ChangeError(f"expected a change (insert, retract) or a Punctuation but got {item!r} on the {port} input")

    def put_table(self, table: ArcTable, bits: Sequence[int | None] | None = None) -> None:
        """Put a table of arcs in force before there is any state, with the arcs' bits if payloads are not kept. For a restore."""
        self.arcs.table = table
        self.engine.install(table, bits)

    # -- events ------------------------------------------------------------------------------------------------------------

    def check_event(self, change: Change, key: Hashable) -> Change | None:
        """Return the change in the form of `typed`. None: it is late, or its number is in force, and the policy took it."""
        checked = self.typed(change, key)
        le: Any = checked.le
        if le < self.progress.events:
            self.take_late(checked, self.progress.events)
            return None
        if le < self.progress.some and (broken := self.conditions.broken(checked.payload, le)) is not None:
            condition, t = broken
            self.take_late(checked, t, f", where {condition.text}")
            return None
        found = checked if self.gapless is None else self.gapless.take(self._numbered, checked)
        if found is not None:
            if self.lineage:
                self.progress.span = max(self.progress.span, found.re - le)
            self.progress.see(le)
            self.changes += abs(found.diff)
            if self.told is not None and self.told.again:
                self.told.touch(key, le)
            if self.watched is not None:
                self.watched.touch(key, le)
        return found

    def typed(self, change: Change, key: Hashable) -> Change:
        """Return the change of an event with its payload in the schema's form, its full lifetime and its key."""
        payload = change.payload if self._dated is None else self._dated(change.payload, change.le)
        return self.timed(change, self._take(payload), key)

    timed = timed

    # -- punctuations ------------------------------------------------------------------------------------------------------

    def _promise_some(self, port: str, item: Punctuation) -> None:
        """Take a punctuation with a condition ([AFA10] App. F.2)."""
        if port != "event":
            raise ChangeError(f"expected a Punctuation without a condition on the arc input but got {item!r}")
        if self.retractions:
            raise AfaError(f"expected an operator with retractions=False for a Punctuation with a condition but got {item!r}")
        if self.lineage:
            raise AfaError(f"expected a Punctuation without a condition, as lineages are kept (lineage=True), but got {item!r}")
        t, progress = as_ticks(item.t, "t", self.tick), self.progress
        if not self.conditions.add(item.where, t, progress.events):
            progress.stale += 1
            return
        progress.promise_some(t)
        promises = self.conditions.by_key(self.arcs.table, self.keys.fields if self.keys else (), progress.effective)
        self.engine.prune(promises, progress.arc_promise, self.changes)

    def _punctuate(self) -> None:
        if not self.automaton.ties:
            self.engine.check_ties()  # before events are dropped
        promised = self.progress.events
        for change in sorted(self.engine.overdue(promised), key=_by_event):
            at = "" if change.key is None else f" of key {change.key!r}"
            self.late.take(
                change,
                f"expected the insertion of {change.payload!r} at le={change.le}{at} before {promised} "
                f"(promised) but got its retraction only",
            )
        if self.arcs.pending:
            self.arcs.overdue()
        self.engine.tick()
        if self.progress.advance() and not self.lineage:
            self.clean()

    def clean(self) -> None:
        """Drop what lies below the floor."""
        self.engine.clean()
        self.arcs.clean()

    def _swap(self, table: ArcTable, le: int, re: int) -> None:
        """Let the engine put another table of arcs in force, which differs in ``[le, re)``."""
        if self.told is not None and self.told.again and le < self.progress.now:
            self.told.touch_all(le)
        self.engine.swap(table, le, re)

    # -- output ------------------------------------------------------------------------------------------------------------

    def _collect(self, final_before: int) -> Output:
        changes = self.engine.collect()
        if self.told is not None:
            changes = self.told.told(changes)
        if changes:
            self.count(changes)
        out: Output = list(changes)
        if self.progress.final > final_before:
            out.append(Punctuation(self.progress.final))
        return out

    def count(self, changes: list[Any]) -> None:
        """Bring output into its order, and count it."""
        if len(changes) > 1:
            put_in_order(changes)
        withdrawn = sum(change.diff < 0 for change in changes)
        self.withdrawn += withdrawn
        self.outputs += sum(change.diff > 0 for change in changes)

    def __deepcopy__(self, memo: dict[int, Any]) -> Core:
        return twin(self, memo)  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        raise AfaError("expected an Operator or a Keyed to be pickled but got what is within one: use snapshot() and restore()")

    def check(self) -> None:
        """Assert all invariants; for tests."""
        self.engine.check()
        assert self.named is None or self.named.check()
        assert self.progress.final == self.progress.effective, "the effective punctuation was not passed on"
        assert all(event.re > self.progress.floor for event in self.arcs.table.events), "Cleanup: arcs that ended"
        assert all(event.le < event.re for event in self.arcs.table.events), "an arc whose lifetime is empty"


ENTRIES.add(Core.push.__code__)


def _by_event(change: Change) -> Any:
    """Return a sort key that depends neither on arrival nor on refused calls."""
    return change.le, change.re, repr(change.key), repr(change.payload)
