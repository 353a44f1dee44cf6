"""Carry out ``afa why``: take the input without any promise, so that nothing is dropped, count its funnel, and show it.

``afa run`` says its sentence where it has found no match, over a part of the input where it is large.

The events of an automaton are held by an operator without arcs, as no matches are wanted, and a fence that raises is to be counted;
those of a query by its own operator, as a stage before it may fill fields in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from rich.text import Text

from afa import FOREVER, Operator
from afa.cli.batches_in import Input
from afa.cli.console import Terminal, plain_table
from afa.cli.fault import CommandError, one_line
from afa.cli.kept_rows import KeptRows, held_by
from afa.cli.pattern_run import PatternRun, given_pattern
from afa.cli.request import CommandRequest
from afa.errors import AfaError
from afa.funnel.counted import FunnelSource, funnel_of
from afa.funnel.funnel import ARC_COLUMNS, STATE_COLUMNS, Funnel
from afa.io.files import open_source
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY

WHY = "its arcs ask instants at which situations begin or end, and no rows; afa show tells when each relation is decided"
ROWS = 20_000
"""How many events are looked at behind a run without matches: half a second."""
NUMBERS = {"asked", "true", "last true", "times", "entered", "went on", "matched", "by window", "by no arc", "open"}


def why(job: CommandRequest, most: int) -> Funnel:
    """Return the funnel of a pattern over an input. A `CommandError` is the one line that says what is wrong."""
    job.check()
    given = given_pattern(job.pattern, WHY)
    made = PatternRun.of(job, given, open_source(job.file, job.form), "why")
    job, automaton = made.job, made.automaton
    operator = made.operator("tick", "id", own_arcs=True) if QUERY in made.pattern.traits else holding(automaton, job)
    return funnel_over(job, operator, automaton, KeptRows(job, most).take(Input(job, made.source, made.events)))


def holding(automaton: Automaton, job: CommandRequest) -> Any:
    """Return an operator that holds the events of an automaton, and asks none of its arcs."""
    assert automaton.event_schema is not None
    none = Automaton(start=automaton.start, final={automaton.start}, arcs=[], event=automaton.event_schema.cls)
    return Operator(none, key=job.key, window=job.window, order_by=job.order_by, tick=job.tick, id=job.id)


def funnel_over(job: CommandRequest, operator: Any, automaton: Automaton, kept: KeptRows) -> Funnel:
    """Return the funnel of the rows that are kept: of this automaton, over what the operator holds."""
    core = operator._core
    try:
        held_by(operator, kept)
        automaton = automaton.bound(core.tick)
        source = FunnelSource(
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


def why_none(operator: Any, tables: Iterable[pa.Table], job: CommandRequest) -> str:
    """Return why a run without matches has none; empty where that can't be found out."""
    core: Any = getattr(operator, "_core", None)
    if core is None or core.taken is None or core.taken.cls is not core.automaton.event:  # a stage fills fields in
        return ""
    try:
        return diagnose(core, tables, job)
    except Exception:
        return ""


def diagnose(core: Any, tables: Iterable[pa.Table], job: CommandRequest) -> str:
    """Return why there is no match, in one sentence."""
    automaton = core.automaton
    job = job._replace(window=core.window, tick=core.tick)
    funnel = funnel_over(job, holding(automaton, job), automaton, KeptRows(job, ROWS).take(tables))
    some = "" if not funnel.part else f"of {funnel.events:,} events that were looked at: "
    return f"{some}{funnel.why}" + ("" if funnel.cause == "empty" else "; `afa why` with the same options counts it all")


def show_funnel(funnel: Funnel, console: Terminal) -> None:
    """Print the sentence, then the counts of arcs and states, then the nearest misses."""
    console.print(Text(funnel.why, style="bold"), soft_wrap=True)
    console.print(Text(funnel.scope, style="dim"), soft_wrap=True)
    console.print()
    console.print(plain_table(ARC_COLUMNS, funnel.rows_of_arcs(), NUMBERS))
    console.print()
    console.print(plain_table(STATE_COLUMNS, funnel.rows_of_states(), NUMBERS))
    if funnel.misses:
        console.print("\nnearest misses", style="bold", highlight=False)
        for line in funnel.misses_in_words():
            console.print(Text(f"  {line}"), soft_wrap=True)
