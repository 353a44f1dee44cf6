"""What it takes to ask which events matched: one match over 500 events, of which 150 may be taken, in any choice (W = 500).

``SEQ(A, B+, C)`` under skip-till-any-match: each choice of b's is a path; "not falling" those in which no value is below the one
before. CPU time of the call; of the count of all paths, behind it; of a call with its first path; of one with its events; and the
path events a second.
Then what `lineage=True` costs where nothing is asked (`bench.kept`), and what it takes to have each match come with its events
(`bench.told`); and pushes a second where output follows from paths (`bench.collapsed`).
"""

from __future__ import annotations

import random
import time
from itertools import islice
from typing import NamedTuple

from afa import Change, Query, insert, query
from bench.collapsed import collapsed_rows
from bench.kept import kept_rows
from bench.measure import WINDOW, Options, Row, but_first, spent
from bench.told import told_rows

CASES = {"any": ("a.val > 0", WINDOW), "not falling": ("b[i].val >= b[i-1].val", WINDOW), "short": ("a.val > 0", 40)}
"""A condition and a window; in the short one there are 20 events."""
LISTED = 10_000
"""So many paths are listed."""


class Ev(NamedTuple):
    type: str
    val: int


def measure(o: Options) -> list[Row]:
    return [*(row(o, name) for name in CASES), *kept_rows(o), *told_rows(o), *collapsed_rows(o)]


def row(o: Options, name: str) -> Row:
    """One query; the first round does not count."""
    condition, window = CASES[name]
    asked = any_b(condition, window)
    events = stream(min(o.size(WINDOW - 20, least=60), window - 20))
    op = asked.operator(engine=o.engine)  # type: ignore[arg-type]
    op.push_many([insert(event, le) for le, event in enumerate(events)])
    match = Change(asked.shown.cls(1), len(events) - 1, window)
    values = [event.val for event in events if event.type == "B"]
    expected = chains(values) if name == "not falling" else 2 ** len(values) - 1
    assert op.lineage(match).count() == expected, "expected as many paths as choices"
    rounds: dict[str, list[float]] = {"call": [], "count": [], "first": [], "events": [], "rate": []}
    for _ in range(o.rounds):
        found, call = spent(lambda: op.lineage(match), time.thread_time)
        _, count = spent(found.count, time.thread_time)
        _, first = spent(lambda: next(op.lineage(match).paths()), time.thread_time)
        _, all_events = spent(lambda: op.lineage(match).events(), time.thread_time)
        paths, took = spent(lambda of=found: list(islice(of.paths(), LISTED)), time.thread_time)  # type: ignore[misc]
        rate = sum(map(len, paths)) / took / 1e6
        for column, value in zip(rounds.values(), (call * 1e3, count * 1e3, first * 1e3, all_events * 1e3, rate)):
            column.append(value)
    return {
        "query": name,
        "b": len(values),
        "paths": f"{float(expected):.2g}",
        "call, ms": but_first(rounds["call"]),
        "count, ms": but_first(rounds["count"]),
        "first path, ms": but_first(rounds["first"]),
        "events, ms": but_first(rounds["events"]),
        "M path events/s": but_first(rounds["rate"]),
    }


def any_b(condition: str, window: int) -> Query:
    """``SEQ(A, B+, C)``, any match."""
    text = f"PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match(a, b[], c) {{ {condition} }} WITHIN {window} RETURN a.val"
    return query(text, event=Ev)


def stream(n: int) -> list[Ev]:
    """An A, then B's among others, then a C."""
    choose = random.Random(1)
    return [Ev("A", 1), *(Ev(choose.choice("BXX"), choose.randint(1, 1000)) for _ in range(n - 2)), Ev("C", 0)]


def chains(values: list[int]) -> int:
    """How many choices of values do not fall."""
    found: list[int] = []
    for i, value in enumerate(values):
        found.append(1 + sum(count for count, before in zip(found, values[:i]) if before <= value))
    return sum(found)
