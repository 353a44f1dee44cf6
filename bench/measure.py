"""How variants are compared, and how a result is kept."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.drive import Batches, Outcome

WINDOW = 500
RESULTS = Path(__file__).parent / "results"
Row = dict[str, Any]
Spread = dict[str, float]
SCALES = {"tiny": 0.001, "small": 0.1, "full": 1.0}
SLOWER = 0.02  # how much of it the interpreted engine gets


class Options(NamedTuple):
    """What is measured, and how much of it."""

    engine: str = "compiled"  # or "interpreted"
    scale: str = "full"  # or "tiny", "small"
    events: int = 100_000_000  # how many the memory benchmark feeds at full scale
    before: str | None = None  # a checkout whose engine stands beside this one, where a benchmark does so

    def size(self, full: int, least: int = 1000) -> int:
        """How many events there are here, where the full scale has ``full`` of them."""
        share = SCALES[self.scale] * (SLOWER if self.engine == "interpreted" and self.scale != "tiny" else 1.0)
        return min(full, max(least, int(full * share)))

    def few(self, full: int, least: int) -> int:
        """How many there are; at tiny scale as few as make sense."""
        return least if self.scale == "tiny" else self.size(full, least)

    def some(self, cases: Sequence[Any]) -> list[Any]:
        """All cases; at tiny scale the first and the last."""
        return list(cases) if self.scale != "tiny" or len(cases) < 3 else [cases[0], cases[-1]]

    @property
    def rounds(self) -> int:
        """How often each variant runs."""
        return {"tiny": 1, "small": 3, "full": 5}[self.scale]


def timed(pushes: Mapping[str, Callable[[Any], Any]], batches: Sequence[Any]) -> dict[str, list[float]]:
    """Process CPU time of each batch, all takers in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in pushes}
    for batch in batches:
        for name, push in pushes.items():
            begin = time.process_time()
            push(batch)
            seconds[name].append(max(time.process_time() - begin, 1e-9))
    return seconds


def spent(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[Any, float]:
    """What a call gives, and the seconds of CPU time that it took."""
    begin = clock()
    found = call()
    return found, max(clock() - begin, 1e-9)


def interleaved(runs: dict[str, Callable[[], Outcome]], rounds: int, agree: bool = True) -> dict[str, list[Outcome]]:
    """Every variant once a round, so that a slow minute of the machine hits all alike; one more round before, for caches.

    An `AssertionError` tells that there is no output, or (with ``agree``) that two answers differ: then no figure means anything.
    """
    if rounds > 1:
        for go in runs.values():
            go()
    columns = {name: list(column) for name, column in zip(runs, zip(*([go() for go in runs.values()] for _ in range(rounds))))}
    for name, column in columns.items():
        assert column[0].final > 0, f"expected output but got none from {name}: a benchmark without output measures nothing"
        assert len({outcome.answer for outcome in column}) == 1, f"expected one answer but got several from {name}"
    if agree:
        answers = {name: (column[0].final, column[0].answer) for name, column in columns.items()}
        assert len(set(answers.values())) == 1, f"expected one answer but got {answers}"
    return columns


def best_of(
    ways: Mapping[str, Callable[[], Any]], rounds: int, agree: Callable[[dict[str, Any]], None]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Every way once a round, behind another one each time: the least CPU seconds of each, and what it gave at last.

    ``agree`` is asked about what each round gave, and raises an `AssertionError` where two answers differ.
    """
    took: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(rounds):
        found = {}
        for way in (list(ways) * rounds)[turn : turn + len(ways)]:
            found[way], seconds = spent(ways[way])
            took[way].append(seconds)
        agree(found)
    return {way: min(each) for way, each in took.items()}, found


def spread(values: Sequence[float]) -> Spread:
    """Median and range."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def but_first(values: Sequence[float]) -> Spread:
    """The same without the first round, if there are several."""
    return spread(values[len(values) > 1 :])


def rates(column: Sequence[Outcome]) -> Spread:
    """M events/s."""
    return spread([outcome.rate for outcome in column])


def ratio(ours: Sequence[Outcome], base: Sequence[Outcome]) -> Spread:
    """Our rate over the base's, round by round."""
    return spread([a.rate / b.rate for a, b in zip(ours, base)])


def words(op: Any) -> int:
    """Memory as the paper counts it (Sec. 6.1: registers and partial matches), in words of 8 bytes.

    A partial match is start LE, RE, state and register; an ignorable run is two ends and its partial match.
    """
    held = op.statistics
    return int(held.partial_matches * (3 + len(op.automaton.register)) + held.intervals * 3)


def sampled(make: Callable[[], Any], fed: Batches, look: Callable[[Any], int] = words) -> tuple[int, float]:
    """The most and the mean that an operator holds, looked at after every batch; not timed."""
    op = make()
    seen = []
    for batch in fed.batches:
        op.push_many(batch, **fed.arguments)
        seen.append(look(op))
    return max(seen), statistics.fmean(seen)


def about() -> dict[str, Any]:
    """What a figure depends on."""
    git = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    versions = {}
    for name in ("numpy", "numba", "llvmlite", "pyarrow", "pyspark"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    python = platform.python_version()
    return {"commit": git.stdout.strip(), "cpu": cpu(), "cores": os.cpu_count(), "python": python, **versions}


def cpu() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def keep(name: str, question: str, options: Options, rows: list[Row], folder: Path) -> Path:
    """Keep the rows as JSON, with the question, the commit, the CPU and the versions."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    record = {"question": question, "engine": options.engine, "scale": options.scale, **about(), "rows": rows}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path
