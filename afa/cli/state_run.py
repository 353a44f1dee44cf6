"""Carry out ``afa run --state``: snapshot, place in the input and place in the output are one commit; killed anywhere, it goes on.

At the end of INPUT the rest comes, as of any run: the last line, if no newline ends it, and what the last watermark brings. It
stands behind the place of the last commit in the output: where INPUT has grown, a later run cuts it off, and goes on before it. So
after each run that has ended the output is that of one run over all that INPUT has.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from afa import BEGINNING, Punctuation
from afa.cli.fault import CommandError, tell
from afa.cli.load import is_set
from afa.cli.metrics_server import served
from afa.cli.pattern_run import PatternRun, given_pattern
from afa.cli.request import CommandRequest
from afa.cli.run import OPTIONS, check_threads
from afa.cli.run_loop import RunLoop
from afa.cli.run_metrics import RunMetrics
from afa.cli.saved_run import SavedRun
from afa.cli.screen import Screen, Summary
from afa.cli.state_input import BEGIN, StateFiles, StateInput, first_shape
from afa.cli.write import check_output, pattern_files, reads
from afa.errors import AfaError
from afa.io.appended import appended
from afa.io.file_bytes import STREAM
from afa.io.files import comes_once
from afa.io.input_shape import in_hex, type_in_hex
from afa.operator.checkpoint import Checkpoint
from afa.operator.options import DEFAULTS
from afa.rules.rules import Rules
from punctuation.durations import nanoseconds_of

EVERY = "5s"
FREE = {"state", "state_every", "follow", "output", "matches", "quiet", "metrics", "log"}
FREE |= {"batch", "threads", "partial_matches", "max_bytes", "late"}
"""Options that may be others in a later run."""
INTERRUPTED = 130


def run_with_state(job: CommandRequest) -> None:
    """Carry out ``afa run`` with ``--state``."""
    job.check()
    assert job.state is not None
    if job.output == STREAM:
        raise CommandError("--state can't be combined with --output - because what is printed can't be taken back; name a file")
    if job.feed is not None:
        raise CommandError(f"--state can't be combined with --format {job.form} because it does not hold its rows in force")
    if comes_once(job.file):
        raise CommandError(
            f"--state can't be combined with {job.file}, a pipe, whose rows come once; let them go to a file or into files of a "
            f"folder, and say --follow"
        )
    check_apart(job)
    with served(job.metrics) as metrics, stopping() as stop:
        files = StateFiles(job, stop.is_set)
        with Checkpoint(job.state, about(job)) as state:
            saved = None if state.last is None else SavedRun.of(state.last)
            if saved is not None:
                files.check(saved.place)
            if saved is None or not _finished(job, state, saved, files):
                StateRun(job, state, saved, files, stop).run(metrics)


def check_apart(job: CommandRequest) -> None:
    """Refuse an output that would be read, and a state in whose folder there would be other files."""
    assert job.output is not None
    assert job.state is not None
    if not Path(job.output).is_dir():
        check_output(job.output, None, reads(job), True)
    place, read, state = (Path(name).resolve() for name in (job.output, job.file, job.state))
    if state in (place, place.parent, read):
        raise CommandError(f"expected a folder of its own as --state but got {job.state}")
    if read.is_dir() and read in (place, place.parent):
        raise CommandError(f"can't write {job.output}: it is in {job.file}, which is read")


def about(job: CommandRequest) -> dict[str, Any]:
    """Return what another job is known by: the text of the pattern, the options that say what is read and matched."""
    read = [Path(file) for file in pattern_files(job.pattern)]
    texts = [(file.read_bytes(), file.name.encode()) for file in read]
    said = texts[0][0] if not is_set(job.pattern) and texts else repr(texts).encode() if texts else b""
    digest = hashlib.blake2b(said, digest_size=8).hexdigest() if texts else ""
    pattern = f"{Path(job.pattern).name} ({digest})"
    return {"pattern": pattern, **{name: value for name, value in job.said.items() if name not in FREE}}


@contextlib.contextmanager
def stopping() -> Iterator[threading.Event]:
    """Yield what the first Ctrl-C or SIGTERM sets; the second one ends the process as ever."""
    known: dict[int, Any] = {}
    stop = threading.Event()

    def first(*_: Any) -> None:
        stop.set()
        for number, before in known.items():
            signal.signal(number, before)

    if threading.current_thread() is threading.main_thread():
        known.update({number: signal.signal(number, first) for number in (signal.SIGINT, signal.SIGTERM)})
    try:
        yield stop
    finally:
        for number, before in known.items():
            signal.signal(number, before)


def _finished(job: CommandRequest, state: Checkpoint, saved: SavedRun, files: StateFiles) -> bool:
    """Say that all was done before, if it was; let a job go on whose input has grown since, without the end of its output."""
    assert state.last is not None
    if "end" not in state.last.output:
        return False
    if not (job.follow or files.more(saved.place, saved.size)):
        tell(f"finished before: all {saved.counts[0]:,} rows of {job.file} are read, and {job.output} is whole", "finished", "info")
        return True
    state.commit(state.last.snapshot, input=saved._asdict(), output={"place": state.last.output["place"]})
    return False


class StateRun:
    """A run of a job, from its last commit on."""

    def __init__(
        self, job: CommandRequest, state: Checkpoint, saved: SavedRun | None, files: StateFiles, stop: threading.Event
    ) -> None:
        self.state, self.files, self.stop = state, files, stop
        shape = first_shape(files) if saved is None else saved.input_shape
        self.made = PatternRun.of(job, given_pattern(job.pattern), shape.empty(job.file))
        self.job = job = self.made.job
        check_threads(self.made)
        self.summary = Summary(keyed=bool(job.keys), batch=job.batch)
        self.batches = StateInput(job, files, shape, self.made.events, dict(BEGIN if saved is None else saved.place))
        self.tables: Iterator[Any] = iter(self.batches)
        options = {**self.made.options(*OPTIONS), "late": job.on_late}
        if saved is None or state.last is None:
            self.operator = self.made.pattern.operator(**options)
            first = next(table for table in self.tables if table is not None)
            self.tables = itertools.chain([first], self.tables)
            times = None if self.batches.times is None else type_in_hex(self.batches.times.times.type)
            saved = SavedRun(dict(BEGIN), BEGINNING, self.summary.saved, None, list(shape), in_hex(first.schema), times, 0)
        else:
            free = ("late", "partial_matches", "max_bytes")  # as they are said now, also where they are as by default
            again = {name: value for name, value in options.items() if value != DEFAULTS[name] or name in free}
            self.operator = self.made.pattern.restore(state.last.snapshot, **again)
            self.batches.times, self.batches.latest = saved.type_of_times(job.tick or "ms"), saved.latest
            self.batches.first = saved.schema.empty_table()
            self.summary.go_on(saved.counts)
        self.saved = saved
        self.committed, self.unsaved = time.monotonic(), 0  # when; rows since

    def _now(self) -> SavedRun:
        """Return what of the job is neither in the operator's snapshot nor in its output."""
        place, latest = self.files.marked(self.batches.place), self.batches.latest
        return self.saved._replace(place=place, latest=latest, counts=self.summary.saved, promises=self._promises(), size=0)

    def _promises(self) -> str | None:
        return None if self.loop.promises is None else self.loop.promises.snapshot().hex()

    def run(self, metrics: RunMetrics | None) -> None:
        """Carry it out; ``metrics`` tell its numbers."""
        job, last, summary, batches = self.job, self.state.last, self.summary, self.batches
        assert job.output is not None
        if metrics is not None:
            metrics.watch(self.operator, lambda: summary.events, lambda: batches.latest, batches.times)
            metrics.snapshots = summary.snapshots
        with Screen(job, batches.total, isinstance(self.made.pattern, Rules)) as self.screen:
            none = self.saved.schema.empty_table()
            self.loop = RunLoop(self.made, self.operator, batches, none, summary, self.screen, settled=True)
            if self.loop.promises is not None and last is not None:
                self.loop.promises.restore(bytes.fromhex(self.saved.promises or ""))
            self.out = appended(job.output, self.loop.schema, None if last is None else last.output["place"])
            self.loop.write = self.out.write
            try:
                if last is None:  # before the first byte is written, so that the output is known as this job's
                    self._commit(self.saved._replace(promises=self._promises()))
                self._take_all()
            except BaseException:
                if self.state.last is not None:
                    with contextlib.suppress(OSError, AfaError):
                        self.out.cut(self.state.last.output["place"])
                raise
            finally:
                self.out.close()
            self.loop.finish()
        if self.stop.is_set():
            tell(f"stopped behind row {self.summary.events:,}: the same command goes on there", "interrupted", "info")
            raise typer.Exit(0 if job.follow else INTERRUPTED)

    def _take_all(self) -> None:
        for table in self.tables:
            if table is not None and len(table):
                self.loop.take(table)
                self.unsaved += len(table)
            if self.stop.is_set():
                break
            if self._due():
                self._commit(self._now())
        self.summary.look(self.operator)
        self._commit(self._now(), end=not self.stop.is_set())

    def _due(self) -> bool:
        every = self.job.state_every or EVERY
        passed = self.unsaved if isinstance(every, int) else (time.monotonic() - self.committed) * 1e9
        return self.unsaved > 0 and passed >= (every if isinstance(every, int) else nanoseconds_of(every, "--state-every"))

    def _commit(self, at: SavedRun, end: bool = False) -> None:
        """Commit where the job is; ``end``: with what comes at the end of the input, behind it."""
        began = time.monotonic()
        snapshot, place = self.operator.snapshot(), self.out.commit()
        seconds, output = time.monotonic() - began, {"place": place}
        if end:
            at = at._replace(size=0 if self.batches.last is None else self.batches.last.read)
            for table in self.batches.ending():
                self.loop.push(table)
                self.summary.progress(len(table), self.operator)
            self.loop.push(Punctuation(self.batches.end))
            output["end"] = self.out.commit()
        began = time.monotonic()
        self.state.commit(snapshot, input=at._asdict(), output=output)
        self.committed, self.unsaved = time.monotonic(), 0
        seconds += self.committed - began
        self.summary.snapshots.append((len(snapshot), seconds))
        text = f"{self.job.state}: row {self.summary.events:,}, a snapshot of {len(snapshot):,} bytes in {seconds:.3f} s"
        self.screen.note(text, "snapshot", rows=self.summary.events, bytes=len(snapshot), seconds=round(seconds, 6))
