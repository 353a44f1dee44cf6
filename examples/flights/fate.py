"""What became of each recovery that the job spoke of: it came, at which minute, or it was withdrawn, and why."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pyarrow as pa

from examples.flights.pattern import Story

CAME, ELSEWHEN, LATE, CANCELLED, PAST, MOVED = "came", "elsewhen", "late", "cancelled", "past", "moved"
GONE = (LATE, CANCELLED, PAST, MOVED)


class Fate(NamedTuple):
    """One story from its first match to its last change: the departures of one aircraft up to one recovery."""

    tail: str
    story: Story  # as last told
    re: int
    announced: int  # arrival of its first match
    changed: int  # arrival of its last change
    scheduled: int  # of the recovery
    delay: int | None  # what the recovery turned out to be; None: cancelled
    outcome: str


def fates(changes: pa.Table, flights: pa.Table) -> list[Fate]:
    """Follow every recovery through the changes of the output. O(changes + flights)."""
    names = ("tail", "carrier", "flight", "scheduled")
    turned_out = dict(zip(zip(*(flights[name].to_pylist() for name in names)), flights["delay"].to_pylist()))
    followed: dict[tuple[str, int, str, int, int], list[tuple[int, int, Story]]] = {}
    columns = (changes[name].to_pylist() for name in ("arrived", "diff", "tail", "le", "re"))
    for arrived, diff, tail, le, re, *fields in zip(*columns, *(changes[name].to_pylist() for name in Story._fields)):
        story = Story(*fields)
        key = (tail, re, story.carrier, story.flight, le - story.after)
        followed.setdefault(key, []).append((arrived, diff, story))
    told = []
    for (tail, re, carrier, flight, scheduled), steps in followed.items():
        delay = turned_out[tail, carrier, flight, scheduled]
        in_force = sum(diff for _, diff, _ in steps) > 0
        told.append(
            Fate(
                tail,
                steps[-1][2],
                re,
                steps[0][0],
                steps[-1][0],
                scheduled,
                delay,
                _outcome(in_force, steps, delay, re - scheduled),
            )
        )
    return told


def _outcome(in_force: bool, steps: list[tuple[int, int, Story]], delay: int | None, room: int) -> str:
    """``room``: by how many minutes the recovery may be late before it is past the window."""
    if in_force:
        return CAME if len(steps) == 1 else ELSEWHEN
    if delay is None:
        return CANCELLED
    if 2 * delay > steps[-1][2].peak:
        return LATE
    return PAST if delay >= room else MOVED


def outcomes(told: list[Fate]) -> Counter[str]:
    """How many recoveries had each outcome."""
    return Counter(fate.outcome for fate in told)
