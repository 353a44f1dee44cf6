"""Postponed conditions: of the matches those are told of which a path satisfies a condition on sums, averages and counts.

Under *any* such a condition costs an automaton a register for each sum that a choice of events can have. Left out of the automaton
it is checked on the paths of each match (`afa.lineage.having`): the match is told when a first one is found, and taken back when
the last one goes. That is what a query means that has the condition as a conjunct, where RETURN does not show the aggregate.

A query leaves such conditions out by itself (`afa.language.postponed`): they, and conditions that are functions, stand in the
automaton, `Automaton.having`. A lineage then has those paths only that satisfy them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from afa.change import Change
from afa.errors import AfaError
from afa.lineage.components import components_in
from afa.lineage.having import BUDGET, having_of
from afa.lineage.lineage import Lineage
from afa.lineage.match_ends import LineageSource, lineage_in_force
from afa.lineage.satisfying import condition_of
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.operator.told_anew import ToldAnew, match_name
from afa.schema import Schema


class Postponing(ToldAnew):
    """Some of the matches: those of which a path satisfies a condition, as ``satisfied`` says of a lineage."""

    def __init__(self, automaton: Automaton, satisfied: Callable[[Lineage], bool], options: Sequence[list[Any]] = ()) -> None:
        super().__init__(automaton.match_schema, automaton.match_schema)
        self._satisfied, self.options, self.tells = satisfied, options, bool(options)

    def name(self, match: Change) -> Any:
        return match_name(match)

    def derive(self, held: LineageSource, name: Any) -> Change | None:
        """Return the match, if it is in force and a path of it satisfies the condition."""
        payload, le, re, key = name
        match = Change(payload, le, re, 1, key)
        found = lineage_in_force(held, match)
        return match if found is not None and self._satisfied(found) else None


def by_automaton(automaton: Automaton) -> Postponing:
    """Return the matches of which a path satisfies the automaton's own condition, which is none of the options."""
    condition = condition_of(automaton.having)
    return Postponing(automaton, lambda found: found.satisfying(condition).there)


def by_words(automaton: Automaton, event: Schema | None, asked: Any) -> Postponing:
    """Return the matches of which a path satisfies a condition in words, maybe with a budget of steps for each match.

    Raises `AfaError` where it is none, or names what the automaton does not have.
    """
    text, budget = as_postponed(asked)
    components = components_in(ArcTable.of(automaton.arcs)) or None
    having_of(None, text, event, components, budget)  # type: ignore[arg-type]  # which refuses what is none
    return Postponing(automaton, lambda found: found.satisfies(text, budget), [["having", [text, budget]]])


def as_postponed(asked: Any) -> tuple[str, int]:
    """Return a condition with its budget, which is BUDGET where none is said. Raises `AfaError` if it is none."""
    found = (asked, BUDGET) if isinstance(asked, str) else asked
    if not is_postponed(found):
        raise AfaError(f'expected "sum(b.price) > 100", or that with a budget of steps, but got having={asked!r}')
    text, budget = found
    return text, budget


def is_postponed(value: Any) -> bool:
    """Return whether a value is a condition with its budget, as a snapshot has it."""
    return isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[0], str) and type(value[1]) is int
