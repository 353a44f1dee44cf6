"""Carry out ``afa run``: read batches, push them with the promises between them, write the changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from afa import ClosureError, Keyed, LateEventError, Operator, Punctuation
from afa.cli.advice import Advice
from afa.cli.batches_in import Input
from afa.cli.diagnosis import why_none
from afa.cli.explained_run import explaining, how_pushed, told_as_times, with_lineage, write_report
from afa.cli.fault import CommandError, on_the_line, one_line
from afa.cli.follow import Follow, make_log
from afa.cli.load import load
from afa.cli.load_query import is_query, load_query
from afa.cli.load_situations import job_of, options_of
from afa.cli.output_table import OutputTable
from afa.cli.request import Job
from afa.cli.screen import Screen, Summary
from afa.cli.write import check_output, reads, writing
from afa.errors import AfaError, AutomatonError
from afa.io.files import Source, comes_once, open_source
from afa.model.arc import TIMEOUT
from afa.model.automaton import Automaton
from afa.model.reach import check_whole
from afa.reasons import Reasons
from afa.schema import Schema
from afa.situations.temporal_pattern import TemporalPattern
from punctuation.sources import BoundedDisorder

WAITS = "what waits for a promise would wait for ever without one"


def run(job: Job) -> None:
    """Carry out ``afa run``. A `CommandError` is the one line that says what is wrong."""
    job.check()
    if job.speculation is not None and job.lateness is None:
        raise CommandError(f"--speculation needs --lateness because {WAITS}")
    automaton = None if is_query(job.pattern) else load(job.pattern)
    if isinstance(automaton, TemporalPattern):
        _run_situations(automaton, job)
        return
    if not isinstance(automaton, Automaton):
        check_output(job.output, None, reads(job), job.force)
        source = _opened(job, automaton)
        query, job = load_query(job, source, automaton)
        _check_threads(job, query.key is not None)
        options = job.options("tick", "id", "threads", "longest", "members", "collapse", "having", "speculation")
        options["late"] = job.on_late
        if job.arcs is not None or job.reasons or job.report is not None:  # which speak of the query's own arcs
            options["postpone"] = False
        try:
            events, operator = Schema.of(query.tree.event, "event"), explaining(query.operator(**with_lineage(options, job)), job)
        except AfaError as error:
            raise CommandError(on_the_line(error)) from error
        _run(query.automaton, events, operator, _shown(operator, query.shown, job), source, job, Advice(query))
        return
    try:
        if job.arcs is None:  # else arcs may come
            check_whole(automaton)
    except AutomatonError as error:
        raise CommandError(f"{job.pattern}: {error}") from error
    if automaton.event_schema is None:
        raise CommandError(f"{job.pattern} has no event schema; `afa run` types the input by Automaton(..., event=...)")
    _check_threads(job, bool(job.keys))
    check_output(job.output, None, reads(job), job.force)
    source = _opened(job, automaton)
    job = job.in_ticks(source.kinds(), automaton.event_schema.cls)
    try:
        operator = explaining(operator_of(automaton, job), job)
    except AfaError as error:
        raise CommandError(on_the_line(error)) from error
    _run(automaton, automaton.event_schema, operator, _shown(operator, automaton.match_schema, job), source, job)


def _opened(job: Job, pattern: Any) -> Source:
    """Open the input. A stream may have its first row late: the arc log is there before it."""
    if job.arcs is not None and comes_once(job.file):
        make_log(job.arcs, pattern, job.tick)
    return open_source(job.file, job.form)


def _run_situations(pattern: TemporalPattern, job: Job) -> None:
    """Take readings through the operator of a temporal pattern."""
    check_output(job.output, None, reads(job), job.force)
    source = open_source(job.file, job.form)
    job = job_of(job, pattern, source.kinds())
    try:
        operator = pattern.operator(**options_of(job))
    except AfaError as error:
        raise CommandError(on_the_line(error)) from error
    _run(pattern.automaton, pattern.event_schema, operator, pattern.automaton.match_schema, source, job)


def _run(
    automaton: Automaton, events: Schema, operator: Any, shown: Schema, source: Source, job: Job, advice: Advice | None = None
) -> None:
    """Take the input through an operator; ``events``, ``shown``: the schemas of the events that come, and of its payloads."""
    batches_in = Input(job, source, events, advice)
    with Screen(job, source) as screen:
        summary = _drive(operator, shown, job, batches_in, source, screen)
        if not job.quiet and any(arc.kind == TIMEOUT for arc in automaton.arcs):
            summary.open = _open(operator)
        screen.finish(summary)
    why = ""
    if not summary.inserted and job.id is None and not (job.quiet and job.report is None):
        again = Input(job, open_source(job.file, job.form), events) if source.again else [batches_in.first]
        why = why_none(operator, again, job)
    write_report(operator, job, why)
    if advice is not None:
        advice.finish()
    if why and not job.quiet:
        typer.echo(f"afa: no match: {why}", err=True)


def _shown(operator: Any, matches: Schema, job: Job) -> Schema:
    """Return the schema of what the operator tells."""
    return matches if job.collapse is None else operator._core.shown


def operator_of(automaton: Automaton, job: Job) -> Any:
    """Return the operator of an automaton that a job asks for."""
    names = ("key", "window", "order_by", "tick", "id", "longest", "members", "collapse", "having", "threads", "speculation")
    made: Operator | Keyed = Operator(automaton, late=job.on_late, **with_lineage(job.options(*names), job))
    return made


def _check_threads(job: Job, keyed: bool) -> None:
    if job.threads > 1 and not keyed:
        raise CommandError(f"expected a key, as threads share out its values, but got --threads {job.threads} without one")


def _drive(operator: Any, shown: Schema, job: Job, batches_in: Input, source: Source, screen: Screen) -> Summary:
    """Push all batches, each with the promise that it earns; at the end what `--end` promises."""
    tables = iter(batches_in)
    table = next(tables)
    summary = Summary(keyed=bool(job.keys), rated=not isinstance(operator, Reasons), batch=job.batch)
    follow = None if job.arcs is None else Follow(job.arcs, operator.automaton, job.tick, f"afa run {job.pattern} {job.file}")
    out = OutputTable(operator, shown, job.keys, table, batches_in.times, job.reasons)
    told_as_times(operator, batches_in.times)
    with writing(job.output, out.schema) as write:

        def push(*items: Any) -> None:
            batch = [out.none, *items]
            if follow is not None:
                batch.insert(1, follow.poll())
            for part in _said(lambda: operator.push_many(batch, **how_pushed(job)), batches_in.end):
                if not isinstance(part, Punctuation):
                    found = out.of(part)
                    summary.count(out.les(found), found["diff"].to_numpy(), batches_in.latest)
                    screen.show(found, summary)
                    write(found)
            if follow is not None:
                follow.tell()

        promises = None if job.lateness is None else BoundedDisorder(int(job.lateness), kinds=False)
        while table is not None:
            push(*([table] if promises is None else promises.push_many(table)))
            summary.progress(len(table), operator)
            screen.progress(source.done(), summary)
            table = next(tables, None)
        summary.look(operator)
        push(Punctuation(batches_in.end))
        if follow is not None:
            follow.finish()
    summary.finish(operator.statistics, batches_in.end)
    return summary


def _open(operator: Any) -> int | str:
    try:
        found: int = operator.open_timeouts
    except ClosureError:
        return "no end"
    return found


def _said(call: Callable[[], Any], end: int) -> Any:
    """Return what an operator raises, in one line: a fault in the user's functions too. ``end``: what the input's end promises."""
    try:
        return call()
    except LateEventError as error:
        text = one_line(error).replace(f"before {end} (promised)", "in the input")
        hint = "--late drop drops it" if "in the input" in text else "a larger --lateness takes it, --late drop drops it"
        raise CommandError(f"{text}; {hint}") from error
    except AfaError:
        raise
    except Exception as error:
        raise CommandError(one_line(error)) from error
