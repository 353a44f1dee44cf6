"""Conditions of a query that wait for the match: those on all of a component, which under *any* make its cost exponential.

A partial match under *any* has a register for each sum that a choice of events can have. A condition on the whole of a component
(`Component.done`) need not be asked before the match is complete: left out of the automaton, it is asked of the paths of each match
(`afa.lineage.satisfying`). That means the same where

    the component stands at one place of the pattern, and what the condition reads comes before it or is its own: all is known when
    the component is left, and does not change any more (a component that has taken nothing is asked nothing)
    nothing else reads the sum, RETURN among it: else partial matches differ by it all the same, and matches show it
    it reads no field of a neighbour, which the events of a path do not tell
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from afa.errors import AfaError
from afa.expression.nodes import Expr
from afa.language.items import Item, items_of
from afa.language.lowering import Lowered
from afa.language.match_states import WAITS
from afa.language.path_conditions import Postponed, WaitingCondition
from afa.language.pattern import ANY, Component, rebuilt
from afa.model.automaton import Automaton, changed
from afa.model.conflicts import NONE_WAITS, check


class QueryPlan(NamedTuple):
    """What an operator is made of: a query as it is lowered, without conditions that wait, and the automaton, which has them."""

    lowered: Lowered
    automaton: Automaton

    @property
    def waiting(self) -> Postponed | None:
        """The conditions that wait."""
        found: Postponed | None = self.automaton.having
        return found


def served(lowered: Lowered, postpone: bool | None, options: Mapping[str, Any]) -> QueryPlan:
    """Returns the parts of a query's operator; ``options`` are those that are not as by default.

    ``postpone``: whether conditions wait; None: where there are such, and no option speaks against it. Raises AfaError where they
    are to wait, and none can, or an option speaks against it.
    """
    if postpone not in (None, True, False):
        raise AfaError(f"expected postpone=True, False or None but got postpone={postpone!r}")
    plain = QueryPlan(lowered, lowered.automaton)
    if postpone is False or (not postpone and not NONE_WAITS.isdisjoint(options)):
        return plain
    if postpone:
        check({**options, "postpone": True})
    found = postponed(lowered)
    if found is None and postpone:
        raise AfaError(
            "expected a query with a condition on a sum or a mean of all of a component, under skip till any match, that nothing "
            "else reads, but got postpone=True and none that can wait for the match"
        )
    return plain if found is None else found


def postponed(lowered: Lowered) -> QueryPlan | None:
    """Return a query without the conditions that wait. None: there are none, or nothing would be won."""
    tree = lowered.tree
    if tree.skip is not None or not _exponential(lowered):
        return None
    candidates = [
        (component, expr)
        for component in dict.fromkeys(lowered.positions.components)
        for expr in component.done
        if _sums(lowered, expr) and _known(lowered, component, set(items_of(lowered.reader.read(expr))))
    ]
    without = _lowered_without(lowered, candidates)
    carried = set[Item]().union(*without.registers.live.values())
    waiting = [(component, expr) for component, expr in candidates if not _sums(lowered, expr) & carried]
    if not waiting:
        return None
    without = without if waiting == candidates else _lowered_without(lowered, waiting)
    if _exponential(without) >= _exponential(lowered):
        return None
    reader = lowered.reader
    found = [WaitingCondition(each.name, read, _text(lowered, read)) for each, read in ((c, reader.read(e)) for c, e in waiting)]
    names = dict.fromkeys(item.component for each in found for item in items_of(each.expr))
    condition = Postponed(tuple(found), tuple((name, tuple(sorted(reader.groups[name]))) for name in names))
    return QueryPlan(without, changed(without.automaton, having=condition))


def _sums(lowered: Lowered, expr: Expr) -> set[Item]:
    """Return the sums that a condition reads."""
    return {item for item in items_of(lowered.reader.read(expr)) if item.kind == "sum"}


def _lowered_without(lowered: Lowered, waiting: list[tuple[Component, Expr]]) -> Lowered:
    def without(component: Component) -> Component:
        return replace(component, done=tuple(expr for expr in component.done if (component, expr) not in waiting))

    tree = lowered.tree
    return Lowered(replace(tree, pattern=rebuilt(tree.pattern, without), returns=lowered.returns), lowered.running)


def _exponential(lowered: Lowered) -> int:
    """Return how many fields of states have as many values as there are choices of events, by a repetition under *any*."""
    steps, conditions, registers = lowered.steps, lowered.conditions, lowered.registers
    found = 0
    for state in steps.states[1:]:
        loops = [step for step in steps.steps if step.src == step.dst == state and state.position != WAITS]
        if loops and any(edge.to == state.position and edge.gap.strategy == ANY for edge in conditions.ways(state)):
            sums = [item for item in registers.live[state] if item.kind == "sum"]
            found += sum(any(steps.after(step, item) != item for step in loops) for item in sums)
    return found


def _known(lowered: Lowered, component: Component, items: Iterable[Item]) -> bool:
    """Return whether all that a condition reads is known when its component is left, and does not change any more."""
    positions, groups = lowered.positions, lowered.reader.groups
    names = [each.name for each in positions.components]
    own = {p for p, name in enumerate(names) if name == component.name}
    beside = {name for name, _, _ in lowered.tree.neighbours}
    if any(item.now or item.noted is not None or item.field in beside for item in items):
        return False
    if any(positions.components[p] != component for p in own):
        return False
    behind = positions.behind(own) - own
    again = any(edge.to in own for p in behind for edge in positions.edges[p])
    return not again and not any(names[p] in groups[item.component] for item in items for p in behind)


def _text(lowered: Lowered, expr: Expr) -> str:
    """Return a condition as text: ``sum(y.val) > 4``."""
    items = {lowered.registers.name_of(item): item for item in items_of(expr)}
    return re.sub(r"\br\.(\w+)", lambda found: _words(items[found[1]]), lowered.registers.text(expr))


def _words(item: Item) -> str:
    back = "" if not item.back else f", {item.back} before"
    return f"{item.kind}({item.component}{'' if item.field is None else '.' + item.field}{back})"
