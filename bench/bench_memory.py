"""Is memory bounded by window and punctuation? Q1, k = 1, 5 % shifted, W = 500, over 100 M events.

What is held after a punctuation, and what the process takes.
"""

from __future__ import annotations

import os
from pathlib import Path

from afa import Operator
from bench.drive import batched, matches_of
from bench.measure import WINDOW, Options, Row, words
from bench.queries import q1
from bench.workloads import punctuated, shifted, ticks

BATCH = 1_000_000
SAMPLES = 20


def resident() -> float:
    """MiB that this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(o: Options) -> list[Row]:
    events, batch = o.size(o.events, least=20_000), o.size(BATCH)
    op = Operator(q1(), window=WINDOW, engine=o.engine)  # type: ignore[arg-type]
    batches = max(1, events // batch)
    rows: list[Row] = []
    matches = 0
    for number in range(batches):
        stream = shifted(ticks(batch, seed=number), 0.05, seed=number)
        stream["le"] += number * batch
        for part in batched(punctuated(stream, WINDOW), batch + batch).batches:
            matches += int(matches_of(op.push_many(part))["diff"].sum())
        if (number + 1) % max(1, batches // SAMPLES) == 0:
            rows.append(
                {
                    "events": (number + 1) * batch,
                    "RSS, MiB": resident(),
                    "held, words": words(op),
                    "events held": op.statistics.events,
                    "matches": matches,
                }
            )
    assert matches > 0, "a benchmark without output measures nothing"
    tenth = rows[len(rows) // 10]["RSS, MiB"]
    return [{**row, "RSS, relative to a tenth of the way": row["RSS, MiB"] / tenth} for row in rows]
