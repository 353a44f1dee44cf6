"""Random arc logs on buckets without Spark, in batches, over several buckets, saved and lost in between: against one operator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from afa.spark import shared
from afa.spark.bucket import Answer, Bucket
from afa.spark.hashing import bucket_numbers
from afa.spark.ipc import stream_of, table_of
from afa.spark.job import Job
from afa.spark.rows import written
from punctuation.time import BEGINNING
from tests.spark.arclogs import random_log
from tests.spark.buckets import job, net, table, ticks
from tests.spark.streams import SECOND, ZERO, of_program, plain, rows
from tests.strategies import Choices, Seeded
from tests.streams import Setting

TOLD = {"expected an arc in force but g", "expected one line of an id but"}
LATENESS = 40 * SECOND


class Buckets:
    """All buckets of a job, each saved and lost after each batch."""

    def __init__(self, here: Job, choose: Choices) -> None:
        self.here, self.choose = here, choose
        self.blobs: list[list[bytes]] = [[] for _ in range(here.buckets)]
        self.tokens = [b"none"] * here.buckets
        self.batches = 0

    def run(self, some: list[dict[str, Any]], lines: list[Any], promised: int) -> list[Answer]:
        self.batches += 1
        events = table(self.here, some)
        numbers = bucket_numbers([events[name] for name in self.here.keys], self.here.buckets)
        answers = []
        for number in range(self.here.buckets):
            image, blobs = shared.take(self.tokens[number]), self.blobs[number]
            bucket = Bucket(self.here, number, blobs if image is None else (), image)
            come = sorted(lines, key=lambda line: self.choose.number(0, 10**6))
            answers.append(bucket.run(events.filter(pa.array(numbers == number)), come, promised))
            self.blobs[number] = [*blobs, bucket.save(True)] if blobs and self.choose.chance(70) else [bucket.save(False)]
            self.tokens[number] = bytes([number, self.batches])
            if self.choose.chance(60):
                bucket.leave(self.tokens[number])
        return answers


@pytest.mark.parametrize("number", range(40))
def test_random_logs_in_random_batches(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    check_log(Seeded(f"logs/{number}"))


@pytest.mark.stress
@pytest.mark.parametrize("number", range(1000))
def test_many_random_logs_in_random_batches(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "folder", lambda: tmp_path)
    check_log(Seeded(f"more logs/{number}"))


def check_log(choose: Seeded) -> None:
    """One log, one stream, some buckets: the matches are those of one operator that has all from the beginning."""
    setting = of_program(choose.one(["runs", "branches", "words"]), choose.one([("who",), ("name", "who")]))
    here, stream = job(setting, buckets=choose.number(1, 3)), rows(choose, choose.number(20, 70), 4)
    everything, lines = list(stream), log_of(choose, setting, len(stream) // 2)
    buckets, promised = Buckets(here, choose), BEGINNING
    taken: list[str] = []
    tables: list[pa.Table] = []
    while stream or lines:
        n, m = choose.number(0, 25), choose.number(0, 4)
        batch, stream, come, lines = stream[:n], stream[n:], lines[:m], lines[m:]
        good = [line for line in come if json.loads(line)["at"] >= promised]
        taken += good
        answers = buckets.run(batch, [line if choose.chance(50) else line.encode() for line in come], promised)
        tables += [table_of(stream_of(written(here, answer, []))) for answer in answers]
        assert [len(answer.late) for answer in answers] == [len(come) - len(good)] + [0] * (here.buckets - 1)
        assert {fault.reason[:30] for answer in answers for fault in answer.faults} <= TOLD
        if batch:
            promised = max(promised, max(ticks(row["at"]) for row in batch) - LATENESS)
    assert net(here, tables) == plain(setting, 25, everything, taken)


def log_of(choose: Choices, setting: Setting, last: int) -> list[str]:
    """A random log about the arcs of a setting, in the order in which it comes: some lines late, some long before their instant."""
    arcs = [arc.to_json(setting.automaton) for arc in [*setting.automaton.arcs, *setting.pool] if arc.name is not None]
    lines = random_log(choose, arcs, choose.number(2, 16), last, SECOND, ZERO)
    lines += [choose.one(lines) for _ in range(choose.number(0, 3))]
    lines.sort(key=lambda line: json.loads(line)["at"] + choose.number(0, 60) * SECOND)
    return lines[len(lines) // 2 :] + lines[: len(lines) // 2] if choose.chance(20) else lines
