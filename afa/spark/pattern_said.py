"""What a pattern says itself: a query its key, its window, its order and its stages; a temporal pattern its key, its window and the
stage that derives instants; an automaton none of it."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any, NamedTuple

from afa.compiled.fit import admitted, known, taken_apart
from afa.errors import AfaError
from afa.language.bare_numbers import check_units
from afa.language.builder import Builder
from afa.language.query import Query
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, SPARK_WORLDS, TEMPORAL, check
from afa.model.option_values import names_of
from afa.operator.contract import own_key
from afa.operator.options import Options
from afa.situations.temporal_pattern import TemporalPattern
from afa.spark.job import Job
from afa.spark.readings_asked import readings_asked
from afa.spark.stages import NONE, PatternStages
from afa.spark.worlds_bucket import UPPER, WorldsAsked
from afa.uncertain.distributions import data_of, shape_of
from afa.uncertain.told_tables import match_class
from afa.uncertain.worlds import Worlds
from punctuation.durations import ticks_of_duration

ONE_KEY = "; where all rows are of one key, a constant column does it, as .withColumn('one', F.lit(1))"
log = logging.getLogger("afa.spark")


class PatternOptions(NamedTuple):
    """A pattern, and what is said of it: by itself, or beside it."""

    automaton: Automaton
    options: Options  # with a key
    asked: PatternStages  # the stages around its operator
    pattern: Query | TemporalPattern | None  # which said all this


def said_of(pattern: Any, options: Options, **call: Any) -> PatternOptions:
    """Returns a pattern and what is said of it; ``call``: what is said beside it, as of `match`.

    AfaError: an argument says what the pattern says; there is no key; ticks are no microseconds; ``having=``.
    """
    if isinstance(pattern, Worlds):
        return _of_worlds(pattern, options, **call)
    if isinstance(pattern, TemporalPattern):
        return _of_situations(pattern, options)
    tick = getattr(pattern, "tick", None)
    if isinstance(pattern, Builder):
        pattern = pattern.query(tick=tick or "us")
    check_units(pattern, tick, (), 'tick="us"')
    if isinstance(pattern, Query):
        return _of_query(pattern, options)
    if getattr(pattern, "having", None) is not None:
        raise AfaError(
            f"expected an automaton without having= on Spark, whose workers derive no paths around each change, but got "
            f"{pattern.having!r}; let its function choose among the members (members=) of the matches that leave"
        )
    if options.key is None:
        raise AfaError(f"expected the names of key columns but got key=None{ONE_KEY}")
    return PatternOptions(pattern, options, NONE, None)


def _of_situations(pattern: TemporalPattern, options: Options) -> PatternOptions:
    """Return a temporal pattern's automaton, and what is said of it. ``order_by`` orders readings, not instants."""
    check(options.said | {TEMPORAL: True})
    if options.window is not None:
        raise AfaError(f"window={options.window!r} can't be combined with {TEMPORAL} because it says that itself (within=)")
    key = own_key(pattern, {"key": options.key})
    if key is None:
        raise AfaError(f"expected the names of key columns but got key=None, and the pattern has no key{ONE_KEY}")
    readings = readings_asked(pattern, options.order_by)
    asked = PatternStages(event=pattern.event_schema.cls, readings=readings)
    told = options.but(key=key, window=timedelta(microseconds=readings.span), order_by=None)
    return PatternOptions(pattern.automaton, told, asked, pattern)


@known()
def _of_worlds(worlds: Worlds, options: Options, time: str, **call: Any) -> PatternOptions:
    """Returns the automaton of `Worlds`, and what makes its buckets.

    AfaError: they have taken something; an option of theirs is none of Spark's, or contradicts one of `match`.
    """
    given, automaton = worlds.options, worlds.automaton
    check_units(worlds.query, given["tick"], (), 'tick="us"')
    check({**options.said, **{name: value for name, value in call.items() if value is not None}, SPARK_WORLDS: True})
    _check_worlds(worlds, time, options.key)
    intervals, clock = given["lower"] is not None, given["clock"]
    columns = {"lower": "le", "upper": UPPER} if intervals else {"time": "le"}
    ticks = None if clock is None else clock.ticks("us")
    off = 0 if ticks is None else ticks.skew + ticks.own
    window = None if given["window"] is None else ticks_of_duration(given["window"], "us", "window")
    told = {
        **{name: given[name] for name in ("worlds", "seed", "threshold", "identity")},
        "shape": data_of(shape_of(given["shape"])),
        "window": window,
        "intervals": intervals,
        "clock": None if ticks is None else [list(clock.by), *ticks[:3], data_of(clock.shape)],
    }
    own = WorldsAsked(
        {**given, **columns, "tick": "us"},
        {UPPER: given["upper"]} if intervals else {},
        off,
        off if ticks is None else off + ticks.granularity - 1,
        window,
        told,
    )
    shown = match_class(automaton.match_schema)
    shown._times = ("first", "last")
    return PatternOptions(
        automaton, Options(key=given["key"] or (), order_by=given["order_by"]), PatternStages(shown=shown, own=own), None
    )


def _check_worlds(worlds: Worlds, time: str, key: Any) -> None:
    """Refuse `Worlds` that are no template, and what `match` says otherwise than they do."""
    given = worlds.options
    if worlds.automaton.having is not None:
        raise AfaError(f"expected Worlds of an automaton without having= on Spark but got {worlds.automaton.having!r}")
    if worlds.snapshot() != Worlds(worlds.automaton, **given).snapshot():
        raise AfaError("expected Worlds that have taken nothing, of which each bucket makes its own, but got some with a state")
    if given["tick"] not in (None, "us"):
        raise AfaError(f"expected Worlds with tick='us', as times are microseconds on Spark, but got tick={given['tick']!r}")
    for name, plain, hint in (("late", "raise", "match(late=) says it"), ("threads", 1, "Spark has its own")):
        if given[name] != plain:
            raise AfaError(f"expected Worlds without {name}= on Spark but got {name}={given[name]!r}: {hint}")
    if key is not None and names_of(key, "key") != names_of(given["key"], "key"):
        raise AfaError(f"expected the key of Worlds, key={given['key']!r}, but got key={key!r}")
    if given["lower"] is not None and time != given["lower"]:
        raise AfaError(
            f"expected time={given['lower']!r}, the lower ends of intervals, which the watermark follows, but got time={time!r}"
        )
    if given["lower"] is None and given["time"] not in ("le", time):
        raise AfaError(f"expected the time of Worlds, time={given['time']!r}, but got time={time!r}")


def _of_query(query: Query, options: Options) -> PatternOptions:
    """Returns the automaton of a query, and what is said of it."""
    tree = query.tree
    check(options.said | {QUERY: True})
    if options.key is not None:
        raise AfaError(f"key={options.key!r} can't be combined with {QUERY} because it says that itself")
    if query.key is None:
        raise AfaError(
            f"expected a query with a key ([attribute] in text, .by(..), PARTITION BY), by which a stream is cut on Spark, but got "
            f"none{ONE_KEY}, here as a field of the event"
        )
    if tree.tick not in (None, "us"):
        raise AfaError(f"expected a query with tick='us', as times are microseconds on Spark, but got tick={tree.tick!r}")
    window = None if query.window is None else timedelta(microseconds=query.window)
    return PatternOptions(query.automaton, options.but(key=query.key, window=window, order_by=tree.order), _asked(query), query)


def _asked(query: Query) -> PatternStages:
    """Return what a query asks for beside an operator."""
    back, choose = query.looking_back, query.choosing
    shown = None if choose is None else query.shown.cls
    rows = None if query.tree.rows is None else query.tree
    return PatternStages(back and query.tree.event, back and back.options, choose, shown, query.held, rows)


def tell_of_carried(pattern: Query | TemporalPattern | None) -> None:
    """Let the log say which conditions Spark carries that an operator asks of each match only."""
    waits = pattern.explain().waits if isinstance(pattern, Query) else None
    if waits is not None:
        log.warning(
            "on Spark this condition is carried: %s. Of n events that may be chosen there are up to 2^n partial matches, of which "
            "partial_matches= bounds the number; with .operator() it waits for the match",
            waits.partition(";")[0],
        )


def tell_of_python(job: Job) -> None:
    """Let the log say, here and not on each worker, which arcs run in Python."""
    for arc in job.automaton.arcs:
        admitted(taken_apart(arc, job.automaton), strict=False)
