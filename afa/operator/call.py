"""The core that `Operator` and `Keyed` share: all-or-nothing calls, promises, arcs in force, keys, the order of output.

push, push_arc, push_many
  -> calls                one after the other; a call that fails leaves no trace (`punctuation.calls`)
       -> check, late?    as typed events with full lifetimes; a named policy takes late ones
       -> engine          the state of all keys
       -> collect         the minimal difference, retractions first, then insertions, each by LE
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from afa.change import Change, put_in_order
from afa.conditions.condition import Condition, condition_of
from afa.conditions.implied import Promised
from afa.conditions.promised import Paths, PromisesByKey
from afa.cuts import Cuts
from afa.engine import Engine, Logged, Numbered, Setup
from afa.engines import make_engine, rewritten_engine
from afa.errors import AfaError, ChangeError, blame
from afa.journal import Journal
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.model.copies import as_diff
from afa.model.raised import Faults
from afa.operator.arc_input import ArcInput
from afa.operator.gapless import Gapless
from afa.operator.sequence import check_number, sequence_of
from afa.operator.single import Output, Single
from afa.operator.statistics import Statistics
from afa.operator.twin import twin
from afa.rewrite.reduction import check_options
from afa.schema import as_ticks, taker
from punctuation.calls import Calls
from punctuation.late import Late, Policy
from punctuation.progress import Progress
from punctuation.promise import Punctuation
from punctuation.time import FOREVER, as_time, end_of_time


class Core(Single):
    """One automaton over many keys.

    Parameters
    ----------
    faults : Faults, optional
        Collects what users' functions raise; an arc does not serve where one of its functions raises. None: the call is refused.
    gapless : Gapless, optional
        What to do about events' numbers. None: they have none.
    """

    ends = True

    def __init__(
        self,
        automaton: Automaton,
        *,
        window: int | None,
        engine: str,
        sequence: str | None,
        late: Policy,
        arc_punctuation: bool,
        retractions: bool = True,
        keep_payloads: bool = True,
        keyed: bool = False,
        faults: Faults | None = None,
        gapless: Gapless | None = None,
    ) -> None:
        if not isinstance(automaton, Automaton):
            raise AfaError(f"expected an Automaton but got {automaton!r}")
        if not keep_payloads:
            check_options(automaton, retractions, arc_punctuation)
        window = None if window is None else as_time(window, "window")
        if window is not None and window < 1:
            raise AfaError(f"expected a window of at least one tick but got window={window!r}")
        self.gapless = gapless
        self.automaton = automaton
        self.window = window
        self.sequence = sequence = sequence_of(automaton, sequence, gapless, keep_payloads)
        self.keyed = keyed
        self.retractions = retractions
        self.late = Late(late)
        self.progress = Progress(arc_punctuation)
        self.journal = Journal()
        table = ArcTable.of(automaton.arcs)
        gaps = None if gapless is None else gapless.gaps
        setup = Setup(automaton, table, self.progress, self.journal, sequence, keyed, faults, gaps)
        self.faults = faults
        self.asked = engine  # by which name
        self.engine: Engine = make_engine(engine, setup) if keep_payloads else rewritten_engine(engine, setup)
        self.arcs = ArcInput(table, self.progress, self.journal, self.late, self.engine.swap)
        self.conditions: Promised = ()
        self._paths: tuple[ArcTable, Paths] | None = None
        self.changes = self.outputs = self.withdrawn = 0
        self.saved: bytes | None = None  # digest of the last snapshot
        self.key_fields: tuple[str, ...] = ()  # the event's fields that make the key
        self._alone = self.engine.alone
        self.calls = Calls(self)
        self._take = taker(automaton.event_schema)

    # -- calls -------------------------------------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Return all that a call changes and that neither journal nor engine undoes. See `punctuation.calls.Member`."""
        numbers = None if self.gapless is None else self.gapless.counters
        return self.progress.marks(), self.late.count, self.conditions, self.changes, self.outputs, self.withdrawn, numbers

    def call_ends(self) -> None:
        """Do the last part of a call: hand callbacks the late changes."""
        self.late.hand_over(self.calls)
        if self.gapless is not None:
            self.gapless.hand_over(self._numbered)

    def call_failed(self, before: Any) -> None:
        """Restore the state from before a call."""
        self.journal.rollback()
        marks, self.late.count, self.conditions, self.changes, self.outputs, self.withdrawn, numbers = before
        self.progress.restore(marks)
        self.late.waiting.clear()
        if self.gapless is not None:
            self.gapless.put_counters(numbers)
        self.engine.rollback()

    def call_worked(self) -> None:
        """Commit the call in journal and engine."""
        self.journal.commit()
        self.engine.commit()

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
            self.take(part)
            out += self._collect(before)
        return out

    def take(self, steps: Iterable[Any]) -> None:
        """Carry out items, lists of items and tables in the engine's form, in order of arrival, within a call.

        Their output stays with the engine until it is collected.
        """
        batch: dict[Hashable, list[Change]] = {}
        for step in steps:
            kind = type(step)
            if kind is not tuple and kind is not list:
                self._flush(batch)
                self.engine.run_columns(step, self)
                continue
            for port, item, key in (step,) if kind is tuple else step:
                if port == "event" and isinstance(item, Change):
                    change = self.check_event(item, key)
                    if change is not None:
                        batch.setdefault(key, []).append(change)
                else:
                    self._flush(batch)
                    self._control(port, item)
        self._flush(batch)

    def end_arc(self, arc: Arc, t: int) -> Output:
        """End an arc at ``t``, as one call."""
        return self.calls.call(self._end_arc, arc, t)

    def _end_arc(self, arc: Arc, t: int) -> Output:
        self.automaton.check_arc(arc)
        before = self.progress.final
        self.arcs.end(arc, t)
        return self._collect(before)

    def run_arcs(self, gone: Sequence[ArcEvent], come: Sequence[ArcEvent], table: ArcTable) -> Output:
        """Put another (checked) table of arcs in force, as one swap within a call. Returns the output. See `ArcInput.replace`."""
        before = self.progress.final
        self.arcs.replace(table, gone, come)
        return self._collect(before)

    def logged(self, cuts: Cuts | None = None) -> Logged:
        """Count and return the output as columns; see `afa.engine.Engine.log`."""
        found = self.engine.log(cuts)
        withdrawn = int((found.diff < 0).sum())
        self.withdrawn += withdrawn
        self.outputs += len(found.diff) - withdrawn
        return found

    def progress_to(self, t: int) -> None:
        """Take a promise of the event input under which no retraction waits in vain."""
        self.progress.promise_events(t)
        self._punctuate()

    @property
    def refuses_late(self) -> bool:
        """Whether a late event makes the call fail."""
        return self.late.policy == "raise"

    def counted(self, changes: int) -> None:
        """Count so many changes of events as taken."""
        self.changes += changes

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

    def broken(self, payload: Any, le: int) -> tuple[Condition, int] | None:
        """Return the promise with a condition that an event breaks."""
        return next(((c, t) for c, t in self.conditions if le < t and c.holds(payload)), None)

    def take_numbered(self, change: Change) -> int:
        """Return how many copies of an event, counted already, take effect, where numbers are gapless."""
        assert self.gapless is not None
        found = self.gapless.take(self._numbered, change)
        left = 0 if found is None else found.diff
        self.changes -= abs(change.diff) - abs(left)
        return left

    def numbers_settled(self) -> None:
        """Check that the numbers that `take_numbered` let pass, applied by now, ascend with time."""
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
        if self.gapless is not None:
            self.gapless.settled(self._numbered)

    def _control(self, port: str, item: Any) -> None:
        if isinstance(item, Punctuation) and item.where is not None:
            self._promise_some(port, item)
        elif isinstance(item, Punctuation):
            t = as_ticks(item.t, "t")
            promised = self.progress.promise_events(t) if port == "event" else self.progress.promise_arcs(t)
            if promised:
                self._punctuate()
        elif port == "arc" and isinstance(item, Change):
            self.automaton.check_arc(item.payload)
            self.arcs.change(item)
        else:
            raise ChangeError(f"expected a change (insert, retract) or a Punctuation but got {item!r} on the {port} input")

    def put_table(self, table: ArcTable, bits: Sequence[int | None] | None = None) -> None:
        """Put a table of arcs in force before there is any state, with the arcs' bits if payloads are not kept. For a restore."""
        self.arcs.table = table
        self.engine.install(table, bits)

    def forget_call(self) -> None:
        """Drop the undo log: the current state becomes the starting point of the next call. Called after a restore."""
        self.journal.commit()
        self.engine.commit()

    # -- events ------------------------------------------------------------------------------------------------------------

    def check_event(self, change: Change, key: Hashable) -> Change | None:
        """Return the change in the form of `typed`. None: it is late, or its number is in force, and the policy took it.

        Raises
        ------
        ChangeError, LateEventError
        """
        checked = self.typed(change, key)
        le: Any = checked.le
        if le < self.progress.events:
            self.take_late(checked, self.progress.events)
            return None
        if le < self.progress.some and (broken := self.broken(checked.payload, le)) is not None:
            condition, t = broken
            self.take_late(checked, t, f", where {condition.text}")
            return None
        found = checked if self.gapless is None else self.gapless.take(self._numbered, checked)
        if found is not None:
            self.progress.see(le)
            self.changes += abs(found.diff)
        return found

    def typed(self, change: Change, key: Hashable) -> Change:
        """Return the change of an event with its payload in the schema's form, its full lifetime and its key.

        Raises
        ------
        ChangeError
            The argument is no change of an event.
        """
        payload = self._take(change.payload)
        if change.le is None:
            raise ChangeError(f"expected an event with a time but got le=None for {payload!r}")
        le = as_ticks(change.le, "le")
        if le == FOREVER:
            raise ChangeError(f"{end_of_time(le)} for {payload!r}")
        if change.re is not None:
            re = as_ticks(change.re, "re")
        elif self.window is None:
            re = FOREVER
        else:
            re = as_ticks(le + self.window, "le + window")
        if re <= le:
            raise ChangeError(f"expected re > le but got le={le}, re={re} for {payload!r}")
        diff = change.diff
        if type(diff) is not int or diff != 1:
            diff = as_diff(diff, payload)
        if diff < 0 and not self.retractions:
            raise ChangeError(f"expected insertions only (retractions=False) but got diff={diff} for {payload!r} at le={le}")
        if self.sequence is not None:
            check_number(payload, self.sequence, self.automaton.event_schema is not None)
        return Change(payload, le, re, diff, key)

    # -- punctuations ------------------------------------------------------------------------------------------------------

    def _promise_some(self, port: str, item: Punctuation) -> None:
        """Take a punctuation with a condition ([AFA10] App. F.2).

        Raises
        ------
        AfaError
            The operator was not told that nothing is retracted, or the condition can't be read.
        """
        if port != "event":
            raise ChangeError(f"expected a Punctuation without a condition on the arc input but got {item!r}")
        if self.retractions:
            raise AfaError(f"expected an operator with retractions=False for a Punctuation with a condition but got {item!r}")
        t = as_ticks(item.t, "t")
        assert item.where is not None
        condition = condition_of(item.where, self.automaton.event_schema)
        known = dict(self.conditions)
        if t <= max(self.progress.events, known.get(condition, t - 1)):
            self.progress.stale += 1
            return
        self.conditions = (*((c, s) for c, s in self.conditions if c != condition and s > self.progress.events), (condition, t))
        self.progress.promise_some(t)
        promises = PromisesByKey(self._paths_now, self.conditions, self.key_fields, self.progress.effective)
        self.engine.prune(promises, self.progress.arc_promise, self.changes)

    @property
    def _paths_now(self) -> Paths:
        """Return the paths over the arcs in force."""
        if self._paths is None or self._paths[0] is not self.arcs.table:
            arcs = {id(event.arc): event.arc for event in self.arcs.table.events}.values()
            self._paths = self.arcs.table, Paths(self.automaton, arcs)
        return self._paths[1]

    def _punctuate(self) -> None:
        promised = self.progress.events
        for change in sorted(self.engine.overdue(promised), key=_by_event):
            at = "" if change.key is None else f" of key {change.key!r}"
            self.late.take(
                change,
                f"expected the insertion of {change.payload!r} at le={change.le}{at} before {promised} "
                f"(promised) but got its retraction only",
            )
        self.arcs.overdue()
        self.engine.tick()
        if self.progress.advance():
            self.engine.clean()
            self.arcs.clean()

    # -- output ------------------------------------------------------------------------------------------------------------

    def _collect(self, final_before: int) -> Output:
        changes = self.engine.collect()
        self._count(changes)
        out: Output = list(changes)
        if self.progress.final > final_before:
            out.append(Punctuation(self.progress.final))
        return out

    def _count(self, changes: list[Any]) -> None:
        """Bring output into its order, and count it."""
        put_in_order(changes)
        withdrawn = sum(change.diff < 0 for change in changes)
        self.withdrawn += withdrawn
        self.outputs += len(changes) - withdrawn

    def statistics(self) -> Statistics:
        """Numbers over all keys."""
        held = self.engine.sizes()
        pending = held.pending + sum(self.arcs.pending.values())
        return Statistics(
            events=held.events,
            partial_matches=held.partial_matches,
            intervals=held.intervals,
            matches=held.matches,
            pending=pending,
            keys=held.keys,
            state_size=held.events + held.partial_matches + held.intervals + held.matches + pending,
            changes=self.changes,
            outputs=self.outputs,
            retractions=self.withdrawn,
            late=self.late.count,
            stale=self.progress.stale,
            **({} if self.gapless is None else self.gapless.statistics(self._numbered)),
        )

    @property
    def _numbered(self) -> Numbered:
        numbers = self.engine.numbers
        assert numbers is not None
        return numbers

    def __deepcopy__(self, memo: dict[int, Any]) -> Core:
        return twin(self, memo)  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        raise AfaError("expected an Operator or a Keyed to be pickled but got what is within one: use snapshot() and restore()")

    def check(self) -> None:
        """Assert all invariants; for tests."""
        self.engine.check()
        assert self.progress.final == self.progress.effective, "the effective punctuation was not passed on"
        assert all(event.re > self.progress.final for event in self.arcs.table.events), "Cleanup: arcs that ended"
        assert all(event.le < event.re for event in self.arcs.table.events), "an arc whose lifetime is empty"


def _by_event(change: Change) -> Any:
    """Return a sort key that depends neither on arrival nor on refused calls."""
    return change.le, change.re, repr(change.key), repr(change.payload)
