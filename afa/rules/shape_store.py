"""The state of many rules: one operator for each shape, over pairs of an event and a rule that it concerns.

events -> columns, once -> pairs (`Concerned`) -> for each shape: bits, values, constants, RE by the rule's window
                                                 -> operator, by (rule, key) -> rows of matches, with the rules' numbers
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa.expression.arc_functions import Derived
from afa.expression.text import text_of_expr
from afa.language.payload_classes import made
from afa.model.arc import CONSUME, Arc
from afa.model.automaton import Automaton
from afa.operator.operator import Keyed
from afa.operator.tables import answer, carry_out, opened, steps
from afa.rules.concerned import Concerned, Pairs
from afa.rules.event_rows import EventRows, arrow_of
from afa.rules.own_operator import OperatorWithin
from afa.rules.shape import RuleParts, Shape, value_name
from afa.schema import Schema
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING


class StoredRule(NamedTuple):
    """A rule in the store: its number, its parts, its lifetime, and the group that it is in."""

    number: int
    parts: RuleParts
    le: int
    re: int
    group: ShapeGroup


class MatchRows(NamedTuple):
    """Changes of matches of rules of one shape, as Arrow columns; ``number``: an array, which rule each is of."""

    number: Any
    keys: list[Any]
    fields: list[Any]
    le: Any
    re: Any
    diff: Any


class RulesRaised(Exception):  # noqa: N818  (no error: the call is carried out again without these rules)
    """Rules have raised; ``errors``: by number."""

    def __init__(self, errors: dict[int, Exception]) -> None:
        super().__init__(errors)
        self.errors = errors


class ShapeGroup(OperatorWithin):
    """The rules of one shape, and their operator."""

    def __init__(self, shape: Shape, operator: Keyed) -> None:
        super().__init__(operator)
        self.shape = shape
        self.taken: list[list[Any]] = []  # what it has taken within the call under way

    def failed(self, before: Any) -> None:
        super().failed(before)
        self.taken.clear()

    def worked(self) -> None:
        super().worked()
        self.taken.clear()


class ShapeStore:
    """Rules that have shapes, over one stream of events, within the calls of a set.

    Parameters
    ----------
    event : Schema
        Of the events; their times are ticks.
    options
        Of the operators: ``engine``, ``threads``.
    """

    def __init__(self, event: Schema, **options: Any) -> None:
        self.event, self._options = event, options | {"late": "drop"}
        self.concerned = Concerned(event)
        self.rules: dict[int, StoredRule] = {}
        self.groups: dict[Shape, ShapeGroup] = {}
        self._counts: dict[int, list[int]] = {}  # of each rule the events that it was asked of, and its matches in force
        self._undo: list[Callable[[], Any]] = []  # takes back what the call under way has done to rules
        self._fresh: list[tuple[Any, Any, int]] = []  # what it adds to the counts: numbers, how many, which count

    # -- all or nothing --------------------------------------------------------------------------------------------------------

    @property
    def promised(self) -> int:
        """The last watermark."""
        return self.concerned.units.promise

    def failed(self) -> None:
        """Restore the state from before the call, but for groups that were touched. Can be repeated from the start."""
        self.concerned.units.back()
        for back in reversed(self._undo):
            back()
        self._undo.clear()
        self._fresh.clear()

    def worked(self) -> None:
        """Forget how to restore the earlier state. Can be repeated from the start."""
        self.concerned.units.worked()
        self._undo.clear()
        while self._fresh:
            numbers, counts, which = self._fresh.pop()
            for number, count in zip(numbers.tolist(), counts.tolist()):
                self._counts.setdefault(number, [0, 0])[which] += count

    # -- rules -----------------------------------------------------------------------------------------------------------------

    def add(self, number: int, parts: RuleParts, le: int, re: int) -> None:
        """Let a rule serve events with LEs in ``[le, re)``. Those that came before are not told again: `take` does, ``only``."""
        group = self.groups.get(parts.shape) or self.group(parts.shape)
        self.rules[number] = StoredRule(number, parts, le, re, group)
        self._undo.append(lambda: self.forget({number}))
        self.concerned.add(number, parts, le, re)

    def group(self, shape: Shape, blob: bytes | None = None) -> ShapeGroup:
        """Make the operator of a shape; of its snapshot, if there is one."""
        automaton, key = automaton_of(shape), ("rule", *(f"k{i}" for i in range(len(shape.key))))
        operator = Keyed(automaton, key=key, **self._options) if blob is None else None
        operator = operator or Keyed.restore(automaton, blob or b"", key=key, **self._options)
        if blob is None and self.promised > BEGINNING:
            operator.push(Punctuation(self.promised))
        group = self.groups[shape] = ShapeGroup(shape, operator)
        return group

    def end(self, number: int, re: int) -> None:
        """Let a rule serve events with LEs below ``re`` only. What it has taken of others must be taken back before."""
        rule = self.rules[number]
        self._undo.append(lambda: self._until(rule))
        self._until(rule._replace(re=re))

    def _until(self, rule: StoredRule) -> None:
        if rule.number in self.rules:
            self.rules[rule.number] = rule
            self.concerned.index.end(rule.number, rule.re)

    def forget(self, numbers: Collection[int]) -> None:
        """Forget rules. Can be repeated."""
        for number in numbers:
            self.rules.pop(number, None)
            self._counts.pop(number, None)
        self.concerned.index.drop(set(numbers))

    # -- events ----------------------------------------------------------------------------------------------------------------

    def take(
        self,
        parts: Sequence[tuple[EventRows | Punctuation, Sequence[EventRows]]],
        touch: Callable[[Any], None],
        only: Collection[int] | None = None,
    ) -> list[MatchRows]:
        """Take events, each with what is held of those that came before, and watermarks, in order. Returns the minimal difference.

        ``touch`` is told of each group before it takes something; ``only``: for these rules alone. Raises `RulesRaised`.
        """
        asked: list[Any] = []
        for part, before in parts:
            if isinstance(part, Punctuation):
                self.concerned.units.promise = max(part.t, self.concerned.units.promise)
                asked.append(part)
            else:
                asked += [self._tables(pairs) for pairs in self.concerned.pairs(part, before, only)]
        found: list[MatchRows] = []
        for group in list(self.groups.values()):
            mine = [part if isinstance(part, Punctuation) else part.get(id(group)) for part in asked]
            mine = [part for part in mine if part is not None]
            if mine:
                touch(group)
                found += self._asked(group, mine)
        return found

    def _asked(self, group: ShapeGroup, parts: list[Any]) -> list[MatchRows]:
        """Return what a group makes of pairs and watermarks. Where it raises, `RulesRaised` says which of its rules do so alone."""
        before = group.begins()
        calls = [*group.taken, parts]
        try:
            found = self._taken(group, parts)
        except Exception as error:
            bad = self._raising(group, calls, before, _numbers(calls), error)
            raise RulesRaised(bad) from error
        group.taken.append(parts)
        return found

    def _raising(self, group: ShapeGroup, calls: list[Any], before: Any, numbers: Any, error: Exception) -> dict[int, Exception]:
        """Return which of some rules, that raise together, do so alone. All that the group did in this call is taken back."""
        group.failed(before)
        if len(numbers) == 1:
            return {int(numbers[0]): error}
        found: dict[int, Exception] = {}
        for some in np.array_split(numbers, 2):
            try:
                for parts in calls:
                    self._taken(group, _only(parts, some))
            except Exception as other:
                found |= self._raising(group, calls, before, some, other)
            group.failed(before)
        if not found:
            raise error
        return found

    def _taken(self, group: ShapeGroup, parts: list[Any]) -> list[MatchRows]:
        core, shape = group.operator._core, group.shape
        come = opened(core, parts)
        out = carry_out(core, steps(core, come), True)
        if come.like is None:
            return []
        table = next(part for part in answer(out, come, core, True) if isinstance(part, pa.Table))
        if shape.clock and len(table):  # no time-out of a rule fires behind its end
            ends = np.array([self.rules[number].re for number in table.column("rule").to_pylist()])
            table = table.filter(pa.array(table.column("le").to_numpy() < ends))
        number, le, re, diff = (table.column(name).to_numpy() for name in ("rule", "le", "re", "diff"))
        if not len(number):
            return []
        numbers, places = np.unique(number, return_inverse=True)
        sums = np.zeros(len(numbers), np.int64)
        np.add.at(sums, places, diff)
        self._fresh.append((numbers, sums, 1))
        keys, fields = ([table.column(f"{x}{i}") for i in range(n)] for x, n in (("k", len(shape.key)), ("r", shape.shown)))
        return [MatchRows(number, keys, fields, le, re, diff)]

    def _tables(self, pairs: Pairs) -> dict[int, pa.Table]:
        """Return for each group of rules its pairs, as a table for its operator."""
        rows, row, rule, bits, end = pairs
        columns = rows.columns()
        numbers, places = np.unique(rule, return_inverse=True)
        self._fresh.append((numbers, np.bincount(places), 0))
        rules = [self.rules[number] for number in numbers.tolist()]
        groups = {id(each.group): each.group for each in rules}
        of_row = np.array([list(groups).index(id(each.group)) for each in rules])[places]
        digest = rows.digests()
        known = {field.name: field for field in self.event.fields}
        made_of = {}
        for place, (key, group) in enumerate(groups.items()):
            here = np.flatnonzero(of_row == place)
            at, mine, shape = row[here], places[here], group.shape
            pair: dict[str, Any] = {"b": bits[here], "h": digest[at]}
            pair |= {value_name(field.name): arrow_of(columns[field.name].moved(at), field) for field in shape.values}
            own = [each.parts.constants if each.group is group else () for each in rules]
            for i, kind in enumerate(shape.constants):
                values = np.array([constants[i] if constants else 0 for constants in own], np.int64 if kind is int else np.float64)
                pair[f"c{i}"] = values[mine]
            pair |= {f"k{i}": arrow_of(columns[name].moved(at), known[name]) for i, name in enumerate(shape.key)}
            made_of[key] = pa.table(pair | {"rule": rule[here], "le": rows.le[at], "re": end[here], "diff": rows.diff[at]})
        return made_of

    # -- what is held ----------------------------------------------------------------------------------------------------------

    def counts(self, number: int) -> tuple[int, int]:
        """Return of how many events a rule was asked, and how many of its matches are in force."""
        asked, told = self._counts.get(number, (0, 0))
        return asked, told

    def count(self, number: int, asked: int, told: int) -> None:
        """Take the counts of a rule that was saved."""
        self._counts[number] = [asked, told]

    def partial_matches(self) -> int:
        """Return how many partial matches all rules hold."""
        return sum(group.operator._core.engine.sizes().partial_matches for group in self.groups.values())


def _numbers(calls: list[list[Any]]) -> Any:
    return np.unique(
        np.concatenate([part.column("rule").to_numpy() for parts in calls for part in parts if isinstance(part, pa.Table)])
    )


def _only(parts: list[Any], numbers: Any) -> list[Any]:
    """Return pairs and watermarks with the pairs of some rules only."""
    return [
        part if isinstance(part, Punctuation) else part.filter(pa.array(np.isin(part.column("rule").to_numpy(), numbers)))
        for part in parts
    ]


def automaton_of(shape: Shape) -> Automaton:
    """Returns the automaton of a shape, over pairs: bits, a digest of the event, values, the rule's constants."""
    values = [(value_name(field.name), field.type, field.optional) for field in shape.values]
    constants = [(f"c{i}", kind, False) for i, kind in enumerate(shape.constants)]
    event = made("Pair", (("b", int, False), ("h", int, False), *values, *constants))
    slots = tuple((field.name, field.type, field.optional) for field in shape.register)
    register = made("Values", slots)(*(const.value for const in shape.initial))
    schema = Schema.of(type(register), "register")
    shown = None if shape.shown == len(slots) else made("Shown", slots[: shape.shown])
    arcs = []
    for i, arc in enumerate(shape.arcs):
        src, dst, fence = f"s{arc.src}", f"s{arc.dst}", Derived(text_of_expr(arc.fence))
        if arc.at is not None:
            arcs.append(Arc.timeout(src, dst, Derived(text_of_expr(arc.at)), name=f"arc {i}"))
            continue
        transfer = None if arc.transfer is None else Derived(text_of_expr(arc.transfer, schema))
        of_arc = f"arc {i}"
        arcs.append(Arc(src, dst, fence, transfer, name=of_arc) if arc.kind == CONSUME else Arc.skip(src, fence, name=of_arc))
    return Automaton(start="s0", final={f"s{i}" for i in shape.final}, arcs=arcs, register=register, event=event, shown=shown)
