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

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from afa.change import Change, put_in_order
from afa.conditions.promised import Conditions
from afa.engine import Budget, Engine, GivenColumns, Logged, Setup
from afa.engine.logged import Cuts
from afa.engines import make_engine, rewritten_engine
from afa.errors import AfaError, ChangeError, blame
from afa.journal import Journal
from afa.lineage.match_ends import LineageSource
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.model.binding import Binder
from afa.model.conflicts import check
from afa.model.event_order import EventOrder, is_list
from afa.model.keys import UNSAID, Keys, take_key
from afa.model.raised import Faults
from afa.model.waits import warn_of_waits
from afa.operator import event_input, single
from afa.operator.announced import asks, told_by
from afa.operator.arc_input import ArcInput
from afa.operator.event_input import advance, promise
from afa.operator.gapless import EventNumbers, order_of
from afa.operator.kept_lineage import KeptLineage
from afa.operator.match_lineage import held_of
from afa.operator.members import Members
from afa.operator.options import Options, traits_of
from afa.operator.rows import in_form
from afa.operator.told_anew import PathOutput
from afa.operator.twins import Twins
from afa.rewrite.reduction import check_rewritten
from afa.schema import Schema, taker
from punctuation.calls import Calls, Member
from punctuation.durations import ticks_of_duration
from punctuation.late import Late
from punctuation.progress import Progress
from punctuation.promise import Punctuation

Output = list["Change | Punctuation"]


class Core(Twins, Member):
    """One automaton over many keys. Parameters: see `Operator`; ``faults``: see `afa.engine.Setup`."""

    ends = True
    _called = "what is within one"

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
        tick, keep_payloads = options.tick, options.keep_payloads
        self.automaton = automaton = automaton.bound(tick)
        if not keep_payloads:
            check_rewritten(automaton)
        self.window = None if options.window is None else ticks_of_duration(options.window, tick, "window")
        if self.window is not None and self.window < 1:
            raise AfaError(f"expected a window of at least one tick but got window={options.window!r}")
        if automaton.choice is not None and automaton.choice.window != self.window:
            wanted = f"window={automaton.choice.window!r}, as the automaton chooses among matches WITHIN that,"
            raise AfaError(f"expected {wanted} but got {self.window!r}")
        self.options, self.keyed, self.faults = options, keyed, faults
        self.longest, self.retractions = options.longest, options.retractions
        self.kept = KeptLineage() if options.lineage or asks(automaton, options) else None
        gapless = None if options.numbers is None else EventNumbers(automaton, options.numbers)
        self.binder = Binder(tick, automaton)
        self.tick = tick  # what one int of LE counts; None: it was not said
        self.sequence = order_of(automaton, options.order_by, options.numbers, keep_payloads)
        self.event_order = EventOrder.of(self.sequence, automaton.event_schema) if is_list(self.sequence) else None
        self.late = Late(options.late)
        self.progress = Progress(options.arc_punctuation)
        self.progress.lags = self.kept is not None
        self.progress.later = 0 if automaton.choice is None else automaton.choice.later
        self.journal = Journal()
        self.arcs = ArcInput(ArcTable.of(automaton.arcs))
        gaps = None if gapless is None else gapless.gaps
        of = automaton, self.arcs.table, self.progress, self.journal, self.sequence, keyed, faults, gaps, options.threads
        self.engine: Engine = (make_engine if keep_payloads else rewritten_engine)(options.engine, Setup(*of, options.longest))
        self.gapless = gapless  # behind the engine, as in this order they are copied
        if gapless is not None:
            assert self.engine.numbers is not None
            gapless.engine = self.engine.numbers
        self.rows_alike = not automaton.ties and self.window is not None  # see `afa.operator.event_input`
        self.conditions = Conditions(automaton, tick)
        warn_of_waits(automaton, self.window, tick)
        self.changes = self.outputs = self.withdrawn = 0
        self.saved: bytes | None = None  # digest of the last snapshot
        self.keys: Keys | None = None  # how keys are made, if there are any
        self.shapes: dict[tuple[str, ...], Any] = {}  # of tables; see `afa.operator.tables`
        schema = automaton.event_schema and automaton.event_schema._replace(tick=tick)
        self.taken = self.tells = schema  # the events that come, a stage may add fields to them; and as they are told of
        self.filled: Callable[[Any], Any] | None = None  # what makes of an event that comes one with the fields that are computed
        self.ids: Any = None  # the stage in front by whose ids retractions name events
        self.old_ids: Any = None  # what an older snapshot, in which no stage was needed for them, says of ids
        self.told: PathOutput | None = told_by(automaton, schema, self.sequence, options)
        self.members: Members | None = None if self.told is None else self.told.members  # what comes with each match
        self.watcher = self.told if self.told is not None and self.told.again else None  # of what each call touches
        self.shown = (self.told and self.told.shown) or automaton.match_schema  # what leaves; a stage may show less
        self.alone = self.engine.alone and self.watcher is None
        self.calls = Calls(self)
        self.budget: Budget | None = None
        if bounded:
            self.bound(Budget(options.partial_matches, options.max_bytes, options.threads))
        self.form = taker(schema)  # of payloads
        self.dated: Callable[..., Any] | None = None if schema is None or schema.instant is None else schema.dated

    def bound(self, budget: Budget) -> None:
        """Refuse from now on what is beyond a budget."""
        self.budget = budget
        self.engine.bound(budget)

    # -- beside stages -----------------------------------------------------------------------------------------------------

    def by_rows(self, net: bool) -> bool:
        """Return whether tables go row by row, as each row, or each match that stays, is told of on its own."""
        return self.told is not None and (self.told.again or not net)

    def held(self, whole: bool = False) -> LineageSource:
        """Return what lineages are derived from; of matches in the form in which they leave, or (``whole``) with all they hold."""
        inner = self.told.inner if self.told is not None else None
        return held_of(self, self.automaton.match_schema if whole else inner or self.shown)

    def take_as(self, schema: Schema) -> None:
        """Let events come with these fields only, the first ones of those that the automaton's events have."""
        self.taken = schema._replace(tick=self.tick)
        self.tell_as(self.taken)

    def tell_as(self, schema: Schema) -> None:
        """Tell of events with these fields only, the first ones."""
        self.tells = schema
        if self.members is not None:
            self.members.tell(schema)

    def show(self, fields: type) -> None:
        """Let tables of output have the fields of a NamedTuple class: the first ones of matches, or those that a stage makes."""
        self.shapes.clear()
        names: tuple[str, ...] = fields._fields  # type: ignore[attr-defined]
        shown = self.shown.fields[: len(names)]
        if tuple(field.name for field in shown) != names:
            self.shown = Schema.of(fields, "match")
            return
        times, dates = ([name for name in found if name in names] for found in (self.shown.times, self.shown.dates))
        self.shown = Schema(fields, shown, times=tuple(times), dates=tuple(dates))

    # -- calls -------------------------------------------------------------------------------------------------------------

    def key_of(self, item: Any, key: Hashable = UNSAID) -> Hashable:
        """Return the key of an item of the event input: the one that is said, else its own. None: none, or it is told later."""
        keys = self.keys if key is not UNSAID else None if self.ids is not None else self.keys_at_once
        if isinstance(item, Change) and keys is not None:
            found: Hashable = take_key(keys.of_change(item) if key is UNSAID else key)
            return found
        if isinstance(item, Change) and key is not UNSAID:
            raise ChangeError(f"expected a key for a Keyed only but got key={key!r} for an Operator")
        return None

    @property
    def keys_at_once(self) -> Keys | None:
        """How keys are made of events as they come. None: there are none, or they are made of fields that a stage computes."""
        return self.keys if self.filled is None or (self.keys is not None and self.keys.columns) else None

    def call_begins(self) -> Any:
        """Return all that a call changes and that neither journal nor engine undoes. See `punctuation.calls.Member`."""
        numbers = None if self.gapless is None else self.gapless.counters
        return self.progress.marks(), self.late.count, self.conditions.all, self.changes, self.outputs, self.withdrawn, numbers

    def call_ends(self) -> None:
        if self.late.waiting:
            self.late.hand_over(self.calls)
        if self.gapless is not None:
            self.gapless.hand_over()

    def call_failed(self, before: Any) -> None:
        self.journal.rollback()
        marks, self.late.count, self.conditions.all, self.changes, self.outputs, self.withdrawn, numbers = before
        self.progress.restore(marks)
        self.late.waiting.clear()
        if self.told is not None:
            self.told.begin()
        if self.gapless is not None:
            self.gapless.put_counters(numbers)
        self.engine.rollback()

    def call_worked(self) -> None:
        self.journal.commit()
        self.engine.commit()

    push = single.push

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
            before = self.progress.output
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
        if self.kept is not None:
            self.kept.let_go(self)
        for step in steps:
            kind = type(step)
            if kind is not tuple and kind is not list:
                if batch:
                    self._flush(batch)
                if self.watcher is not None:
                    self.watcher.touch_rows(self, step)
                self.take_columns(step)
                continue
            for port, item, key in (step,) if kind is tuple else step:
                if port == "event" and isinstance(item, Change):
                    change = event_input.checked_event(self, item, key)
                    if change is not None:
                        batch.setdefault(key, []).append(change)
                else:
                    if batch:
                        self._flush(batch)
                    self.control(port, item)
        if batch:
            self._flush(batch)
        self.settle_numbers()
        if not self.automaton.ties:
            self.engine.check_ties()

    def take_columns(self, columns: Any, cuts: Cuts | None = None) -> None:
        """Carry out a table in the engine's form; see `afa.engine.Engine.run_columns`."""
        if self.kept is not None:
            self.kept.let_go(self)
            self.progress.span = max(self.progress.span, columns.longest())
        self.engine.run_columns(columns, self, cuts)
        if cuts is not None:
            self.settle_numbers()

    def encoded(
        self, columns: dict[str, Any], times: dict[str, Any], of_keys: Any, arcs: Sequence[Any] = (), runs: Any = None
    ) -> Any:
        """Return columns of events in the engine's own form, see `GivenColumns`. Raises `Unfit` if rows must go one by one."""
        single = self.keys is None or self.keys.single
        return self.engine.encode(GivenColumns(columns, times, self.window, of_keys, single, arcs, runs))

    def logged(self, cuts: Cuts | None = None) -> Logged:
        """Count and return the output as columns; see `afa.engine.Engine.log`."""
        found = self.engine.log(cuts)
        self.withdrawn -= int(np.minimum(found.diff, 0).sum())
        self.outputs += int(np.maximum(found.diff, 0).sum())
        if self.told is not None:
            found = self.told.told_rows(self, found)
        return found

    def settle_numbers(self) -> None:
        """Check that numbers ascend with time: before each promise and arc, and behind all changes of a call."""
        if self.gapless is not None:
            self.gapless.settled()

    def _flush(self, batch: dict[Hashable, list[Change]]) -> None:
        for key, changes in batch.items():
            try:
                self.engine.apply(key, changes)
            except Exception as error:
                if key is not None:
                    blame(error, f"of key {key!r}")
                raise
        batch.clear()
        self.numbers_applied()

    def control(self, port: str, item: Any) -> None:
        """Take a punctuation of an input, "event" or "arc", or another item of the arc input."""
        self.settle_numbers()
        if isinstance(item, Punctuation):
            promise(self, port, item)
        elif port == "arc":
            self.arcs.take(self, item)
        else:
            raise ChangeError(f"expected a change (insert, retract) or a Punctuation but got {item!r} on the event input")

    # -- what an engine asks during a batch of columns: see `afa.engine.Host` --------------------------------------------------

    @property
    def refuses_late(self) -> bool:
        return self.late.policy == "raise"

    def progress_to(self, t: int) -> None:
        self.settle_numbers()
        self.progress.promise_events(t)
        advance(self)

    def take_record(self, item: Change | Punctuation) -> None:
        self.control("event" if isinstance(item, Punctuation) else "arc", item)

    def take_numbered(self, change: Change) -> int:
        assert self.gapless is not None
        found = self.gapless.take(change)
        left = 0 if found is None else found.diff
        self.changes -= abs(change.diff) - abs(left)
        return left

    def numbers_applied(self) -> None:
        if self.gapless is not None:
            self.gapless.applied()

    def replace_arcs(self, gone: Sequence[ArcEvent], come: Sequence[ArcEvent], table: ArcTable) -> None:
        for event in come:
            self.automaton.check_arc(event.arc)
        self.arcs.replace(self, table, gone, come)

    def follow_arcs(self, table: ArcTable) -> None:
        self.arcs.follow(self, table)

    # -- tables of arcs ------------------------------------------------------------------------------------------------------------

    def put_table(self, table: ArcTable, bits: Sequence[int | None] | None = None) -> None:
        """Put a table of arcs in force before there is any state, with the arcs' bits if payloads are not kept. For a restore."""
        self.arcs.table = table
        self.engine.install(table, bits)

    in_form, typed, timed, take_late = in_form, event_input.typed, event_input.timed, event_input.take_late

    @property
    def reads_from(self) -> int:
        """The LE from which on arcs serve yet: the floor, or that of the first row that a scan holds. O(keys)."""
        floor = self.progress.floor
        return floor if self.automaton.choice is None else min(floor, self.engine.begins())  # type: ignore[attr-defined]

    def clean(self) -> None:
        """Drop what lies below the floor."""
        self.engine.clean()
        self.arcs.clean(self)

    def swap_arcs(self, table: ArcTable, le: int, re: int) -> None:
        """Let the engine put another table of arcs in force, which differs in ``[le, re)``."""
        if self.watcher is not None and le < self.progress.now:
            self.watcher.touch_all(self, le)
        self.engine.swap(table, le, re)

    # -- output ------------------------------------------------------------------------------------------------------------

    def _collect(self, before: int) -> Output:
        changes = self.engine.collect()
        if self.told is not None:
            changes = self.told.told(self, changes)
        if changes:
            self.count(changes)
        out: Output = list(changes)
        if self.progress.output > before:
            out.append(Punctuation(self.progress.output))
        return out

    def count(self, changes: list[Any]) -> None:
        """Bring output into its order, and count it."""
        if len(changes) > 1:
            put_in_order(changes)
        self.withdrawn -= sum(min(change.diff, 0) for change in changes)
        self.outputs += sum(max(change.diff, 0) for change in changes)

    def check(self) -> None:
        """Assert all invariants; for tests."""
        self.engine.check()
        if self.ids is not None:
            self.ids.check()
        assert self.progress.final == self.progress.effective, "the effective punctuation was not passed on"
        ended = [event for event in self.arcs.table.events if event.re <= self.progress.floor]
        assert not ended or self.automaton.choice is not None, "Cleanup: arcs that ended"  # a scan may hold rows that they serve
        assert all(event.le < event.re for event in self.arcs.table.events), "an arc whose lifetime is empty"
