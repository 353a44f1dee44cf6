"""The same matches by brute force, from what became of every flight: no engine, no revisions, no automaton.

Every departure of an aircraft is tried as the first one, and every chain that goes on from it is followed, word by word
as the contract has it. It shares the constants of `examples.flights.pattern` and the names of a match's fields with the job,
nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import pyarrow as pa

from examples.flights.pattern import AFTER, BEFORE, CALM, WINDOW, Departure, Story

Match = tuple[str, Story, int, int]  # tail, register, LE, RE


def final_departures(flights: pa.Table) -> dict[str, list[tuple[int, Departure]]]:
    """What became of the flights: by aircraft, the (instant, departure) of those that left."""
    left = flights.filter(flights["delay"].is_valid())
    by_tail: dict[str, list[tuple[int, Departure]]] = defaultdict(list)
    for scheduled, *fields in zip(*(left[name].to_pylist() for name in ("scheduled", *Departure._fields))):
        departure = Departure(*fields)
        by_tail[departure.tail].append((scheduled + departure.delay, departure))
    return by_tail


def all_matches(flights: pa.Table, swap: int | None) -> set[Match]:
    """All final matches.

    Parameters
    ----------
    swap : int or None
        Departures from this instant on need a peak of `AFTER`, those before it one of `BEFORE`. None: no swap.
    """
    return {
        (tail, story, le, re)
        for tail, departures in final_departures(flights).items()
        for story, le, re in matches(departures, swap)
    }


def matches(departures: Iterable[tuple[int, Departure]], swap: int | None) -> Iterator[tuple[Story, int, int]]:
    """The (register, LE, RE) of one aircraft. Departures of one instant are one step: any one of them may be taken."""
    instants: dict[int, list[Departure]] = defaultdict(list)
    for at, departure in departures:
        instants[at].append(departure)
    steps = sorted(instants.items())
    for i, (began, choices) in enumerate(steps):
        end = began + WINDOW
        growing = {(e.delay, e.delay, 1) for e in choices if e.delay < CALM}  # first delay, peak, departures
        for at, departed in steps[i + 1 :]:
            if at >= end or not growing:
                break
            late = BEFORE if swap is None or at < swap else AFTER
            for first, peak, count in growing:
                for e in departed:
                    if peak >= late and e.delay <= peak / 2:
                        yield Story(first, peak, count, e.carrier, e.flight, e.origin, e.dest, e.delay), at, end
            growing = {(first, e.delay, count + 1) for first, peak, count in growing for e in departed if e.delay > peak}
