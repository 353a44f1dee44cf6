"""The steps of a key for readers: what `afa.engine.Engine.steps` tells of the index and the ignorable runs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from typing import Any

from afa.engine import Step
from afa.interpreted.algorithm import Algorithm
from afa.interpreted.state import State


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
