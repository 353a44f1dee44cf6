"""What does speculation cost and buy? Records out and latency over sigma: the paper's Figures 10 and 11, the flights, Binance.

Sigma 0 is what a system does that buffers and sorts until the promise. Times are those of the stream: from a match's LE to the
arrival of what announced it. Figures 10 and 11: Q1, k = 1, p = .5, W = 500, drop .25, an event a millisecond, 5 % of them 1 to 5000
places late, a punctuation every 500 events, Cleanse at the input. The others: Cleanse at the output, and a controller that holds a
bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from afa import Change, Keyed, Operator, Punctuation, insert
from bench.data import BINANCE, PLACES_PER_MS, binance, missing
from bench.measure import WINDOW, Options, Row
from bench.queries import Tick, q1
from bench.workloads import PROMISE, Stream, punctuated, shifted, take, ticks
from examples.flights import data as flights_data
from examples.flights.job import minutes
from examples.flights.pattern import WINDOW as DAY
from examples.flights.pattern import Story, pattern
from examples.flights.stream import revisions, slots
from punctuation import ObservedLateness
from speculation import Cleanse, Point, consolidate, tradeoff

SIGMAS = (0, 125, 250, 500, 1000, 2000, 4000, None)
HOURS = (0, 1, 2, 3, 4, 6, 8, 10, 12)
BOUND, CALM = 1.2, 1.05
Timed = list[tuple[int, Any]]


def measure(o: Options) -> list[Row]:
    return [*paper(o), *flights(o), *trades(o)]


def paper(o: Options) -> list[Row]:
    """Figures 10 and 11."""
    rows: list[Row] = []
    for share in (0.7, 0.9):
        stream = punctuated(shifted(ticks(o.size(100_000, 3000), ignorable=share), 0.05, 5000), WINDOW)
        automaton = q1(1, skip="ignorable")
        points = tradeoff(timed(stream), lambda a=automaton: operator(a, WINDOW, o), o.some(SIGMAS), at="input")
        agree(points)
        rows += [
            {"ignorable": f"{share:.0%}", "sigma, ms": told(point.sigma), **told_of(point, 1, "ms"), "events waiting": point.held}
            for point in points
        ]
    return rows


def flights(o: Options) -> list[Row]:
    """The year of flights: withdrawn announcements over sigma, and the controller."""
    try:
        table, _ = flights_data.flights(until=minutes(2013, 1, 8) if o.scale == "tiny" else None)
    except flights_data.FlightsMissingError as error:
        return [{"flights, sigma, h": "", "skipped": str(error)}]
    keyed = Keyed(pattern().automaton, key="tail", window=DAY)
    answers = [
        (slot.end, [change for out in keyed.push_many([slot.rows, Punctuation(slot.promise)]) for change in changes(out)])
        for slot in slots(revisions(table))
    ]
    told_by = {f"{hours}": Cleanse(60 * hours) for hours in o.some(HOURS)} | {"none": Cleanse()}
    told_by[f"auto, {BOUND}"] = Cleanse.auto(max_chattiness=BOUND)
    points = tradeoff([(end, i) for i, (end, _) in enumerate(answers)], lambda: Recorded(answers), list(told_by.values()))
    agree(points)
    worst = through_the_year(answers, Cleanse.auto(max_chattiness=BOUND))
    return [
        {
            "flights, sigma, h": name,
            "withdrawn": (point.records - point.finals) // 2,
            **told_of(point, 60, "h"),
            "worst month's end": worst if name.startswith("auto") else None,
        }
        for name, point in zip(told_by, points)
    ]


def trades(o: Options) -> list[Row]:
    """Trades in their true order of arrival, promises by the lateness observed; at a chattiness of 1.05, held by the controller."""
    if missing(BINANCE):
        return [{"Binance BTC, sigma": "", "skipped": missing(BINANCE)}]
    stream = take(binance(), slice(0, o.size(60_000)))
    source = ObservedLateness(0.9999, floor=PLACES_PER_MS)
    items = [(le, out) for le, item in timed(stream) for out in source.push(item)]
    items += [(items[-1][0], out) for out in source.end()]
    automaton = q1(1, 0.0, "ignorable")
    stages = {"0": Cleanse(0), "none": Cleanse(), f"auto, {CALM}": Cleanse.auto(max_chattiness=CALM)}
    points = tradeoff(items, lambda: operator(automaton, 60_000 * PLACES_PER_MS, o, late="drop"), list(stages.values()))
    agree(points)
    return [
        {"Binance BTC, sigma": name, **told_of(point, PLACES_PER_MS, "ms"), "late": source.late}
        for name, point in zip(stages, points)
    ]


# -- streams and answers -----------------------------------------------------------------------------------------------------------


class Recorded:
    """An operator whose answers are known: item i has the i-th."""

    def __init__(self, answers: Timed) -> None:
        self._answers = answers

    def push(self, i: int) -> list[Any]:
        """The answer to an item."""
        found: list[Any] = self._answers[i][1]
        return found


def operator(automaton: Any, window: int, o: Options, **more: Any) -> Operator:
    """A fresh operator."""
    return Operator(automaton, window=window, engine=o.engine, **more)  # type: ignore[arg-type]


def timed(stream: Stream) -> Timed:
    """The rows of a stream one by one, each with the largest LE so far as its time of arrival."""
    kinds = stream.get("kind", np.zeros(len(stream["le"]), np.int8)).tolist()
    found: Timed = []
    now = 0
    for kind, le, price, change in zip(kinds, *(stream[name].tolist() for name in ("le", "price", "change"))):
        now = max(now, le)
        found.append((now, Punctuation(le) if kind == PROMISE else insert(Tick(price, change), le)))
    return found


def changes(out: Any) -> Iterator[Any]:
    """A table of the flights' changes, or a punctuation, one by one."""
    if isinstance(out, Punctuation):
        yield out
        return
    columns = out.to_pydict()
    stories = zip(*(columns[name] for name in Story._fields))
    for tail, story, le, re, diff in zip(columns["tail"], stories, columns["le"], columns["re"], columns["diff"]):
        yield Change(Story(*story), le, re, diff, tail)


def agree(points: Iterable[Point]) -> None:
    """The final matches are the same for each sigma."""
    found = {point.finals for point in points}
    assert len(found) == 1, f"expected the same final matches but got {found}"


def through_the_year(answers: Timed, stage: Cleanse) -> float:
    """The most records for each final match since the beginning, at the end of any month."""
    out: list[Any] = []
    by_month: list[float] = []
    month = 0
    for i, (end, answer) in enumerate(answers):
        out += [item for item in stage.push_many(answer) if isinstance(item, Change)]
        now = int(np.datetime64(end, "m").astype("datetime64[M]").astype(int))
        if now != month or i == len(answers) - 1:
            final = sum(change.diff for change in consolidate(out))
            by_month += [len(out) / final] if month and final else []
            month = now
    return max(by_month, default=float("nan"))


def told(sigma: int | None) -> str:
    """Sigma in words."""
    return "none" if sigma is None else str(sigma)


def told_of(point: Point, unit: int, name: str) -> Row:
    """What a point says, times in a unit."""
    return {
        "records per final match": point.chattiness,
        f"to announcement, {name}": point.first / unit,
        f"to final, {name}": point.final / unit,
        "final matches": point.finals,
    }
