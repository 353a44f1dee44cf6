"""Partial matches that an operator holds, as spans: from which LE to which those of one start stand in one state."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from afa.model.pmatch import le_of

SPANS = 50_000
"""So many spans are shown."""
STEPS = 256
"""So many steps are looked at at once."""


class HeldSpan(NamedTuple):
    """Partial matches of one key that began at ``start``, in ``state`` from the step at ``low`` up to the one at ``high``.

    At ``low`` they were stored, the *anchor*; up to ``high`` they stand by ignorable arcs, or for others of the same state.
    ``goes_on``: at the last step that is held, so that they wait.
    """

    start: int
    state: str
    low: int
    high: int
    goes_on: bool


class Threads(NamedTuple):
    """The spans of some keys, and how many keys were left out."""

    spans: dict[Hashable, list[HeldSpan]]
    left_out: int


def threads_of(core: Any, keys: Sequence[Hashable], times: dict[Hashable, list[int]]) -> Threads:
    """Return the spans of keys, in their order, until there are enough. ``times``: the LEs of each key's events, sorted."""
    found: dict[Hashable, list[HeldSpan]] = {}
    left = SPANS
    for n, key in enumerate(keys):
        if left <= 0:
            return Threads(found, len(keys) - n)
        found[key] = _spans(core.engine, key, times.get(key, []), left)
        left -= max(len(found[key]), 1)
    return Threads(found, 0)


def _spans(engine: Any, key: Hashable, times: Sequence[int], most: int) -> list[HeldSpan]:
    """Return the first spans of a key."""
    done: list[HeldSpan] = []
    here: dict[tuple[int, str], list[int]] = {}
    for step in _steps(engine, key, times):
        standing = {(le_of(p.start), p.state) for p in step.partial}
        for name in [name for name in here if name not in standing]:
            low, high = here.pop(name)
            done.append(HeldSpan(*name, low, high, False))
        for name in standing:
            here.setdefault(name, [step.le, step.le])[1] = step.le
        if len(done) + len(here) >= most:
            break
    done += [HeldSpan(*name, low, high, True) for name, (low, high) in here.items()]
    return sorted(done)[:most]


def _steps(engine: Any, key: Hashable, times: Sequence[int]) -> Iterable[Any]:
    """Yield the steps of a key in order, some at a time; the one before and the one behind each part come with the others."""
    last: Any = None
    for i in range(0, len(times), STEPS):
        low, high = times[i], times[min(i + STEPS, len(times)) - 1]
        for step in engine.steps(key, low, high):
            if low <= step.le <= high and (last is None or step.start > last):
                last = step.start
                yield step
