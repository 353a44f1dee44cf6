"""What do the first rows cost? 1,000, 10,000 and 100,000 of them in one call, where the code of the pattern was never compiled.

`SEQ(A, B)` by skip till any match, while 0, 100 and 5,000 A's wait: half of the rows are an A, but where none waits; five in
100,000 are a B, and the last one. Each run is a process of its own, with a folder of code that has the kernels in it and nothing
else. All is timed from the first row on, the rows that fill the window, in a call before, too: CPU time of the process, the least
of all rounds.

A row more: what the rows since the size before took each, without what was compiled, which stands beside it. It may fall, as a
process that has just begun makes room for its state, but not rise: what waits must cost no more from some row on.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from bench import fresh
from bench.measure import Options, Row

WAITING = (0, 100, 5_000)
SIZES = (1_000, 10_000, 100_000)
ROUNDS = 5


def measure(o: Options) -> list[Row]:
    sizes = SIZES[:2] if o.scale == "tiny" else SIZES
    cases = [(waiting, n) for waiting in o.some(WAITING) for n in sizes]
    if o.scale == "tiny":  # no waiting for the kernels to compile
        runs = {case: [_fresh(o, case, None)] for case in cases}
    else:
        with tempfile.TemporaryDirectory() as kernels:
            fresh.start(["kernels", o.engine], Path(kernels))
            runs = {case: [] for case in cases}
            for _ in range(ROUNDS):
                for case in cases:
                    runs[case].append(_fresh(o, case, Path(kernels)))
    least = {case: min(found, key=lambda one: one["s"]) for case, found in runs.items()}
    return [row for waiting in o.some(WAITING) for row in _rows(waiting, {n: least[waiting, n] for n in sizes})]


def _fresh(o: Options, case: tuple[int, int], kernels: Path | None) -> dict[str, Any]:
    """Run one case in a new process, with a copy of that folder; None: with the folder that there always is."""
    arguments = ["first", o.engine, *map(str, case)]
    if kernels is None:
        return fresh.start(arguments, None)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(kernels, folder, dirs_exist_ok=True)
        return fresh.start(arguments, Path(folder))


def _rows(waiting: int, found: dict[int, dict[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    before: int | None = None
    last: float | None = None
    for n, one in found.items():
        more = relative = beside = None
        if before is not None:
            was = found[before]
            relative = was["s"] / one["s"]
            more = 1e6 * ((one["s"] - one["compiling"]) - (was["s"] - was["compiling"])) / (n - before)
            beside = more / last if last and last > 0 else None
        rows.append(
            {
                "waiting": waiting,
                "rows": n,
                "matches": one["matches"],
                "s": one["s"],
                "of it compiling, s": one["compiling"],
                "the size before, relative": relative,
                "a row more, us": more,
                "a row more, relative to before": beside,
            }
        )
        before, last = n, more
    return rows
