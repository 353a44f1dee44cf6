"""From the writing of an arc to the first match under it, in a query that runs."""

from __future__ import annotations

import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import afa.spark
from afa import Arc
from bench.measure import Row, spread
from bench.queries import q1
from bench.spark import ways
from bench.spark.streams import BEGIN, SCHEMA, TICK, write
from bench.workloads import keyed, take

MARK = 777  # by which matches of the new arc are known
PAUSE = 0.2  # seconds between two files of events
BATCH = 1.5  # at a random moment of about so many seconds an arc is written: else all would meet the end of a batch


def swaps(spark: Any, keys: int, rows: int, times: int) -> Row:
    """Arcs written into a running query, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = afa.spark.arc_log(folder / "arcs", q1())
        (folder / "in").mkdir()
        feeder = Feeder(folder, keys, rows)
        seen: dict[int, tuple[float, int, int]] = {}
        events = spark.readStream.schema(SCHEMA).parquet(str(folder / "in"))
        changes = ways.matched(events, 200_000, 2_000, arcs=log.read(spark))
        writer = changes.writeStream.foreachBatch(partial(_look, seen)).option("checkpointLocation", str(folder / "checkpoint"))
        query = writer.start()
        took, batches, reached = [], [], []
        rng = np.random.default_rng(7)
        with feeder:
            _wait(lambda: (query.lastProgress or {"batchId": 0})["batchId"] >= 5)
            for i in range(times):
                number = MARK + i
                time.sleep(BATCH * float(rng.random()))
                arc = Arc("start", "done", "e.change > 0", f"({number}, 0)", name=f"mark {number}")
                before, written = query.lastProgress["batchId"] + 1, time.perf_counter()
                begin = feeder.now()
                log.insert(arc, at=begin, until=begin + keys * TICK)
                _wait(lambda number=number: number in seen)  # type: ignore[misc]
                at, batch, found = seen[number]
                took.append(at - written)
                batches.append(batch - before)
                reached.append(found)
        query.stop()
    return {
        "keys": keys,
        "rows a file": rows,
        "arcs": times,
        "s until the first match is out": spread(took),
        "batches after the one at work": spread([float(n) for n in batches]),
        "keys with a match in that batch": spread([float(n) for n in reached]),
    }


def _look(seen: dict[int, tuple[float, int, int]], changes: Any, batch: int) -> None:
    for row in (
        changes.where(f"kind = 'match' and balance >= {MARK}").groupBy("balance").agg({"key": "approx_count_distinct"}).collect()
    ):
        seen.setdefault(row[0], (time.perf_counter(), batch, row[1]))


def _wait(done: Any, seconds: float = 120.0) -> None:
    end = time.perf_counter() + seconds
    while not done():
        if time.perf_counter() > end:
            raise TimeoutError("expected a match under the new arc but got none")
        time.sleep(0.01)


class Feeder:
    """A file of events every `PAUSE` seconds."""

    def __init__(self, folder: Path, keys: int, rows: int) -> None:
        self._folder, self._rows, self._stream = folder, rows, keyed(2_000 * rows, keys)
        self._written = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._feed, daemon=True)

    def now(self) -> int:
        """The event time of what comes next, in microseconds."""
        return BEGIN + self._written * self._rows * TICK

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _feed(self) -> None:
        while not self._end.wait(PAUSE):
            begin = self._written * self._rows
            part = write(self._folder / f"part{self._written}", take(self._stream, slice(begin, begin + self._rows)), [self._rows])
            self._written += 1
            next(part.iterdir()).rename(self._folder / "in" / f"{self._written:06}.parquet")
