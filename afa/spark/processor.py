"""Adapt a bucket to Spark's stateful operator: rows in, changes out, state in the state store.

State of a bucket
    head    see `Head`
    log     a whole snapshot, then one of what has changed for each batch since; written anew when these outweigh it

Between two batches the operator itself waits in shared memory (`afa.spark.shared`), known by the token. Every bucket is called in
each batch that has rows, so that all follow a changed job together; one that has followed it and has no rows answers from its head.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgpack
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
from afa.spark.bucket import bucket_of_job
from afa.spark.hashing import bucket_of
from afa.spark.job import BucketAnswer, Job
from afa.spark.moved import arrived, check_token, joined
from afa.spark.packed_rows import BucketParts, frame_of, read_parts, settle, written
from afa.spark.rules_bucket import RulesBucket
from afa.state.sound import wanted
from punctuation.time import BEGINNING

WORDS = ("whole", "since", "timer", "buckets")
HEAD = StructType(
    [StructField(name, LongType() if name in WORDS else BinaryType()) for name in ("token", *WORDS, "job", "numbers")]
)
LOG = StructType([StructField("blob", BinaryType())])
NO_TIMER = -1


class Head(NamedTuple):
    """The head of a bucket: what is known of it without its operator."""

    token: bytes | None  # by which shared memory knows the operator
    whole: int  # bytes of the whole snapshot
    since: int  # bytes of those after it
    timer: int  # the watermark (ms) that calls the bucket, or NO_TIMER
    buckets: int  # how many there are
    job: bytes  # `Job.digest` of the job that it has followed
    numbers: dict[str, Any]  # `Bucket.numbers`


NOBODY = Head(None, 0, 0, NO_TIMER, 0, b"", {})
"""The head of a bucket without a state."""


class Matcher(StatefulProcessor):
    """The operator of each bucket. ``metrics`` says whether its numbers are to hold those that take a visit to each key."""

    def __init__(self, job: Job, metrics: bool = False) -> None:
        self._job, self._digest = job, job.digest
        self._metrics = metrics
        self._told: set[int] = set()  # buckets that have told their metrics in this task

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        settle("match")
        self._handle = handle
        own = self._job.asked.own
        head, log = (f"{own.name}_head", own.name) if own is not None and own.name else ("head", "log")
        self._head = handle.getValueState(head, HEAD)
        self._log = handle.getListState(log, LOG)

    def handleInputRows(self, key: Any, rows: Any, timerValues: TimerValues) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Take the parts of a batch."""
        parts = read_parts((part, blob) for frame in rows for part, blob in zip(frame["part"].tolist(), frame["rows"].tolist()))
        head, number = self._read_head(), bucket_of(int(key[0]))
        if self._job.moved is not None and number >= self._job.buckets:
            if head is not NOBODY:
                self._clear(number, head)
            return
        due = head.timer != NO_TIMER and head.timer <= timerValues.getCurrentWatermarkInMs()
        if parts.events is None and not parts.arcs and not parts.bad and head.job == self._digest and not due:
            self._told.add(number)
            told = self._numbers(number, head, timerValues.getCurrentWatermarkInMs())
            yield frame_of(written(self._job, BucketAnswer([], [], []), [], told))
        else:
            yield from self._work(number, head, parts, timerValues)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Follow the watermark: time-outs fire, what is final is dropped.

        A batch without rows calls some buckets only: one that has not followed the job waits until it can with all others.
        """
        head = self._read_head()
        if head.job == self._digest:
            yield from self._work(bucket_of(int(key[0])), head, BucketParts(None, [], []), timerValues, fired=True)
        else:
            self._write_head(head._replace(timer=NO_TIMER))

    def close(self) -> None:
        """Do nothing, as nothing is open."""

    def _work(
        self, number: int, head: Head, parts: BucketParts, timers: TimerValues, fired: bool = False
    ) -> Iterator[pd.DataFrame]:
        begun = time.perf_counter()
        watermark = timers.getCurrentWatermarkInMs()
        promised = watermark * 1000 + self._job.since if watermark > 0 else BEGINNING
        if self._moves(number, head):
            bucket, before = joined(self._job, number, arrived(self._job, number), promised)
            read, whole = True, 0
        else:
            (bucket, read), before = self._operator(number, head.token), None
            whole = 0 if bucket.moved else head.whole  # then all is written anew
        there = time.perf_counter()
        answer = bucket.run(parts.events, parts.arcs, promised)
        if before is not None:
            answer = before.then(answer)
        done = time.perf_counter()
        numbers = bucket.numbers(self._metrics)
        if self._metrics and isinstance(bucket, RulesBucket):
            answer = answer._replace(by_rule=bucket.by_rule())
        written_bytes, whole, since = self._save(bucket, whole, head.since)
        timer = self._wake(bucket, watermark, NO_TIMER if fired else head.timer)
        token = os.urandom(16)
        after = Head(token, whole, since, timer, self._job.buckets, self._digest, numbers)
        self._write_head(after)
        bucket.leave(token)
        events = len(parts.bad) + (0 if parts.events is None else parts.events.num_rows)
        told = self._numbers(number, after, watermark, events, written_bytes, head.whole + head.since if read else 0)
        if number in self._told:  # it is its timer, after its rows
            told = {name: value for name, value in told.items() if name not in (*numbers, "stored_bytes")}
        self._told.add(number)
        told |= {"operator_ms": 1e3 * (done - there), "state_ms": 1e3 * (there - begun + time.perf_counter() - done)}
        yield frame_of(written(self._job, answer, parts.bad, told))

    def _numbers(self, number: int, head: Head, watermark: int, events: int = 0, wrote: int = 0, read: int = 0) -> dict[str, Any]:
        """Return a bucket's row of metrics (see `afa.spark.metrics.FIELDS`), of one that has done nothing yet."""
        context, moment = TaskContext.get(), np.datetime64(watermark + self._job.since // 1000, "ms")
        batch = None if context is None else context.getLocalProperty("streaming.sql.batchId")
        return head.numbers | {
            "bucket": number,
            "events": events,
            "batch": None if batch is None else int(batch),
            "stored_bytes": head.whole + head.since,
            "read_bytes": read,
            "written_bytes": wrote,
            "watermark": f"{moment}+00:00" if watermark > 0 else None,  # Python's datetime ends with 9999, Spark's does not
            "operator_ms": 0.0,
            "state_ms": 0.0,
        }

    def _moves(self, number: int, head: Head) -> bool:
        """Return whether a bucket is to take the keys that have moved to it."""
        if self._job.moved is None or head.job == self._digest:
            return False
        check_token(self._job, number, head.token)
        return True

    def _clear(self, number: int, head: Head) -> None:
        """Clear the state of a bucket that is no more."""
        check_token(self._job, number, head.token)
        if head.timer != NO_TIMER:
            self._handle.deleteTimer(head.timer)
        self._head.clear()
        self._log.clear()

    def _read_head(self) -> Head:
        found = self._head.get()
        return NOBODY if found is None else head_of(found)

    def _write_head(self, head: Head) -> None:
        self._head.update((*head[:-1], msgpack.packb(head.numbers)))

    def _operator(self, number: int, token: bytes | None) -> tuple[Any, bool]:
        """Return the operator as the store has it, and whether it was read from there."""
        if token is None:
            return bucket_of_job(self._job, number), False
        image = shared.take(token)
        if image is not None:
            try:
                return bucket_of_job(self._job, number, image=image), False
            except (SnapshotError, OSError):  # of other code; or no room for it to grow
                pass
        return bucket_of_job(self._job, number, [bytes(blob) for (blob,) in self._log.get()]), True

    def _save(self, bucket: Any, whole: int, since: int) -> tuple[int, int, int]:
        """Write what has changed. Returns how many bytes that is, how many the whole snapshot has, and those after it."""
        blob = bucket.save(incremental=0 <= since <= whole and whole > 0)
        if whole > 0 and since <= whole:
            self._log.appendValue((blob,))
            return len(blob), whole, since + len(blob)
        self._log.put([(blob,)])
        return len(blob), len(blob), 0

    def _wake(self, bucket: Any, watermark: int, timer: int) -> int:
        """Set the bucket's timer where it wants one; returns its time. A timer that the watermark has passed is dropped."""
        begins = self._job.since // 1000  # in a stream that begins before 1970 Spark's watermark is so much later
        wanted = bucket.wakes(max(watermark, 0) + begins)
        wanted = None if wanted is None else wanted - begins
        if watermark < timer and (wanted is None or timer <= wanted):
            return timer
        if timer != NO_TIMER:
            self._handle.deleteTimer(timer)
        if wanted is None:
            return NO_TIMER
        self._handle.registerTimer(wanted)
        return int(wanted)


def head_of(row: Sequence[Any]) -> Head:
    """Return the head of a bucket from the store's row. Raises SnapshotError if it is none."""
    try:
        token, *words, job, numbers = row
        head = Head._make([bytes(token), *words, bytes(job), msgpack.unpackb(bytes(numbers))])
        sound = all(n is None or type(n) is int for n in head.numbers.values())
    except Exception as error:
        raise SnapshotError(f"expected the head of a bucket but got {row!r}: {error}") from error
    wanted("the head of a bucket", sound, row)
    return head
