"""Buckets without Spark: jobs, rows as a bucket takes them, what it has found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa

from afa.operator.options import Options
from afa.spark import job as of_jobs
from afa.spark import shared
from afa.spark.bucket import Bucket
from afa.spark.hashing import bucket_numbers
from afa.spark.job import BucketAnswer, Job
from afa.spark.moved import joined
from afa.spark.packed_rows import changes_schema
from punctuation.time import BEGINNING
from tests.spark.streams import SECOND
from tests.strategies import Choices
from tests.streams import Setting

OF_OPERATORS = ("speculation", "longest", "members", "partial_matches")
TYPES = {"who": pa.int64(), "name": pa.string()}


class Row(NamedTuple):
    """An event."""

    n: int


class Sum(NamedTuple):
    """A register."""

    n: int = 0


def job_of(
    automaton: Any,
    key: Any,
    window: Any = None,
    order_by: str | None = None,
    buckets: int = 1,
    on_fault: str = "report",
    key_types: Sequence[Any] = (),
    late: str = "report",
    **more: Any,
) -> Job:
    """Return the job of an automaton; ``more``: options of operators and of `afa.spark.job.job_of`."""
    own = {name: more.pop(name) for name in OF_OPERATORS if name in more}
    delay = more.pop("delay", 0)
    options = Options(key=key, window=window, order_by=order_by, **own)
    made = of_jobs.job_of(automaton, options, buckets=buckets, on_fault=on_fault, key_types=key_types, late=late, **more)
    return made._replace(delay=delay)


def job(here: Setting, window: int = 25, **more: Any) -> Job:
    options = {"order_by": None, "buckets": 1, "on_fault": "report", **more}
    return job_of(here.automaton, here.keys, f"{window} seconds", key_types=[TYPES[name] for name in here.keys], **options)


def ticks(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND


def table(here: Job, some: list[dict[str, Any]]) -> pa.Table:
    """Rows as a bucket takes them."""
    found = [{**row, "le": ticks(row["at"]), "re": ticks(row.get("until") or row["at"] + timedelta(seconds=25))} for row in some]
    return pa.Table.from_pylist([{name: row[name] for name in here.schema.names} for row in found], here.schema)


def net(here: Job, tables: list[pa.Table]) -> set[Any]:
    counts: Counter[Any] = Counter()
    names = [name for name in changes_schema(here).names if name not in ("diff", "kind", "reason")]
    for one in tables:
        for row in one.to_pylist():
            if row["kind"] == "match":
                match = tuple(row[name] for name in names)
                counts[(*match[:-1], 2**63 - 1 if match[-1] is None else match[-1])] += row["diff"]
    assert set(counts.values()) <= {0, 1}
    return {match for match, count in counts.items() if count}


class Buckets:
    """The buckets of a job, each saved and lost after each batch. By choice states are whole, and operators left in memory."""

    def __init__(self, job: Job, choose: Choices | None = None) -> None:
        self.job, self.choose = job, choose
        self.blobs: dict[int, list[bytes]] = {}
        self.tokens: dict[int, bytes] = {}
        self.calls = self.taken = 0

    def run(self, rows: pa.Table, lines: Sequence[Any] = (), promised: int = BEGINNING) -> list[BucketAnswer]:
        """A batch of all buckets."""
        numbers = bucket_numbers([rows[name] for name in self.job.keys], self.job.buckets)
        return [self.answer(n, rows.filter(pa.array(numbers == n)), lines, promised) for n in range(self.job.buckets)]

    def answer(self, number: int, rows: pa.Table, lines: Sequence[Any], promised: int) -> BucketAnswer:
        """A bucket's part of a batch."""
        image = shared.take(self.tokens.pop(number)) if number in self.tokens else None
        bucket = self.restored(number) if image is None else Bucket(self.job, number, image=image)
        before = [] if bucket.moved else self.blobs.get(number, [])
        answer = bucket.run(rows, lines, promised)
        bucket.check()
        choose = self.choose
        whole = not before or (choose is not None and choose.chance(25))
        self.blobs[number] = [bucket.save(False)] if whole else [*before, bucket.save(True)]
        self.calls, self.taken = self.calls + 1, self.taken + (image is not None)
        if choose is not None and choose.chance(50):
            self.tokens[number] = b"%d" % self.calls
            bucket.leave(self.tokens[number])
        return answer

    def restored(self, number: int) -> Bucket:
        """A bucket from its state."""
        return Bucket(self.job, number, self.blobs.get(number, ()))

    def move(self, job: Job, promised: int) -> list[BucketAnswer]:
        """Move the keys to the buckets of another job."""
        parts = [list(self.restored(number).split(job.buckets)) for number in range(self.job.buckets)]
        found = [joined(job, number, [part[number] for part in parts], promised) for number in range(job.buckets)]
        self.job, self.tokens = job, {}
        self.blobs = {number: [bucket.save(False)] for number, (bucket, _) in enumerate(found)}
        return [answer for _, answer in found]
