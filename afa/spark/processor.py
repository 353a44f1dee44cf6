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
from afa.spark.answer import Answer
from afa.spark.bucket import Bucket
from afa.spark.hashing import bucket_of
from afa.spark.job import Job
from afa.spark.moved import arrived, check_token, joined
from afa.spark.packed_rows import frame_of, read_parts, written
from afa.spark.settled import settle
from afa.state.sound import wanted
from punctuation.time import BEGINNING

WORDS = ("whole", "since", "timer", "buckets")
HEAD = StructType(
    [StructField(name, LongType() if name in WORDS else BinaryType()) for name in ("token", *WORDS, "job", "numbers")]
)
LOG = StructType([StructField("blob", BinaryType())])
NO_TIMER = -1


class Head(NamedTuple):
    """The head of a bucket: what is known of it without its operator.

    Parameters
    ----------
    token : bytes
        By which shared memory knows the operator.
    whole, since : int
        Bytes of the whole snapshot, and of those after it.
    timer : int
        The watermark (ms) that calls the bucket, or NO_TIMER.
    buckets : int
        How many there are.
    job : bytes
        `Job.digest` of the job that it has followed.
    numbers : dict
        `Bucket.numbers`.
    """

    token: bytes | None
    whole: int
    since: int
    timer: int
    buckets: int
    job: bytes
    numbers: dict[str, Any]


NOBODY = Head(None, 0, 0, NO_TIMER, 0, b"", {})
"""The head of a bucket without a state."""


class Matcher(StatefulProcessor):
    """The operator of each bucket.

    Parameters
    ----------
    job : Job
    metrics : bool
        Whether the metrics are to hold numbers that take a visit to each key.
    """

    def __init__(self, job: Job, metrics: bool = False) -> None:
        self._job, self._digest = job, job.digest
        self._metrics = metrics
        self._told: set[int] = set()  # buckets that have told their metrics in this task

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        settle("match")
        self._handle = handle
        self._head = handle.getValueState("head", HEAD)
        self._log = handle.getListState("log", LOG)

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
            yield from self._answer(number, head, timerValues)
        else:
            yield from self._work(number, head, parts.events, parts.arcs, parts.bad, timerValues)

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
            yield from self._work(bucket_of(int(key[0])), head, None, [], [], timerValues, fired=True)
        else:
            self._write_head(head._replace(timer=NO_TIMER))

    def close(self) -> None:
        """Do nothing, as nothing is open."""

    def _answer(self, number: int, head: Head, timers: TimerValues) -> Iterator[pd.DataFrame]:
        """Tell the numbers of a bucket that has nothing to do."""
        self._told.add(number)
        told = head.numbers | {"bucket": number, "events": 0, "batch": _batch(), "stored_bytes": head.whole + head.since}
        told |= {"read_bytes": 0, "written_bytes": 0, "watermark": self._iso(timers.getCurrentWatermarkInMs())}
        told |= {"operator_ms": 0.0, "state_ms": 0.0}
        yield frame_of(written(self._job, Answer([], [], []), [], told))

    def _work(
        self,
        number: int,
        head: Head,
        events: Any,
        arcs: list[bytes | None],
        bad: list[Any],
        timers: TimerValues,
        fired: bool = False,
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
        answer = bucket.run(events, arcs, promised)
        if before is not None:
            answer = before.then(answer)
        done = time.perf_counter()
        numbers = bucket.numbers(self._metrics)
        written_bytes, whole, since = self._save(bucket, whole, head.since)
        timer = self._wake(bucket, watermark, NO_TIMER if fired else head.timer)
        token = os.urandom(16)
        self._write_head(Head(token, whole, since, timer, self._job.buckets, self._digest, numbers))
        told: dict[str, Any] = {}
        if number not in self._told:  # else it is its timer, after its rows
            told = numbers | {"stored_bytes": whole + since}
        self._told.add(number)
        bucket.leave(token)
        told |= {"bucket": number, "events": len(bad) + (0 if events is None else events.num_rows), "batch": _batch()}
        told |= {
            "read_bytes": head.whole + head.since if read else 0,
            "written_bytes": written_bytes,
            "watermark": self._iso(watermark),
        }
        told |= {"operator_ms": 1e3 * (done - there), "state_ms": 1e3 * (there - begun + time.perf_counter() - done)}
        yield frame_of(written(self._job, answer, bad, told))

    def _moves(self, number: int, head: Head) -> bool:
        """Return whether a bucket is to take the keys that have moved to it."""
        if self._job.moved is None or head.job == self._digest:
            return False
        check_token(self._job, number, head.token)
        return True

    def _clear(self, number: int, head: Head) -> None:
        """Let nothing be left of a bucket that is no more."""
        check_token(self._job, number, head.token)
        if head.timer != NO_TIMER:
            self._handle.deleteTimer(head.timer)
        self._head.clear()
        self._log.clear()

    def _read_head(self) -> Head:
        """Return the head as the store has it."""
        found = self._head.get()
        return NOBODY if found is None else head_of(found)

    def _write_head(self, head: Head) -> None:
        self._head.update((*head[:-1], msgpack.packb(head.numbers)))

    def _operator(self, number: int, token: bytes | None) -> tuple[Bucket, bool]:
        """Return the operator as the store has it, and whether it was read from there."""
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
        return wanted

    def _iso(self, watermark: int) -> str | None:
        """Return a watermark of Spark's in words."""
        if watermark <= 0:
            return None
        moment = np.datetime64(watermark + self._job.since // 1000, "ms")
        return f"{moment}+00:00"  # Python's datetime ends with the year 9999, Spark's and strange rows do not


def head_of(row: Sequence[Any]) -> Head:
    """Return the head of a bucket from the store's row.

    Raises
    ------
    SnapshotError
        It is none.
    """
    try:
        token, *words, job, numbers = row
        head = Head._make([bytes(token), *words, bytes(job), msgpack.unpackb(bytes(numbers))])
        sound = all(n is None or type(n) is int for n in head.numbers.values())
    except Exception as error:
        raise SnapshotError(f"expected the head of a bucket but got {row!r}: {error}") from error
    wanted("the head of a bucket", sound, row)
    return head


def _batch() -> int | None:
    """Return the number of the batch at work."""
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    return None if number is None else int(number)
