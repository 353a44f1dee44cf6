"""The state of many rules: one operator for each shape, over pairs of an event and a rule that it concerns.

events -> columns, once -> pairs (`Concerned`) -> for each shape: bits, values, constants, RE by the rule's window
                                                 -> operator, by (rule, key) -> rows of matches, with the rules' numbers
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.expression.arc_functions import Derived
from afa.expression.text import text_of_expr
from afa.language.payload_classes import made
from afa.model.arc import CONSUME, Arc
from afa.model.automaton import Automaton
from afa.operator.operator import Keyed
from afa.rules.concerned import Concerned, EventsBefore, Pairs
from afa.rules.event_rows import EventRows
from afa.rules.own_operator import OperatorWithin
from afa.rules.pair_batch import MatchRows, PairBatch, PairMaker, matches
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


class RulesRaised(Exception):  # noqa: N818  (no error: the call is carried out again without these rules)
    """Rules have raised; ``errors``: by number."""

    def __init__(self, errors: dict[int, Exception]) -> None:
        super().__init__(errors)
        self.errors = errors


class ShapeGroup(OperatorWithin):
    """The rules of one shape, and their operator."""

    def __init__(self, shape: Shape, operator: Keyed, place: int) -> None:
        super().__init__(operator)
        self.shape, self.place, self.clock = shape, place, shape.clock
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
        self.concerned, self._pairs = Concerned(event), PairMaker(event)
        self.rules: dict[int, StoredRule] = {}
        self.groups: dict[Shape, ShapeGroup] = {}
        self._shown: dict[Schema, Schema] = {}
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

    def shared(self, parts: RuleParts) -> RuleParts:
        """Return parts that have in common with those of other rules what is alike."""
        group = self.groups.get(parts.shape)
        shape = parts.shape if group is None else group.shape
        return parts._replace(shape=shape, shown=self._shown.setdefault(parts.shown, parts.shown))

    def add(self, number: int, parts: RuleParts, le: int, re: int) -> None:
        """Let a rule serve events with LEs in ``[le, re)``. Those that came before are not told again: `take` does, ``only``."""
        group = self.groups.get(parts.shape) or self.group(parts.shape)
        self.rules[number] = StoredRule(number, parts, le, re, group)
        self._undo.append(lambda: self.forget({number}))
        self._pairs.add(number, parts, group.place)
        self.concerned.add(number, parts, le, re)

    def group(self, shape: Shape, blob: bytes | None = None) -> ShapeGroup:
        """Make the operator of a shape; of its snapshot, if there is one."""
        automaton, key = automaton_of(shape), ("rule", *(f"k{i}" for i in range(len(shape.key))))
        operator = Keyed(automaton, key=key, **self._options) if blob is None else None
        operator = operator or Keyed.restore(automaton, blob or b"", key=key, **self._options)
        if blob is None and self.promised > BEGINNING:
            operator.push(Punctuation(self.promised))
        group = self.groups[shape] = ShapeGroup(shape, operator, len(self.groups))
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
        parts: Sequence[tuple[EventRows | Punctuation, EventsBefore]],
        touch: Callable[[Any], None],
        only: Collection[int] | None = None,
    ) -> list[MatchRows]:
        """Take events, each with what is held of those that came before, and watermarks, in order. Returns the minimal difference.

        ``touch`` is told of each group before it takes something; ``only``: for these rules alone. Raises `RulesRaised`.
        """
        asked: list[Any] = []
        groups = list(self.groups.values())
        for part, before in parts:
            if isinstance(part, Punctuation):
                self.concerned.units.promise = max(part.t, self.concerned.units.promise)
                asked.append(part)
            else:
                asked += [self._batches(pairs, groups) for pairs in self.concerned.pairs(part, before, only)]
        found: list[MatchRows] = []
        for place, group in enumerate(groups):
            mine = [part if isinstance(part, Punctuation) else part.get(place) for part in asked]
            mine = [part for part in mine if part is not None]
            if mine:
                touch(group)
                found += self._asked(group, mine)
        return found

    def _asked(self, group: ShapeGroup, parts: list[Any]) -> list[MatchRows]:
        """Return what a group makes of pairs and watermarks. Where it raises, `RulesRaised` says which of its rules do so alone."""
        before, begun = group.begins(), time.perf_counter()
        calls = [*group.taken, parts]
        try:
            found = self._taken(group, parts)
        except Exception as error:
            bad = self._raising(group, calls, before, _numbers(calls), error)
            if not bad:  # nothing that this call brings: no rule can be told from others
                raise
            raise RulesRaised(bad) from error
        group.taken.append(parts)
        group.seconds += time.perf_counter() - begun
        return found

    def _raising(self, group: ShapeGroup, calls: list[Any], before: Any, numbers: Any, error: Exception) -> dict[int, Exception]:
        """Return which of some rules, that raise together, do so alone. All that the group did in this call is taken back."""
        group.failed(before)
        if len(numbers) < 2:
            return dict.fromkeys(numbers.tolist(), error)
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
        ends = self._end_of if group.clock else None
        found = matches(group.operator._core, parts, [self._pairs.known[name] for name in group.shape.key], ends)
        if found is None or not len(found.number):
            return []
        numbers, places = np.unique(found.number, return_inverse=True)
        sums = np.zeros(len(numbers), np.int64)
        np.add.at(sums, places, found.diff)
        self._fresh.append((numbers, sums, 1))
        return [found]

    def _end_of(self, number: int) -> int:
        """Return where a rule ends; of one that is over all is told."""
        return self.rules[number].re if number in self.rules else BEGINNING

    def _batches(self, pairs: Pairs, groups: list[ShapeGroup]) -> dict[int, PairBatch]:
        """Return for each group, by its place, its pairs."""
        counts = np.bincount(pairs.rule)
        numbers = np.flatnonzero(counts)
        self._fresh.append((numbers, counts[numbers], 0))
        return self._pairs.batches(pairs, groups)

    # -- what is held ----------------------------------------------------------------------------------------------------------

    def counts(self, number: int) -> tuple[int, int]:
        """Return of how many events a rule was asked, and how many of its matches are in force."""
        asked, told = self._counts.get(number, (0, 0))
        return asked, told

    def count(self, number: int, asked: int, told: int) -> None:
        """Take the counts of a rule that was saved."""
        self._counts[number] = [asked, told]

    def held_by_rule(self) -> dict[int, list[int]]:
        """Return of each rule that holds some how many partial matches it holds, and the bytes of its state. O(what is held)."""
        found: dict[int, list[int]] = {}
        for group in self.groups.values():
            for (number, *_), partial, size in group.operator._core.engine.by_key():
                of = found.setdefault(number, [0, 0])
                of[0] += partial
                of[1] += size
        return found

    def seconds_by_rule(self) -> dict[int, float]:
        """Return the seconds of work of each rule: those of its shape, by the events that its rules were asked of."""
        asked = Counter[int]()
        for rule in self.rules.values():
            asked[rule.group.place] += self.counts(rule.number)[0]
        seconds = [group.seconds / max(asked[group.place], 1) for group in self.groups.values()]
        return {number: seconds[rule.group.place] * self.counts(number)[0] for number, rule in self.rules.items()}


def _numbers(calls: list[list[Any]]) -> Any:
    found = [part.number for parts in calls for part in parts if isinstance(part, PairBatch)]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _only(parts: list[Any], numbers: Any) -> list[Any]:
    """Return pairs and watermarks with the pairs of some rules only."""
    return [part.of(numbers) if isinstance(part, PairBatch) else part for part in parts]


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
        arcs.append(
            Arc(src, dst, fence, transfer, name=of_arc) if arc.kind == CONSUME else Arc.skip(src, fence, transfer, name=of_arc)
        )
    return Automaton(start="s0", final={f"s{i}" for i in shape.final}, arcs=arcs, register=register, event=event, shown=shown)
