"""``afa run --engine spark``: the same rows through Structured Streaming, in local mode.

The input is read, typed and turned into ticks as without Spark; each batch becomes a Parquet file, and a batch of the query. A tick
of seconds or milliseconds is a millisecond there, which is as fine as Spark's watermark, one of microseconds a microsecond: what a
tick is called is of no matter to a pattern without time-outs, and others are refused.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from afa.arc import TIMEOUT
from afa.automaton import Automaton
from afa.cli.fault import CommandError, one_line
from afa.errors import AfaError
from punctuation.time import FOREVER

if TYPE_CHECKING:
    from afa.cli.run import Job

SCALES = {"s": 1000, "ms": 1000, "us": 1}
"""Microseconds that stand for a tick."""
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""Spark's timestamps: years 1 to 9999, in microseconds."""
NEVER = "4000000 days"
"""More than lies between any two timestamps: with it no watermark is ever promised."""
TIME, KEY = "afa_time", "afa_key_"
Take = Callable[[pa.Table], None]


def check(job: Job, automaton: Automaton, targets: list[str]) -> None:
    """Refuse what Spark can't do, in words.

    Raises
    ------
    CommandError
    """
    if importlib.util.find_spec("pyspark") is None:
        raise CommandError('expected PySpark but got none: pip install "afa[spark]", or take --engine local')
    if "re" in targets:
        raise CommandError(
            "expected no ends of lifetimes (a column re, --re) with --engine spark: there all lifetimes are --window"
        )
    if any(arc.kind == TIMEOUT for arc in automaton.arcs):
        raise CommandError("expected no time-out arcs with --engine spark: they fire by the watermark, and an input's end is none")
    if job.tick not in SCALES:
        raise CommandError(
            f"expected --tick {', '.join(SCALES)} with --engine spark but got {job.tick}: Spark's times are microseconds"
        )


class Feed:
    """Batches into a folder, changes out of a query: one at a time.

    Parameters
    ----------
    job : Job
    tables : iterator of pyarrow.Table
        In the operator's form.
    schema : pyarrow.Schema
        Of the changes.
    take, took : callable
        Called with the changes of a batch, and with the number of its rows and of late ones.
    """

    def __init__(
        self, job: Job, tables: Iterator[pa.Table], schema: pa.Schema, take: Take, took: Callable[[int, int], None], folder: Path
    ) -> None:
        self._job = job
        self._tables = tables
        self._schema = schema
        self._take = take
        self._took = took
        self._folder = folder
        self._scale = SCALES[job.tick]
        self._n = self._rows = 0
        self.error: BaseException | None = None

    def put(self) -> None:
        """Write the next batch that has rows, if there is one."""
        self._rows = 0
        table = next((table for table in self._tables if len(table)), None)
        if table is None:
            return
        self._n += 1
        self._rows = len(table)
        hidden = self._folder / f".{self._n}"
        pa.parquet.write_table(self._staged(table), hidden)
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
        for fault in changes.filter(pc.equal(kinds, "fault")).slice(0, 1).to_pylist():
            raise CommandError(fault["reason"])
        late = changes.filter(pc.equal(kinds, "late"))
        if len(late) and self._job.late == "raise":
            row = late.slice(0, 1).to_pylist()[0]
            hint = "a larger --lateness takes it, --late drop drops it"
            raise CommandError(f"late: le={_ticks(late['le'], self._scale)[0].as_py()}, {row['reason']}; {hint}")
        found = self._changes(changes.filter(pc.equal(kinds, "match")))
        if len(found):
            self._take(found)
        self._took(self._rows, len(late))
        self.put()

    def _staged(self, table: pa.Table) -> pa.Table:
        """A batch as Spark reads it: the time as a timestamp, a copy of the key under names of ours."""
        reach = self._job.window or 0
        low, high = pc.min(table["le"]).as_py(), pc.max(table["le"]).as_py()
        if low * self._scale < FIRST or (high + reach) * self._scale > LAST:
            wrong = low if low * self._scale < FIRST else high
            hint = "; --tick us takes larger ones" if self._scale > 1 else ""
            raise CommandError(f"expected times within Spark's years 1 to 9999 but got le={wrong} ({self._job.tick}){hint}")
        times = pc.multiply(table["le"], self._scale).cast(pa.timestamp("us", tz="UTC"))
        staged = table.drop_columns(["le"]).append_column(TIME, times)
        for i, name in enumerate(self._job.keys):
            key = table[name]
            if key.null_count:
                raise CommandError(f"expected a key in each row with --engine spark but got none in column {name!r}")
            if pa.types.is_floating(key.type):
                raise CommandError(f"expected a key of int, bool or str with --engine spark but got {key.type} in column {name!r}")
            staged = staged.append_column(f"{KEY}{i}", key)
        if not self._job.keys:
            staged = staged.append_column(f"{KEY}0", pa.array([0] * len(table), pa.int64()))
        return staged

    def _changes(self, changes: pa.Table) -> pa.Table:
        """Changes as without Spark: times in ticks, keys under their own names."""
        columns = []
        for i, field in enumerate(self._schema):
            if field.name in ("le", "re"):
                columns.append(_ticks(changes[field.name], self._scale))
            else:
                name = f"{KEY}{i}" if i < len(self._job.keys) else field.name
                columns.append(changes[name].cast(field.type))
        return pa.table(columns, self._schema)


def _ticks(times: Any, scale: int) -> Any:
    micros = times.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    return pc.fill_null(pc.divide(micros, scale), FOREVER)  # exact: what went in was a multiple


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
    with tempfile.TemporaryDirectory(prefix="afa-") as name, _session(automaton, Path(name)) as spark:
        folder = Path(name, "in")
        folder.mkdir()
        feed = Feed(job, _chained(first, tables), schema, take, took, folder)
        feed.put()
        if not any(folder.iterdir()):
            return
        try:
            query = _query(spark, automaton, job, feed, folder)
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


def _query(spark: Any, automaton: Automaton, job: Job, feed: Feed, folder: Path) -> Any:
    from afa.spark import match

    scale = SCALES[job.tick]
    events = spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))
    pattern = match(
        automaton,
        key=[f"{KEY}{i}" for i in range(len(job.keys) or 1)],
        time=TIME,
        window=None if job.window is None else f"{job.window * scale} microseconds",
        diff="diff" if "diff" in events.columns else None,
        sequence=job.sequence,
        lateness=NEVER if job.lateness is None else f"{-(-job.lateness * scale // 1000)} milliseconds",
        buckets=_parts() if job.keys else 1,
    )
    writer = events.transform(pattern).writeStream.foreachBatch(feed.batch)
    return writer.option("checkpointLocation", str(folder.parent / "checkpoint")).start()


def _parts() -> int:
    return min(os.cpu_count() or 1, 8)


@contextmanager
def _session(automaton: Automaton, folder: Path) -> Iterator[Any]:
    """The Spark that is there, or one for this run."""
    from pyspark.sql import SparkSession

    from afa.spark import local_session

    known = SparkSession.getActiveSession()
    spark = known or local_session(log=folder / "spark.log", spark__sql__shuffle__partitions=_parts())
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
