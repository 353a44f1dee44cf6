"""Carry out ``afa serve``: play an input through an operator, and show it on the live page, from which it can be steered."""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import typer

from afa.arclog.about import put_about
from afa.arclog.arc_log import ArcLog
from afa.cli.batches_in import Input
from afa.cli.fault import one_line, tell
from afa.cli.follow import automaton_of, make_folder, make_log
from afa.cli.load import is_query, is_set
from afa.cli.opened_input import opened, tell_faults
from afa.cli.output_table import OutputTable
from afa.cli.pattern_run import PatternRun, given_pattern
from afa.cli.request import WAITS, CommandRequest
from afa.cli.rule_output import RuleOutput
from afa.cli.run import OPTIONS
from afa.cli.run_metrics import RunMetrics
from afa.cli.screen import time_text
from afa.errors import AfaError
from afa.extra.live.board import Board
from afa.extra.live.live_operator import LiveOperator
from afa.extra.live.live_rules import LiveRules
from afa.extra.live.pace import Pace
from afa.extra.live.picture import Picture, Pictures
from afa.extra.live.site import Site, Watched
from afa.extra.live.steering import Steering
from afa.extra.live.trials import Trials
from afa.io.column_texts import in_text, iso_texts
from afa.io.files import comes_once, form_of
from afa.io.table_times import TimeType, as_times, leaving
from afa.io.text_files import in_one_line
from afa.language.query_text import text_of
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY
from afa.operator.options import Options
from afa.rules.rule_lines import RULE
from afa.rules.rule_log import RuleLog
from afa.rules.rules import Rules
from punctuation.sources import BoundedDisorder
from punctuation.time import BEGINNING
from speculation.cleanse import Cleanse

LiveJob = LiveOperator | LiveRules


class WaitingJob:
    """A job that waits for its first rows, which say what its columns are; `begin` puts the running job in its place.

    ``told`` is what the page says of the job: title, where, log; ``automaton`` what it runs, if that is known before its columns.
    """

    def __init__(self, told: dict[str, Any], automaton: Automaton | None = None, tick: str | None = None) -> None:
        self.board = Board()
        self.board.status = "waiting"
        self._told, self._job = told, None  # type: dict[str, Any], Watched | None
        self._picture = Picture("", "", [])
        if automaton is not None:
            self._picture = Pictures(automaton, tick).of(ArcTable.of(automaton.arcs).events, BEGINNING)._replace(version="waiting")

    def begin(self, job: Watched) -> None:
        """Show a job that runs from now on, on the same board."""
        job.board, self._job = self.board, job

    def about(self) -> dict[str, Any]:
        if self._job is not None:
            return self._job.about()
        none: dict[str, Any] = {"query": None, "controls": [], "at": None, "unit": "ticks", "sigma": None, "speed": None}
        return {
            **none,
            **self._told,
            "hints": {"changes": "possible once the first rows have come; afa arcs writes them before, too"},
        }

    def picture(self) -> Picture:
        return self._picture if self._job is None else self._job.picture()

    def change(self, data: dict[str, Any]) -> str | dict[str, Any]:
        if self._job is None:
            raise AfaError(f"expected a job that has begun but got do={data.get('do')!r} before its first rows have come")
        return self._job.change(data)


WHY = "the page steers by arcs, and its arcs follow from where=; afa run takes it"
EVERY = 0.5
"""So many seconds lie between two looks at the arc log, and at what is held."""
PAUSE = 0.03
"""So many seconds the loop waits where no row may go yet."""
NO_SIGMA = f"there is one with --lateness: {WAITS}"


class PageOptions(NamedTuple):
    """How the page is served, and how fast the input plays."""

    host: str = "127.0.0.1"
    port: int = 0
    speed: str = "max"
    follow: bool = False
    browse: bool = False


def serve(job: CommandRequest, how: PageOptions) -> None:
    """Carry out ``afa serve``, until it is interrupted. A `CommandError` is the one line that says what is wrong."""
    job.check()
    rules = is_set(job.pattern)
    with _folder(job.rules if rules else job.arcs) as folder, _ended_by_signals(), contextlib.ExitStack() as stack:
        try:
            given = given_pattern(job.pattern, WHY)
            known = automaton_of(given)
            told = {"title": Path(job.pattern).name, "where": job.file, "log": str(Path(folder).resolve())}
            page = WaitingJob(told, known, job.tick)
            metrics = RunMetrics(lambda: page.board.status)
            if comes := how.follow or comes_once(job.file):  # its first row may be late: the page is there before it, and the log
                form_of(job.file, job.form, how.follow)
                if how.follow:
                    with in_one_line(job.file):
                        Path(job.file).stat()
                Pace(how.speed, job.tick or "ms")
                if rules:
                    make_folder(folder, RULE)
                else:
                    make_log(folder, given, job.tick)
                stack.enter_context(_shown(page, job, how, metrics))
            made = PatternRun.of(job, given, opened(job, how.follow), "serve")
            operator = made.operator(*(name for name in OPTIONS if name != "speculation"), own_arcs=True)  # arcs may come with sums
            pace = Pace(how.speed, made.job.tick)
        except KeyboardInterrupt:
            return
        failed = _serve(made, operator, pace, folder, how, page, stack if not comes else None, metrics)
    if failed:
        raise typer.Exit(1)


@contextlib.contextmanager
def _shown(page: WaitingJob, job: CommandRequest, how: PageOptions, metrics: RunMetrics) -> Iterator[None]:
    with Site(page, host=how.host, port=how.port, metrics=metrics) as site:
        typer.echo(f"{site.url}\n(the live page of {job.pattern}; its address holds the token that allows changes; Ctrl-C ends it)")
        if how.browse:
            webbrowser.open(site.url)
        yield


def _serve(
    made: PatternRun,
    operator: Any,
    pace: Pace,
    folder: str,
    how: PageOptions,
    page: WaitingJob,
    stack: contextlib.ExitStack | None,
    metrics: RunMetrics,
) -> bool:
    """Play the input; ``stack``: where the page is to be served from then on, if it is not yet."""
    job, done = made.job, threading.Event()
    batches_in = Input(job, made.source, made.events)
    tables = iter(batches_in)
    try:
        first = next(tables)
        live: LiveJob = (_live_rules if is_set(job.pattern) else _live)(made, operator, batches_in, first, pace, folder)
        page.begin(live)
        metrics.watch(operator, lambda: live.rows, lambda: live.newest, batches_in.times, made.source)
        live.poll()  # what no call can do is said before there is a page
        if stack is not None:
            stack.enter_context(_shown(page, job, how, metrics))
        looks = threading.Thread(target=_look, args=(live, done), daemon=True)
        looks.start()
        try:
            return _play(live, first, tables, pace, job, metrics)
        finally:
            done.set()
            looks.join(5)
            tell_faults(made.source, job)
            text = f"ended; {live.rows:,} events, {live.matches:,} matches, {live.withdrawn:,} withdrawn"
            tell(text, "summary", "info", events=live.rows, matches_inserted=live.matches, matches_withdrawn=live.withdrawn)
    except KeyboardInterrupt:
        return False


def _play(live: LiveJob, table: Any, tables: Iterator[pa.Table], pace: Pace, job: CommandRequest, metrics: RunMetrics) -> bool:
    """Push the input at its speed, then wait; return, once it is interrupted, whether something is wrong."""
    promises = None if job.lateness is None else BoundedDisorder(int(job.lateness), kinds=False)
    live.board.status, failed = "playing", False
    try:
        try:
            largest = np.iinfo(np.int64).min
            while table is not None:
                latest = np.maximum(np.maximum.accumulate(table["le"].to_numpy()), largest)
                at = 0
                while at < len(table):
                    n = pace.ready(latest[at:])
                    if n:
                        part = table.slice(at, n)
                        _push(live, [part] if promises is None else promises.push_many(part), n, pace, metrics)
                        at += n
                    if pace.text != "max" or not n:
                        time.sleep(PAUSE)
                largest = int(latest[-1]) if len(latest) else largest
                table = next(tables, None)
            live.board.note("note", "The input has ended; what is held stays, and changes that begin in the past still act.")
        except AfaError as error:  # of the input: there is no more of it
            failed = True
            _tell_fault(live, error, metrics)
        live.board.status = "ended"
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return failed or live.board.status == "failed"


def _push(live: LiveJob, items: list[Any], rows: int, pace: Pace, metrics: RunMetrics) -> None:
    """Push rows. Where a function raises, or a row is late, nothing of them is taken: hold the input until it may go on."""
    while True:
        try:
            live.push(items, rows)
            return
        except Exception as error:
            pace.text, live.board.status = "pause", "failed"
            _tell_fault(live, error, metrics)
        while pace.paused:
            time.sleep(PAUSE)


def _tell_fault(live: LiveJob, error: Exception, metrics: RunMetrics) -> None:
    metrics.faults += 1
    live.board.note("fault", one_line(error))
    tell(one_line(error), "fault", "error")


def _look(live: LiveJob, done: threading.Event) -> None:
    """Look at the arc log and at what is held, until it is over."""
    told = None
    while not done.wait(EVERY):
        try:
            live.poll()
        except Exception as error:  # of the folder, or of a function that another process has written there
            if one_line(error) != told:
                live.board.note("fault", one_line(error))
            told = one_line(error)


def _live(made: PatternRun, operator: Any, batches_in: Input, first: pa.Table, pace: Pace, folder: str) -> LiveOperator:
    job, shown = made.job, made.pattern.shown
    out, times = OutputTable(operator, shown, job.keys, first, None), batches_in.times
    leave = leaving(times, "arrow", shown, operator._core.automaton.event_schema, job.keys)

    def texts(part: Any) -> list[dict[str, Any]]:
        return _rows(as_times(out.in_schema(part), leave))

    stage, hints = None, {}
    log = ArcLog(folder, made.automaton, tick=job.tick, job=f"afa serve {job.pattern} {job.file}")
    if job.lateness is None:
        hints["sigma"] = NO_SIGMA
    else:
        stage = Cleanse(job.speculation, tick=job.tick)
        operator = stage.after(operator)
    put_about(log.path, made.automaton, job.tick)
    query: Any = made.pattern if QUERY in made.pattern.traits else None
    text = Path(job.pattern).read_text(encoding="utf-8") if is_query(job.pattern) else None if query is None else text_of(query)
    if text is not None and job.id:
        hints["try"] = "rows that name their event by an id are not held for trials"
    return LiveOperator(
        operator,
        Steering(log, query, text),
        texts,
        out.none,
        stage=stage,
        pace=pace,
        trials=None if text is None or job.id else Trials(Options(longest=job.longest)),
        tick=job.tick,
        times=_instants(times),
        told={"title": Path(job.pattern).name, "where": job.file, "hints": hints},
    )


def _live_rules(made: PatternRun, operator: Any, batches_in: Input, first: pa.Table, pace: Pace, folder: str) -> LiveRules:
    job, times = made.job, batches_in.times
    assert isinstance(made.pattern, Rules)
    form = RuleOutput(operator, made.pattern, first, times, fixed=False)
    log = RuleLog(folder, made.pattern, operator, tick=job.tick, job=f"afa serve {job.pattern} {job.file}")
    told = {"title": Path(job.pattern).name, "where": job.file, "hints": {}}
    return LiveRules(
        operator, log, form, lambda part: _rows(part, union=True), pace=pace, tick=job.tick, times=_instants(times), told=told
    )


def _rows(part: pa.Table, union: bool = False) -> list[dict[str, Any]]:
    """Return changes as rows to show; ``union``: without the columns that are other rules'."""
    rows = in_text(part).to_pylist()
    ends = [{"le": time_text(row.pop("le")), "re": time_text(row.pop("re")), "diff": row.pop("diff")} for row in rows]
    payloads = [{name: value for name, value in row.items() if value is not None} if union else row for row in rows]
    return [{**each, "payload": payload} for payload, each in zip(payloads, ends)]


def _instants(times: TimeType | None) -> Callable[[int], str]:
    """Return what makes an instant a text as the input has its times."""
    return lambda ticks: str(ticks) if times is None else str(iso_texts(times.column([ticks], "le"))[0])


@contextlib.contextmanager
def _folder(arcs: str | None) -> Iterator[str]:
    """Yield the folder of the arc log; where none was named, one that is removed again."""
    if arcs is not None:
        yield arcs
        return
    made = tempfile.mkdtemp(prefix="afa-arcs-")
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the job as Ctrl-C does."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    known = signal.getsignal(signal.SIGTERM)
    here = threading.current_thread() is threading.main_thread()
    if here:
        signal.signal(signal.SIGTERM, interrupted)
    try:
        yield
    finally:
        if here:
            signal.signal(signal.SIGTERM, known)
