"""The operator of a set of rules: which rules see an event, what they tell, and rules that come and go.

item -> is it an event? is it late?  once, for the set
     -> held                         for rules that begin in the past
     -> the store of shapes          for most rules: `afa.rules.shape_store`
        operators of their own       for each other one: the events with an LE in the rule's lifetime
     -> changes of rules
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from afa.change import RuleChange, put_in_order
from afa.errors import AfaError, ChangeError, LateEventError
from afa.model.renamed import time_of
from afa.operator.options import options_of
from afa.operator.plain_data import plain
from afa.operator.statistics import TOTAL
from afa.rules.concerned import EventsBefore
from afa.rules.event_rows import EventRows
from afa.rules.held_events import HeldEvents
from afa.rules.own_operator import OwnOperator
from afa.rules.rule_tables import OwnRows, RuleForm, answer, changes_of
from afa.rules.rule_texts import SET, Rule, RuleTexts
from afa.rules.set_input import SetInput
from afa.rules.shape import NoShape, RuleParts
from afa.rules.shape_store import RulesRaised, ShapeStore
from afa.rules.standing_rules import RuleInForce, StandingRule, StandingRules
from afa.schema import as_ticks
from punctuation import sealed
from punctuation.calls import Calls, Member, whole
from punctuation.durations import ticks_of_duration
from punctuation.late import Late
from punctuation.progress import Marks, Progress
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER

MAGIC, VERSION = b"AFAR", 2
TAKES = ("key", "window", "order_by", "engine", "late", "tick", "longest", "members", "lineage", "partial_matches", "max_bytes")
OF_SET = ("key", "window", "order_by", "late", "tick")
"""What is not handed to each rule as it is."""
APART = ("longest", "members", "lineage", "partial_matches", "max_bytes")
"""What only an operator of its own can do for a rule."""
Output = list[Any]
R = TypeVar("R")
log = logging.getLogger("afa.rules")


class RuleStatistics(NamedTuple):
    """Numbers of one rule.

    Parameters
    ----------
    events : int
        Changes of events that the rule was asked of so far.
    matches : int
        Matches of the rule in force.
    partial_matches : int
        Partial matches of the rule.
    bytes : int
        The rule's state in memory; 0 in the interpreted engine.
    seconds : float
        Work for the rule so far; of rules that share an operator by the events that each was asked of.
    """

    events: Annotated[int, TOTAL]
    matches: int
    partial_matches: int
    bytes: int = 0
    seconds: Annotated[float, TOTAL] = 0.0


class RuleSetStatistics(NamedTuple):
    """Numbers of a set: changes of events that are held, late ones so far, partial matches; by name, of the last rule of it."""

    held: int
    late: int
    partial_matches: int
    rules: dict[str, RuleStatistics]


class RuleSetOperator(Member):
    """An operator of a set of rules, as `Operator(rules)` makes it.

    Parameters
    ----------
    rules : Rules
    reach : int, str or timedelta
        How far behind the watermark a rule may begin; so long are events held behind it, and so much later is output final.
    key, window, order_by, tick
        Of rules that say none.
    late : "raise", "drop" or callable
    engine, longest, members, lineage, partial_matches, max_bytes
        As of `Operator`, for each rule.
    """

    ends = True

    def __init__(self, rules: RuleTexts, *, reach: Any = 0, **options: Any) -> None:
        said = options_of(options)
        wrong = [name for name in said.said if name not in TAKES]
        if wrong:
            raise AfaError(f"{wrong[0]}={said.said[wrong[0]]!r} can't be combined with {SET}; it takes {', '.join(TAKES)}")
        if said.tick is not None and rules.tick not in (None, said.tick):
            raise AfaError(f"expected the set's own tick={rules.tick!r} but got tick={said.tick!r}")
        if said.key is not None and rules.key is not None and said.key != rules.key:
            raise AfaError(f"expected the set's own key={rules.key!r} but got key={said.key!r}")
        self._set, self._options = rules, said
        tick = said.tick or rules.tick
        self._key = rules.key if said.key is None else rules.checked_key(said.key)
        self._input = SetInput(rules.event, tick)
        self._schema = self._input.schema
        self._reach = ticks_of_duration(reach, tick, "reach") if reach else 0
        if self._reach < 0:
            raise AfaError(f"expected reach >= 0 but got reach={reach!r}")
        self._late, self._progress, self._held = Late(said.late), Progress(), HeldEvents()
        self._output = BEGINNING
        self._apart = next((f"{name}=" for name in APART if name in said.said), None)
        self._store = ShapeStore(self._schema, **({"engine": said.said["engine"]} if "engine" in said.said else {}))
        self._touched: list[tuple[Any, Any]] = []
        self._standing = StandingRules(self._schema)
        self._told_aside: list[str] = []  # what the call under way has put aside
        self._calls = Calls(self)
        for rule in rules.rules.values():
            self._calls.call(self._stand, rule, BEGINNING, FOREVER)
        self._set = rules.bare()

    # -- all or nothing --------------------------------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        state = self._late.count, self._output, self._held.state
        return self._progress.marks(), self._standing.begins(), state

    def call_ends(self) -> None:
        for group, _ in self._touched:
            group.ends()
        if self._late.waiting:
            self._late.hand_over(self._calls)

    def call_failed(self, before: Any) -> None:
        for group, was in self._touched:
            group.failed(was)
        marks, standing, state = before
        self._store.failed()
        self._standing.failed(standing)
        self._late.count, self._output, self._held.state = state
        self._progress.restore(Marks(*marks))
        self._late.waiting.clear()
        self._told_aside.clear()
        self._touched.clear()

    def call_worked(self) -> None:
        while self._told_aside:
            log.warning("%s", self._told_aside.pop())
        for group, _ in self._touched:
            group.worked()
        self._store.worked()
        over = self._standing.over()
        if over:
            self._store.forget(over)
        self._standing.worked()
        self._touched.clear()

    def _touch(self, group: Any) -> None:
        if not any(known is group for known, _ in self._touched):
            self._touched.append((group, group.begins()))

    def _tried(self, work: Callable[..., R], *args: Any) -> R:
        """Do the work of a call. Where rules raise, they are put aside, and the call is carried out again without them."""
        before = self.call_begins()
        errors: dict[int, Exception] = {}
        while True:
            try:
                return work(*args)
            except RulesRaised as raised:
                errors |= raised.errors
                self.call_failed(before)
                for number, error in errors.items():
                    self._put_aside(self._standing[number], f"{type(error).__name__}: {error}")

    def _put_aside(self, rule: StandingRule, why: str) -> None:
        if rule.own is None:
            self._store.end(rule.number, BEGINNING)
        self._standing.put(rule.number, rule._replace(aside=why))
        self._told_aside.append(f"rule {rule.rule.name!r} is put aside: {why}")

    # -- events ----------------------------------------------------------------------------------------------------------------

    def push(self, change: Any) -> Output:
        """Take one change of an event, or a watermark. Returns changes, each with its ``rule``, and the watermark if it moved.

        As `Operator.push`: retractions first, then insertions, each by LE.
        """
        found: Output = self._calls.call(self._tried, self._push, change)
        return found

    def _push(self, change: Any) -> Output:
        return self._listed(self._carry_out([self._input.one(change)]))

    def push_many(self, batch: Any, *, net: bool = True, time: str = "le", **old: str) -> Any:
        """Take a table, or a list, as one call: as `Operator.push_many`. Tables come back with a column ``rule`` in front."""
        return self._calls.call(self._tried, self._push_many, batch, net, time_of(time, old) if old else time)

    def _push_many(self, batch: Any, net: bool, time: str) -> Any:
        come, calls = self._input.call(batch, time, net)
        out = [item for parts in calls for item in self._carry_out(parts)]
        rules = self._standing
        return self._listed(out) if come.like is None else answer(out, come, rules.forms, rules.columns, self._input.core)

    def _listed(self, out: Output) -> Output:
        """Return output as changes and watermarks."""
        found: Output = []
        for item in out:
            found += [item] if isinstance(item, Punctuation) else changes_of(item, self._standing.forms)
        return found

    def _carry_out(self, parts: Sequence[EventRows | Punctuation]) -> Output:
        """Take events and watermarks, in order; return a list of rows, the minimal difference, and the watermark if it moved."""
        came: list[Any] = []
        for part in parts:
            before = EventsBefore(self._held.state[0], self._progress.now - 1)
            if (new := self._checked(part)) is not None:
                came.append((new, before))
        if not came:
            return []
        taken = [part for part, _ in came]
        found: list[Any] = []
        for rule in self._standing.own:
            mine: list[Any] = [part if isinstance(part, Punctuation) else part.within(rule.le, rule.re) for part in taken]
            mine = [part for part in mine if isinstance(part, Punctuation) or len(part)]
            if mine:
                found.append(self._asked(rule, mine))
        found += self._store.take([(self._behind(part), before) for part, before in came], self._touch)
        if any(isinstance(part, Punctuation) for part in taken):
            self._forget()
            return [found, *self._final()]
        return [found]

    def _behind(self, part: Any) -> Any:
        """Return what the store is told: its rules may begin behind the watermark."""
        return Punctuation(self._behind_by(part.t)) if isinstance(part, Punctuation) else part

    def _behind_by(self, t: int) -> int:
        return t if t == FOREVER else max(t - self._reach, BEGINNING)

    def _checked(self, part: Any) -> EventRows | Punctuation | None:
        """Return what is new of a part, and hold its events; None: nothing is."""
        progress = self._progress
        if isinstance(part, Punctuation):
            if not progress.promise_events(part.t):
                return None
            for change in self._held.vain(part.t):
                text = f"expected the insertion of {change.payload!r} at le={change.le} before {part.t} (promised)"
                self._late.take(change, f"{text} but got its retraction only")
            self._held.drop(self._behind_by(part.t))
            return part
        rows: EventRows = part
        if (rows.le < progress.events).any():
            late = rows.at(np.flatnonzero(rows.le < progress.events))
            for change in late.changes():
                text = f"expected le >= {progress.events} (promised) but got le={change.le} for {change.payload!r}"
                self._late.take(change, text)
            rows = rows.at(np.flatnonzero(rows.le >= progress.events))
        if not len(rows):
            return None
        progress.see(int(rows.le.max()))
        self._held.add(rows)
        return rows

    def _asked(self, rule: StandingRule, parts: Sequence[Any]) -> OwnRows:
        """Return what a rule's own operator makes of events and watermarks: the matches with an LE below the rule's end."""
        assert rule.own is not None
        self._touch(rule.own)
        begun = time.perf_counter()
        try:
            changes = rule.own.take(parts)
        except Exception as error:
            raise RulesRaised({rule.number: error}) from error
        rule.own.seconds += time.perf_counter() - begun
        return OwnRows(rule.form, [change for change in changes if change.le is not None and change.le < rule.re])

    def _forget(self) -> None:
        """Let go of rules that no rule can meet any more, whose matches are all final."""
        t = self._behind_by(self._progress.events)
        for rule in self._standing.ending:
            promised = self._store.promised if rule.own is None else rule.own.promised
            if rule.re <= t and (rule.aside is not None or promised >= rule.re):
                self._standing.put(rule.number, None)

    def _final(self) -> list[Punctuation]:
        """Return the watermark of the output, if it has moved."""
        own = [max(rule.own.promised, rule.le) for rule in self._standing.own if rule.own is not None]
        final = min([self._behind_by(self._progress.events), *own])
        if final <= self._output:
            return []
        self._output = final
        return [Punctuation(final)]

    # -- rules -----------------------------------------------------------------------------------------------------------------

    def _stand(self, rule: Rule, le: int, re: int, own: OwnOperator | None = None) -> StandingRule:
        """Put a rule in its place: the store, or an operator of its own."""
        number, self._standing.next = self._standing.next, self._standing.next + 1
        parts, why = self._parts_of(rule) if own is None else (None, "it had one when it was saved")
        if parts is None:
            own = own or OwnOperator(self._operator(rule))
            core = own.operator._core
            form = RuleForm(rule.name, tuple(core.keys.labels) if core.keys else (), core.shown, core.members is not None)
        else:
            parts = self._store.shared(parts)
            form = RuleForm(rule.name, parts.shape.key, parts.shown)
        standing = StandingRule(rule.bare, number, form, le, re, parts, own, why)
        self._standing.add(standing)
        if parts is not None:
            self._store.add(number, parts, le, re)
        return standing

    def _parts_of(self, rule: Rule) -> tuple[RuleParts | None, str]:
        """Return the parts of a rule for the store; None: it needs an operator of its own, and why."""
        if self._apart is not None:
            return None, f"{self._apart} is asked"
        if not self._schema.scalar:
            return None, "an event has a field that is no scalar"
        said = self._said(rule)
        if "order_by" in said:
            return None, "events of one time stand in an order"
        try:
            parts = rule.parts(said.get("key"), said.get("window"), said.get("tick"))
        except NoShape as reason:
            return None, str(reason)
        return (None, "it has time-outs, and reach= is asked") if parts.shape.clock and self._reach else (parts, "")

    def _said(self, rule: Rule) -> dict[str, Any]:
        """Return the options of the set that are a rule's: those that it does not say itself."""
        pattern, said = rule.pattern, self._options
        options: dict[str, Any] = {}
        if pattern.key is None and self._key is not None:
            options["key"] = self._key
        if pattern.window is None and said.window is not None and not hasattr(pattern, "tree"):
            options["window"] = said.window
        if pattern.ordered_by is None and said.order_by is not None and not hasattr(pattern, "tree"):
            options["order_by"] = said.order_by
        if self._input.tick is not None and pattern.tick is None:
            options["tick"] = self._input.tick
        return options

    def _operator(self, rule: Rule, blob: bytes | None = None, **more: Any) -> Any:
        """Make the operator of a rule, of its snapshot if there is one."""
        options = {name: value for name, value in self._options.said.items() if name not in OF_SET} | {"late": "drop"}
        options |= self._said(rule) | more
        try:
            return rule.pattern.operator(**options) if blob is None else rule.pattern.restore(blob, **options)
        except AfaError as error:
            raise type(error)(f"rule {rule.name!r}: {error}") from error

    def _time(self, at: Any, what: str) -> int | None:
        return None if at is None else as_ticks(at, what, self._input.tick)

    @whole
    def add(self, name: str, pattern: Any, le: Any = None, re: Any = None) -> Output:
        """Put a rule in force, as one call.

        Parameters
        ----------
        name : str
        pattern
            As of `Rules`.
        le, re : int (ticks) or datetime, optional
            Its lifetime. Left out: from one tick past all that was seen, for ever.

        Returns
        -------
        list of Change
            Its matches in the past, where ``le`` lies there.

        Raises
        ------
        LateEventError
            ``le`` lies below the watermark less ``reach=``.
        AfaError
            The rule can't be read, or one of its name is in force in its lifetime, or a column of it has another type. Or what its
            functions raise.
        """
        return self._add(self._set.rule(name, pattern), self._time(le, "le"), self._time(re, "re"))

    def _add(self, rule: Rule, le: int | None, re: int | None) -> Output:
        name, first = rule.name, self._progress.events - self._reach
        le, re = self._progress.now if le is None else le, FOREVER if re is None else re
        if le >= re:
            raise AfaError(f"rule {name!r}: expected le < re but got le={le}, re={re}")
        if le < first and self._progress.events > BEGINNING:
            raise LateEventError(f"rule {name!r}: expected le >= {first}, from where on events are held, but got le={le}")
        for other in self._standing.named(name):
            if other.le < re and le < other.re:
                raise AfaError(f"expected no rule {name!r} in [{le}, {re}) but got one in force in [{other.le}, {other.re})")
        standing = self._stand(rule, le, re)
        parts: list[Any] = self._held.in_force(le, re)
        if self._progress.events > BEGINNING and standing.own is not None:
            parts.append(Punctuation(self._progress.events))
        try:
            return self._listed([self._alone(standing, parts)])
        except RulesRaised as raised:
            raise raised.errors[standing.number] from None

    def _alone(self, rule: StandingRule, parts: list[Any]) -> list[Any]:
        """Return what a rule alone makes of events and watermarks."""
        if not parts or rule.aside is not None:
            return []
        if rule.own is not None:
            return [self._asked(rule, parts)]
        return self._store.take([(part, EventsBefore(parts[:i])) for i, part in enumerate(parts)], self._touch, {rule.number})

    @whole
    def remove(self, name: str, at: Any = None) -> Output:
        """End a rule at an instant, left out: one tick past all that was seen. In the past what came of later events is withdrawn.

        Raises
        ------
        AfaError
            No rule of this name lasts beyond that instant.
        LateEventError
            The instant is not behind the watermark.
        """
        return self._tried(self._remove, name, self._time(at, "at"))

    def _remove(self, name: str, at: int | None) -> Output:
        progress = self._progress
        if at is not None and at <= progress.events and progress.events > BEGINNING:
            raise LateEventError(f"rule {name!r}: expected an end behind {progress.events} (promised) but got at={at}")
        at = progress.now if at is None else at
        found = self.lasting(name, at)
        if not found:
            known = ", ".join(sorted({rule.rule.name for rule in self._standing if at < rule.re})) or "none"
            raise AfaError(f"expected a rule in force beyond {at} but got {name!r}; there are: {known}")
        out: list[Any] = []
        for rule in found:
            out += self._alone(rule, [rows.negated() for rows in self._held.in_force(max(at, rule.le), rule.re)])
            self._end(rule, at)
        return self._listed([out])

    def _end(self, rule: StandingRule, at: int) -> None:
        if rule.own is None:
            self._store.end(rule.number, at)
        self._standing.put(rule.number, rule._replace(re=at) if rule.le < at else None)

    @whole
    def replace(self, name: str, pattern: Any, at: Any = None) -> Output:
        """End a rule and put another one of its name in force there, as one call: `remove`, then `add`, at one instant."""
        return self._tried(self._replace, self._set.rule(name, pattern), self._time(at, "at"))

    def _replace(self, rule: Rule, at: int | None) -> Output:
        at = self._progress.now if at is None else at
        old = {each.form.names for each in self.lasting(rule.name, at)}
        changes: Output = [*self._remove(rule.name, at), *self._add(rule, at, None)]
        if old == {each.form.names for each in self.lasting(rule.name, at)}:
            changes = self._net(changes)
        put_in_order(changes)
        return changes

    def _net(self, changes: Output) -> Output:
        """Return changes without those of a match that goes and comes, which is one that stays."""
        told: dict[Any, RuleChange] = {}
        for change in changes:
            match = change._replace(diff=1)
            before = told.pop(match, None)
            change = change if before is None else change._replace(diff=before.diff + change.diff)
            if change.diff:
                told[match] = change
        return list(told.values())

    def lasting(self, name: str, at: int) -> list[StandingRule]:
        """Return the rules of a name that last beyond an instant."""
        return [rule for rule in self._standing.named(name) if at < rule.re]

    @property
    def now(self) -> int:
        """One tick past all that was seen, from where on a rule without a lifetime holds."""
        return self._progress.now

    @property
    def rules(self) -> list[RuleInForce]:
        """The rules whose matches may still change, by name and lifetime: in force since when, and why one is put aside."""
        found: list[RuleInForce] = self._calls.call(self._told)
        return found

    def _told(self) -> list[RuleInForce]:
        now = self._progress.now
        told = [
            RuleInForce(
                each.rule.name,
                each.le,
                each.re,
                "put aside" if each.aside else "ended" if each.re <= now else "in force",
                each.aside,
            )
            for each in self._standing
        ]
        return sorted([*told, *self._standing.dropped], key=lambda each: (each.name, each.le))

    @property
    def statistics(self) -> RuleSetStatistics:
        """The numbers of the set and of its rules."""
        found: RuleSetStatistics = self._calls.call(self._counted)
        return found

    def _counted(self) -> RuleSetStatistics:
        held, seconds = self._store.held_by_rule(), self._store.seconds_by_rule()
        of = {rule.rule.name: self._numbers_of(rule, held, seconds) for rule in self._standing}
        return RuleSetStatistics(len(self._held), self._late.count, sum(each.partial_matches for each in of.values()), of)

    def _numbers_of(self, rule: StandingRule, held: dict[int, list[int]], seconds: dict[int, float]) -> RuleStatistics:
        if rule.own is None:
            (asked, told), (partial, size) = self._store.counts(rule.number), held.get(rule.number, (0, 0))
            return RuleStatistics(asked, told, partial, size, seconds[rule.number])
        found, size = rule.own.operator.statistics, rule.own.operator._core.engine.memory_bytes()
        return RuleStatistics(found.changes, found.outputs - found.retractions, found.partial_matches, size, rule.own.seconds)

    def explain(self) -> str:
        """Say how each rule is run: in a store with others of its shape, or by an operator of its own, and why."""
        return "\n".join(self._calls.call(lambda: [self._explained(rule) for rule in self._standing]))

    def _explained(self, rule: StandingRule) -> str:
        lifetime = f"{rule.rule.name}: [{rule.le}, {rule.re})"
        if rule.aside is not None:
            return f"{lifetime}, put aside: {rule.aside}"
        if rule.own is not None:
            return f"{lifetime}, an operator of its own, which sees each event: {rule.why}"
        shape = self._store.rules[rule.number].group
        alike = sum(each.group is shape for each in self._store.rules.values())
        asked = self._store.concerned.index.asked(rule.number)
        return f"{lifetime}, one of {alike} of its shape" + "".join(f"; asked of each event: {text}" for text in asked)

    def lineage(self, match: RuleChange) -> Any:
        """Return which events stand behind a match in force of a rule, as of `Operator.lineage`.

        Of a rule in the store it is made anew from the events that are held, O(them).
        """
        return self._calls.call(self._lineage, match)

    def _lineage(self, match: RuleChange) -> Any:
        for rule in self._standing.named(match.rule):
            if rule.le <= (match.le or 0) < rule.re:
                return (self._alone_again(rule) if rule.own is None else rule.own.operator).lineage(match)
        raise ChangeError(f"expected a match of a rule in force but got {match!r}")

    def alone(self, name: str, **options: Any) -> Any:
        """Make an operator of one rule, which has taken the events that the set holds: to ask what a set has not.

        So ``op.alone("large").funnel()`` says why there is no match, and `Reasons` around it why one came. Of what the watermark
        has passed by more than ``reach=`` it knows nothing. O(events that are held).

        Parameters
        ----------
        name : str
            A rule in force, or the last one of this name.
        options
            As of `Operator`.

        Raises
        ------
        AfaError
            There is no such rule, or an option can't be combined with it.
        """
        return self._calls.call(self._named_alone, name, options)

    def _named_alone(self, name: str, options: dict[str, Any]) -> Any:
        found = self._standing.named(name)
        if not found:
            known = ", ".join(sorted({rule.rule.name for rule in self._standing})) or "none"
            raise AfaError(f"expected a rule in force but got {name!r}; there are: {known}")
        return self._alone_again(max(found, key=lambda rule: rule.le), **options)

    def _alone_again(self, rule: StandingRule, **options: Any) -> Any:
        operator = self._operator(rule.rule, **options)
        events = [change for rows in self._held.in_force(rule.le, rule.re) for change in rows.changes()]
        promise = [Punctuation(self._progress.events)] if self._progress.events > BEGINNING else []
        operator.push_many([*events, *promise])
        return operator

    def snapshot(self) -> bytes:
        """Return the set's state as bytes, plain data: `afa.rules.rule_snapshot`."""
        found: bytes = self._calls.call(self._saved)
        return found

    def _saved(self) -> bytes:
        groups = list(self._store.groups.values())
        rules = []
        for rule in self._standing:
            if rule.own is not None:
                state: list[Any] = [rule.own.promised, rule.own.operator._snapshot()]
            else:
                assert rule.parts is not None
                state = [
                    groups.index(self._store.rules[rule.number].group),
                    rule.parts.described(),
                    *self._store.counts(rule.number),
                ]
            rules.append([rule.number, rule.rule.name, rule.rule.text, rule.le, rule.re, rule.aside, state])
        held = self._held.saved()
        schema = [[field.name, getattr(field.type, "__name__", "any")] for field in self._schema.fields]
        units = self._store.concerned.units.saved()
        told = [list(self._progress.marks()), self._late.count, self._output, self._standing.next, units]
        blobs = [group.operator._snapshot() for group in groups]
        return sealed.seal(MAGIC, VERSION, plain([schema, self._reach, told, rules, held, blobs]))

    def _check(self) -> None:
        for rule in self._standing:
            if rule.own is not None:
                rule.own.operator._check()
        for group in self._store.groups.values():
            group.operator._check()

    def __repr__(self) -> str:
        return f"Operator({self._set!r})"
