"""What does `afa run` cost beside `push_many` on the same file? Keyed V patterns, 5 % late, from Parquet and CSV to Parquet.

CPU time of whole processes: imports, reading, matching, writing. `push_many` gets the file's own tables, read within its process.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from bench.measure import Options, Row, spread

KEYS, LATE, BY = 1000, 0.05, 20_000
WINDOW = 100_000
PATTERN = """
from typing import NamedTuple

from afa import Arc, Automaton


class Tick(NamedTuple):
    price: float
    volume: int


class V(NamedTuple):
    low: float = 0.0
    falls: int = 0


vee = Automaton(
    start="start", final={"done"}, register=V(), event=Tick,
    arcs=[
        Arc("start", "fall", "e.price > 101.5 and e.volume > 500", "(e.price, 0)"),
        Arc("fall", "fall", "e.price < r.low", "(e.price, r.falls + 1)"),
        Arc("fall", "rise", "r.falls >= 1 and e.price > r.low", "(e.price, r.falls)"),
        Arc("rise", "done", "e.price > r.low + 1"),
    ],
)
"""
PUSHED = """
import sys
import pyarrow as pa, pyarrow.compute, pyarrow.csv, pyarrow.parquet
import afa
from pattern import vee

file, output, lateness, window = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
operator = afa.Keyed(vee, key="symbol", window=window)
parquet = file.endswith("parquet")
batches = pyarrow.parquet.ParquetFile(file).iter_batches(131072) if parquet else pyarrow.csv.open_csv(file)
found, latest = [], 0
for batch in batches:
    table = pa.Table.from_batches([batch]).rename_columns(["le", "symbol", "price", "volume"])
    latest = max(latest, pa.compute.max(table["le"]).as_py())
    found.append(operator.push_many([table, afa.Punctuation(max(latest - lateness, 0))] if lateness else [table])[0])
pyarrow.parquet.write_table(pa.concat_tables(found), output)
"""


def measure(o: Options) -> list[Row]:
    """`afa run` takes the engine that suits the pattern, whatever engine is asked for."""
    cases = o.some([(form, lateness) for form in ("parquet", "csv") for lateness in (0, BY)])
    with tempfile.TemporaryDirectory(prefix="afa-bench-") as name:
        folder = Path(name)
        (folder / "pattern.py").write_text(PATTERN)
        (folder / "pushed.py").write_text(PUSHED)
        events = written(folder, o.size(5_000_000))
        return [beside(folder, form, lateness, events, o.rounds) for form, lateness in cases]


def written(folder: Path, n: int) -> int:
    """Write the ticks as ``ticks.parquet`` and ``ticks.csv``; how many."""
    rng = np.random.default_rng(1)
    place = np.arange(n) + np.where(rng.random(n) < LATE, rng.integers(1, BY, n), 0)
    names = np.array([f"SYM{i:04d}" for i in range(min(KEYS, n // 50))])
    table = pa.table(
        {
            "at": np.argsort(place, kind="stable"),
            "symbol": names[rng.integers(0, len(names), n)],
            "price": np.round(100 + rng.normal(0, 1.5, n), 3),
            "volume": rng.integers(1, 1000, n),
        }
    )
    pa.parquet.write_table(table, folder / "ticks.parquet")
    pa.csv.write_csv(table, folder / "ticks.csv")
    return n


def beside(folder: Path, form: str, lateness: int, events: int, rounds: int) -> Row:
    """Both on one file, in turns."""
    run = ["-m", "afa.cli", "run", "pattern.py:vee", f"ticks.{form}", "--key", "symbol", "--time", "at", "--window", str(WINDOW)]
    run += ["--quiet", "--matches", "0", "--output", "run.parquet", *(["--lateness", str(lateness)] if lateness else [])]
    push = ["pushed.py", f"ticks.{form}", "pushed.parquet", str(lateness), str(WINDOW)]
    seconds: dict[str, list[float]] = {"run": [], "push": []}
    for _ in range(rounds):
        seconds["run"].append(cpu(folder, run))
        seconds["push"].append(cpu(folder, push))
    ours, theirs = net(folder / "run.parquet"), net(folder / "pushed.parquet")
    assert ours, "expected output but got none: a benchmark without output measures nothing"
    assert ours == theirs, f"expected one answer but got {len(ours)} matches from afa run, {len(theirs)} from push_many"
    return {
        "form": form,
        "lateness": lateness,
        "events": events,
        "matches": len(ours),
        "afa run, M events/s": spread([events / s / 1e6 for s in seconds["run"]]),
        "push_many, M events/s": spread([events / s / 1e6 for s in seconds["push"]]),
        "afa run, relative to push_many": spread([b / a for a, b in zip(seconds["run"], seconds["push"])]),
    }


def cpu(folder: Path, command: list[str]) -> float:
    """CPU seconds that a process takes, those of the system among them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], cwd=folder, check=True, env=environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def environment() -> dict[str, str]:
    """With this tree's `afa`, wherever the process runs."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}


def net(file: Path) -> set[Any]:
    """The matches in force at the end."""
    table = pa.parquet.read_table(file)
    counts: Counter[Any] = Counter()
    names = [name for name in table.column_names if name != "diff"]
    for diff, *match in zip(table["diff"].to_pylist(), *(table[name].to_pylist() for name in names)):
        counts[tuple(match)] += diff
    return {match for match, count in counts.items() if count}
