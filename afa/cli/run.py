"""Carry out ``afa run``: read batches, push them with the promises between them, write the changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from afa import ClosureError, LateEventError, Punctuation
from afa.cli.advice import Advice
from afa.cli.batches_in import Input
from afa.cli.fault import CommandError, one_line, tell
from afa.cli.follow import Follow, make_log
from afa.cli.metrics_server import served
from afa.cli.opened_input import opened, tell_faults
from afa.cli.output_form import shape_of
from afa.cli.output_table import OutputTable
from afa.cli.pattern_run import PatternRun, given_pattern
from afa.cli.request import CommandRequest
from afa.cli.run_metrics import RunMetrics
from afa.cli.screen import Screen, Summary
from afa.cli.why import why_none
from afa.cli.write import check_output, reads, writing
from afa.errors import AfaError, AutomatonError
from afa.explain.reasons import Reasons
from afa.explain.tracing.recorder import Trace
from afa.io.file_writing import writable
from afa.io.files import comes_once
from afa.io.text_files import FileSource
from afa.io.whole_file import write_text
from afa.language.stacked_query import StackedQuery
from afa.model.arc import TIMEOUT
from afa.model.conflicts import QUERY, TEMPORAL
from afa.model.reach import check_whole
from afa.schema import Schema
from punctuation.sources import BoundedDisorder

OPTIONS = (
    "key",
    "window",
    "order_by",
    "tick",
    "id",
    "on_repeat",
    "version",
    "remember",
    "longest",
    "members",
    "collapse",
    "having",
    "threads",
    "speculation",
)
"""What of a job its operator is told."""
WAITS = "what waits for a promise would wait for ever without one"


def run(job: CommandRequest) -> None:
    """Carry out ``afa run``. A `CommandError` is the one line that says what is wrong."""
    job.check()
    if job.speculation is not None and job.lateness is None:
        raise CommandError(f"--speculation needs --lateness because {WAITS}")
    given = given_pattern(job.pattern)
    if given is not None and not given.traits and job.arcs is None:  # an automaton, to which no arcs may come
        try:
            check_whole(given.automaton)
        except AutomatonError as error:
            raise CommandError(f"{job.pattern}: {error}") from error
    check_output(job.output, None, reads(job), job.force)
    if job.arcs is not None and comes_once(job.file):  # its first row may be late: the arc log is there before it
        make_log(job.arcs, given, job.tick)
    with served(job.metrics) as metrics:
        made = PatternRun.of(job, given, opened(job))
        check_threads(made)
        explained = job.reasons or job.report is not None
        operator = made.operator(*OPTIONS, own_arcs=explained or job.arcs is not None, **({"lineage": True} if explained else {}))
        _run(made, explaining(operator, job), metrics)


def check_threads(made: PatternRun) -> None:
    """Refuse threads without keys; readings are shared out by time."""
    job = made.job
    if job.threads > 1 and not job.keys and TEMPORAL not in made.pattern.traits:
        raise CommandError(f"expected a key, as threads share out its values, but got --threads {job.threads} without one")


def _run(made: PatternRun, operator: Any, metrics: RunMetrics | None) -> None:
    job, _, source = made
    stacked = isinstance(made.pattern, StackedQuery)  # of which nothing is advised
    advice = Advice(made.pattern) if QUERY in made.pattern.traits and not stacked else None
    batches_in = Input(job, source, made.events, advice)
    shown = made.pattern.shown if job.collapse is None else operator._core.shown
    with Screen(job, source.total) as screen:
        summary = _drive(operator, shown, job, batches_in, source, screen, metrics)
        if not (job.quiet or stacked) and any(arc.kind == TIMEOUT for arc in made.automaton.arcs):
            summary.open = still_open(operator)
        screen.finish(summary)
    tell_faults(source, job)
    why = ""
    if not (summary.inserted or stacked) and not job.id and not (job.quiet and job.report is None):
        again = Input(job, opened(job._replace(late="drop")), made.events) if source.again else [batches_in.first]
        why = why_none(operator, again, job)
    write_report(operator, job, why)
    if advice is not None:
        advice.finish()
    if why and not job.quiet:
        tell(f"no match: {why}", "no match", "info")


def _drive(
    operator: Any,
    shown: Schema,
    job: CommandRequest,
    batches_in: Input,
    source: FileSource,
    screen: Screen,
    metrics: RunMetrics | None,
) -> Summary:
    """Push all batches, each with the promise that it earns; at the end what `--end` promises."""
    tables = iter(batches_in)
    table = next(tables)
    summary = Summary(keyed=bool(job.keys), rated=not isinstance(operator, Reasons), batch=job.batch)
    if metrics is not None:
        metrics.watch(operator, lambda: summary.events, lambda: batches_in.latest, batches_in.times, source)
    follow = None if job.arcs is None else Follow(job.arcs, operator.automaton, job.tick, f"afa run {job.pattern} {job.file}")
    links = getattr(operator, "links", (operator,))
    out = OutputTable(links[-1], shown, job.keys, table, batches_in.times, job.reasons)
    if isinstance(operator, Reasons) and batches_in.times is not None:  # whose sentences tell times where the input has some
        operator.tell_times(getattr(batches_in.times.times.type, "tz", None))
    each = (job.reasons or job.report is not None) and job.batch is None  # reasons are told of each row as it came
    shape = shape_of(job, out.schema)
    with writing(job.output, shape(out.schema.empty_table()).schema) as write:

        def push(*items: Any) -> None:
            batch = [out.none, *items]
            if follow is not None:
                batch.insert(1, follow.poll())
            for part in said(lambda: operator.push_many(batch, net=not each), batches_in.end):
                if not isinstance(part, Punctuation):
                    found = out.in_schema(part)
                    summary.count(out.les(found), found["diff"].to_numpy(), batches_in.latest)
                    screen.show(found, summary)
                    write(shape(found))
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
    summary.finish(links[0].statistics, batches_in.end)
    return summary


def still_open(operator: Any) -> int | str:
    """Return how many matches open time-outs would bring."""
    try:
        found: int = operator.open_timeouts
    except ClosureError:
        return "no end"
    return found


def said(call: Callable[[], Any], end: int) -> Any:
    """Turn errors of an operator into one line, those of the user's functions too. ``end``: the promise at the input's end."""
    try:
        return call()
    except LateEventError as error:
        text = one_line(error).replace(f"before {end} (promised)", "in the input")
        hint = (
            "--late drop drops it"
            if "in the input" in text or text.startswith("expected one ")
            else "a larger --lateness takes it, --late drop drops it"
        )
        raise CommandError(f"{text}; {hint}") from error
    except AfaError:
        raise
    except Exception as error:
        raise CommandError(one_line(error)) from error


def explaining(operator: Any, job: CommandRequest) -> Any:
    """Return the operator, with the stage around it where reasons are asked."""
    if not job.reasons and job.report is None:
        return operator
    if job.report is None:
        return Reasons(operator)
    check_output(job.report, "html", reads(job), job.force)
    folder = os.path.dirname(job.report)
    if folder and not os.path.isdir(folder):
        raise CommandError(f"can't write {job.report}: there is no folder {folder}")
    return Trace(operator)


def write_report(operator: Any, job: CommandRequest, why: str = "") -> None:
    """Write the page of a run; ``why``: why nothing has matched."""
    if job.report is None:
        return
    with writable(job.report):
        write_text(job.report, operator.html(title=f"{job.pattern} {job.file}", why=why))
    if not job.quiet:
        tell(f"{job.report} shows the run: open it in a browser", "report", "info", file=job.report)
