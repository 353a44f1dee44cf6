"""The options of `Worlds`, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from afa.compiled.fit import known
from afa.engine.budget import Budget
from afa.errors import AfaError, BudgetError
from afa.extra.uncertain.clock import Clock
from afa.extra.uncertain.distributions import data_of, shape_of
from afa.extra.uncertain.drawn_events import CHUNK
from afa.extra.uncertain.told_tables import match_class
from afa.language.bare_numbers import check_units
from afa.language.query import Query
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, SPARK_WORLDS, check
from afa.model.option_values import names_of
from afa.operator.contract import PatternInParts
from afa.operator.operator import Keyed, Operator
from afa.operator.options import Options
from punctuation.durations import ticks_of_duration

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


TICK, UPPER = "us", "afa_upper"
"""Spark's times are microseconds; the column in which an operator gets the upper ends of intervals."""


@known()
def worlds_in_parts(worlds: Any, said: Mapping[str, Any]) -> PatternInParts:
    """Returns what makes `Worlds` of these options; ``said``: what is said beside them.

    AfaError: they have taken something; an option of theirs is none of Spark's, or contradicts what is said.
    """
    given, automaton = worlds.options, worlds.automaton
    check_units(worlds.query, given["tick"], (), 'tick="us"')
    check({**said, SPARK_WORLDS: True})
    _check_template(worlds)
    _check_same(given, said["time"], said.get("key"))
    intervals, clock = given["lower"] is not None, given["clock"]
    columns = {"lower": "le", "upper": UPPER} if intervals else {"time": "le"}
    ticks = None if clock is None else clock.ticks(TICK)
    off = 0 if ticks is None else ticks.skew + ticks.own
    lives = None if given["window"] is None else ticks_of_duration(given["window"], TICK, "window")
    told = {
        **{name: given[name] for name in ("worlds", "seed", "threshold", "identity")},
        "shape": data_of(shape_of(given["shape"])),
        "window": lives,
        "intervals": intervals,
        "clock": None if ticks is None else [list(clock.by), *ticks[:3], data_of(clock.shape)],
    }
    shown = match_class(automaton.match_schema)
    shown._times = ("first", "last")
    return PatternInParts(
        made=type(worlds),
        options={**given, **columns, "tick": TICK},
        recipe={"worlds": told},
        key=given["key"] or (),
        order_by=given["order_by"],
        shown=shown,
        times={UPPER: given["upper"]} if intervals else {},
        before=off,
        behind=off if ticks is None else off + ticks.granularity - 1,
        lives=lives,
        at_once=max(CHUNK // given["worlds"], 1),
    )


def _check_template(worlds: Any) -> None:
    """Refuse `Worlds` that are no template."""
    given = worlds.options
    if worlds.automaton.having is not None:
        raise AfaError(f"expected Worlds of an automaton without having= on Spark but got {worlds.automaton.having!r}")
    if worlds.snapshot() != worlds.operator().snapshot():
        raise AfaError("expected Worlds that have taken nothing, of which each bucket makes its own, but got some with a state")
    if given["tick"] not in (None, TICK):
        raise AfaError(f"expected Worlds with tick='us', as times are microseconds on Spark, but got tick={given['tick']!r}")
    for name, plain, hint in (("late", "raise", "match(late=) says it"), ("threads", 1, "Spark has its own")):
        if given[name] != plain:
            raise AfaError(f"expected Worlds without {name}= on Spark but got {name}={given[name]!r}: {hint}")


def _check_same(given: Mapping[str, Any], time: str, key: Any) -> None:
    """Refuse what `match` says otherwise than `Worlds` do."""
    if key is not None and names_of(key, "key") != names_of(given["key"], "key"):
        raise AfaError(f"expected the key of Worlds, key={given['key']!r}, but got key={key!r}")
    if given["lower"] is not None and time != given["lower"]:
        raise AfaError(
            f"expected time={given['lower']!r}, the lower ends of intervals, which the watermark follows, but got time={time!r}"
        )
    if given["lower"] is None and given["time"] not in ("le", time):
        raise AfaError(f"expected the time of Worlds, time={given['time']!r}, but got time={time!r}")
