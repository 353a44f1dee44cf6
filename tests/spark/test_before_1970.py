"""Streams with times before 1970, where Spark's watermark begins."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from afa import AfaError, Arc, Automaton, Keyed, Punctuation, SnapshotError, insert, retract
from afa.spark.bucket import Bucket
from afa.spark.job import Job
from punctuation.time import BEGINNING
from tests.spark.buckets import job_of
from tests.spark.streams import SECOND, Signal, signal_lines, signals
from tests.spark.test_stream import Files, read, run
from tests.strategies import Seeded

afa_spark = pytest.importorskip("afa.spark", reason='pyspark is not installed: pip install "afa[spark]"')

START = datetime(1890, 5, 1, tzinfo=timezone.utc)
ZERO = (START - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
SINCE = "1800-01-01"
SCHEMA = "who long, sort int, at timestamp, diff int"


class How(NamedTuple):
    way: str = ""


TURNS = Automaton(
    start="idle",
    final={"up", "silent"},
    event=Signal,
    register=How(),
    arcs=[
        Arc("idle", "half", "sort == 0", "('half',)", name="first"),
        Arc("half", "up", "sort == 1", "('up',)", name="second"),
        Arc.timeout("half", "silent", f"{ZERO + 25 * SECOND}", name="silence"),
    ],
)


def test_nothing_waits_for_ever(spark: Any, tmp_path: Path) -> None:
    """With ``speculation="0 seconds"`` all comes out once, as it is in the end; time-outs fire."""
    stream, events = signals(Seeded("spark/before 1970"), 40, 3), Files(tmp_path / "in")
    op, expected = Keyed(TURNS, key="who", window=8 * SECOND), Counter()  # type: ignore[var-annotated]
    changes = [(retract if diff < 0 else insert)(Signal(sort), ZERO + at * SECOND) for _, sort, at, diff in stream]
    out = [found for row, change in zip(stream, changes) for found in op.push(change, key=row[0])]
    for change in [*out, *op.push(Punctuation(ZERO + 100 * SECOND))]:
        if not isinstance(change, Punctuation):
            expected[change.key, change.payload.way, (change.le - ZERO) // SECOND] += change.diff
    assert {way for _, way, _ in +expected} == {"up", "half"}  # a time-out keeps the register
    for at in range(0, len(stream), 90):
        events.put(signal_lines(stream[at : at + 90], START))
    events.put(signal_lines([(0, 5, 300, 1)], START))
    given: dict[str, Any] = {"key": "who", "time": "at", "window": "8 seconds", "diff": "diff", "lateness": "8 seconds"}
    pattern = afa_spark.match(TURNS, speculation="0 seconds", since=SINCE, metrics=True, buckets=2, **given)
    query = run(read(spark, events, SCHEMA).transform(pattern), tmp_path)
    table = spark.read.parquet(str(tmp_path / "changes"))
    found = table.where("kind <> 'metrics'").selectExpr("who", "way", "unix_micros(le)", "kind", "diff").collect()
    assert {row[-2:] for row in found} == {("match", 1)}
    assert Counter((who, way, (le - ZERO) // SECOND) for who, way, le, _, _ in found) == +expected
    held = [row["held"] for progress in query.recentProgress for row in progress.observedMetrics.values()]
    assert held[-1] == 1
    latest = afa_spark.metrics(table).selectExpr("max(unix_micros(watermark))").collect()[0][0]
    assert latest == ZERO + (300 - 8) * SECOND


def job(**options: Any) -> Job:
    import pyarrow as pa

    settings: dict[str, Any] = {"speculation": "0 seconds", **options}
    return job_of(TURNS, "who", "8 seconds", None, 1, settings.pop("on_fault", "report"), [pa.int64()], **settings)


def rows(job: Job, *seconds: int) -> Any:
    import pyarrow as pa

    n = len(seconds)
    les = [second * SECOND for second in seconds]
    return pa.table({"who": [1] * n, "sort": [0] * n, "le": les, "diff": [1] * n}).select(job.schema.names).cast(job.schema)


def test_rows_that_wait_for_a_watermark_that_may_not_come_are_told() -> None:
    message = r"expected times from 1970 on, where Spark's watermark begins, but got 2 rows before it: .* match\(since=..\)"
    here = job()
    bucket = Bucket(here, 3)
    (fault,) = bucket.run(rows(here, -9, 5, -7), [], BEGINNING).faults
    assert (fault.le, fault.key) == (-9 * SECOND, None)
    with pytest.raises(AfaError, match=message):
        raise AfaError(fault.reason)
    assert bucket.run(rows(here, -9), [], 2 * SECOND).faults == []  # the watermark has come
    with pytest.raises(AfaError, match=message):
        Bucket(job(on_fault="raise"), 0).run(rows(here, -9, -7), [], BEGINNING)
    assert Bucket(job(since=-(10**12)), 0).run(rows(here, -9), [], BEGINNING).faults == []
    assert Bucket(here, 0).run(rows(here, 0), [], BEGINNING).faults == []


def test_the_beginning_of_a_stream_stays() -> None:
    before, now = job(since=-(10**12)), job()
    bucket = Bucket(before, 0)
    bucket.run(rows(before, -9), [], BEGINNING)
    with pytest.raises(SnapshotError, match=r"expected the beginning \(since=, in ticks\) that the checkpoint was made with"):
        Bucket(now, 0, [bucket.save(False)])


@pytest.mark.parametrize(
    ("since", "message"),
    [
        ("2000-01-01", "expected an instant before 1970, where Spark's watermark begins by itself, but got since='2000-01-01'"),
        ("soon", r"expected an instant \(microseconds or ISO 8601\) but got since='soon'"),
    ],
)
def test_beginnings_that_are_none(spark: Any, tmp_path: Path, since: str, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        read(spark, Files(tmp_path / "in"), SCHEMA).transform(afa_spark.match(TURNS, key="who", time="at", since=since))


def test_a_stream_with_a_watermark_has_its_beginning(spark: Any, tmp_path: Path) -> None:
    marked = read(spark, Files(tmp_path / "in"), SCHEMA).withWatermark("at", "1 minute")
    with pytest.raises(AfaError, match="expected since=None, as the stream has a watermark on 'at' already, of 60000 milliseconds"):
        marked.transform(afa_spark.match(TURNS, key="who", time="at", since=SINCE))
