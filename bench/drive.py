"""How a stream is given to an operator: cut into batches of columns or Arrow tables, run on thread CPU time, its answer taken.

Punctuations and arcs are rows of the batch (column ``kind``), so that one call serves for all of them.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa import Arc, Operator
from bench.workloads import EVENT, Stream, count, take

_left_out: set[int] = set()
"""The first batches of runs, one in so many of all, were not timed."""


class Batches(NamedTuple):
    """A stream ready to be pushed: nothing of this is timed."""

    batches: list[Any]
    arguments: dict[str, Any]
    events: int


class Outcome(NamedTuple):
    """What a run gave, and what it cost."""

    final: int  # matches in force at the end
    answer: str  # a digest of the net output
    records: int  # insertions and retractions on the way
    seconds: float  # thread CPU time
    events: int

    @property
    def rate(self) -> float:
        """M events/s."""
        return self.events / self.seconds / 1e6


def batched(stream: Stream, size: int, *, arcs: Sequence[Arc] = (), arrow: bool = False) -> Batches:
    """Cut a stream into batches of ``size`` rows."""
    rows = len(stream["le"])
    parts: list[Any] = [take(stream, slice(start, start + size)) for start in range(0, rows, size)]
    if arrow:
        import pyarrow as pa

        parts = [pa.table(part) for part in parts]
    return Batches(parts, {"arcs": list(arcs)} if arcs else {}, count(stream))


def operator(automaton: Any, window: int, engine: str) -> Callable[[], Operator]:
    """What makes a fresh operator."""
    return lambda: Operator(automaton, window=window, engine=engine)  # type: ignore[arg-type]


def run(
    make: Callable[[], Any], fed: Batches, *, net: bool = True, columns: Sequence[str] | None = None, grows: int = 4
) -> Outcome:
    """Push all batches into a fresh operator; ``columns``: of the output, which ones make the answer.

    The first quarter of the batches, or one in ``grows``, is not timed: there the state grows to its size (`left_out`).
    """
    op = make()
    first = len(fed.batches) // grows
    if first:
        _left_out.add(grows)
    outputs = [op.push_many(batch, net=net, **fed.arguments) for batch in fed.batches[:first]]
    gc.collect()
    begin = time.thread_time()
    for batch in fed.batches[first:]:
        outputs.append(op.push_many(batch, net=net, **fed.arguments))  # noqa: PERF401  # a comprehension would be no faster
    seconds = time.thread_time() - begin
    final, answer, records = settled(outputs, columns)
    return Outcome(final, answer, records, seconds, fed.events - sum(map(events_of, fed.batches[:first])))


def left_out() -> str:
    """Which rows were not timed in the runs since this was asked last, for whoever reads the figures."""
    shares = sorted(_left_out)
    _left_out.clear()
    return f"Not timed: the first 1/{' or 1/'.join(map(str, shares))} of the batches of a run." if shares else ""


def events_of(batch: Any) -> int:
    """How many events a batch has."""
    names = batch.column_names if hasattr(batch, "column_names") else batch
    return count({name: np.asarray(batch[name]) for name in ("le", "kind") if name in names})


def settled(outputs: Sequence[Any], columns: Sequence[str] | None = None) -> tuple[int, str, int]:
    """The net output of a run: how many matches, a digest of them, and how many changes led there."""
    tables = [matches_of(output) for output in outputs if output is not None]
    if not tables:
        return 0, "", 0
    names = [*(columns or sorted(name for name in tables[0] if name not in ("le", "re", "diff", "kind"))), "le", "re"]
    rows = {name: np.concatenate([table[name] for table in tables]) for name in [*names, "diff"]}
    records = len(rows["le"])
    order = np.lexsort([rows[name] for name in reversed(names)])
    rows = take(rows, order)
    if not records:
        return 0, "", 0
    new = np.zeros(records, bool)
    new[0] = True
    for name in names:
        new[1:] |= rows[name][1:] != rows[name][:-1]
    counts = np.add.reduceat(rows["diff"], np.flatnonzero(new))
    assert set(np.unique(counts).tolist()) <= {0, 1}, "a match is in force once or not at all"
    kept = take(rows, np.flatnonzero(new)[counts == 1])
    digest = hashlib.blake2b(digest_size=8)
    for name in names:
        digest.update(np.ascontiguousarray(kept[name]).tobytes())
    return len(kept["le"]), digest.hexdigest(), records


def matches_of(output: Any) -> Stream:
    """The output of one batch as columns, without the punctuations in it."""
    names = getattr(output, "column_names", output)
    columns = {name: np.asarray(output[name]) for name in names}
    if "kind" in columns:  # a punctuation has no key: columns of keys come as objects
        columns = take(columns, columns["kind"] == EVENT)
        columns = {name: np.array(c.tolist(), np.int64) if c.dtype == object else c for name, c in columns.items()}
    return columns
