"""The rules of a running set: by number and by name, with what each of them looks like in output; all or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from afa.errors import AfaError
from afa.rules.own_operator import OwnOperator
from afa.rules.rule_tables import RuleColumns, RuleForm
from afa.rules.rule_texts import Rule
from afa.rules.shape import RuleParts
from afa.schema import Schema
from punctuation.time import FOREVER


class StandingRule(NamedTuple):
    """A rule with its lifetime and what runs it: its parts in the store, or an operator of its own.

    ``why``: why it has one of its own; ``aside``: why it was put aside, None: it was not.
    """

    rule: Rule
    number: int
    form: RuleForm
    le: int
    re: int
    parts: RuleParts | None
    own: OwnOperator | None = None
    why: str = ""
    aside: str | None = None


class RuleInForce(NamedTuple):
    """What `RuleSetOperator.rules` tells of a rule; ``why``: what it raised when it was put aside."""

    name: str
    le: int
    re: int
    state: str  # "in force", "ended": late events may still change what it has told; "put aside", "dropped"
    why: str | None = None


class StandingRules:
    """The rules that are not over. ``next``: the number of the next one; ``dropped``: those that a restore has left out."""

    def __init__(self, events: Schema) -> None:
        self._rules: dict[int, StandingRule] = {}
        self._by_name: dict[str, tuple[int, ...]] = {}
        self._forms: dict[int, RuleForm] = {}
        self._own: dict[int, None] = {}  # those that run operators of their own
        self._ending: dict[int, None] = {}  # those that end
        self._undo: list[tuple[int, StandingRule | None]] = []
        self.columns = RuleColumns(events, {}, {})
        self.dropped: tuple[RuleInForce, ...] = ()
        self.next = 0

    def __iter__(self) -> Iterator[StandingRule]:
        return iter(list(self._rules.values()))

    def __getitem__(self, number: int) -> StandingRule:
        return self._rules[number]

    def __contains__(self, number: int) -> bool:
        return number in self._rules

    def named(self, name: str) -> list[StandingRule]:
        """Return the rules of a name."""
        return [self._rules[number] for number in self._by_name.get(name, ())]

    @property
    def own(self) -> list[StandingRule]:
        """The rules that run operators of their own."""
        return [self._rules[number] for number in self._own]

    @property
    def ending(self) -> list[StandingRule]:
        """The rules that end."""
        return [self._rules[number] for number in self._ending]

    @property
    def forms(self) -> Mapping[int, RuleForm]:
        """What rules look like, by number; also of those that are over since the call under way has begun."""
        return self._forms

    def add(self, rule: StandingRule) -> None:
        """Take a new rule. Raises `AfaError` where it has a column of another type than one that is there."""
        try:
            self.columns = self.columns.with_form(rule.form)
        except AfaError:  # there is one of a rule that is over, perhaps
            self.columns = RuleColumns.of([*(each.form for each in self), rule.form], self.columns.events)
        self._forms[rule.number] = rule.form
        self.put(rule.number, rule)

    def put(self, number: int, rule: StandingRule | None) -> None:
        """Let a rule stand in the place of what stands under its number; None: it is over."""
        self._undo.append((number, self._rules.get(number)))
        self._write(number, rule)

    def _write(self, number: int, rule: StandingRule | None) -> None:
        """As `put`. Can be repeated."""
        there = self._rules.pop(number, None) if rule is None else rule
        if there is None:
            return
        name = there.rule.name
        others = tuple(each for each in self._by_name.get(name, ()) if each != number)
        self._by_name[name] = others if rule is None else (*others, number)
        if not self._by_name[name]:
            del self._by_name[name]
        if rule is not None:
            self._rules[number] = rule
        runs, ends = rule is not None and rule.own is not None and rule.aside is None, rule is not None and rule.re < FOREVER
        for numbers, is_one in ((self._own, runs), (self._ending, ends)):
            if is_one:
                numbers[number] = None
            else:
                numbers.pop(number, None)

    # -- all or nothing: as of `punctuation.calls.Member` ---------------------------------------------------------------------

    def begins(self) -> Any:
        """Return what `failed` needs. Changes nothing."""
        return self.columns, self.dropped, self.next

    def failed(self, before: Any) -> None:
        """Restore the state from before the call. Can be repeated from the start."""
        for number, old in reversed(self._undo):
            self._write(number, old)
            if old is None:
                self._forms.pop(number, None)
        self.columns, self.dropped, self.next = before
        self._undo.clear()

    def over(self) -> set[int]:
        """Return the rules that have been over since the call under way has begun."""
        return {number for number, old in self._undo if old is not None and number not in self._rules}

    def worked(self) -> None:
        """Forget how to restore the earlier state. Can be repeated from the start."""
        for number in self.over():
            self._forms.pop(number, None)
        self._undo.clear()
