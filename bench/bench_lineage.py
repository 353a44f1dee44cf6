"""What it takes to ask which events matched: one match over 500 events, of which 150 may be taken, in any choice (W = 500).

``SEQ(A, B+, C)`` under skip-till-any-match: each choice of b's is a path; "not falling" those in which no value is below the one
before. CPU time of the call; of the count of all paths, behind it; of a call with its first path; of one with its events; and the
path events a second. Then what `lineage=True` costs where nothing is asked, what it takes to have each match come with its events,
and pushes a second where output follows from paths.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from afa import Change, Keyed, Operator, Punctuation, Query, insert, query
from afa.compiled.compiled_engine import CompiledEngine
from bench.cases import LIGHT, Case
from bench.drive import Batches, batched, run
from bench.measure import WINDOW, Options, Row, but_first, interleaved, rates, ratio, spent
from bench.workloads import punctuated, shifted, ticks

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


# -- nothing is asked ----------------------------------------------------------------------------------------------------------
# What `lineage=True` costs where nothing is asked: the rate of a query with it over its rate without, in one run. Batches of rows
# with a promise for each window, W = 500; without keys, and with 1,000 (a window of 500 rows of each). Without, a promise in the
# midst of a batch drops state at once. With it what a call announces keeps its lineage until the next one, so that the state of a
# whole batch is held: of 20,000 rows within the cache, of 100,000 beyond it. The first half of the batches is not timed: state
# grows there, and memory that was never used costs more than all else. The answers are the same. Beside it what is held more, in
# events, after the last batch.

LARGE, SMALL = 100_000, 20_000
"""Rows of a batch, where nothing is asked."""
KEYS = 1000


def kept_rows(o: Options) -> list[Row]:
    """Every query in order; the first one late as well, and by keys."""
    found = [_kept(o, case, "in order", 0.0, 0, batch) for case in o.some(LIGHT) for batch in (SMALL, LARGE)]
    return [*found, _kept(o, LIGHT[0], "5 % late", 0.05, 0, LARGE), _kept(o, LIGHT[0], f"{KEYS:,} keys", 0.0, KEYS, LARGE)]


def _kept(o: Options, case: Case, name: str, late: float, keys: int, batch: int) -> Row:
    stream = ticks(o.size(3_000_000 if keys else 2_000_000), case.p)
    window = WINDOW * max(keys, 1)
    if keys:
        stream = {**stream, "of": np.random.default_rng(1).integers(0, keys, len(stream["le"]))}
    fed = batched(punctuated(shifted(stream, late), window), batch)
    makes = {on: _keeping(o, case, window, keys, on) for on in (False, True)}
    columns = interleaved({str(on): partial(run, make, fed, grows=2) for on, make in makes.items()}, o.rounds)
    held = {on: _held(make, fed) for on, make in makes.items()}
    return {
        "query, lineage=True": case.name,
        "rows": name,
        "a batch": batch,
        "M events/s": rates(columns["True"]),
        "relative to without": ratio(columns["True"], columns["False"]),
        "events held": held[True],
        "without": held[False],
    }


def _keeping(o: Options, case: Case, window: int, keys: int, on: bool) -> Callable[[], Any]:
    options: dict[str, Any] = {"window": window, "engine": o.engine, "lineage": on}
    if keys:
        return lambda: Keyed(case.automaton, key="of", **options)
    return lambda: Operator(case.automaton, **options)


def _held(make: Callable[[], Any], fed: Batches) -> int:
    op = make()
    for batch in fed.batches:
        op.push_many(batch, **fed.arguments)
    return int(op.statistics.events)


# -- members of matches --------------------------------------------------------------------------------------------------------
# What it takes to have each match come with its events: a stream in batches, each with its promise, a match every so many events.
# Beside the same operator without, and with ``lineage=True`` alone; what a match more costs, in microseconds of CPU time.

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


# -- output that follows from paths --------------------------------------------------------------------------------------------
# What a push costs where its output follows from paths: `collapse=`, `having=`, beside the plain way over a few such pushes.
# ``SEQ(A, B+, C)`` under skip-till-any-match, a record of each value of a that still has a match; 5 % a, 20 % b, 5 % c among
# others. One event a call, in order and 1 to 100 places late. The plain way derives in Python what the kernels sum up; both say the
# same.

RECORDS: dict[str, dict[str, Any]] = {
    "collapse=": {"collapse": "b.price"},
    "collapse=, longest=": {"collapse": "b.price", "longest": True},
    "having=": {"having": "sum(b.price) > 5000"},
}
NEAR, LATE = 200, 100
"""The window of these, and by how much their events are late."""


class Priced(NamedTuple):
    type: str
    val: int
    price: float


def collapsed_rows(o: Options) -> list[Row]:
    return [_pushes(o, name, options, late) for name, options in RECORDS.items() for late in (False, True)]


def _pushes(o: Options, name: str, options: dict[str, Any], late: bool) -> Row:
    n = o.size(1000, least=40) // (5 if late else 1)
    few = max(n // (100 if late else 20), 2)
    fast, plain = [], []
    for _ in range(o.rounds):
        found, took = _pushed(o, options, n, late)
        with _plainly():
            same, slow = _pushed(o, options, few, late)
        assert found[:few] == same, "expected the same from both"
        fast.append(n / took)
        plain.append(few / slow)
    return {
        "output": name,
        "pushes": "late" if late else "in order",
        "records": sum(map(len, found)),
        "pushes/s": but_first(fast),
        "times the plain way": but_first([a / b for a, b in zip(fast, plain)]),
    }


def _pushed(o: Options, options: dict[str, Any], n: int, late: bool) -> tuple[list[Any], float]:
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match(a, b[], c) { b[i].val >= b[i-1].val }"
    op = query(f"{text} WITHIN {NEAR} RETURN a.val", event=Priced).operator(engine=o.engine, **options)  # type: ignore[arg-type]
    choose, first = random.Random(1), o.size(3 * NEAR, least=LATE)
    events = [
        Priced(choose.choices("ABCX", (5, 20, 5, 70))[0], choose.randint(1, 1000), choose.randint(1, 99999) / 100)
        for _ in range(first + n)
    ]
    op.push_many([insert(event, le) for le, event in enumerate(events[:first])])
    choose = random.Random(2)
    rows = [insert(event, first - choose.randint(1, LATE) if late else le) for le, event in enumerate(events[first:], first)]
    return spent(lambda: [op.push(row) for row in rows], time.thread_time)


@contextmanager
def _plainly() -> Iterator[None]:
    """Let what follows from paths be derived from steps, in Python."""
    names = ("ways", "totals", "matches")
    kept = {name: getattr(CompiledEngine, name) for name in names}
    for name in names:
        setattr(CompiledEngine, name, lambda *_: None)
    try:
        yield
    finally:
        for name, method in kept.items():
            setattr(CompiledEngine, name, method)
