"""From which batch size on does a call no longer matter? Q1, k = 1, in order, W = 500; columns, and Arrow tables.

Then long batches, a promise after each: is a larger one ever slower? User and system time of the process.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from afa import Keyed, Operator, Punctuation
from bench.drive import batched, operator, run, settled
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio, spread
from bench.queries import q1, q2
from bench.workloads import Stream, keyed, punctuated, shifted, take, ticks

SIZES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
LARGE = 100_000
LONG = (10_000, 100_000, 1_000_000)


def measure(o: Options) -> list[Row]:
    return [*_sizes(o), *_long(o)]


def _sizes(o: Options) -> list[Row]:
    make = operator(q1(), WINDOW, o.engine)
    stream = punctuated(ticks(o.size(1_000_000)), WINDOW)
    forms = {"columns": False, "Arrow": True}
    rows: list[Row] = []
    for size in o.some(SIZES):
        few = take(stream, slice(0, max(1000, 20_000 * size)))  # 20,000 calls are enough
        runs = {name: partial(run, make, batched(few, size, arrow=arrow)) for name, arrow in forms.items()}
        whole = partial(run, make, batched(few, LARGE))
        columns = interleaved({**runs, "large": whole}, o.rounds)
        calls = -(-len(few["le"]) // size)
        row: Row = {"batch": size}
        for name in runs:
            row[f"{name}, M events/s"] = rates(columns[name])
            row[f"{name}, microseconds a call"] = min(1e6 * outcome.seconds / calls for outcome in columns[name])
        rows.append({**row, f"relative to {LARGE:,}": ratio(columns["columns"], columns["large"])})
    return rows


class Spent(NamedTuple):
    """What a run has cost, in seconds, page faults, and what it gave: how many matches, and a digest of them."""

    user: float
    system: float
    faults: int
    answer: tuple[int, str]

    @property
    def all(self) -> float:
        """User and system time."""
        return self.user + self.system


def _long(o: Options) -> list[Row]:
    """Each size in turn, the whole stream to a fresh operator; the best of the rounds, for time of the system varies most."""
    rows: list[Row] = []
    for name, make, stream, late in _cases(o):
        n = len(stream["le"])
        parts = {size: _parts(stream, size) for size in dict.fromkeys(min(size, n) for size in o.some(LONG))}
        columns = [{size: _spent(make, part, late) for size, part in parts.items()} for _ in range(o.rounds + 1)]
        answers = {spent.answer for column in columns for spent in column.values()}
        assert len(answers) == 1, f"expected one answer but got {answers} from {name}"
        assert min(answers)[0] > 0, "a benchmark without output measures nothing"
        best = {size: min((column[size] for column in columns[1:]), key=lambda spent: spent.all) for size in parts}
        least = min(spent.all for spent in best.values())
        for size, spent in best.items():
            rows.append(
                {
                    "stream": name,
                    "long batch": size,
                    "M rows/s": spread([n / column[size].all / 1e6 for column in columns[1:]]),
                    "of user time, M rows/s": n / spent.user / 1e6 if spent.user else None,
                    "system, s": spent.system,
                    "page faults": spent.faults,
                    "the first time, system, s": columns[0][size].system,
                    "relative to the best": least / spent.all,
                }
            )
    return rows


def _cases(o: Options) -> Iterator[tuple[str, Callable[[], Any], Stream, int]]:
    """Name, operator, stream, and how late its events may be."""
    n, engine = o.size(1_000_000), o.engine
    yield "one key, V, k = 2", operator(q1(k=2), WINDOW, engine), ticks(n), 0
    yield "one key, tens of partial matches", operator(q2(), WINDOW, engine), ticks(n // 5), 0
    few, many = (min(keys, n // 50) for keys in (1000, 10_000))
    strings = keyed(n, few)
    strings["key"] = np.array([f"key {key}" for key in range(few)], object)[strings["key"]]
    yield f"{few:,} string keys", lambda: _keyed(few, engine), strings, 0
    yield f"{few:,} string keys, 5 % shifted by 1..1000", lambda: _keyed(few, engine), shifted(strings, 0.05), 1000
    yield f"{many:,} int keys", lambda: _keyed(many, engine), keyed(n, many), 0


def _keyed(keys: int, engine: str) -> Keyed:
    return Keyed(q1(), key="key", window=WINDOW * keys, engine=engine)  # type: ignore[arg-type]


def _parts(stream: Stream, size: int) -> list[tuple[Any, int]]:
    """Arrow tables, and the largest LE of each."""
    import pyarrow as pa

    parts = [take(stream, slice(low, low + size)) for low in range(0, len(stream["le"]), size)]
    return [(pa.table(part), int(part["le"].max())) for part in parts]


def _spent(make: Callable[[], Operator | Keyed], parts: list[tuple[Any, int]], late: int) -> Spent:
    op, outputs = make(), []
    begin = resource.getrusage(resource.RUSAGE_SELF)
    for part, latest in parts:
        outputs.append(op.push_many(part))
        op.push(Punctuation(latest + 1 - late))
    end = resource.getrusage(resource.RUSAGE_SELF)
    final, answer, _ = settled(outputs, [name for name in outputs[0].column_names if name not in ("le", "re", "diff", "key")])
    return Spent(end.ru_utime - begin.ru_utime, end.ru_stime - begin.ru_stime, end.ru_minflt - begin.ru_minflt, (final, answer))
