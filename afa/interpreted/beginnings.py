"""Count the beginnings of a key whose partial matches are over, and why; see `afa.operator.statistics.Statistics`."""

from __future__ import annotations

from collections.abc import Iterator

from afa.engine import Ends
from afa.interpreted.algorithm import Algorithm
from afa.interpreted.state import State
from afa.model.instants import instant_of
from afa.model.pmatch import PMatch
from afa.schema import Schema
from punctuation.time import FOREVER


def ends_of(algorithm: Algorithm, s: State, schema: Schema) -> Ends:
    """Count the beginnings of a key that are over; ``schema``: of the register. O(what is held)."""
    last: dict[int, tuple[int, int]] = {}
    past: dict[int, None] = {}
    for p, until in _stays(s):
        start = p.start[0] if s.ordered else p.start
        known = last.get(start)
        if known is None or until > known[0]:
            last[start] = until, p.re
        elif until == known[0]:
            last[start] = until, max(p.re, known[1])
        if start not in past and _waits_past(algorithm, p, schema):
            past[start] = None
    over = [(until, m) for until, m in last.values() if until != FOREVER]
    by_window = sum(m <= until for until, m in over)
    return Ends(by_window, len(over) - by_window, len(past))


def _stays(s: State) -> Iterator[tuple[PMatch, int]]:
    """Yield the partial matches, each with the LE of the first step at which it does not stand any more; FOREVER: there is none."""
    steps = list(s.index.values())
    for y, z in zip(steps, [*steps[1:], None]):
        until = FOREVER if z is None else z.le
        yield from ((p, until) for p in y.nodes)
    for run in s.runs:
        i = s.index.bisect_left(run.end)
        if i and s.index.peekitem(i - 1)[0] >= run.begin:  # it covers a step
            yield run.data, s.index.peekitem(i)[1].le if i < len(s.index) else FOREVER


def _waits_past(algorithm: Algorithm, p: PMatch, schema: Schema) -> bool:
    """Return whether a partial match waits for a time-out that comes at its m or later."""
    timeouts = algorithm.transitions.table.timeouts.get(p.state, ())
    instants = ((instant_of(arc, p.register, schema), le, re) for arc, le, re in timeouts)
    return any(p.re <= at < FOREVER and le <= at < re for at, le, re in instants)
