"""The adapter to Spark's stateful operator: one bucket's rows in, changes out, its state in the state store.

State of a bucket
    head    token, bytes of the whole snapshot, bytes of those after it, the timer
    log     a whole snapshot, then one of what has changed for each batch since; written anew when these outweigh it

Between two batches the operator itself waits in shared memory (`afa.spark.shared`), known by the token.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from afa.errors import SnapshotError
from afa.spark import shared
from afa.spark.bucket import Bucket
from afa.spark.ipc import stream_of
from afa.spark.job import Job
from afa.spark.rows import read_parts, written
from punctuation.time import BEGINNING

HEAD = StructType([StructField("token", BinaryType()), *(StructField(name, LongType()) for name in ("whole", "since", "timer"))])
LOG = StructType([StructField("blob", BinaryType())])
NO_TIMER = -1


class Matcher(StatefulProcessor):
    """The operator of each bucket.

    Parameters
    ----------
    job : Job
    metrics : bool
        Whether the metrics are to hold numbers that take a visit to each key.
    """

    def __init__(self, job: Job, metrics: bool = False) -> None:
        self._job = job
        self._metrics = metrics
        self._told: set[int] = set()  # buckets that have told their metrics in this task

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._handle = handle
        self._head = handle.getValueState("head", HEAD)
        self._log = handle.getListState("log", LOG)

    def handleInputRows(self, key: Any, rows: Any, timerValues: TimerValues) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Take the parts of a batch."""
        parts = read_parts((part, blob) for frame in rows for part, blob in zip(frame["part"].tolist(), frame["rows"].tolist()))
        yield from self._work(int(key[0]), parts.events, parts.arcs, parts.bad, timerValues)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Follow the watermark: time-outs fire, what is final is dropped."""
        yield from self._work(int(key[0]), None, [], [], timerValues, fired=True)

    def close(self) -> None:
        """Nothing is open."""

    def _work(
        self, number: int, events: Any, arcs: list[bytes | None], bad: list[Any], timers: TimerValues, fired: bool = False
    ) -> Iterator[pd.DataFrame]:
        begun = time.perf_counter()
        token, whole, since, timer = self._head.get() or (None, 0, 0, NO_TIMER)
        stored = whole + since
        bucket, read = self._operator(number, None if token is None else bytes(token))
        watermark = timers.getCurrentWatermarkInMs()
        whole = 0 if bucket.moved else whole  # then all is written anew
        there = time.perf_counter()
        answer = bucket.run(events, arcs, watermark * 1000 if watermark > 0 else BEGINNING)
        done = time.perf_counter()
        told: dict[str, Any] = {} if number in self._told else bucket.numbers(self._metrics)  # else by its timer, after its rows
        written_bytes, whole, since = self._save(bucket, whole, since)
        timer = self._wake(bucket, watermark, NO_TIMER if fired else timer)
        token = os.urandom(16)
        self._head.update((token, whole, since, timer))
        told |= {"bucket": number, "events": len(bad) + (0 if events is None else events.num_rows), "batch": _batch()}
        told |= {"stored_bytes": None if number in self._told else whole + since}
        self._told.add(number)
        bucket.leave(token)
        told |= {"read_bytes": stored if read else 0, "written_bytes": written_bytes, "watermark": _iso(watermark)}
        told |= {"operator_ms": 1e3 * (done - there), "state_ms": 1e3 * (there - begun + time.perf_counter() - done)}
        yield pd.DataFrame({"rows": [stream_of(written(self._job, answer, bad, told))]})

    def _operator(self, number: int, token: bytes | None) -> tuple[Bucket, bool]:
        """The operator as the store has it, and whether it was read from there."""
        if token is None:
            return Bucket(self._job, number), False
        image = shared.take(token)
        if image is not None:
            try:
                return Bucket(self._job, number, image=image), False
            except (SnapshotError, OSError):  # of other code; or no room for it to grow
                pass
        return Bucket(self._job, number, [bytes(blob) for (blob,) in self._log.get()]), True

    def _save(self, bucket: Bucket, whole: int, since: int) -> tuple[int, int, int]:
        """Write what has changed; how many bytes these are, the whole snapshot, and those after it."""
        blob = bucket.save(incremental=0 <= since <= whole and whole > 0)
        if whole > 0 and since <= whole:
            self._log.appendValue((blob,))
            return len(blob), whole, since + len(blob)
        self._log.put([(blob,)])
        return len(blob), len(blob), 0

    def _wake(self, bucket: Bucket, watermark: int, timer: int) -> int:
        """Have a timer where the bucket wants one; which. One that the watermark has passed has nothing to do any more."""
        wanted = bucket.wakes(max(watermark, 0))
        if watermark < timer and (wanted is None or timer <= wanted):
            return timer
        if timer != NO_TIMER:
            self._handle.deleteTimer(timer)
        if wanted is None:
            return NO_TIMER
        self._handle.registerTimer(wanted)
        return wanted


def _batch() -> int | None:
    """The number of the batch at work."""
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    return None if number is None else int(number)


def _iso(watermark: int) -> str | None:
    """An instant in milliseconds, in words."""
    if watermark <= 0:
        return None
    return f"{np.datetime64(watermark, 'ms')}+00:00"  # Python's datetime ends with the year 9999, Spark's and strange rows do not
