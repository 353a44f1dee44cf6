"""What do lines of an arc log cost a bucket, which is Spark's side of an operator, without Spark? n in force, past or present.

All in one batch and in four, and one line more: CPU time of one bucket. Then sixteen buckets of one worker: to read the whole log,
and to be there again in the next batch. The matches of one batch and of four are compared.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from afa import Arc, Automaton
from afa.operator import options as of_operators
from afa.spark import ledger, shared
from afa.spark.bucket import Bucket
from afa.spark.job import Job, job_of
from bench.measure import Options, Row, spread
from punctuation.time import BEGINNING

LINES = (250, 500, 1_000, 2_000, 10_000)
KEYS, SORTS, STEP, BUCKETS = 20, 500, 10, 16
EVENTS = 1_000


class Event(NamedTuple):
    sort: int


class Found(NamedTuple):
    sort: int = -1


def measure(o: Options) -> list[Row]:
    return [row(n, past, o.rounds) for past in (False, True) for n in (o.some(LINES) if o.scale == "full" else LINES[:2])]


def row(n: int, past: bool, rounds: int) -> Row:
    """One number of lines."""
    here, lines = job(), log(n, past)
    ways: dict[int, list[float]] = {1: [], 4: []}
    more: list[float] = []
    for turn in range(rounds + 1):  # the first does not count
        found = {}
        for cuts in ways:
            forget()
            bucket = Bucket(here, 0)
            bucket.run(events(here), [], BEGINNING)
            begin = time.thread_time()
            answers = [bucket.run(None, lines[cut::cuts], BEGINNING) for cut in range(cuts)]
            ways[cuts] += [time.thread_time() - begin] * bool(turn)
            found[cuts] = sorted(str(change) for answer in answers for table in answer.changes for change in table.to_pylist())
        assert found[1] == found[4], "expected the same matches of one batch and of four"
        begin = time.thread_time()
        bucket.run(None, [line(n, n, past)], BEGINNING)
        more += [time.thread_time() - begin] * bool(turn)
    first, again = sixteen(here, lines)
    return {
        "lifetimes": "in the past" if past else "at the present",
        "lines": n,
        "one batch, CPU ms": spread([1e3 * t for t in ways[1]]),
        "four batches, CPU ms": spread([1e3 * t for t in ways[4]]),
        "one line more, CPU ms": spread([1e3 * t for t in more]),
        "16 buckets, CPU ms": 1e3 * first,
        "16 buckets, next batch, CPU ms": 1e3 * again,
    }


def sixteen(here: Job, lines: list[str]) -> tuple[float, float]:
    """All buckets of a worker read a log, and take up their operators again."""
    with (
        TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder,
        patch.object(shared, "folder", lambda: Path(folder)),
    ):
        forget()
        begin = time.thread_time()
        for number in range(BUCKETS):
            bucket = Bucket(here, number)
            bucket.run(part(here, number), lines, BEGINNING)
            bucket.save(False)
            bucket.leave(b"%d" % number)
        middle = time.thread_time()
        for number in range(BUCKETS):
            bucket = Bucket(here, number, image=shared.take(b"%d" % number))
            bucket.run(part(here, number), [], BEGINNING)
            bucket.save(True)
        return middle - begin, time.thread_time() - middle


def forget() -> None:
    """Let the process know nothing of the lines."""
    ledger._ledgers.clear()
    ledger._steps.clear()


def job() -> Job:
    automaton = Automaton(
        start="a", final={"b"}, event=Event, register=Found(), arcs=[Arc("a", "b", "e.sort == -1", "(e.sort,)", name="own")]
    )
    options = of_operators.Options(key="key", window="1 second")
    return job_of(automaton, options, buckets=BUCKETS, on_fault="report", key_types=[pa.int64()])


def log(n: int, past: bool) -> list[str]:
    """Lines of as many arcs."""
    return [line(i, n, past) for i in range(n)]


def line(i: int, n: int, past: bool) -> str:
    """One that is in force for a tenth of the events, or from after them."""
    arc = {"src": "a", "dst": "b", "fence": f"e.sort == {i % SORTS}", "transfer": "(e.sort,)", "name": f"arc {i}"}
    le = i * EVENTS * STEP // (n + 1)
    when: dict[str, Any] = {"at": le, "until": le + EVENTS} if past else {"at": EVENTS * STEP + i}
    return json.dumps({"op": "insert", "arc": arc, **when})


def events(here: Job) -> pa.Table:
    """Some for each key."""
    random = np.random.default_rng(5)
    columns = {
        "key": random.integers(0, KEYS, EVENTS),
        "sort": random.integers(0, SORTS, EVENTS),
        "le": np.arange(EVENTS) * STEP,
        "diff": np.ones(EVENTS, np.int64),
    }
    return pa.table(columns).select(here.schema.names).cast(here.schema)


def part(here: Job, number: int) -> pa.Table:
    """What one of all buckets has of them."""
    return events(here).slice(number * EVENTS // BUCKETS, EVENTS // BUCKETS)
