"""The adapter to Spark's stateful operator: one bucket's rows in, changes out, its state in the state store.

State of a bucket
    head    token, bytes of the whole snapshot, bytes of those after it, the timer
    log     a whole snapshot, then one of what has changed for each batch since; written anew when these outweigh it

Between two batches the operator itself waits in shared memory (`afa.spark.shared`), known by the token.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pandas as pd
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
from afa.spark.job import Job
from afa.spark.rows import read_parts, stream_of, written
from punctuation.time import BEGINNING

HEAD = StructType([StructField("token", BinaryType()), *(StructField(name, LongType()) for name in ("whole", "since", "timer"))])
LOG = StructType([StructField("blob", BinaryType())])
NO_TIMER = -1


class Matcher(StatefulProcessor):
    """The operator of each bucket.

    Parameters
    ----------
    job : Job
    """

    def __init__(self, job: Job) -> None:
        self._job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._handle = handle
        self._head = handle.getValueState("head", HEAD)
        self._log = handle.getListState("log", LOG)

    def handleInputRows(self, key: Any, rows: Any, timerValues: TimerValues) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Take the parts of a batch."""
        parts = read_parts((part, blob) for frame in rows for part, blob in zip(frame["part"].tolist(), frame["rows"].tolist()))
        yield from self._work(key[0], parts.events, parts.arcs, parts.bad, timerValues)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Follow the watermark: time-outs fire, what is final is dropped."""
        yield from self._work(key[0], None, [], [], timerValues, fired=True)

    def close(self) -> None:
        """Nothing is open."""

    def _work(
        self, number: int, events: Any, arcs: list[str], bad: list[Any], timers: TimerValues, fired: bool = False
    ) -> Iterator[pd.DataFrame]:
        token, whole, since, timer = self._head.get() or (None, 0, 0, NO_TIMER)
        bucket = self._operator(number, None if token is None else bytes(token))
        watermark = timers.getCurrentWatermarkInMs()
        whole = 0 if bucket.moved else whole  # then all is written anew
        answer = bucket.run(events, arcs, watermark * 1000 if watermark > 0 else BEGINNING)
        table = written(self._job, answer, bad)
        whole, since = self._save(bucket, whole, since)
        timer = self._wake(bucket, watermark, NO_TIMER if fired else timer)
        token = os.urandom(16)
        self._head.update((token, whole, since, timer))
        bucket.leave(token)
        if table.num_rows:
            yield pd.DataFrame({"rows": [stream_of(table)]})

    def _operator(self, number: int, token: bytes | None) -> Bucket:
        """The operator as the store has it."""
        if token is None:
            return Bucket(self._job, number)
        image = shared.take(token)
        if image is not None:
            try:
                return Bucket(self._job, number, image=image)
            except (SnapshotError, OSError):  # of other code; or no room for it to grow
                pass
        return Bucket(self._job, number, [bytes(blob) for (blob,) in self._log.get()])

    def _save(self, bucket: Bucket, whole: int, since: int) -> tuple[int, int]:
        """Write what has changed; bytes of the whole snapshot and of those after it."""
        blob = bucket.save(incremental=0 <= since <= whole and whole > 0)
        if whole > 0 and since <= whole:
            self._log.appendValue((blob,))
            return whole, since + len(blob)
        self._log.put([(blob,)])
        return len(blob), 0

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
