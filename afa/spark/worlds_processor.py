"""Adapt a bucket of `Worlds` to Spark's stateful operator: rows in, changes out, its state, whole, in the state store.

State of a bucket
    worlds_head    see `WorldsHead`
    worlds         the snapshot, in pieces; written anew by each batch that calls the bucket, and cleared where all is final

Every bucket is called in each batch that has rows, so that a job whose checkpoint was made by another one is refused at once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from afa.errors import SnapshotError
from afa.spark.hashing import bucket_of
from afa.spark.job import BucketAnswer
from afa.spark.packed_rows import BucketParts, frame_of, read_parts, settle, written
from afa.spark.processor import NO_TIMER, numbers_of, set_timer
from afa.spark.worlds_bucket import WorldsBucket
from afa.spark.worlds_job import WorldsJob, check_same
from punctuation.time import BEGINNING

HEAD = StructType([StructField("recipe", BinaryType()), StructField("timer", LongType()), StructField("stored", LongType())])
PIECES = StructType([StructField("piece", BinaryType())])
SIZE = 1 << 23
"""The bytes of a piece."""


class WorldsHead(NamedTuple):
    """The head of a bucket."""

    recipe: bytes  # of its job
    timer: int  # the watermark (ms) that calls it, or NO_TIMER
    stored: int  # bytes of its state


class WorldsMatcher(StatefulProcessor):
    """The `Worlds` of each bucket."""

    def __init__(self, job: WorldsJob) -> None:
        self._job = job
        self._recipe = json.dumps(job.job.recipe, sort_keys=True).encode()

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        settle("match")
        self._handle = handle
        self._head = handle.getValueState("worlds_head", HEAD)
        self._pieces = handle.getListState("worlds", PIECES)

    def handleInputRows(self, key: Any, rows: Any, timerValues: TimerValues) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Take the parts of a batch."""
        parts = read_parts((part, blob) for frame in rows for part, blob in zip(frame["part"].tolist(), frame["rows"].tolist()))
        yield self._work(bucket_of(int(key[0])), parts, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Follow the watermark: time-outs fire, what is final is dropped."""
        yield self._work(bucket_of(int(key[0])), BucketParts(None, [], []), timerValues.getCurrentWatermarkInMs(), fired=True)

    def close(self) -> None:
        """Do nothing, as nothing is open."""

    def _work(self, number: int, parts: BucketParts, watermark: int, fired: bool = False) -> pd.DataFrame:
        begun = time.perf_counter()
        head, job = self._read_head(), self._job.job
        due = fired or NO_TIMER < head.timer <= watermark
        if head.recipe and parts.events is None and not parts.bad and not due:
            numbers = numbers_of(job, number, watermark, stored=head.stored)
            return frame_of(written(job, BucketAnswer([], [], []), [], numbers))
        blob = b"".join(bytes(piece) for (piece,) in self._pieces.get()) if head.stored else b""
        if len(blob) != head.stored:
            raise SnapshotError(f"expected the state of a bucket of Worlds, {head.stored} bytes, but got {len(blob)}")
        bucket = WorldsBucket(self._job, number, blob)
        there = time.perf_counter()
        promised = watermark * 1000 + job.since - self._job.before if watermark > 0 else BEGINNING
        answer = bucket.run(parts.events, parts.bad, promised)
        done = time.perf_counter()
        state = bucket.save()
        self._write(state, head.stored)
        timer = set_timer(self._handle, self._wanted(bucket, watermark), watermark, NO_TIMER if fired else head.timer)
        self._head.update(WorldsHead(self._recipe, timer, len(state)))
        events = len(parts.bad) + (0 if parts.events is None else parts.events.num_rows)
        numbers = numbers_of(job, number, watermark, events, len(state), len(state), len(blob))
        numbers |= {"operator_ms": 1e3 * (done - there), "state_ms": 1e3 * (there - begun + time.perf_counter() - done)}
        return frame_of(written(job, answer, [], numbers))

    def _read_head(self) -> WorldsHead:
        """Return the head of a bucket, and refuse that of another job."""
        found = self._head.get()
        if found is None:
            return WorldsHead(b"", NO_TIMER, 0)
        recipe, *rest = found
        head = WorldsHead(bytes(recipe), *rest)
        if head.recipe != self._recipe:
            check_same(json.loads(head.recipe), self._job.job.recipe)
        return head

    def _wanted(self, bucket: WorldsBucket, watermark: int) -> int | None:
        """Return the watermark at which a bucket must run without rows."""
        promise = bucket.wakes()
        if promise is None:
            return None
        return max(watermark + 1, -(-(promise - self._job.job.since + self._job.before) // 1000))

    def _write(self, blob: bytes, before: int) -> None:
        if blob:
            self._pieces.put([(blob[at : at + SIZE],) for at in range(0, len(blob), SIZE)])
        elif before:
            self._pieces.clear()
