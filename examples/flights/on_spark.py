"""The job on Spark: files that arrive hour by hour, one operator per aircraft, the swap through the arc log, changes in Parquet.

WORK/arrived     the hours, as `examples.flights.files` writes them: those of the next batch when a batch is done
WORK/arcs        the arc log, empty until the swap
WORK/checkpoint  the state
WORK/changes     the changes of each batch, ``batch=N``; a batch that is run again is written again
WORK/spark.log   what Spark says
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

import afa.spark
from examples.flights import files
from examples.flights.files import MINUTE, Airport
from examples.flights.job import COLUMNS, Run, Sample, quarter
from examples.flights.pattern import AFTER, BEFORE, pattern
from examples.flights.stream import Stream

LATENESS = "36 hours"  # announced 12 hours ahead, and at most 22 hours late: no message is farther behind the latest one
FOLDERS = ("arrived", "arcs", "checkpoint", "changes")
SMALL = {
    # A batch of a week is small: one task, and a Java that compiles quickly rather than well.
    "spark__sql__shuffle__partitions": 1,
    # More files than this, and Spark looks at them in a job of its own, a task for each.
    "spark__sql__sources__parallelPartitionDiscovery__threshold": 10_000,
    "spark__driver__extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m",
}


@contextmanager
def session(log: Path) -> Iterator[SparkSession]:
    """A Spark of this process that says nothing on the terminal."""
    spark = afa.spark.local_session(log=log, **SMALL)
    try:
        yield spark
    finally:
        spark.stop()


def feed(
    spark: SparkSession, stream: Stream, work: Path, hours: int, progress: Callable[[Sample], None] = lambda sample: None
) -> Run:
    """Run the whole stream.

    Parameters
    ----------
    spark : SparkSession
    stream : Stream
    work : Path
        A folder; what an earlier run has left in it is thrown away.
    hours : int
        Of arrivals, that are one batch.
    progress : callable
        Called after each batch.
    """
    arrived, arcs, checkpoint, changes = files.emptied(work, FOLDERS)
    query = pattern(BEFORE, "us")  # times are microseconds on Spark
    log = afa.spark.arc_log(arcs, query.automaton)
    job = Job(Airport(stream, arrived, hours), log, changes, progress, lambda: stored(spark, checkpoint))
    events = spark.readStream.schema(files.COLUMNS).option("maxFilesPerTrigger", hours).parquet(str(arrived))
    found = events.transform(
        afa.spark.match(
            query,
            time="at",
            diff="diff",
            arcs=log.read(spark),
            lateness=LATENESS,
            buckets=2,
        )
    )
    job.prepare(0)
    running = found.writeStream.foreachBatch(job.batch).option("checkpointLocation", str(checkpoint)).start()
    try:
        running.processAllAvailable()  # each batch brings the next one's files: until the last hour
    finally:
        running.stop()
    return job.result()


class Job:
    """What happens around each batch."""

    def __init__(
        self, airport: Airport, log: afa.spark.arc_log, changes: Path, progress: Callable[[Sample], None], stored: Callable[[], int]
    ) -> None:
        self._airport = airport
        self._stored = stored
        self._log = log
        self._changes = changes
        self._progress = progress
        self._samples: list[Sample] = []
        self._matches = 0
        self._swapped: int | None = None

    def prepare(self, batch: int) -> None:
        """Let the hours of a batch arrive; if the swap is among them, write it to the arc log of the running job."""
        if self._airport.swaps(batch) and self._swapped is None:
            self._swapped = self._airport.unheard
            for change in pattern(BEFORE, "us").changes_to(pattern(AFTER, "us")).arcs:
                at = self._swapped * MINUTE
                if change.diff < 0:
                    self._log.retract(change.payload.name, at=at)
                else:
                    self._log.insert(change.payload, at=at)
        self._airport.arrive(batch)

    def batch(self, changes: DataFrame, number: int) -> None:
        """Write the changes of a batch."""
        end = self._airport.end(number)
        folder = self._changes / f"batch={number:05d}"
        arrived = F.timestamp_seconds(F.lit(end * 60)).alias("arrived")
        changes.select("*", arrived).write.mode("overwrite").parquet(str(folder))
        self._matches += sum(diff or 0 for diff in parquet.read_table(folder)["diff"].to_pylist())
        if number < self._airport.batches:
            sample = Sample(end, self._airport.sent(number), self._matches)
            if number and quarter(end) != quarter(self._airport.end(number + 1)):
                sample = sample._replace(stored=self._stored())  # as the batch before has left it
            self._samples.append(sample)
            self._progress(sample)
        self.prepare(number + 1)

    def result(self) -> Run:
        """What the run leaves behind."""
        table = parquet.read_table(self._changes)
        kind = table["kind"]
        refused = table.filter(pc.not_equal(kind, "match"))
        table = table.filter(pc.equal(kind, "match"))
        for name in ("le", "re", "arrived"):
            minutes = pc.divide(table[name].cast(pa.timestamp("us")).cast(pa.int64()), MINUTE)
            table = table.set_column(table.column_names.index(name), name, minutes)
        changes = table.select(COLUMNS.names).cast(COLUMNS)
        refusals = list(zip(refused["kind"].to_pylist(), refused["reason"].to_pylist()))
        return Run(changes, self._samples, self._samples[-1]._replace(stored=self._stored()), self._swapped, refusals)


def stored(spark: SparkSession, checkpoint: Path) -> int:
    """Bytes of the operators' states in the state store."""
    head = spark.read.format("statestore").option("stateVarName", "head").load(str(checkpoint))
    found = head.agg(F.sum(F.col("value.whole") + F.col("value.since"))).first()
    return int(found[0] or 0) if found else 0
