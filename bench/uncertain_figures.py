"""Figure 4 of PVLDB 2010 and Figure 6 of SIGMOD 2014: `Sequence` beside the ways of the papers, answers compared.

The ways of the papers get fewer events of the same stream. Of Figure 6 all get the events alone that fit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from afa import Punctuation
from bench import clusters
from bench import imprecise_stream as made
from bench.baselines import closure_runs, event_based, point_based
from bench.baselines.valid_intervals import Known
from bench.confidence_time import confidence_time
from bench.imprecise_stream import ANY, NEXT
from bench.measure import Options, Row, spent

WINDOW, HALF = 100, 10
MORE = ((10, 0), (10, 3), (10, 7), (10, 1), (10, 5), (10, 8))
RARER_LAST = {
    "1 : 1 : 1": ((10, 0), (10, 3), (10, 7)),
    "2 : 1 : 1/2": ((5, 0), (10, 3), (20, 7)),
    "5 : 1 : 1/5": ((2, 0), (10, 3), (50, 7)),
}
"""The shares of the components: more events fit the first one, fewer the last."""
POINTS = 1e9
"""No more instants than these are gone through for one row."""
EXACT = 1e-9
THRESHOLDS = (0.0, 0.7, 0.9, 0.99, 0.999)

Answer = dict[Any, float]


class Case(NamedTuple):
    """A row of Figure 4."""

    figure: str
    strategy: str
    half: int = HALF
    window: int = WINDOW
    length: int = 3
    shares: str = "1 : 1 : 1"
    events: int = 300
    by_points: int = 0
    """So many events point-based evaluation gets."""


BY_HALF = (
    {"half": 1, "events": 1_000, "by_points": 400},
    {"half": 5, "events": 500, "by_points": 200},
    {"half": 10, "by_points": 100},
    {"half": 20, "events": 200},
    {"half": 30, "events": 150},
    {"half": 50, "events": 120},
)
CASES = (
    *(Case("4(a), (b)", ANY, **half) for half in BY_HALF),
    *(Case("4(c)", ANY, HALF // 2, WINDOW // 2, length=length) for length in (2, 3, 4, 5)),
    *(Case("4(d)", ANY, shares=shares) for shares in RARER_LAST),
    *(Case("4, by window", ANY, window=window) for window in (50, 100, 200)),
    *(Case("4(e)", NEXT, **half) for half in BY_HALF),
)
MORE_FOR_US = 10
"""`Sequence` is timed on so many times the events that the other ways get."""


def sequence_figures(o: Options) -> Iterator[Row]:
    """Figure 4."""
    cases: list[Case] = list(CASES)
    if o.scale == "tiny":
        cases = [case._replace(events=60, by_points=case.by_points and 30) for case in (CASES[0], CASES[8], CASES[16])]
    for case in cases:
        yield _figure_4(case, o)


def _figure_4(case: Case, o: Options) -> Row:
    components = RARER_LAST[case.shares] if case.length == 3 else MORE[: case.length]
    following = case.strategy == NEXT
    row: Row = {
        "figure": case.figure, "strategy": case.strategy, "half interval": case.half, "window": case.window,
        "length": case.length, "shares": case.shares,
    }  # fmt: skip
    of = made.stream(case.events, case.half, components)
    events = [Known(*each) for each in zip(*(column.tolist() for column in of))]
    exact = made.sequence(case.strategy, case.window, case.length)
    truth = _signatures(exact.push_many(of.table()), case.length)
    row["matches, an event"] = len(truth) / case.events
    rate = _rate_of_sequence(case, components, o)
    row["Sequence, events/s"] = rate
    arguments = case.length, case.window, following, 2 * case.half + 1
    many = [int(np.sum(of.kind == number)) for number in range(case.length)]
    order = sorted(range(case.length), key=lambda number: many[number])
    ways: dict[str, event_based.Evaluation] = {
        "query order": event_based.QueryOrder(*arguments),
        "any state": event_based.AnyState(*arguments),
        "selectivity order": event_based.SelectivityOrder(*arguments, order),
    }
    best = 0.0
    for name, way in ways.items():
        answer, took = spent(partial(event_based.run, way, events))
        _same(answer, truth, f"{name}, {case}")
        row[f"{name}, events/s"] = case.events / took
        if name == "query order":
            row["its confidences"] = f"{way.seconds / took:.0%}"
        best = max(best, case.events / took)
    row["points, events/s"] = None
    if case.by_points:
        part = events[: case.by_points]
        answer, took = spent(lambda: point_based.run(part, case.length, case.window, following, o.engine))
        row["points, events/s"] = case.by_points / took
        exact = made.sequence(case.strategy, case.window, case.length)
        _same(answer, _signatures(exact.push_many(of.part(0, case.by_points).table()), case.length), f"points, {case}")
    row["Sequence, times the best of them"] = rate / best
    return row


def _rate_of_sequence(case: Case, components: Any, o: Options) -> float:
    n = case.events * (MORE_FOR_US if o.scale != "tiny" else 2)
    of, op, size = made.stream(n, case.half, components), made.sequence(case.strategy, case.window, case.length), -(-n // 8)
    op.push_many(of.part(0, 2 * size).table())
    begin = time.process_time()
    for start in range(2 * size, n, size):
        op.push(Punctuation(int(of.lower[start])))
        op.push_many(of.part(start, start + size).table())
    return (n - 2 * size) / (time.process_time() - begin)


def _signatures(out: Any, length: int) -> Answer:
    columns = [np.asarray(out[name]).tolist() for name in (*made.NAMES[:length], "confidence")]
    return {tuple(ids): confidence for *ids, confidence in zip(*columns)}


def _same(answer: Answer, truth: Answer, what: str) -> None:
    assert truth, f"expected matches but got none: {what}"
    assert answer.keys() == truth.keys(), f"expected the same signatures but got others: {what}"
    worst = max(abs(answer[name] - truth[name]) for name in truth)
    assert worst < EXACT, f"expected the same confidences but got others, by {worst}: {what}"


# -- Kleene closures ---------------------------------------------------------------------------------------------------------------


class Closures(NamedTuple):
    """A stream of Figure 6: the mean gap between two events of a component, and the windows, with how many events each gets."""

    gap: int
    windows: dict[int, int]


LONGEST = 50_000
"""The longest window of closures in which any order counts: their lists take time by the ticks between events."""
STREAMS = (
    Closures(25, {25: 4_000, 50: 4_000, 75: 2_000, 100: 1_000, 150: 500}),
    Closures(20_000, {10_000: 2_000_000, 50_000: 1_000_000, 100_000: 1_000_000, 200_000: 500_000}),
)


def kleene_figures(o: Options) -> Iterator[Row]:
    """Figure 6 (a) to (d): throughput by window and threshold, and what confidences take of it."""
    streams = STREAMS if o.scale != "tiny" else [Closures(25, {30: 150})]
    for closures in streams:
        for chain in (True, False):
            for window, n in closures.windows.items():
                if not chain and window > LONGEST:
                    continue
                yield from _figure_6(closures.gap, window, n, chain, o)


def _figure_6(gap: int, window: int, n: int, chain: bool, o: Options) -> Iterator[Row]:
    of, closure = clusters.rare(n, gap), "a chain" if chain else "any order"
    table, truth = of.table(), Answer()
    row: Row = {"figure": "6", "closure": closure, "mean gap": gap, "window": window, "b's in a window": window / gap}
    for threshold in THRESHOLDS:
        op = clusters.closure(window, chain, threshold=threshold)
        with confidence_time() as of_confidences:
            out, took = spent(partial(op.push_many, table))
        found = _closures(out)
        truth = truth or found
        above, about = ({name for name, p in truth.items() if p > threshold + more} for more in (EXACT, -EXACT))
        assert above <= found.keys() <= about, f"expected the matches above {threshold} but got others"
        yield row | _cost(f"DP {threshold:g}", n, len(found), took, of_confidences.seconds)
    if not chain:
        op = clusters.closure(window, chain, collapsed=True)
        out, took = spent(partial(op.push_many, table))
        ends = {(a, c) for a, _, c in truth}
        assert set(zip(np.asarray(out["a"]).tolist(), np.asarray(out["c"]).tolist())) == ends, "expected one match for all subsets"
        yield row | _cost("collapsed", n, len(ends), took, None)
    points = sum(float(clusters.INSTANTS) ** (len(chosen) + 2) for _, chosen, _ in truth)
    if points <= POINTS * (0.01 if o.scale == "tiny" else 1):
        (answer, seconds), took = spent(lambda: closure_runs.run(of.known(), window, chain))
        _same(answer, truth, f"runs, window {window}")
        yield row | _cost("runs, by points", n, len(answer), took, seconds)


def _cost(way: str, n: int, matches: int, took: float, confidences: float | None) -> Row:
    return {
        "way of closures": way, "matches": matches, "events/s": n / took, "s": took, "confidences, s": confidences,
        "us a match": took / matches * 1e6 if matches else None,
    }  # fmt: skip


def _closures(out: Any) -> Answer:
    columns = [out[name] for name in ("a", "b", "c", "confidence")]
    return {(int(a), tuple(b), int(c)): confidence for a, b, c, confidence in zip(*columns)}
