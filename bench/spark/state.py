"""What state costs: bytes that move, time, memory, where a tenth of the keys is touched and where all are."""

from __future__ import annotations

import statistics
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Row
from bench.spark import ways
from bench.spark.streams import run, write
from bench.workloads import changes, quotes

FILL = 5  # rows of each key in the batches that fill the state


def touched(spark: Any, folder: Path, keys: int, share: float, rows: int, batches: int, buckets: int) -> Row:
    """Batches that touch a share of the keys, after ones that have filled the state of all."""
    fill = keys * FILL
    n = fill + rows * batches
    stream = quotes(changes(n))
    rng = np.random.default_rng(5)
    few = [rng.choice(keys, int(keys * share), replace=False) for _ in range(batches)]
    stream["key"] = np.concatenate([np.arange(fill) % keys, *(rng.choice(some, rows) for some in few)]).astype(np.int64)
    ends = [fill // 2, fill, *range(fill + rows, n + 1, rows)]
    path = write(folder / f"state {keys} {share}", stream, ends)
    window = n  # nothing becomes final: the state is that of all rows
    with Memory() as memory:
        found = run(spark, path, partial(ways.matched, window=window, lateness=window, buckets=buckets))
    after = found.metrics[2:]

    def middle(name: str) -> float:
        return statistics.median(float(batch[name]) for batch in after)

    return {
        "keys": keys,
        "touched": f"{share:.0%}",
        "rows a batch": rows,
        "buckets": buckets,
        "s a batch": statistics.median(found.seconds[2:]),
        "MB written": middle("written_bytes") / 1e6,
        "MB read": middle("read_bytes") / 1e6,
        "MB stored": middle("stored_bytes") / 1e6,
        "MB of operators": middle("memory_bytes") / 1e6,
        "operators, times what is stored": middle("memory_bytes") / middle("stored_bytes"),
        "operators, s": middle("operator_ms") / 1000,
        "their state, s": middle("state_ms") / 1000,
        "largest worker, MB of its own": memory.most / 1e6,
        "matches": found.answer[0],
    }


class Memory:
    """The most that any Python worker of Spark's held for itself while this was open, sampled; shared memory is not counted."""

    def __init__(self) -> None:
        self.most = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(0.2):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                        self.most = max(self.most, own(process))
                except OSError:  # it has ended
                    continue


def own(process: Path) -> int:
    """Bytes of a process's memory that no other shares."""
    for line in (process / "status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0
