"""What can only be measured in a new process: ``python -m bench.fresh WHAT ENGINE ..`` prints JSON.

``WHAT``: ``start``, ``arcs FOLDER``, ``first WAITING ROWS``, ``held PATTERN ROWS LENGTH``; ``kernels`` lets them be compiled
and prints nothing of note.

`start` starts such a process with its caches in a folder that the caller names; `command` starts ``afa run`` in that way.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROUNDS, EVENTS, WINDOW = 9, 100, 50
ROOT = Path(__file__).parents[1]


def start(arguments: Sequence[str], cache: Path | None) -> dict[str, Any]:
    """Run this module in a new process, whose every cache lies in that folder; None: where they always lie."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "bench.fresh", *arguments],
        cwd=ROOT,
        env=_environment(cache),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    whole = 1e3 * (time.perf_counter() - begin)
    measured = json.loads(done.stdout)
    return {**measured, "whole process, ms": whole} if arguments[0] == "start" else measured


def command(cache: Path | None) -> dict[str, float]:
    """From ``afa run`` on a file of Q1's ticks to its first line of output, in ms."""
    from bench.workloads import ticks

    rows = zip(*(column.tolist() for column in ticks(200).values()))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ticks.csv"
        file.write_text("\n".join([",".join(ticks(1)), *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="ascii")
        (Path(folder) / "pattern.py").write_text("from bench.queries import q1\n\npattern = q1()\n", encoding="ascii")
        run = [sys.executable, "-m", "afa.cli", "run", f"{folder}/pattern.py:pattern", str(file), "--window", "500"]
        begin = time.perf_counter()
        with subprocess.Popen(run, cwd=ROOT, env=_environment(cache), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("+"), "a benchmark without output measures nothing"
            first = 1e3 * (time.perf_counter() - begin)
            process.stdout.read()
    assert process.returncode == 0
    return {"import and first match, ms": first}


def _environment(cache: Path | None) -> dict[str, str]:
    """With every cache in that folder; None: where they always lie."""
    places = ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "AFA_CACHE_DIR")
    return {**os.environ, "PYTHONPATH": str(ROOT), **({name: str(cache) for name in places} if cache else {})}


def first_match(engine: str) -> dict[str, float]:
    """From nothing to the first match of Q1, in ms; wall time, as the user feels it, and CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    import afa

    imported, imported_cpu = time.perf_counter(), time.process_time()
    from bench.queries import q1
    from bench.workloads import ticks

    stream = ticks(200)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    op = afa.Operator(q1(), window=500, engine=engine)  # type: ignore[arg-type]
    assert len(op.push_many(stream)["le"]), "a benchmark without output measures nothing"
    end, end_cpu = time.perf_counter(), time.process_time()
    until, compiled = _until_full(op, end)
    return {
        "import afa, ms": 1e3 * (imported - wall),
        "import afa, CPU ms": 1e3 * (imported_cpu - cpu),
        "operator and first match, ms": 1e3 * (end - begin),
        "operator and first match, CPU ms": 1e3 * (end_cpu - begin_cpu),
        "import and first match, ms": 1e3 * (imported - wall + end - begin),
        "kernels in full after, ms": until,
        "compiled beside, CPU ms": compiled,
    }


def _until_full(op: Any, since: float) -> tuple[float, float]:
    """When the kernels were those that are compiled in full, in ms, and the CPU ms of the process that compiled them."""
    from afa import insert
    from afa.compiled.machine import kernels as entry
    from afa.compiled.machine.native import native
    from bench.queries import Tick

    n = 1000
    while op._core.engine.name == "compiled" and not native.function(entry.key(), None):
        op.push(insert(Tick(1.0, 0.5), n))
        n += 1
        time.sleep(0.01)
    full = time.perf_counter()
    for more in range(20 if n > 1000 else 0):  # the operator looks after its process, if there is one
        op.push(insert(Tick(1.0, 0.5), n + more))
        time.sleep(0.05)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (full - since), 1e3 * (used.ru_utime + used.ru_stime)


def new_arcs(engine: str, folder: Path) -> dict[str, list[float]]:
    """CPU ms of one `push_arc` and the batch after it, over what such a batch costs alone; all threads of the process."""
    from afa import Arc
    from bench.queries import drop_arc

    shapes = _module("\n".join(_shape(number) for number in range(ROUNDS)), folder / "shapes.py").SHAPES
    arcs = [
        *(("changed constant", drop_arc(0.3 + number / 10)) for number in range(ROUNDS)),
        *(("known shape", _short(0.5 + number / 10)) for number in range(ROUNDS)),
        *(("new shape", Arc("start", "fall", fence, name=f"shape {number}")) for number, fence in enumerate(shapes)),
    ]
    measured, found = _served(engine, arcs)
    assert found == _served("interpreted", arcs)[1] > 0, "the engines differ"
    return measured


def _served(engine: str, arcs: list[tuple[str, Any]]) -> tuple[dict[str, list[float]], int]:
    """Batches with and without a new arc before them, in turn: what each kind of arc has cost, and how many matches there were."""
    from afa import Operator, Punctuation, insert
    from bench.queries import q1
    from bench.workloads import take, ticks

    steps: list[Any] = [*[None] * ROUNDS, *[step for arc in arcs for step in (None, arc)]]
    stream = ticks(EVENTS * len(steps))
    op = Operator(q1(), window=WINDOW, engine=engine)  # type: ignore[arg-type]
    spent: list[float] = []
    for number, step in enumerate(steps):
        batch = take(stream, slice(number * EVENTS, (number + 1) * EVENTS))
        begin = time.process_time()
        if step is not None:
            op.push_arc(insert(step[1]))
        op.push_many(batch)
        spent.append(1e3 * (time.process_time() - begin))
        op.push(Punctuation((number + 1) * EVENTS))
    alone = statistics.median(ms for ms, step in zip(spent, steps) if step is None)
    costs: dict[str, list[float]] = {}
    for ms, step in zip(spent, steps):
        if step is not None:
            costs.setdefault(step[0], []).append(ms - alone)
    return costs, op.statistics.outputs


def kernels(engine: str) -> dict[str, Any]:
    """Let the kernels be on disk, and no other code."""
    from afa import Operator
    from bench.queries import q1

    Operator(q1(), window=WINDOW, engine=engine)  # type: ignore[arg-type]
    return {}


def first_rows(engine: str, waiting: int, n: int) -> dict[str, float]:
    """CPU seconds of the first ``n`` rows while so many partial matches wait, and of those before; what was compiling."""
    from afa.compiled.machine.native import native
    from bench.bench_waiting import A, B, query, signals
    from bench.workloads import take

    filling = 2 * waiting
    stream = signals(filling + n, (0.5 if waiting else 0.0, 0.00005))
    stream["what"][-2:] = A, B
    op: Any = query(max(filling, 10), 2).operator(engine=engine)  # type: ignore[arg-type]
    compiled, begin = native.statistics().compile_seconds, time.process_time()
    outputs = [op.push_many(take(stream, rows)) for rows in (slice(0, filling), slice(filling, filling + n))]
    used = time.process_time() - begin
    return {
        "s": used,
        "compiling": native.statistics().compile_seconds - compiled,
        "matches": sum(len(out["le"]) for out in outputs),
    }


def held(engine: str, name: str, n: int, length: int) -> dict[str, float]:
    """Bytes a row that are held of rows in islands (`bench.bench_sql`): by the process, and in a snapshot."""
    from bench.bench_memory import resident
    from bench.bench_sql import BATCHES, LENGTHS
    from bench.drive import batched

    shape, stream = LENGTHS[name]
    query = shape.query()
    query.operator(engine=engine).push_many(stream(100, 10))  # type: ignore[arg-type]
    fed, before, op = batched(stream(n, length), n // BATCHES), resident(), query.operator(engine=engine)  # type: ignore[arg-type]
    for batch in fed.batches:
        op.push_many(batch)
    return {"RSS, bytes a row": (resident() - before) * 2**20 / n, "snapshot, bytes a row": len(op.snapshot()) / n}


def _short(level: float) -> Any:
    """An arc whose fence has the shape of `bench.queries.drop_arc`, written anew."""
    from afa import Arc

    return Arc("start", "rise", lambda event, register: event.change < -level, name=f"short {level}")


def _shape(number: int) -> str:
    """A line of source with a fence like no other: its operators spell a number."""
    signs = ["+", "-", "*"]
    digits = [(number // 3**place) % 3 for place in range(4)]
    terms = " ".join(f"{signs[digit]} {place + 2}.5" for place, digit in enumerate(digits))
    return f"SHAPES.append(lambda e, r: e.change {terms} < e.price and e.change < -0.25)"


def _module(source: str, path: Path) -> Any:
    """Import source from a file, so that functions can be read back."""
    path.write_text(f"SHAPES = []\n{source}\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    what, engine, *rest = sys.argv[1:]
    ways = {
        "start": first_match,
        "kernels": kernels,
        "arcs": lambda engine: new_arcs(engine, Path(rest[0])),
        "first": lambda engine: first_rows(engine, *map(int, rest)),
        "held": lambda engine: held(engine, rest[0], *map(int, rest[1:])),
    }
    print(json.dumps(ways[what](engine)))
