"""Carry out ``afa why``: take the input without any promise, so that nothing is dropped, and count its funnel.

The events of an automaton are held by an operator without arcs, as no matches are wanted, and a fence that raises is to be counted;
those of a query by its own operator, as a stage before it may fill fields in.
"""

from __future__ import annotations

from typing import Any

from afa import FOREVER, Operator
from afa.cli.batches_in import Input
from afa.cli.fault import CommandError, one_line
from afa.cli.kept_rows import KeptRows, held_by
from afa.cli.pattern_run import PatternRun, given_pattern
from afa.cli.request import Job
from afa.errors import AfaError
from afa.funnel.counted import Source, funnel_of
from afa.funnel.funnel import Funnel
from afa.io.files import open_source
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY

WHY = "its arcs ask instants at which situations begin or end, and no rows; afa show tells when each relation is decided"
MOST = 1_000_000
"""So many events are kept at most."""


def why(job: Job, most: int) -> Funnel:
    """Return the funnel of a pattern over an input. A `CommandError` is the one line that says what is wrong."""
    job.check()
    given = given_pattern(job.pattern, WHY)
    made = PatternRun.of(job, given, open_source(job.file, job.form), "why")
    job, automaton = made.job, made.automaton
    operator = made.operator("tick", "id", own_arcs=True) if QUERY in made.pattern.traits else holding(automaton, job)
    return funnel_over(job, operator, automaton, KeptRows(job, most).take(Input(job, made.source, made.events)))


def holding(automaton: Automaton, job: Job) -> Any:
    """Return an operator that holds the events of an automaton, and asks none of its arcs."""
    assert automaton.event_schema is not None
    none = Automaton(start=automaton.start, final={automaton.start}, arcs=[], event=automaton.event_schema.cls)
    return Operator(none, key=job.key, window=job.window, order_by=job.order_by, tick=job.tick, id=job.id)


def funnel_over(job: Job, operator: Any, automaton: Automaton, kept: KeptRows) -> Funnel:
    """Return the funnel of the rows that are kept: of this automaton, over what the operator holds."""
    core = operator._core
    try:
        held_by(operator, kept)
        automaton = automaton.bound(core.tick)
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
