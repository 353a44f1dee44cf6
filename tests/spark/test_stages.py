"""The stages around the operator of a bucket that is lost after each batch: AFTER MATCH SKIP, negation at the start.

After each batch the net output of all buckets is what the oracle of queries says of the rows in force.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from afa.errors import AfaError
from afa.language.query import Query
from afa.spark import shared
from afa.spark.bucket import Bucket
from afa.spark.hashing import bucket_numbers
from afa.spark.job import Job, job_of
from afa.spark.moved import joined
from afa.spark.plan import _asked
from punctuation.time import BEGINNING
from tests.language.oracle import Event, matches
from tests.language.trees import Allowed, tree
from tests.language.worlds import Stream
from tests.strategies import Choices, Seeded

Match = tuple[Any, int, int]


def job(query: Query, buckets: int = 1, ahead: int | None = None, **more: Any) -> Job:
    window = None if query.window is None else timedelta(microseconds=query.window)
    assert query.key is not None
    types = [pa.int64() if name == "key" else pa.string() for name in query.tree.key]
    given = {"on_fault": "report", "key_types": types, "asked": _asked(query), **more}
    speculation = None if ahead is None else timedelta(microseconds=ahead)
    return job_of(query.automaton, query.key, window, query.tree.order, buckets, speculation=speculation, **given)


def rows_of(here: Job, changes: list[tuple[Event, int]]) -> pa.Table:
    rows = [{**event.payload._asdict(), "at": event.le, "le": event.le, "diff": diff} for event, diff in changes]
    return pa.Table.from_pylist([{name: row[name] for name in here.schema.names} for row in rows], here.schema)


class Buckets:
    """The buckets of a job, each saved and lost after each batch."""

    def __init__(self, query: Query, choose: Choices, folder: Path) -> None:
        self.query, self.choose, self.folder = query, choose, folder
        self.ahead = choose.one([None, None, 0, 3])
        self.job = job(query, choose.number(1, 3), self.ahead)
        self.blobs: dict[int, list[bytes]] = {}
        self.tokens: dict[int, bytes] = {}
        self.held: set[Match] = set()
        self.batches = self.late = self.moved = self.left = 0
        self.promised = BEGINNING

    def batch(self, changes: list[tuple[Event, int]], promised: int) -> None:
        """One batch of all buckets."""
        self.promised = max(self.promised, promised)
        self.batches += 1
        table = rows_of(self.job, changes)
        numbers = bucket_numbers([table[name] for name in self.job.keys], self.job.buckets)
        for number in range(self.job.buckets):
            bucket = self.restored(number)
            answer = bucket.run(table.filter(pa.array(numbers == number)), [], self.promised)
            bucket.check()
            self.late += len(answer.late)
            self.take(answer)
            self.save(number, bucket)
        if self.choose.chance(15):
            self.move()

    def restored(self, number: int) -> Bucket:
        image = shared.take(self.tokens.pop(number, b"none"))
        self.left += image is not None
        return Bucket(self.job, number, self.blobs.get(number, ()) if image is None else (), image)

    def save(self, number: int, bucket: Bucket) -> None:
        before = self.blobs.get(number)
        self.blobs[number] = [*before, bucket.save(True)] if before and self.choose.chance(75) else [bucket.save(False)]
        if self.choose.chance(40):
            self.tokens[number] = b"%d %d" % (self.batches, number)
            bucket.leave(self.tokens[number])

    def take(self, answer: Any) -> None:
        assert answer.faults == []
        for table in answer.changes:
            names = [name for name in table.schema.names if name not in ("le", "re", "diff")]
            assert names == [*self.job.keys, *(field.name for field in self.query.shown.fields)]
            n = len(self.job.keys)
            for row in table.to_pylist():
                values = [row[name] for name in names]
                key = values[0] if n == 1 else tuple(values[:n])
                match = (key, tuple(values[n:])), row["le"], row["re"]
                assert (match in self.held) is (row["diff"] < 0), (match, row["diff"])
                self.held ^= {match}

    def move(self) -> None:
        """Move the keys to another number of buckets."""
        count = self.choose.number(1, 4)
        parts = [list(Bucket(self.job, number, self.blobs[number]).split(count)) for number in range(self.job.buckets)]
        self.job = job(self.query, count, self.ahead)
        self.tokens.clear()
        self.moved += 1
        for number in range(count):
            bucket, answer = joined(self.job, number, [part[number] for part in parts], self.promised)
            self.take(answer)
            self.blobs[number] = [bucket.save(False)]


KINDS = {
    "skip": Allowed(names=True, skip=True, ties=False),
    "start": Allowed(start=True, end=True),
    "both": Allowed(start=True, skip=True, ties=False),
}


def asking(choose: Choices, allowed: Allowed, kind: str) -> Query:
    """A random query with a key that asks for stages."""
    while True:
        found = tree(choose, allowed)
        stages = (found.skip is not None or kind == "start") and (bool(found.before) or kind == "skip")
        if not found.key or not stages:
            continue
        try:
            return Query(found)
        except AfaError:
            continue


def in_force(copies: Counter[Event], here: Buckets) -> list[Event]:
    bound = None if here.ahead is None or here.promised == BEGINNING else here.promised + here.ahead
    if here.ahead is not None and bound is None:
        return []
    return [event for event, n in copies.items() if n > 0 and (bound is None or event.le < bound)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(12))
def test_random_worlds(kind: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    run(kind, number, tmp_path)


def run(kind: str, number: int, folder: Path) -> Buckets:
    choose, allowed = Seeded(f"stages/{kind}/{number}"), KINDS[kind]
    query = asking(choose, allowed, kind)
    here, copies = Buckets(query, choose, folder), Counter[Event]()
    stream = Stream(choose, query.tree, allowed, choose.number(6, 14), 9)
    stream.allowed = Allowed(ties=allowed.ties)
    late = 0
    for _ in range(choose.number(5, 14)):
        promised = stream.promise()[1] if choose.chance(40) else stream.promised
        changes = []
        for _ in range(choose.number(0, 5)):
            op = stream.change()
            if op and op[1].re is None:
                changes.append((op[1], 1 if op[0] == "+" else -1))
            elif op:  # a lifetime of its own, which Spark's rows have with until= only
                (stream.force if op[0] == "+" else stream.owed).remove(op[1])
        for event, diff in changes:
            copies[event] += diff
        stale = stream.event() if promised > 1 and choose.chance(20) else None
        if stale is not None:
            le = choose.number(0, promised - 1)
            changes.append((Event(stale.payload._replace(at=le), le), 1))
            late += 1
        here.batch(changes, promised)
        want = matches(query.tree, in_force(copies, here), here.promised)
        assert here.held == want, f"missing {want - here.held}, too much {here.held - want}"
        assert here.late == late
    return here
