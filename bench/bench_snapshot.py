"""What does a snapshot cost? Q1, k = 1; 10,000 keys with 1, 5 and 100 events each, none of them final yet; one key alone; and a
million keys of one event.

Incremental: after one event more of each tenth key.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from afa import Keyed
from bench.measure import Options, Row, spent, spread
from bench.queries import q1
from bench.workloads import keyed

KEYS, MANY = 10_000, 1_000_000
EVENTS = (1, 5, 100)


def measure(o: Options) -> list[Row]:
    most = o.size(KEYS, least=20)
    return [*(row(o, keys, events) for keys in (1, most) for events in EVENTS), row(o, o.size(MANY, least=20), 1)]


def row(o: Options, keys: int, events: int) -> Row:
    """So many keys with so many events each."""
    stream = keyed(keys * events, keys)
    tenth = {name: column[: keys * events : 10] for name, column in keyed(keys, keys).items()}
    saved, restored, increments, chained = [], [], [], []
    op = Keyed(q1(), key="key", window=500 * keys, engine=o.engine)  # type: ignore[arg-type]
    op.push_many(stream)
    assert len(op.keys) == keys
    again_of = partial(Keyed.restore, q1(), key="key", engine=o.engine)  # type: ignore[arg-type]
    for _ in range(o.rounds + 1):
        blob, took = spent(op.snapshot, time.thread_time)
        saved.append(1e6 * took / keys)
        again, took = spent(partial(again_of, blob), time.thread_time)
        restored.append(1e6 * took / keys)
        again.push_many({**tenth, "le": tenth["le"] + keys * events})
        changed = len(tenth["le"])
        more, took = spent(partial(again.snapshot, incremental=True), time.thread_time)
        increments.append(1e6 * took / changed)
        last, took = spent(partial(again_of, [blob, more]), time.thread_time)
        chained.append(1e6 * took / keys)
        assert last.snapshot() == again.snapshot(), "the chain is another state"
        again = again_of(blob)
    partial_matches = op.statistics.partial_matches
    _same(op, again, keys, events)
    return {
        "keys": keys,
        "events per key": events,
        "bytes per key": len(blob) / keys,
        "partial matches per key": partial_matches / keys,
        "snapshot, microseconds per key": spread(saved[1:]),
        "restore, microseconds per key": spread(restored[1:]),
        "incremental, microseconds per changed key": spread(increments[1:]),
        "incremental, bytes": len(more),
        "restore of both, microseconds per key": spread(chained[1:]),
    }


def _same(op: Any, again: Any, keys: int, events: int) -> None:
    """The restored operator goes on as the one that was saved."""
    more = keyed(keys * (events + (20 if keys <= KEYS else 6)), keys)
    rest = {name: column[keys * events :] for name, column in more.items()}
    a, b = op.push_many(rest), again.push_many(rest)
    assert all(np.array_equal(a[name], b[name]) for name in a), "the restored operator gave another answer"
    assert len(a["le"]) > 0, "a benchmark without output measures nothing"
