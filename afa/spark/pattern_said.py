"""What a pattern says itself: a query its key, its window, its order and its stages; a temporal pattern its key, its window and the
stage that derives instants; an automaton none of it."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from afa.compiled.fit import admitted, taken_apart
from afa.errors import AfaError
from afa.frames.asked import check_columns, computed_by
from afa.language.bare_numbers import check_units
from afa.language.query import check_order
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, TEMPORAL, check
from afa.model.reach import check_whole
from afa.operator.contract import Pattern, own_key
from afa.operator.options import Options
from afa.operator.patterns import pattern_of
from afa.rules.rules import Rules
from afa.schema import Schema
from afa.spark.job import Job
from afa.spark.rules_said import rules_in_parts
from afa.spark.stages import NONE, PatternStages, under_old_names

ONE_KEY = "; where all rows are of one key, a constant column does it, as .withColumn('one', F.lit(1))"
log = logging.getLogger("afa.spark")


class PatternOptions(NamedTuple):
    """A pattern, and what is said of it: by itself, or beside it."""

    automaton: Automaton
    options: Options  # with a key
    asked: PatternStages  # what it asks for beside its operator
    pattern: Pattern | None  # which said all this


def said_of(pattern: Any, options: Options, **call: Any) -> PatternOptions:
    """Returns a pattern and what is said of it; ``call``: what is said beside it, as of `match`.

    AfaError: an argument says what the pattern says; there is no key; ticks are no microseconds; ``having=``.
    """
    given: Any = pattern_of(pattern, "an automaton, a query or a temporal pattern")
    said = {**options.said, **{name: value for name, value in call.items() if value is not None}}
    is_set = isinstance(given, Rules)
    if "columns" in said and not is_set:
        raise AfaError(f"expected columns= beside a set of rules, of which later ones may have others, but got {pattern!r}")
    own = rules_in_parts(given, said) if is_set else given.in_parts(said)
    if own is not None:
        stages = PatternStages(event=own.event, shown=own.shown, own=own, ahead=own.ahead)
        return PatternOptions(own.automaton or given.automaton, Options(key=own.key, order_by=own.order_by), stages, given)
    if TEMPORAL in given.traits:
        check({**said, TEMPORAL: True})
        return _of_situations(given, options)
    tick, given = given.tick, given.with_tick("us")
    check_units(given, tick, (), 'tick="us"')
    if QUERY in given.traits:
        return _of_query(given, options)
    automaton = given.automaton
    if automaton is not pattern:
        raise AfaError(f"expected an automaton, a query or a temporal pattern but got {pattern!r}")
    if automaton.having is not None:
        raise AfaError(
            f"expected an automaton without having= on Spark, whose workers derive no paths around each change, but got "
            f"{automaton.having!r}; let its function choose among the members (members=) of the matches that leave"
        )
    if options.key is None:
        raise AfaError(f"expected the names of key columns but got key=None{ONE_KEY}")
    return PatternOptions(automaton, options, NONE, None)


def _of_situations(pattern: Any, options: Options) -> PatternOptions:
    """Return a temporal pattern's automaton, and what is said of it. ``order_by`` orders readings, not instants."""
    if options.window is not None:
        raise AfaError(f"window={options.window!r} can't be combined with {TEMPORAL} because it says that itself (within=)")
    key = own_key(pattern, {"key": options.key})
    if key is None:
        raise AfaError(f"expected the names of key columns but got key=None, and the pattern has no key{ONE_KEY}")
    readings = pattern.readings_asked(options.order_by)
    asked = PatternStages(event=pattern.event_schema.cls, readings=readings)
    told = options.but(key=key, window=timedelta(microseconds=readings.span), order_by=None)
    return PatternOptions(pattern.automaton, told, asked, pattern)


def _of_query(query: Any, options: Options) -> PatternOptions:
    """Returns the automaton of a query, and what is said of it."""
    query.check_time()
    check_columns(computed_by(query), "afa.spark.replay")
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


def _asked(query: Any) -> PatternStages:
    """Return what a query asks for beside an operator."""
    back, said = query.looking_back, dict[str, Any]()
    if back is not None:
        said["before"] = [Schema.of(query.tree.event, "event").describe(), under_old_names(back.options)]
    if query.where is not None:
        said["where"] = query.where
    return PatternStages(
        back and query.tree.event,
        tuple(query.stages()),
        said,
        query.held,
        choice=query.shown_as,
        shown=query.shown.cls if query.answers_behind else None,
        ahead=any(offset > 0 for *_, offset in query.tree.neighbours),
    )


def check_call(said: PatternOptions, events: DataFrame, time: str, arcs: DataFrame | None, end: str) -> None:
    """Refuse what is said in a call of `match` or of what `replay` returns, as far as it depends on no job."""
    check_order(said.pattern, time, events.columns)
    if arcs is None:
        check_whole(said.automaton)
    elif arcs.isStreaming and not events.isStreaming:
        raise AfaError("expected static arcs beside static events but got a stream of arcs")
    if end not in ("latest", "forever"):
        raise AfaError(f'expected end="latest" or "forever" but got end={end!r}')


def tell_of_carried(pattern: Pattern | None) -> None:
    """Let the log say which conditions Spark carries that an operator asks of each match only."""
    waits = pattern.explain().waits if pattern is not None and QUERY in pattern.traits else None
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
