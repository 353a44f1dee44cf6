"""What does any-match cost where only the longest matches count? ``SEQ(A, B+, C)``, each b no less than the one before it.

Of the events 10, 80 and 10 % are a, b and c, values 1 to 1000. One partial match of each state and value is held, whatever the
window; the plain operator holds one of each beginning and path. In order, and with a twentieth of the events 1 to 1000 places late;
batches of 100,000, each with a promise. The answer is compared with the longest of all matches, over few events, a small window.
Then one `push` of a b that comes so many steps late, where 1,000 values are held.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import afa
from bench.drive import Batches, Outcome, batched, matches_of, run
from bench.measure import Options, Row, interleaved, rates, ratio
from bench.workloads import EVENT, Stream, punctuated, shifted

BATCH, VALUES, WINDOWS, LATE = 100_000, 1000, (500, 5_000, 50_000), (0.0, 0.05)
BEHIND, PUSHES, TICKS = (0, 100, 1000), 100, 1000
"""How late single events are, how many of them come, and the ticks between two of the others."""
LEAST = max(BEHIND) + 200
"""So few events there are at the smallest scale, on which the interpreted engine derives each step from a list of 1,000 rows."""
FEWER = 50
"""So many values there are at the smallest scale: the interpreted engine holds a row of each."""
SMALL, FEW = 50, 4000
"""Window and events of the plain operator."""


class Event(NamedTuple):
    """An a (0), a b (1) or a c (2)."""

    sort: int
    val: int


def events(n: int, late: float, batch: int, values: int = VALUES) -> Stream:
    """One event a tick; a share of them comes late."""
    rng = np.random.default_rng(1)
    stream = {"sort": rng.choice(3, n, p=[0.1, 0.8, 0.1]), "val": rng.integers(1, values + 1, n), "le": np.arange(n)}
    return punctuated(shifted(stream, late), batch)


def query(window: int) -> afa.Query:
    """A rise or a level, of any choice of b's; told is the value of c."""
    return afa.query(
        "PATTERN SEQ(Event a, Event+ b[], Event c) WHERE skip_till_any_match(a, b[], c) "
        "{ a.sort = 0 and b[i].sort = 1 and c.sort = 2 and b[i].val >= b[i-1].val } "
        f"WITHIN {window} RETURN c.val AS val",
        event=Event,
    )


def longest(make: Any, fed: Batches) -> set[tuple[int, int, int]]:
    """The longest of the matches of an operator, of each LE and value."""
    op = make()
    net: dict[tuple[int, ...], int] = {}
    ends: dict[tuple[int, int], int] = {}
    for batch in fed.batches:
        rows = matches_of(op.push_many(batch, **fed.arguments))
        for *match, diff in zip(*(rows[name].tolist() for name in ("le", "val", "re", "diff"))):
            net[tuple(match)] = net.get(tuple(match), 0) + diff
    for le, val, re in (match for match, count in net.items() if count):
        ends[le, val] = max(re, ends.get((le, val), re))
    return {(*match, re) for match, re in ends.items()}


def late_push(window: int, behind: int, n: int, pushes: int, engine: Any, values: int = VALUES) -> float:
    """Microseconds of CPU that a push of a b takes, ``behind`` steps behind the last of ``n`` events; the median."""
    stream = events(n, 0.0, n, values)
    op = query(window * TICKS).operator(engine=engine, longest=True)
    of = stream["kind"] == EVENT
    op.push_many({"sort": stream["sort"][of], "val": stream["val"][of], "le": stream["le"][of] * TICKS})
    spent, rng = [], np.random.default_rng(3)
    for le, val in zip(
        range((n - 1 - behind) * TICKS - pushes, (n - 1 - behind) * TICKS), rng.integers(1, values + 1, pushes).tolist()
    ):
        begin = time.thread_time_ns()
        op.push(afa.insert(Event(1, val), le))
        spent.append(time.thread_time_ns() - begin)
    return statistics.median(spent) / 1000


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    engine: Any = o.engine
    values = VALUES if o.scale != "tiny" else FEWER
    makes = {each: partial(query(SMALL).operator, engine=engine, longest=each) for each in (True, False)}
    for late in LATE:
        fed = batched(events(o.size(FEW), late, 250, values), 250)
        found = {each: longest(make, fed) for each, make in makes.items()}
        assert found[True] == found[False] != set(), f"expected the longest of all matches but got {found}"
        both = interleaved({str(each): partial(run, make, fed) for each, make in makes.items()}, o.rounds, agree=False)
        few: list[Outcome] = both["True"]
        rows.append(
            {
                "window": SMALL,
                "late, %": 100 * late,
                "matches": few[0].final,
                "all matches": both["False"][0].final,
                "M events/s": rates(few),
                "rate, relative to all matches": ratio(few, both["False"]),
            }
        )
    for window in o.some(WINDOWS):
        given = {f"{late}": batched(events(o.size(800_000, least=LEAST), late, BATCH, values), BATCH) for late in LATE}
        make = partial(query(window).operator, engine=engine, longest=True)
        columns = interleaved({name: partial(run, make, each) for name, each in given.items()}, o.rounds)
        for late in LATE:
            column = columns[str(late)]
            shares = {"M events/s": rates(column), "rate, relative to in order": ratio(column, columns["0.0"])}
            rows.append({"window": window, "late, %": 100 * late, "matches": column[0].final, **shares})
    for window in o.some(WINDOWS):
        for behind in o.some(BEHIND):
            taken = late_push(window, behind, o.size(100_000, least=LEAST), o.size(PUSHES, least=1), engine, values)
            rows.append({"window": window, "steps behind": behind, "microseconds a push": round(taken, 1)})
    return rows
