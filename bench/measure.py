"""How a stream is run and timed, and how a result is kept."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from afa import Automaton, Operator, Punctuation, insert
from bench.workloads import Stream

WINDOW = 500
RESULTS = Path(__file__).parent / "results"


class Outcome(NamedTuple):
    """What a run gave: its answer, what it cost, what it held at most."""

    final: int
    records: int
    seconds: float
    partial_matches: int
    state: int


def run(automaton: Automaton, stream: Stream, batch: int = WINDOW) -> Outcome:
    """Push a stream in batches, each followed by the largest punctuation that is true. Thread CPU time."""
    promises, low = [], len(stream)
    for start in reversed(range(0, len(stream), batch)):
        promises.append(low)
        low = min([low, *(le for _, le in stream[start : start + batch])])
    op = Operator(automaton, window=WINDOW, engine="interpreted")
    seconds, nodes, state = 0.0, 0, 0
    for start, promise in zip(range(0, len(stream), batch), reversed(promises)):
        items = [insert(tick, le) for tick, le in stream[start : start + batch]]
        begin = time.thread_time()
        op.push_many(items)
        seconds += time.thread_time() - begin
        held = op.statistics
        begin = time.thread_time()
        op.push(Punctuation(promise))
        seconds += time.thread_time() - begin
        nodes, state = max(nodes, held.partial_matches), max(state, held.state_size)
    done = op.statistics
    return Outcome(done.outputs - done.retractions, done.outputs + done.retractions, seconds, nodes, state)


def interleaved(runs: dict[str, Callable[[], Outcome]], rounds: int = 5) -> dict[str, list[Outcome]]:
    """Every variant once a round, so that a slow minute of the machine hits all alike."""
    return {name: list(column) for name, column in zip(runs, zip(*([go() for go in runs.values()] for _ in range(rounds))))}


def spread(values: list[float]) -> dict[str, float]:
    """Median and range."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def keep(name: str, table: list[dict[str, Any]]) -> None:
    """Print the rows and keep them with commit, CPU and versions in ``bench/results``."""
    for row in table:
        print("  ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    about = {"commit": commit, "cpu": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    RESULTS.mkdir(exist_ok=True)
    record = {**about, "python": platform.python_version(), "rows": table}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
