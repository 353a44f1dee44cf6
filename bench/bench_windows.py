"""What do windowed aggregates of stored history cost: from an index beside the file, from all rows, from one query a window?

A stream of 33 M rows, a time and a float: windows of four slides, slides of a tenth of a block of 16 K rows to 35 blocks; row
groups as long as blocks, and of a million rows. And Figure 3.8 of the thesis: a week of 100 rows a second, windows of a day, slides
of a row to a day, sum, average, count; one query a window where these are few. CPU time of the process, the best of the rounds.
Answers are compared: windows and counts of a sample, and sums to 1e-9. The index: how large it is, and what it takes to write it.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from afa.replay import index, windows
from afa.replay.known_blocks import Blocks
from afa.replay.stored import Stored
from bench.measure import Options, Row, best_of, spent

BLOCK = 16_384
FEW = 12_000
"""So many windows are asked for one by one at most."""
SAMPLE = 10_000
ASKED = {"stream": {"x": ["sum", "avg", "count", "max"]}, "week": {"x": ["sum", "avg", "count"]}}
Answer = tuple[int, Any, Any, Any]


def measure(o: Options) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return [*_stream(o, folder), *_week(o, folder)]


def _stream(o: Options, folder: str) -> Iterator[Row]:
    n = o.size(33_000_000, 8000)
    block = max(16, n * BLOCK // 33_000_000)
    rng = np.random.default_rng(1)
    at = 1_700_000_000_000 + np.cumsum(rng.integers(0, 13, n))
    table = pa.table({"at": pa.array(at, pa.timestamp("ms")), "x": rng.lognormal(0, 1, n)})
    span = (int(at[-1]) - int(at[0])) * block / n
    for said, group in (("row groups as long as blocks", block), ("large row groups", 64 * block)):
        path = f"{folder}/{group}.parquet"
        pq.write_table(table, path, row_group_size=group, use_dictionary=False)
        yield from _indexed(path, said, block, o)
        for blocks in o.some((0.1, 0.6, 1.2, 2.9, 5.8, 35)):
            slide = max(1, int(blocks * span))
            yield _row(path, "stream", said, slide, 4 * slide, span, o)


def _week(o: Options, folder: str) -> Iterator[Row]:
    n = o.size(60_480_000, 7000) // 7 * 7
    block, day = max(16, n * BLOCK // 60_480_000), n // 7 * 10
    path = f"{folder}/week.parquet"
    table = pa.table({"at": pa.array(np.arange(n) * 10, pa.timestamp("ms")), "x": np.random.default_rng(2).normal(10, 3, n)})
    pq.write_table(table, path, row_group_size=block, use_dictionary=False)
    del table
    yield from _indexed(path, "week", block, o)
    slides = [10, 100, 1000, 10_000, 60_000, 120_000, 300_000, 900_000, 3_600_000, 6 * 3_600_000, day]
    for slide in o.some([slide for slide in slides if slide <= day]):
        yield _row(path, "week", "week", slide, day, 10 * block, o)


def _indexed(path: str, case: str, block: int, o: Options) -> Iterator[Row]:
    runs = [spent(lambda: index(path, time="at", block=block)) for _ in range(min(o.rounds, 3))]
    found = runs[0][0]
    row: Row = {"case": case, "rows": found.rows, "blocks": found.blocks}
    row |= {"index, KiB": found.bytes / 1024, "file, MiB": os.path.getsize(path) / 2**20}
    yield {**row, "to write it, CPU s": min(took for _, took in runs)}


def _row(path: str, kind: str, case: str, slide: int, size: int, span: float, o: Options) -> Row:
    """One size and slide by all ways."""

    def by(way: Any) -> Callable[[], Answer]:
        return lambda: _short(windows(path, ASKED[kind], time="at", size=size, slide=slide, way=way))

    ways = {way: by(way) for way in ("read", "index", "auto")}
    if kind == "week" and 8 * size / slide <= FEW:
        ways["naive"] = lambda: _naive(path, size, slide)
    best, answers = best_of(ways, min(o.rounds, 3 if 8 * size / slide < 1e6 else 2), _compare)
    row: Row = {"case": case, "slide, s": slide / 1000, "slide, blocks": slide / span, "windows": answers["read"][0]}
    row |= {f"{way}, CPU s": least for way, least in best.items()}
    return {**row, "read / index": best["read"] / best["index"], "auto / best": best["auto"] / min(best["read"], best["index"])}


def _short(found: pa.Table) -> Answer:
    """How many windows there are, and some of them: where they begin, their counts and sums."""
    some = np.linspace(0, len(found) - 1, min(len(found), SAMPLE)).astype(np.int64)
    le, count, total = (found[name].take(some).to_numpy() for name in ("le", "x_count", "x_sum"))
    return len(found), le.astype(np.int64), count, total


def _compare(answers: dict[str, Answer]) -> None:
    wanted = answers["read"]
    assert wanted[0] > 0, "expected windows but got none: a benchmark without output measures nothing"
    for way, found in answers.items():
        same = found[0] == wanted[0] and all(np.array_equal(a, b) for a, b in zip(found[1:3], wanted[1:3]))
        assert same, f"expected one answer but got {found} by {way}, {wanted} from all rows"
        assert np.allclose(found[3], wanted[3], rtol=1e-9), f"expected one answer but got other sums by {way}"


def _naive(path: str, size: int, slide: int) -> Answer:
    """One query a window, from the same blocks: those within it as they are, the rows of those that it cuts."""
    stored = Stored(path)
    known = Blocks(stored, "at")
    total = known.column("x").total.to_numpy()  # type: ignore[union-attr]
    low, high = known.low, known.high
    found = []
    for k in range(math.ceil((int(low[0]) - size + 1) / slide), int(high[-1]) // slide + 1):
        le, re = k * slide, k * slide + size
        begin, end = int(np.searchsorted(high, le)), int(np.searchsorted(low, re))
        first, last = (begin + 1 if low[begin] < le else begin), (end - 1 if high[end - 1] >= re else end)
        count, added = int(known.rows[first:last].sum()), float(total[first:last].sum())
        for block in {begin if first > begin else None, end - 1 if last < end else None} - {None}:
            rows = stored.read(int(known.group[block]), ["at", "x"])  # type: ignore[index]
            ticks = rows["at"].to_numpy().astype(np.int64)
            held = (ticks >= le) & (ticks < re)
            count, added = count + int(held.sum()), added + float(rows["x"].to_numpy()[held].sum())
        found.append((le, count, added))
    le, counts, sums = (np.array(column) for column in zip(*found))
    some = np.linspace(0, len(le) - 1, min(len(le), SAMPLE)).astype(np.int64)
    return len(le), le[some], counts[some], sums[some]
