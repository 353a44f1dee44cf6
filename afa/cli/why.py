"""Carry out ``afa why``: take the input without any promise, so that nothing is dropped, and count its funnel.

The events of an automaton are held by an operator without arcs, as no matches are wanted, and a fence that raises is to be counted;
those of a query by its own operator, as a stage before it may fill fields in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from afa import FOREVER, Operator
from afa.cli.batches_in import Input
from afa.cli.fault import CommandError, on_the_line, one_line
from afa.cli.kept_rows import KeptRows, held_by
from afa.cli.load import load
from afa.cli.load_query import is_query, load_query
from afa.cli.load_situations import no_situations
from afa.cli.request import Job
from afa.errors import AfaError
from afa.funnel.counted import Source, funnel_of
from afa.funnel.funnel import Funnel
from afa.io.files import open_source
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.schema import Schema

WHY = "its arcs ask instants at which situations begin or end, and no rows; afa show tells when each relation is decided"
MOST = 1_000_000
"""So many events are kept at most."""


class Asked(NamedTuple):
    """A pattern as it is asked: the schema of the events that come, an operator that holds them, and the automaton."""

    job: Job
    events: Schema
    operator: Any
    automaton: Automaton
    source: Any


def why(job: Job, most: int) -> Funnel:
    """Return the funnel of a pattern over an input. A `CommandError` is the one line that says what is wrong."""
    asked = _asked(job)
    job = asked.job
    return funnel_over(asked, KeptRows(job, most).take(Input(job, asked.source, asked.events)))


def _asked(job: Job) -> Asked:
    job.check()
    found = None if is_query(job.pattern) else no_situations(load(job.pattern), job.pattern, WHY)
    if not isinstance(found, Automaton):
        source = open_source(job.file, job.form)
        query, job = load_query(job, source, found)
        operator = _made(lambda: query.operator(tick=job.tick, id=job.id, postpone=False))
        return Asked(job, Schema.of(query.tree.event, "event"), operator, query.automaton, source)
    if found.event_schema is None:
        raise CommandError(f"{job.pattern} has no event schema; `afa why` types the input by Automaton(..., event=...)")
    source = open_source(job.file, job.form)
    job = job.in_ticks(source.kinds(), found.event_schema.cls)
    return Asked(job, found.event_schema, _made(lambda: holding(found, job)), found, source)


def _made(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except AfaError as error:
        raise CommandError(on_the_line(error)) from error


def holding(automaton: Automaton, job: Job) -> Any:
    """Return an operator that holds the events of an automaton, and asks none of its arcs."""
    assert automaton.event_schema is not None
    none = Automaton(start=automaton.start, final={automaton.start}, arcs=[], event=automaton.event_schema.cls)
    return Operator(none, key=job.key, window=job.window, order_by=job.order_by, tick=job.tick, id=job.id)


def funnel_over(asked: Asked, kept: KeptRows) -> Funnel:
    """Return the funnel of the rows that are kept."""
    job, core = asked.job, asked.operator._core
    try:
        held_by(asked.operator, kept)
        automaton = asked.automaton.bound(core.tick)
        source = Source(
            engine=core.engine,
            automaton=automaton,
            table=ArcTable.of(automaton.arcs),
            clock=FOREVER if job.end == "forever" else kept.latest,
            window=core.window,
            tick=core.tick,
            keys=", ".join(job.keys),
            late=kept.late,
            taken=kept.rows - kept.late,
            share=kept.share,
            cut=kept.cut,
            promise="" if job.end == "forever" else "; --end forever promises that no event comes any more",
        )
        return core.calls.call(funnel_of, source)  # type: ignore[no-any-return]
    except AfaError:
        raise
    except Exception as error:
        raise CommandError(one_line(error)) from error
