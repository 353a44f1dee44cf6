"""What it takes to have each match come with its events: a stream in batches, each with its promise, a match every so many events.

Beside the same operator without, and with ``lineage=True`` alone; what a match more costs, in microseconds of CPU time.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from afa import Punctuation, query
from bench.measure import WINDOW, Options, Row, but_first, spent


class Ev(NamedTuple):
    type: str
    val: int


FORMS: dict[str, dict[str, Any]] = {
    "without": {},
    "lineage=True": {"lineage": True},
    "members=": {"members": "val"},
    "members=, tell=": {"members": "val", "tell": "lineage"},
}
BATCH = 10_000


def told(o: Options, every: int) -> Row:
    """A match every so many events, each of three events (W = 500), in each form of operator."""
    text = f"PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) {{ }} WITHIN {WINDOW} RETURN a.val, b.val, c.val"
    asked, n = query(text, event=Ev), o.size(200_000, least=2000)
    events = [Ev("ABC"[i % every] if i % every < 3 else "X", i) for i in range(n)]
    columns = {"type": [event.type for event in events], "val": list(range(n)), "le": list(range(n))}
    batches = [{name: column[low : low + BATCH] for name, column in columns.items()} for low in range(0, n, BATCH)]
    seconds: dict[str, list[float]] = {name: [] for name in FORMS}
    matches = 0
    for _ in range(o.rounds):
        for name, options in FORMS.items():
            op = asked.operator(engine=o.engine, **options)  # type: ignore[arg-type]
            calls = [[batch, Punctuation(batch["le"][-1])] for batch in batches]
            out, took = spent(lambda op=op, calls=calls: [op.push_many(call) for call in calls], time.thread_time)  # type: ignore[misc]
            found = sum(len(parts[0]["le"]) for parts in out)
            assert matches in (0, found), "expected the same matches in each form"
            matches = found
            seconds[name].append(took)
    rates: Row = {f"{name}, M/s": but_first([n / took / 1e6 for took in column]) for name, column in seconds.items()}
    more = [(a - b) / matches * 1e6 for a, b in zip(seconds["members="], seconds["without"])]
    return {"a match every": every, "matches": matches, **rates, "us a match": but_first(more)}


def told_rows(o: Options) -> list[Row]:
    return [told(o, every) for every in (1000, 100, 10)]
