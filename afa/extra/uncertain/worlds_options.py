"""The options of `Worlds`, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from afa.engine.budget import Budget
from afa.errors import AfaError, BudgetError
from afa.extra.uncertain.clock import Clock
from afa.extra.uncertain.distributions import shape_of
from afa.language.query import Query
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, check
from afa.model.option_values import names_of
from afa.operator.keyed import Keyed
from afa.operator.operator import Operator
from afa.operator.options import Options

FEWEST, MOST = 20, 1_000_000
"""The fewest worlds: with less a confidence says next to nothing."""


class WorldsBudget(Budget):
    """The budget of `Worlds`: each key of the operator begins with the number of a world, which no error names."""

    def crowded(
        self, automaton: Automaton, table: ArcTable, key: Any, le: int, count: int, states: Mapping[str, int]
    ) -> BudgetError:
        _, *names = key
        own = None if not names else names[0] if len(names) == 1 else tuple(names)
        return super().crowded(automaton, table, own, le, count, states)


def of_query(query: Query, said: Options) -> tuple[Automaton, Options]:
    """Returns the automaton of a query, and the options with those that it says.

    AfaError: an option is said twice; or stages stand around the query's operator: a negation at its start; or it chooses.
    """
    check({**said.said, QUERY: True})
    made = query.operator(postpone=False, tick=said.tick or query.tree.tick, key=said.key)
    if not isinstance(made, (Keyed, Operator)):
        raise AfaError(
            f"expected a query of one automaton but got one with a {type(made.stage).__name__} around it: a negation at its start"
        )
    if made.automaton.choice is not None:
        raise AfaError(f"expected a query of which all matches leave but got {query!r}, which chooses some (AFTER MATCH SKIP)")
    core = made._core
    key = None if core.keys is None else core.keys.names[0] if core.keys.single else core.keys.names
    return core.automaton, said.but(key=key, window=core.window, order_by=core.sequence, tick=core.tick)


def check_worlds(worlds: Any, threshold: Any, seed: Any) -> None:
    """Refuse a number of worlds, a threshold or a seed that is none, or a threshold that so many worlds can't tell."""
    if type(worlds) is not int or worlds < FEWEST:
        raise AfaError(f"expected at least {FEWEST} worlds but got worlds={worlds!r}")
    if worlds > MOST:
        raise AfaError(f"expected at most {MOST:,} worlds but got worlds={worlds!r}")
    if type(seed) is not int:
        raise AfaError(f"expected an int but got seed={seed!r}")
    if threshold is None:
        return
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 < threshold <= 1:
        raise AfaError(f"expected a confidence above 0, at most 1, but got threshold={threshold!r}")
    if threshold * worlds < 1 - 1e-9:
        needed = int(-(-1 // threshold))
        raise AfaError(
            f"expected at least {needed:,} worlds for threshold={threshold!r}, one of which is that much, but got {worlds}"
        )


def check_times(lower: Any, upper: Any, clock: Any, shape: Any) -> None:
    """Refuse ways to say times that are none, or of which there are two."""
    if (lower is None) is not (upper is None):
        raise AfaError(f"expected both ends of intervals but got lower={lower!r}, upper={upper!r}")
    if clock is not None and not isinstance(clock, Clock):
        raise AfaError(f"expected a Clock but got clock={clock!r}")
    if shape_of(shape).name != "uniform" and lower is None:
        raise AfaError(f"expected intervals, lower= and upper=, for a distribution but got shape={shape!r}; a Clock has its own")


def fields_named(given: Any, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """Returns names, each of which must be known."""
    names = names_of(given, what)
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise AfaError(f"expected {what}= as fields of the event or columns of the key, of {', '.join(known)}, but got {given!r}")
    return names
