"""What a pattern says itself: a query its key, its window, its order and its stages; a temporal pattern its key, its window and the
stage that derives instants; an automaton none of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from afa.compiled.fit import admitted, taken_apart
from afa.errors import AfaError
from afa.language.bare_numbers import check_units
from afa.language.builder import Builder
from afa.language.query import Query
from afa.model.automaton import Automaton
from afa.situations.temporal_pattern import TemporalPattern
from afa.spark.job import Job
from afa.spark.readings_asked import readings_asked
from afa.spark.stages import NONE, Asked
from afa.uncertain.worlds import Worlds

ONE_KEY = "; where all rows are of one key, a constant column does it, as .withColumn('one', F.lit(1))"
log = logging.getLogger("afa.spark")


class Said(NamedTuple):
    """A pattern, and what is said of it: by itself, or beside it."""

    automaton: Automaton
    key: str | Sequence[str]
    window: str | timedelta | None
    sequence: str | None
    asked: Asked  # the stages around its operator
    pattern: Query | TemporalPattern | None  # which said all this


def said_of(pattern: Any, key: Any, window: str | timedelta | None, sequence: str | None) -> Said:
    """Return a pattern and what is said of it.

    Raises
    ------
    AfaError
        An argument says what the pattern says; there is no key; ticks are no microseconds; ``having=``; it is `Worlds`.
    """
    if isinstance(pattern, Worlds):
        raise AfaError(f"expected an automaton, a query or a temporal pattern but got {pattern!r}: match takes it, over all rows")
    if isinstance(pattern, TemporalPattern):
        return _of_situations(pattern, key, window, sequence)
    tick = getattr(pattern, "tick", None)
    if isinstance(pattern, Builder):
        pattern = pattern.query(tick=tick or "us")
    check_units(pattern, tick, (), 'tick="us"')
    asked, query = NONE, pattern if isinstance(pattern, Query) else None
    if isinstance(pattern, Query):
        asked = _asked(pattern)
        pattern, key, window, sequence = _said(pattern, key=key, window=window, sequence=sequence)
    elif getattr(pattern, "having", None) is not None:
        raise AfaError(
            f"expected an automaton without having= on Spark, whose workers derive no paths around each change, but got "
            f"{pattern.having!r}; let its function choose among the members (members=) of the matches that leave"
        )
    if key is None:
        raise AfaError(f"expected the names of key columns but got key=None{ONE_KEY}")
    return Said(pattern, key, window, sequence, asked, query)


def _of_situations(pattern: TemporalPattern, key: Any, window: Any, sequence: str | None) -> Said:
    """Return a temporal pattern's automaton, and what is said of it. ``sequence`` orders readings, not instants."""
    if window is not None:
        raise AfaError(f"expected no window= beside a temporal pattern, which says it itself (within=), but got window={window!r}")
    own = None if pattern.key is None else (pattern.key,) if isinstance(pattern.key, str) else tuple(pattern.key)
    given = None if key is None else (key,) if isinstance(key, str) else tuple(key)
    if own is not None and given not in (None, own):
        raise AfaError(f"expected the pattern's own key={pattern.key!r} but got key={key!r}")
    key = pattern.key if key is None else key
    if key is None:
        raise AfaError(f"expected the names of key columns but got key=None, and the pattern has no key{ONE_KEY}")
    readings = readings_asked(pattern, sequence)
    asked = Asked(event=pattern.event_schema.cls, readings=readings)
    window = timedelta(microseconds=readings.span)
    return Said(pattern.automaton, key, window, None, asked, pattern)


def _said(query: Query, **given: Any) -> tuple[Automaton, Any, timedelta | None, str | None]:
    """Return automaton, key, window and sequence of a query.

    Raises
    ------
    AfaError
        An argument says what the query says; it has no key, or its ticks are no microseconds.
    """
    tree = query.tree
    for name, value in given.items():
        if value is not None:
            raise AfaError(f"expected no {name}= beside a query, which says it itself, but got {name}={value!r}")
    if query.key is None:
        raise AfaError(
            f"expected a query with a key ([attribute] in text, .by(..), PARTITION BY), by which a stream is cut on Spark, but got "
            f"none{ONE_KEY}, here as a field of the event"
        )
    if tree.tick not in (None, "us"):
        raise AfaError(f"expected a query with tick='us', as times are microseconds on Spark, but got tick={tree.tick!r}")
    window = None if query.window is None else timedelta(microseconds=query.window)
    return query.automaton, query.key, window, tree.order


def _asked(query: Query) -> Asked:
    """Return what a query asks for beside an operator."""
    back, choose = query.looking_back, query.choosing
    shown = None if choose is None else query.shown.cls
    rows = None if query.tree.rows is None else query.tree
    return Asked(back and query.tree.event, back and back.options, choose, shown, query.held, rows)


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
