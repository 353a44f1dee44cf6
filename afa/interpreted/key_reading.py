"""What a key tells of its state; nothing changes: its steps, where what may go on began, which beginnings are over, and why."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import Any

from afa.engine import Ends, Step
from afa.interpreted.algorithm import Algorithm
from afa.interpreted.state import State
from afa.model.instants import instant_of
from afa.model.pmatch import PMatch
from afa.schema import Schema
from punctuation.time import FOREVER


def held_steps(algorithm: Algorithm, s: State, low: int, high: int, starts: Collection[Any] | None) -> list[Step]:
    """See `afa.engine.Engine.steps`. O(log steps of the key + what stands in the span + runs of the key, if any are asked for)."""
    first = max(s.index.bisect_left(s.place(low)) - 1, 0)
    entries = s.index.values()[first : s.index.bisect_left(s.place(high + 1)) + 1]
    before = [s.before(entries[0].key), *entries] if entries else []
    found = [
        Step(y.key, y.le, algorithm.linked(x, y), dict(y.events), [p for p in y.nodes if starts is None or p.start in starts])
        for x, y in zip(before, entries)
    ]
    keys = [y.key for y in entries]
    asked = starts is None or len(starts) > 0
    for begin, end, p in s.runs if asked else ():
        if starts is None or p.start in starts:
            for i in range(bisect_left(keys, begin), bisect_left(keys, end)):
                if p not in entries[i].nodes:
                    found[i].partial.append(p)
    return found


def living(algorithm: Algorithm, s: State, t: int, longest: bool) -> tuple[int, int]:
    """Return as `afa.engine.Engine.living`, of one key, where what may go on began, and how much was looked at."""
    cover = s.before(s.place(t))
    if cover is None:
        return FOREVER, 0
    if not longest:
        layer = s.layer(cover)
        return next((p.start[0] if s.ordered else p.start for p in layer if p.re > t), FOREVER), len(layer)
    looked = 0
    for key in s.index.irange(s.place(algorithm.progress.floor), cover.key):
        looked += 1
        if any(re > t for _, re in s.index[key].events):
            return s.index[key].le, looked
    return FOREVER, looked


def ends_of(algorithm: Algorithm, s: State, schema: Schema) -> Ends:
    """Count the beginnings of a key that are over; ``schema``: of the register. O(what is held). See `afa.operator.statistics`."""
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
