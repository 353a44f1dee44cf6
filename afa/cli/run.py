"""Carry out ``afa run``: read batches, push them with the promises between them, write the changes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import Any

from afa import Punctuation
from afa.cli.advice import Advice
from afa.cli.batches_in import Input
from afa.cli.fault import CommandError, tell
from afa.cli.follow import Follow, RuleFollow, make_folder, make_log
from afa.cli.metrics_server import served
from afa.cli.opened_input import opened, tell_faults
from afa.cli.pattern_run import PatternRun, given_pattern
from afa.cli.request import CommandRequest
from afa.cli.rule_output import RuleOutput
from afa.cli.run_loop import RunLoop
from afa.cli.run_metrics import RunMetrics
from afa.cli.screen import Screen, Summary
from afa.cli.why import why_none
from afa.cli.write import check_output, reads, writing
from afa.errors import AutomatonError
from afa.explain.reasons import Reasons
from afa.explain.tracing.recorder import Trace
from afa.io.file_writing import writable
from afa.io.files import comes_once
from afa.io.whole_file import write_text
from afa.language.stacked_query import StackedQuery
from afa.model.conflicts import QUERY, TEMPORAL
from afa.model.reach import check_whole
from afa.rules.rule_lines import RULE
from afa.rules.rules import Rules

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


def run(job: CommandRequest) -> None:
    """Carry out ``afa run``. A `CommandError` is the one line that says what is wrong."""
    job.check()
    given = given_pattern(job.pattern)
    if given is not None and not given.traits and job.arcs is None:  # an automaton, to which no arcs may come
        try:
            check_whole(given.automaton)
        except AutomatonError as error:
            raise CommandError(f"{job.pattern}: {error}") from error
    check_output(job.output, None, reads(job), job.force)
    if comes_once(job.file):  # its first row may be late: the log is there before it
        if job.arcs is not None:
            make_log(job.arcs, given, job.tick)
        if job.rules is not None:
            make_folder(job.rules, RULE)
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
    is_set = isinstance(made.pattern, Rules)
    with Screen(job, batches_in.total, is_set) as screen:
        tables = iter(batches_in)
        first = next(tables)
        summary = Summary(keyed=bool(job.keys), rated=not isinstance(operator, Reasons), batch=job.batch)
        if metrics is not None:
            metrics.watch(operator, lambda: summary.events, lambda: batches_in.latest, batches_in.times, source)
        loop = RunLoop(made, operator, batches_in, first, summary, screen)
        if isinstance(operator, Reasons) and batches_in.times is not None:  # whose sentences tell times where the input has some
            operator.tell_times(getattr(batches_in.times.times.type, "tz", None))
        _drive(loop, made, itertools.chain([first], tables), batches_in)
        loop.finish()
    tell_faults(source, job)
    why = ""
    if not (summary.inserted or stacked or is_set) and not job.id and not (job.quiet and job.report is None):
        again = Input(job, opened(job._replace(late="drop")), made.events) if source.again else [batches_in.first]
        why = why_none(operator, again, job)
    write_report(operator, job, why)
    if advice is not None:
        advice.finish()
    if why and not job.quiet:
        tell(f"no match: {why}", "no match", "info")


def _drive(loop: RunLoop, made: PatternRun, tables: Iterable[Any], batches_in: Input) -> None:
    """Push all batches; at the end what `--end` promises."""
    job = made.job
    if job.arcs is not None:
        loop.follow = Follow(job.arcs, loop.operator.automaton, job.tick, f"afa run {job.pattern} {job.file}")
    if job.rules is not None and isinstance(made.pattern, Rules) and isinstance(loop.form, RuleOutput):
        name = f"afa run {job.pattern} {job.file}"
        loop.rules = RuleFollow(job.rules, made.pattern, loop.operator, loop.form, made.job.tick, name)
    with writing(job.output, loop.schema) as loop.write:
        for table in tables:
            loop.take(table)
        loop.summary.look(loop.operator)
        loop.push(Punctuation(batches_in.end))
        for log in (loop.follow, loop.rules):
            if log is not None:
                log.finish()


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
