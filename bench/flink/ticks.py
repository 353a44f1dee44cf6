"""The same ticks as files, halved by key: two CSV files for Flink, two a micro-batch for Spark, as CSV and as Parquet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from bench.workloads import Stream, keyed

SECOND = 1000
"""In the files times are milliseconds, Flink's finest for event time; a key has one tick a second."""
HALVES = ("even.csv", "odd.csv")
COLUMNS = ("key", "at", "price", "change")


class Files(NamedTuple):
    """A folder of ticks, so many ``rows``.

    ``even.csv``, ``odd.csv``: by key, in order of time. ``csv``, ``parquet``: all, two such files for each micro-batch.
    """

    folder: Path
    rows: int


def ticks(n: int, keys: int) -> Stream:
    """Ticks of each key in turn, the last of which do not move.

    Flink announces a match only when all partial matches of the key that began before it are over. A tick that does not move ends
    them.

    Examples
    --------
    >>> stream = ticks(6, keys=2)
    >>> stream["key"].tolist(), stream["at"].tolist(), stream["change"][-2:].tolist()
    ([0, 1, 0, 1, 0, 1], [0, 0, 1000, 1000, 2000, 2000], [0.0, 0.0])
    """
    stream = keyed(n, keys)
    price, change = stream["price"].round(4), stream["change"].round(4)
    change[-keys:] = 0.0
    return {"key": stream["key"], "at": SECOND * (stream["le"] // keys), "price": price, "change": change}


def write(folder: Path, n: int, keys: int, batch: int) -> Files:
    """Write them, ``batch`` rows a micro-batch."""
    table = pa.table(ticks(n, keys))
    for place in ("csv", "parquet"):
        (folder / place).mkdir(parents=True)
    odd = table["key"].to_numpy() % 2 == 1
    for name, chosen in zip(HALVES, (~odd, odd)):
        _csv(table.filter(pa.array(chosen)), folder / name)
    for number, start in enumerate(range(0, n, batch)):
        for half, chosen in enumerate((~odd, odd)):
            part = table.slice(start, batch).filter(pa.array(chosen[start : start + batch]))
            paths = [folder / "csv" / f"{number:04}-{half}.csv", folder / "parquet" / f"{number:04}-{half}.parquet"]
            _csv(part, paths[0])
            pq.write_table(part, paths[1])
            for path in paths:
                os.utime(path, (1.7e9 + 2 * number + half,) * 2)  # by which Spark orders the files of a stream
    return Files(folder, n)


def _csv(table: pa.Table, path: Path) -> None:
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(include_header=False))


def read(files: Files) -> Stream:
    """The ticks of the micro-batches, again as columns."""
    table = pq.read_table(files.folder / "parquet")
    return {name: np.asarray(table[name]) for name in COLUMNS}
