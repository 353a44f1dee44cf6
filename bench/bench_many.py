"""What do ten million keys of one event cost in one operator: taken, promised, cleaned, saved, one of 1,000 going on, forgotten?

Each in a process of its own: CPU time of the process, user and system; bytes a key of the operator's own memory and of the process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from afa import Arc, Automaton, Keyed, Punctuation
from bench.bench_memory import resident
from bench.measure import Options, Row
from bench.queries import Climb, Tick
from bench.workloads import Stream, take

KEYS = (100_000, 1_000_000, 10_000_000)
BATCH, WINDOW, ON = 1_000_000, 1_000_000_000, 1000


def measure(o: Options) -> list[Row]:
    return [_fresh(o.engine, keys) for keys in dict.fromkeys(o.size(keys) for keys in o.some(KEYS))]


def _fresh(engine: str, keys: int) -> Row:
    """A row, from a new process."""
    command = [sys.executable, "-m", "bench.bench_many", engine, str(keys)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    row: Row = json.loads(done.stdout)
    return row


def row(engine: str, keys: int) -> Row:
    """So many keys; each begins, and one in a thousand goes on to a match after the promise."""
    _operator(engine).push_many(_events(np.arange(1000), 0))  # kernels and code of arcs are there
    begin = resident()
    op, few = (_operator(engine) for _ in range(2))
    found: Row = {"keys": keys}

    def timed(name: str, n: int, work: Callable[[], Any]) -> Any:
        gone = time.process_time()
        done = work()
        found[f"{name}, M keys/s"] = n / (time.process_time() - gone) / 1e6
        return done

    places = [np.arange(low, min(low + BATCH, keys)) for low in range(0, keys, BATCH)]
    parts = [_events(part, part) for part in places]
    timed("taken", keys, lambda: [op.push_many(part) for part in parts])
    memory = getattr(op._core.engine, "memory", None)
    if memory is not None:
        found["bytes a key"] = memory.used
    found["process, bytes a key"] = (resident() - begin) * 2**20
    timed("promised", keys, lambda: op.push(Punctuation(keys)))
    assert timed("cleaned", keys, lambda: op.statistics).partial_matches == keys
    found["snapshot, bytes a key"] = len(timed("snapshot", keys, op.snapshot))
    some = np.arange(0, keys, ON)
    few.push_many(_events(some, some))
    few.push(Punctuation(keys))
    later = _events(some, keys, change=1.0)
    ours, theirs = _sorted(timed("going on", len(some), lambda: op.push_many(later))), _sorted(few.push_many(later))
    assert len(ours["le"]) == len(some), "a benchmark without output measures nothing"
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours), "the answers differ"
    op.push(Punctuation(keys + 2 * WINDOW))
    assert timed("forgotten", keys, lambda: op.statistics).keys == 0
    used = resource.getrusage(resource.RUSAGE_SELF)
    found |= {name: value / keys for name, value in found.items() if name.endswith("bytes a key")}
    return {**found, "most, MiB": used.ru_maxrss / 1024, "user, s": used.ru_utime, "system, s": used.ru_stime}


def _operator(engine: str) -> Keyed:
    """A fall, then a rise."""
    fall = Arc("start", "low", lambda e, r: e.change < 0, lambda e, r: Climb(e.price, 0), name="fall")
    rise = Arc("low", "done", lambda e, r: e.change > 0, name="rise")
    automaton = Automaton(start="start", final={"done"}, register=Climb(), event=Tick, arcs=[fall, rise])
    return Keyed(automaton, key="key", window=WINDOW, engine=engine)  # type: ignore[arg-type]


def _sorted(output: Any) -> Stream:
    """The matches by key; all are of one LE."""
    columns = {name: np.asarray(column) for name, column in output.items()}
    return take(columns, np.argsort(columns["key"]))


def _events(key: Any, le: Any, change: float = -1.0) -> Stream:
    """One event of each key."""
    n = len(key)
    return {
        "key": key.astype(np.int64),
        "price": key / 4.0,
        "change": np.full(n, change),
        "le": np.broadcast_to(np.asarray(le, np.int64), n).copy(),
    }


if __name__ == "__main__":
    print(json.dumps(row(sys.argv[1], int(sys.argv[2]))))
