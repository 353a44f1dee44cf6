"""The pattern of the main job in Python, in SQL and as text: three notations of one query, over a year of departures.

The SASE+ text stands in `examples/flights/pattern.py`. A flight's delay grows from one departure of its aircraft to the next,
reaches a threshold, and then falls to half; the threshold is lowered in the middle of the year.

It prints:

    2,898 matches, by each of the three
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import afa
from afa.language import many, one
from examples.flights import data, job
from examples.flights.pattern import AFTER, BEFORE, CALM, Departure, Story, pattern
from examples.flights.stream import Stream, revisions


def python(late: int) -> afa.Query:
    grows = many(
        "d",
        first=lambda e: e.delay < CALM,
        where=lambda e, m: e.delay > m.d.last.delay,
        done=lambda m: m.d.last.delay >= late,
    ).consecutive()
    recovers = grows.next(one("back", lambda e, m: 2 * e.delay <= m.d.last.delay)).by("tail").within(hours=24)
    return recovers.returns(
        lambda m: Story(
            m.d.first.delay, m.d.last.delay, m.d.count,
            m.back.carrier, m.back.flight, m.back.origin, m.back.dest, m.back.delay,
        )
    ).query(event=Departure, tick="min")  # fmt: skip


def sql(late: int) -> afa.Query:
    text = f"""
        SELECT * FROM departures MATCH_RECOGNIZE (
            PARTITION BY tail ORDER BY at
            MEASURES calm.delay AS first, LAST(d.delay) AS peak, COUNT(d.*) AS departures, back.carrier AS carrier,
                     back.flight AS flight, back.origin AS origin, back.dest AS dest, back.delay AS after
            AFTER MATCH SKIP TO NEXT ROW
            PATTERN (calm grows* back) WITHIN INTERVAL '24' HOUR
            SUBSET d = (calm, grows)
            DEFINE calm AS delay < {CALM},
                   grows AS delay > PREV(delay),
                   back AS PREV(delay) >= {late} AND 2 * delay <= PREV(delay)
        )
    """
    return afa.sql(text, event=Departure, tick="min")


def matches(query: Callable[[int], afa.Query], stream: Stream) -> Counter[tuple[Any, ...]]:
    """The matches in force after all revisions; half of them come before the threshold is lowered."""
    swap, found = query(BEFORE).changes_to(query(AFTER)), Counter[tuple[Any, ...]]()
    early, events = int(np.searchsorted(stream.arrive, job.SWAP)), stream.columns
    parts: Any = query(BEFORE).operator().push_many([events[:early], *swap.arcs, events[early:]])
    for part in parts:
        for row in part.to_pylist():
            found[tuple(value for name, value in row.items() if name != "diff")] += row["diff"]
    return +found


def main() -> None:
    stream = revisions(data.flights()[0])
    text, in_python, in_sql = (matches(query, stream) for query in (pattern, python, sql))
    assert text == in_python == in_sql
    assert python(60).tree == pattern(60).tree
    print(f"{len(text):,} matches, by each of the three")


if __name__ == "__main__":
    main()
