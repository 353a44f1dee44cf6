"""What is looked for: delay that grows from one departure of an aircraft to the next, and then recovers.

    start --delay < 30--> growing --delay <= peak / 2--> recovered
                          |     ^
                          +-----+  delay > peak

The threshold stands in one arc, ``growing -> recovered``, so that a change of the threshold is a change of that arc.
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton

WINDOW = 24 * 60  # minutes: a match lies within 24 hours of its first departure
CALM = 30  # the first departure is less late than this
BEFORE, AFTER = 60, 45  # what counts as late, before the swap and after it


class Departure(NamedTuple):
    """One departure of an aircraft; its LE is the instant at which it leaves, as far as is known."""

    carrier: str
    flight: int
    origin: str
    dest: str
    delay: int  # minutes; 0 as long as it is only announced


class Story(NamedTuple):
    """What one match tells: how the delay grew, and which departure ended it."""

    first: int = 0  # delay of the first departure
    peak: int = 0  # largest delay so far
    departures: int = 0  # how many, the recovery not counted
    carrier: str = ""  # the recovery: carrier, flight, from, to, delay
    flight: int = 0
    origin: str = ""
    dest: str = ""
    after: int = 0


def recovered(threshold: int) -> Arc:
    """The arc that ends a match: the delay had reached ``threshold``, and this departure is at most half as late."""
    return Arc(
        "growing",
        "recovered",
        lambda e, r: r.peak >= threshold and 2 * e.delay <= r.peak,
        lambda e, r: Story(r.first, r.peak, r.departures, e.carrier, e.flight, e.origin, e.dest, e.delay),
        name=f"recovered from {threshold}",
    )


def pattern(threshold: int = BEFORE) -> Automaton:
    """The automaton with one threshold."""
    return Automaton(
        start="start",
        final={"recovered"},
        register=Story(),
        event=Departure,
        arcs=[
            Arc("start", "growing", lambda e, r: e.delay < CALM, lambda e, r: Story(e.delay, e.delay, 1)),
            Arc(
                "growing",
                "growing",
                lambda e, r: e.delay > r.peak,
                lambda e, r: r._replace(peak=e.delay, departures=r.departures + 1),
            ),
            recovered(threshold),
        ],
    )
