"""What is looked for, in SASE+ text: delay that grows from one departure of an aircraft to the next, and then recovers.

The threshold stands in one condition, and so in one arc of the automaton that the query stands for: another threshold is a swap of
that arc. `examples/three_notations.py` says the same in Python and in SQL.
"""

from __future__ import annotations

from typing import NamedTuple

import afa

WINDOW = 24 * 60  # minutes: a match lies within 24 hours of its first departure
CALM = 30  # the first departure is less late than this
BEFORE, AFTER = 60, 45  # what counts as late, before the swap and after it


class Departure(NamedTuple):
    """One departure of an aircraft; its LE is the instant at which it leaves, as far as is known."""

    tail: str
    carrier: str
    flight: int
    origin: str
    dest: str
    delay: int  # minutes; 0 as long as it is only announced


class Story(NamedTuple):
    """What one match tells, as RETURN names it: how the delay grew, and which departure ended it."""

    first: int = 0  # delay of the first departure
    peak: int = 0  # the largest delay
    departures: int = 0  # how many, the recovery not counted
    carrier: str = ""  # the recovery: carrier, flight, from, to, delay
    flight: int = 0
    origin: str = ""
    dest: str = ""
    after: int = 0


def pattern(threshold: int = BEFORE, tick: str = "min") -> afa.Query:
    """The query with one threshold; ``tick``: what one tick of the departures' instants is."""
    text = f"""
        PATTERN SEQ(Departure+ d[], Departure back)
        WHERE partition_contiguity(d[], back) {{
            [tail]
            and d[1].delay < {CALM} and d[i].delay > d[i-1].delay
            and d[d.LEN].delay >= {threshold} and 2 * back.delay <= d[d.LEN].delay
        }}
        WITHIN {WINDOW} minutes
        RETURN Story(d[1].delay AS first, d[d.LEN].delay AS peak, d.LEN AS departures, back.carrier AS carrier,
                     back.flight AS flight, back.origin AS origin, back.dest AS dest, back.delay AS after)
    """
    return afa.query(text, event=Departure, tick=tick)
