"""Conditions on paths that are expressions: what they must know of a path so far, and how a sum is decided before its end.

A value is, for each condition, whether its component has taken anything, and its items (`afa.language.items`) so far, added up in
the order of the path, as a register does it. A comparison of a sum or a mean with a number is kept or cut as soon as the sums
that may still come leave no doubt: with floats, none beyond what rounding may do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from afa.change import Change
from afa.expression.evaluation import COMPARE, callable_of
from afa.expression.kinds import EPSILON_FENCE
from afa.expression.nodes import FLIPPED, ORDER, Binary, Compare, Const, Expr, FieldRead
from afa.language.items import Item, begin_of, items_of, replaced, step_of, value_of
from afa.language.payload_classes import made
from afa.language.three_values import true
from afa.lineage.having import BUDGET
from afa.lineage.satisfying import CUT, KEPT, Ranges, Value
from afa.schema import Schema

MARGIN = 2.0**-40
"""So much of what is added up floats may be off by, and more: what is nearer to a bound is not cut, but added up."""


@dataclass(frozen=True, slots=True)
class WaitingCondition:
    """A condition on all of a component, over items; asked if the component has taken anything."""

    component: str
    expr: Expr
    text: str


class FollowedCondition:
    """One condition, followed along a path. A value: whether its component has taken an event (0 or 1), then its items."""

    def __init__(self, waiting: WaitingCondition, groups: Mapping[str, tuple[str, ...]]) -> None:
        self.component = waiting.component
        self.items = list(dict.fromkeys(items_of(waiting.expr)))
        self._groups = [groups[item.component] for item in self.items]
        self._steps = [step_of(item) for item in self.items]
        names = {item: FieldRead("r", f"f{i}") for i, item in enumerate(self.items)}
        self._made = made("Items", tuple((each.name, None, True) for each in names.values()))
        holds = true(replaced(waiting.expr, names.__getitem__), lambda leaf: isinstance(leaf, FieldRead))
        self._holds = callable_of(holds, EPSILON_FENCE, Schema.of(self._made, "register"))
        self.cut = _linear(waiting.expr, self.items)

    @property
    def begin(self) -> Value:
        """The value of a path that has taken nothing."""
        return (0, *map(begin_of, self.items))

    def plus(self, value: Value, component: str, payload: Any) -> Value:
        """Return the value when a component has taken one more event."""
        parts = [
            step(part, payload) if component in group else part
            for step, part, group in zip(self._steps, value[1:], self._groups)
        ]  # fmt: skip
        return (1 if component == self.component else value[0], *parts)

    def holds(self, value: Value) -> bool:
        """Return whether a whole path satisfies it."""
        if not value[0]:
            return True
        register = self._made(*(value_of(item, part) for item, part in zip(self.items, value[1:])))
        return bool(self._holds(register))

    def decided(self, value: Value, least: Any, largest: Any, size: Any) -> Value:
        """Return the value, or `KEPT` or `CUT`, where between two sums more come, of so large values in all."""
        cut = self.cut
        if cut is None or not value[0]:
            return value
        total, count = value[1 + cut.sum], 1 if cut.count is None else value[1 + cut.count]
        if total is None or not count:
            return value
        reached = total - cut.bound * count if cut.mean else total - cut.bound
        exact = not cut.mean and type(total) is type(cut.bound) is type(size) is int
        margin = 0 if exact else (abs(total) + abs(cut.bound) * count + size) * MARGIN
        low, high = reached + least - margin, reached + largest + margin
        if low - low != 0 or high - high != 0:  # infinite, or NaN
            return value
        satisfied = {COMPARE[cut.op](low, 0), COMPARE[cut.op](high, 0)}
        return value if len(satisfied) == 2 else KEPT if True in satisfied else CUT

    def weights(self, component: str, payload: Any) -> tuple[Any, Any]:
        """Returns the number that an event adds to the sum by which values are cut, and its size."""
        cut = self.cut
        taken = None if cut is None or component not in self._groups[cut.sum] else getattr(payload, str(self.items[cut.sum].field))
        if taken is None or cut is None:
            return 0, 0
        taken = int(taken) if type(taken) is bool else taken
        if taken - taken != 0:  # infinite, or NaN, which least and largest sums may lose: nothing is cut beside it
            return taken, math.inf
        return (taken - cut.bound, abs(taken) + abs(cut.bound)) if cut.mean else (taken, abs(taken))


@dataclass(frozen=True, slots=True)
class SumDecision:
    """How a comparison of a sum, or a mean, with a number is decided early: by the sum of what each event is off the bound."""

    op: str
    sum: int
    count: int | None
    bound: Any
    mean: bool


@dataclass(frozen=True)
class Postponed:
    """The conditions of a query that wait for the match; all must hold. An `afa.lineage.satisfying.PathTest`."""

    waiting: tuple[WaitingCondition, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...]  # names, and the components that each stands for
    budget: int = BUDGET  # steps for each match
    _asked: list[FollowedCondition] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_asked", [FollowedCondition(each, dict(self.groups)) for each in self.waiting])

    def __reduce__(self) -> tuple[Any, ...]:
        return Postponed, (self.waiting, self.groups, self.budget)

    @property
    def text(self) -> str:
        """The conditions as text."""
        return " and ".join(f"({each.text})" if " or " in each.text else each.text for each in self.waiting)

    def begin(self) -> Value:
        """Return the value of a path that has taken nothing."""
        return tuple(each.begin for each in self._asked)

    def plus(self, value: Value, component: str, change: Change) -> Value:
        """Return the value when a component has taken one more event."""
        payload = change.payload
        return tuple(v if v is KEPT else each.plus(v, component, payload) for v, each in zip(value, self._asked))

    def holds(self, value: Value) -> bool:
        """Return whether a whole path of this value satisfies all conditions."""
        return all(v is KEPT or each.holds(v) for v, each in zip(value, self._asked))

    def weights(self, component: str, change: Change) -> tuple[Any, ...]:
        """Return for each condition what an event adds to its sum, and how large that is."""
        return tuple(weight for each in self._asked for weight in each.weights(component, change.payload))

    def decided(self, value: Value, ranges: Ranges) -> Value:
        """Return the value as far as it still matters."""
        found = []
        for i, (v, each) in enumerate(zip(value, self._asked)):
            (least, largest), (_, size) = ranges[2 * i : 2 * i + 2]
            decided = v if v is KEPT else each.decided(v, least, largest, size)
            if decided is CUT:
                return CUT
            found.append(decided)
        return KEPT if all(v is KEPT for v in found) else tuple(found)


def _linear(expr: Expr, items: list[Item]) -> SumDecision | None:
    """Return how a comparison of a sum or a mean with a number is decided early. None: it is another one."""
    match expr:
        case Compare(op, left, Const(bound)) if op in ORDER:
            pass
        case Compare(op, Const(bound), left) if op in ORDER:
            op = FLIPPED[op]
        case _:
            return None
    if not isinstance(bound, (int, float)) or isinstance(bound, bool) or bound - bound != 0:
        return None
    match left:
        case Item(_, "sum"):
            return SumDecision(op, items.index(left), None, bound, False)
        case Binary("/", Item(_, "sum") as total, Item(_, "count") as count):
            return SumDecision(op, items.index(total), items.index(count), bound, True)
    return None
