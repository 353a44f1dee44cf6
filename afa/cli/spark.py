"""``afa run --engine spark``: the same rows through Structured Streaming, in local mode.

The input is read, typed and turned into ticks as without Spark; each batch becomes a Parquet file, and a batch of the query. Keys
go as numbers, so that they may be of any type.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from afa.cli.clock import NEVER, Clock
from afa.cli.fault import CommandError, one_line
from afa.cli.numbered import Numbered
from afa.cli.request import Job
from afa.errors import AfaError
from afa.model.arc import TIMEOUT
from afa.model.automaton import Automaton

TIME, UNTIL, KEY = "afa_time", "afa_until", "afa_key"
"""Columns of ours among the user's."""
CLOSING = -1
"""The key of the row that closes the input; those of events are numbered from 0."""
Take = Callable[[pa.Table], None]


def check() -> None:
    """Say how to get Spark where it is not.

    Raises
    ------
    CommandError
    """
    if importlib.util.find_spec("pyspark") is None:
        raise CommandError('expected PySpark but got none: pip install "afa[spark]", or take --engine local')


class Feed:
    """Batches into a folder, changes out of a query: one at a time.

    Parameters
    ----------
    job : Job
    clock : Clock
    waits : bool
        Whether something may fire at the input's end: then a row closes it.
    tables : iterator of pyarrow.Table
        In the operator's form.
    schema : pyarrow.Schema
        Of the changes.
    take, took : callable
        Called with the changes of a batch, and with the number of its rows and of late ones.
    folder : Path
    """

    def __init__(
        self,
        job: Job,
        clock: Clock,
        waits: bool,
        tables: Iterator[pa.Table],
        schema: pa.Schema,
        take: Take,
        took: Callable[[int, int], None],
        folder: Path,
    ) -> None:
        self._job, self._clock, self._waits = job, clock, waits
        self._tables, self._schema = tables, schema
        self._take, self._took = take, took
        self._folder = folder
        self._keys = Numbered(len(job.keys))
        self._n = self._rows = 0
        self._closing: pa.Table | None = None
        self.error: BaseException | None = None

    def put(self) -> None:
        """Write the next batch that has rows, or the row that closes the input, if there is one."""
        table = next((table for table in self._tables if len(table)), None)
        if table is not None:
            self._rows = len(table)
            staged = self._staged(table)
            self._closing = self._closed(staged) if self._waits else None
        else:
            self._rows, staged, self._closing = 0, self._closing, None
        if staged is None:
            return
        self._n += 1
        hidden = self._folder / f".{self._n}"
        pa.parquet.write_table(staged, hidden)
        hidden.replace(self._folder / f"{self._n:09d}.parquet")

    def batch(self, changes: Any, number: int) -> None:
        """Hand over the changes of a batch; an exception is kept, for Spark would make it unreadable."""
        try:
            self._batch(changes.toArrow())
        except BaseException as error:
            self.error = error
            raise

    def _batch(self, changes: pa.Table) -> None:
        kinds = changes["kind"]
        for fault in changes.filter(pc.equal(kinds, "fault")).to_pylist():
            if fault[KEY] != CLOSING:
                raise CommandError(fault["reason"])
        late = changes.filter(pc.equal(kinds, "late"))
        if len(late) and self._job.late == "raise":
            row = late.slice(0, 1).to_pylist()[0]
            hint = "a larger --lateness takes it, --late drop drops it"
            raise CommandError(f"late: le={self._clock.ticks(late['le'])[0].as_py()}, {row['reason']}; {hint}")
        found = self._changes(changes.filter(pc.equal(kinds, "match")))
        if len(found):
            self._take(found)
        self._took(self._rows, len(late))
        self.put()

    def _staged(self, table: pa.Table) -> pa.Table:
        """A batch as Spark reads it: times as timestamps, the key as a number."""
        columns = {name: table[name] for name in table.column_names if name not in ("le", "re")}
        columns[TIME] = self._clock.moments(table["le"], self._job.window or 0)
        if "re" in table.column_names:
            columns[UNTIL] = self._clock.moments(table["re"])
        columns.setdefault("diff", pa.array([1] * len(table), pa.int64()))
        for name in self._job.keys:
            if table[name].null_count:
                raise CommandError(f"expected a key in each row with --engine spark but got none in column {name!r}")
        columns[KEY] = self._keys.of([table[name] for name in self._job.keys], len(table))
        return pa.table(columns)

    def _closed(self, staged: pa.Table) -> pa.Table:
        """The row that closes the input: it moves the watermark, and is no event, for its ``diff`` is 0. By its key it is known."""
        row = staged.slice(0, 1)
        row = row.set_column(row.column_names.index(TIME), TIME, self._clock.beyond)
        row = row.set_column(row.column_names.index(KEY), KEY, pa.array([CLOSING], pa.int64()))
        return row.set_column(row.column_names.index("diff"), "diff", pa.array([0], pa.int64()))

    def _changes(self, changes: pa.Table) -> pa.Table:
        """Changes as without Spark: times in ticks, keys as they were."""
        keys = dict(zip(self._job.keys, self._keys.values(changes[KEY])))
        columns = []
        for field in self._schema:
            if field.name in ("le", "re"):
                columns.append(self._clock.ticks(changes[field.name]))
            else:
                columns.append((keys[field.name] if field.name in keys else changes[field.name]).cast(field.type))
        return pa.table(columns, self._schema)


def drive(
    automaton: Automaton,
    job: Job,
    first: pa.Table,
    tables: Iterator[pa.Table],
    schema: pa.Schema,
    take: Take,
    took: Callable[[int, int], None],
) -> None:
    """Run the whole input.

    Raises
    ------
    CommandError
        A row can't be taken, or the query fails.
    """
    waits = any(arc.kind == TIMEOUT for arc in automaton.arcs)
    clock = Clock(job.tick, None if waits else pc.min(first["le"]).as_py())
    with tempfile.TemporaryDirectory(prefix="afa-") as name, _session(automaton, job, Path(name)) as spark:
        folder = Path(name, "in")
        folder.mkdir()
        feed = Feed(job, clock, waits, _chained(first, tables), schema, take, took, folder)
        feed.put()
        if not any(folder.iterdir()):
            return
        try:
            query = _query(spark, automaton, job, clock, feed, folder)
            try:
                query.processAllAvailable()  # each batch brings the next
            finally:
                query.stop()
        except Exception as error:
            if feed.error is not None:
                raise feed.error from None
            if isinstance(error, AfaError):
                raise
            raise CommandError(one_line(error)[:500]) from error


def _chained(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from rest


def _query(spark: Any, automaton: Automaton, job: Job, clock: Clock, feed: Feed, folder: Path) -> Any:
    from afa.spark import match

    events = spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))
    pattern = match(
        automaton,
        key=KEY,
        time=TIME,
        window=None if job.window is None else f"{job.window * clock.scale} microseconds",
        until=UNTIL if UNTIL in events.columns else None,
        diff="diff",
        sequence=job.sequence,
        lateness=NEVER if job.lateness is None else f"{-(-job.lateness * clock.scale // 1000)} milliseconds",
        buckets=_parts(job),
    )
    with _quiet():
        changes = events.transform(pattern)
    writer = changes.writeStream.foreachBatch(feed.batch)
    return writer.option("checkpointLocation", str(folder.parent / "checkpoint")).start()


def _parts(job: Job) -> int:
    return min(os.cpu_count() or 1, 8) if job.keys else 1


@contextmanager
def _quiet() -> Iterator[None]:
    """No advice for whoever writes a job: here the session and the checkpoint are ours."""
    log = logging.getLogger("afa.spark")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


@contextmanager
def _session(automaton: Automaton, job: Job, folder: Path) -> Iterator[Any]:
    """The Spark that is there, or one for this run."""
    from pyspark.sql import SparkSession

    from afa.spark import local_session

    known = SparkSession.getActiveSession()
    spark = known or local_session(log=folder / "spark.log", spark__sql__shuffle__partitions=_parts(job))
    kept = _unlisted(automaton)
    try:
        yield spark
    finally:
        sys.modules.update(kept)
        if known is None:
            spark.stop()


def _unlisted(automaton: Automaton) -> dict[str, Any]:
    """Take the pattern's file out of the list of modules, so that its classes go to the workers whole: they can't import it."""
    assert automaton.event_schema is not None
    names = {automaton.event_schema.cls.__module__, type(automaton.register).__module__}
    return {name: sys.modules.pop(name) for name in names if name.startswith("afa_pattern_") and name in sys.modules}
