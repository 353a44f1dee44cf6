"""The operator of a set of rules: which rules see an event, what they tell, and rules that come and go.

item -> is it an event? is it late?  once, for the set
     -> held                         for rules that begin in the past
     -> each rule in whose lifetime its LE lies -> changes of the rule, those with an LE below the rule's end
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from afa.change import Change, RuleChange, put_in_order
from afa.errors import AfaError, ChangeError, LateEventError
from afa.model.automaton import Automaton
from afa.model.renamed import time_of
from afa.operator.call import Core
from afa.operator.options import options_of
from afa.operator.plain_data import plain
from afa.operator.statistics import Statistics
from afa.operator.tables import items_of, opened
from afa.rules.held_events import HeldEvents
from afa.rules.own_operator import OwnOperator
from afa.rules.rule_tables import RuleColumns, answer
from afa.rules.rule_texts import SET, Rule, RuleTexts
from afa.schema import as_ticks
from punctuation import sealed
from punctuation.calls import Calls, Member, whole
from punctuation.durations import ticks_of_duration
from punctuation.late import Late
from punctuation.progress import Marks, Progress
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER

MAGIC, VERSION = b"AFAR", 1
TAKES = ("key", "window", "order_by", "engine", "late", "tick", "longest", "members", "lineage", "partial_matches", "max_bytes")
OF_SET = ("key", "window", "order_by", "late", "tick")
"""What is not handed to each rule as it is."""
Output = list[Any]
log = logging.getLogger("afa.rules")


class StandingRule(NamedTuple):
    """A rule with its lifetime and what runs it; ``aside``: why it was put aside, None: it was not."""

    rule: Rule
    le: int
    re: int
    group: OwnOperator
    aside: str | None = None


class RuleInForce(NamedTuple):
    """What `RuleSetOperator.rules` tells of a rule; ``why``: what it raised when it was put aside."""

    name: str
    le: int
    re: int
    state: str  # "in force", "ended": late events may still change what it has told; "put aside", "dropped"
    why: str | None = None


class RuleSetStatistics(NamedTuple):
    """Numbers of a set: events that are held, late changes so far; by rule, of the last one of its name, `Statistics`."""

    held: int
    late: int
    rules: dict[str, Statistics]


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
        self._front = Core(
            Automaton(start="0", final={"0"}, arcs=[], event=rules.event), options_of({"tick": tick} if tick else {})
        )
        self._reach = ticks_of_duration(reach, tick, "reach") if reach else 0
        if self._reach < 0:
            raise AfaError(f"expected reach >= 0 but got reach={reach!r}")
        self._late, self._progress, self._held = Late(said.late), Progress(), HeldEvents()
        self._output = BEGINNING
        self._touched: list[tuple[OwnOperator, Any]] = []
        self._standing: tuple[StandingRule, ...] = ()
        self._dropped: tuple[RuleInForce, ...] = ()
        self._calls = Calls(self)
        for rule in rules.rules.values():
            self._standing += (StandingRule(rule, BEGINNING, FOREVER, self._group(rule)),)
        self._columns = RuleColumns.of(self._standing, rules.schema)

    # -- all or nothing --------------------------------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        return self._standing, self._dropped, self._columns, self._progress.marks(), self._late.count, self._output

    def call_ends(self) -> None:
        for group, _ in self._touched:
            group.ends()
        if self._late.waiting:
            self._late.hand_over(self._calls)

    def call_failed(self, before: Any) -> None:
        for group, was in self._touched:
            group.failed(was)
        self._held.back()
        self._standing, self._dropped, self._columns, marks, self._late.count, self._output = before
        self._progress.restore(Marks(*marks))
        self._late.waiting.clear()
        self._touched.clear()

    def call_worked(self) -> None:
        for group, _ in self._touched:
            group.worked()
        self._held.keep()
        self._touched.clear()

    def _touch(self, group: OwnOperator) -> None:
        if not any(known is group for known, _ in self._touched):
            self._touched.append((group, group.begins()))

    # -- events ----------------------------------------------------------------------------------------------------------------

    def push(self, change: Any) -> Output:
        """Take one change of an event, or a watermark. Returns changes, each with its ``rule``, and the watermark if it moved.

        As `Operator.push`: retractions first, then insertions, each by LE.
        """
        found: Output = self._calls.call(self._push, change)
        return found

    def _push(self, change: Any) -> Output:
        return self._carry_out([self._front.in_form(change)])

    def push_many(self, batch: Any, *, net: bool = True, time: str = "le", **old: str) -> Any:
        """Take a table, or a list, as one call: as `Operator.push_many`. Tables come back with a column ``rule`` in front."""
        return self._calls.call(self._push_many, batch, net, time_of(time, old) if old else time)

    def _push_many(self, batch: Any, net: bool, time: str) -> Any:
        come = opened(self._front, batch, (), time)
        items = [item for _, item, _ in items_of(self._front, come)]
        out = self._carry_out(items) if net else [found for item in items for found in self._carry_out([item])]
        return out if come.like is None else answer(out, come, self._columns, self._front)

    def _carry_out(self, items: Iterable[Any]) -> Output:
        """Take items in order; return the minimal difference of all rules, and the watermark if it moved."""
        taken: list[Any] = [found for item in items if (found := self._checked(item)) is not None]
        les: list[Any] = [item.le for item in taken if isinstance(item, Change)]
        promises = [item for item in taken if isinstance(item, Punctuation)]
        changes: list[Change] = []
        for standing in self._standing:
            le, re = standing.le, standing.re
            if standing.aside is not None or not taken:
                continue
            sees_all = not les or (le <= min(les) and max(les) < re)
            mine = taken if sees_all else [item for item in taken if isinstance(item, Punctuation) or le <= item.le < re]
            if len(mine) > 0:
                changes += [change for change in self._asked(standing, mine) if change.le is not None and change.le < re]
        self._forget()
        put_in_order(changes)
        return [*changes, *(self._final() if promises else ())]

    def _checked(self, item: Any) -> Change | Punctuation | None:
        """Return an item in its form, as held; None: it is late, or says nothing new."""
        progress = self._progress
        if isinstance(item, Punctuation):
            if item.where is not None:
                raise ChangeError(f"expected a Punctuation without a condition for {SET} but got {item!r}")
            t = as_ticks(item.t, "t", self._front.tick)
            if not progress.promise_events(t):
                return None
            for change in self._held.vain(t):
                self._late.take(change, f"expected the insertion of {change.payload!r} at le={change.le} before {t} (promised)")
            self._held.drop(max(t - self._reach, BEGINNING))
            return Punctuation(t)
        if not isinstance(item, Change):
            raise ChangeError(f"expected a change of an event, a row or a Punctuation but got {item!r}")
        typed = self._front.typed(item, None)
        assert typed.le is not None
        if typed.le < progress.events:
            text = f"expected le >= {progress.events} (promised) but got le={typed.le} for {typed.payload!r}"
            self._late.take(typed, text)
            return None
        progress.see(typed.le)
        found = typed if item.re is not None else typed._replace(re=None)
        self._held.add(found)
        return found

    def _asked(self, standing: StandingRule, items: Sequence[Any]) -> list[Change]:
        """Return what a rule makes of items, as its changes. One that raises is put aside."""
        group, name = standing.group, standing.rule.name
        self._touch(group)
        before = group.begins()
        try:
            return [RuleChange.of(change, name, change.members) for change in group.take(items)]
        except Exception as error:
            group.failed(before)
            why = f"{type(error).__name__}: {error}"
            log.warning("rule %r is put aside: %s", name, why)
            self._put(standing, standing._replace(aside=why))
            return []

    def _put(self, old: StandingRule, new: StandingRule | None) -> None:
        self._standing = tuple(found for each in self._standing if (found := new if each is old else each) is not None)

    def _forget(self) -> None:
        """Let go of rules whose matches are all final."""
        t = self._progress.events
        over = [each for each in self._standing if each.re <= t and (each.aside or each.group.promised >= each.re)]
        for each in over:
            self._put(each, None)

    def _final(self) -> list[Punctuation]:
        """Return the watermark of the output, if it has moved."""
        t = self._progress.events
        running = [max(each.group.promised, each.le) for each in self._standing if each.aside is None]
        final = min([t if t == FOREVER else max(t - self._reach, BEGINNING), *running])
        if final <= self._output:
            return []
        self._output = final
        return [Punctuation(final)]

    # -- rules -----------------------------------------------------------------------------------------------------------------

    def _group(self, rule: Rule) -> OwnOperator:
        """Make what runs a rule."""
        pattern, said = rule.pattern, self._options
        options = {name: value for name, value in said.said.items() if name not in OF_SET} | {"late": "drop"}
        if pattern.key is None and self._key is not None:
            options["key"] = self._key
        if pattern.window is None and said.window is not None and not hasattr(pattern, "tree"):
            options["window"] = said.window
        if pattern.ordered_by is None and said.order_by is not None and not hasattr(pattern, "tree"):
            options["order_by"] = said.order_by
        if self._front.tick is not None and pattern.tick is None:
            options["tick"] = self._front.tick
        try:
            return OwnOperator(pattern.operator(**options))
        except AfaError as error:
            raise type(error)(f"rule {rule.name!r}: {error}") from error

    def _time(self, at: Any, what: str) -> int | None:
        return None if at is None else as_ticks(at, what, self._front.tick)

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
        for other in self._standing:
            if other.rule.name == name and other.le < re and le < other.re:
                raise AfaError(f"expected no rule {name!r} in [{le}, {re}) but got one in force in [{other.le}, {other.re})")
        standing = StandingRule(rule, le, re, self._group(rule))
        self._touch(standing.group)
        self._columns = RuleColumns.of((*self._standing, standing), self._set.schema)
        items: list[Any] = list(self._held.between(le, re))
        if self._progress.events > BEGINNING:
            items.append(Punctuation(self._progress.events))
        changes = standing.group.take(items) if items else []
        self._standing += (standing,)
        found = [RuleChange.of(change, name, change.members) for change in changes if change.le is not None and change.le < re]
        put_in_order(found)  # type: ignore[arg-type]
        return list(found)

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
        return self._remove(name, self._time(at, "at"))

    def _remove(self, name: str, at: int | None) -> Output:
        progress = self._progress
        if at is not None and at <= progress.events and progress.events > BEGINNING:
            raise LateEventError(f"rule {name!r}: expected an end behind {progress.events} (promised) but got at={at}")
        at = progress.now if at is None else at
        found = [each for each in self._standing if each.rule.name == name and at < each.re]
        if not found:
            known = ", ".join(sorted({each.rule.name for each in self._standing if at < each.re})) or "none"
            raise AfaError(f"expected a rule in force beyond {at} but got {name!r}; there are: {known}")
        changes: list[Change] = []
        for each in found:
            undone = (
                [] if each.aside else [event._replace(diff=-event.diff) for event in self._held.between(max(at, each.le), each.re)]
            )
            if undone:
                self._touch(each.group)
                changes += [RuleChange.of(change, name, change.members) for change in each.group.take(undone)]
            self._put(each, each._replace(re=at) if each.le < at else None)
        self._columns = RuleColumns.of(self._standing, self._set.schema)
        put_in_order(changes)
        return list(changes)

    @whole
    def replace(self, name: str, pattern: Any, at: Any = None) -> Output:
        """End a rule and put another one of its name in force there, as one call: `remove`, then `add`, at one instant."""
        rule, instant = self._set.rule(name, pattern), self._time(at, "at")
        instant = self._progress.now if instant is None else instant
        changes = [*self._remove(name, instant), *self._add(rule, instant, None)]
        put_in_order(changes)
        return changes

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
        return sorted([*told, *self._dropped], key=lambda each: (each.name, each.le))

    @property
    def statistics(self) -> RuleSetStatistics:
        """The numbers of the set and of its rules."""
        found: RuleSetStatistics = self._calls.call(self._counted)
        return found

    def _counted(self) -> RuleSetStatistics:
        by_rule = {each.rule.name: each.group.operator.statistics for each in self._standing}
        return RuleSetStatistics(len(self._held), self._late.count, by_rule)

    def explain(self) -> str:
        """Say how each rule is run."""
        return "\n".join(f"{each.name}: an operator of its own, [{each.le}, {each.re}), {each.state}" for each in self.rules)

    def lineage(self, match: RuleChange) -> Any:
        """Return which events stand behind a match in force of a rule, as of `Operator.lineage`."""
        return self._calls.call(self._lineage, match)

    def _lineage(self, match: RuleChange) -> Any:
        for each in self._standing:
            if each.rule.name == match.rule and each.le <= (match.le or 0) < each.re:
                return each.group.operator.lineage(match)
        raise ChangeError(f"expected a match of a rule in force but got {match!r}")

    def snapshot(self) -> bytes:
        """Return the set's state as bytes, plain data: `afa.rules.rule_snapshot`."""
        found: bytes = self._calls.call(self._saved)
        return found

    def _saved(self) -> bytes:
        rules = [
            [each.rule.name, each.rule.text, each.le, each.re, each.aside, each.group.promised, each.group.operator._snapshot()]
            for each in self._standing
        ]
        held = [[tuple(change.payload), change.le, change.re, change.diff] for change in self._held.between(BEGINNING)]
        schema = [[field.name, getattr(field.type, "__name__", "any")] for field in self._set.schema.fields]
        marks, late = list(self._progress.marks()), self._late.count
        return sealed.seal(MAGIC, VERSION, plain([schema, self._reach, marks, late, self._output, rules, held]))

    def _check(self) -> None:
        for each in self._standing:
            each.group.operator._check()

    def __repr__(self) -> str:
        return f"Operator({self._set!r})"
