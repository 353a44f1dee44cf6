"""What does `afa run --state` cost, at a snapshot every five seconds, and at two a second? Whole processes over 1.5 M rows.

CPU time, and wall time, as a commit waits for the disk; each form with and without a state in turns. The answer is compared, line
by line, before anything is told; lines are sorted for that, as a state has an order of its own for those of one LE.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import pyarrow.parquet

from bench.bench_cli import BY, PATTERN, WINDOW, cpu, written
from bench.measure import Options, Row, spread

FORMS = {"parquet": ("ticks.parquet", "plain.parquet", "parts"), "csv to JSON lines": ("ticks.csv", "plain.jsonl", "state.jsonl")}
STATES = {"no state": [], "every 5 s": ["--state", "state"], "every 500 ms": ["--state", "state", "--state-every", "500ms"]}


def measure(o: Options) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="afa-bench-") as name:
        folder = Path(name)
        (folder / "pattern.py").write_text(PATTERN)
        events = written(folder, o.size(1_500_000))
        return [beside(folder, form, events, o.rounds) for form in o.some(list(FORMS))]


def beside(folder: Path, form: str, events: int, rounds: int) -> Row:
    """Without a state and with one, on one file, in turns."""
    file, plain, kept = FORMS[form]
    seconds: dict[str, list[float]] = {name: [] for name in STATES}
    walls: dict[str, list[float]] = {name: [] for name in STATES}
    for _ in range(rounds):
        for name, options in STATES.items():
            for output in (kept, "state"):
                shutil.rmtree(folder / output, ignore_errors=True)
            (folder / kept).unlink(missing_ok=True)
            command = ["-m", "afa.cli", "run", "pattern.py:vee", file, "--key", "symbol", "--time", "at", "--window", str(WINDOW)]
            command += ["--lateness", str(BY), "--quiet", "--matches", "0", "--output", kept if options else plain, *options]
            began = time.perf_counter()
            seconds[name].append(cpu(folder, command))
            walls[name].append(time.perf_counter() - began)
        assert lines(folder / plain) == lines(folder / kept), "expected the changes of a run without a state but got others"
    base, wall = seconds.pop("no state"), walls.pop("no state")
    return {
        "form": form,
        "events": events,
        "no state, M events/s": spread([events / s / 1e6 for s in base]),
        "state, bytes": (folder / "state/state").stat().st_size,
        **{f"{name}, relative to none": spread([a / b for a, b in zip(base, found)]) for name, found in seconds.items()},
        **{f"{name}, wall, relative": spread([a / b for a, b in zip(wall, found)]) for name, found in walls.items()},
    }


def lines(output: Path) -> list[str]:
    """All changes, as texts in order."""
    if output.suffix == ".jsonl":
        return sorted(output.read_text().splitlines())
    files = sorted(output.iterdir()) if output.is_dir() else [output]
    return sorted(str(row) for file in files for row in pyarrow.parquet.read_table(file).to_pylist())
