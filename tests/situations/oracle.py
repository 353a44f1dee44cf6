"""What a temporal pattern matches, by brute force: every choice of situations, every order in which what is open may end.

It shares nothing with the library but the names of the relations, and is never optimised, but for remembering choices.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

RELATIONS: dict[str, Callable[[int, int, int, int], bool]] = {
    "before": lambda s, e, start, end: e < start,
    "after": lambda s, e, start, end: end < s,
    "meets": lambda s, e, start, end: e == start,
    "met_by": lambda s, e, start, end: end == s,
    "overlaps": lambda s, e, start, end: s < start < e < end,
    "overlapped_by": lambda s, e, start, end: start < s < end < e,
    "starts": lambda s, e, start, end: s == start and e < end,
    "started_by": lambda s, e, start, end: s == start and end < e,
    "during": lambda s, e, start, end: start < s and e < end,
    "contains": lambda s, e, start, end: s < start and end < e,
    "finishes": lambda s, e, start, end: start < s and e == end,
    "finished_by": lambda s, e, start, end: s < start and e == end,
    "equals": lambda s, e, start, end: s == start and e == end,
}
Values = tuple[tuple[int, Any], ...]
"""(time, value) of readings."""


class Stretch(NamedTuple):
    """A situation, whether its duration is allowed or not; ``te`` None: it goes on."""

    ts: int
    te: int | None
    readings: Values = ()

    def open_at(self, t: int) -> bool:
        return self.te is None or self.te > t

    def until(self, t: int) -> list[Any]:
        """The values of the readings up to an instant."""
        return [value for le, value in self.readings if le <= t]


class Asked(NamedTuple):
    """A pattern: for each definition (at_least, at_most); (first, second, relations); (function, definition) that a match tells."""

    lasting: Sequence[tuple[int | None, int | None]]
    constraints: Sequence[tuple[int, int, frozenset[str]]]
    within: int
    told: Sequence[tuple[str, int]] = ()


def stretches(readings: Mapping[int, tuple[bool, ...]], values: Mapping[int, Any], number: int) -> list[Stretch]:
    """The situations of one definition: each reading holds until the next one."""
    found: list[Stretch] = []
    on = False
    for t in sorted(readings):
        if readings[t][number]:
            if not on:
                found.append(Stretch(t, None))
            found[-1] = found[-1]._replace(readings=(*found[-1].readings, (t, values[t])))
        elif on:
            found[-1] = found[-1]._replace(te=t)
        on = readings[t][number]
    return found


def matches(asked: Asked, situations: Sequence[Sequence[Stretch]], clock: int) -> set[tuple[tuple[Any, ...], int, int]]:
    """(ts, te, .. of each definition, aggregates), when it is decided, until when it lasts."""
    found = set()
    for chosen in itertools.product(*situations):
        decided = next((t for t in instants(asked, chosen, clock) if certain(asked, chosen, t)), None)
        first = min(each.ts for each in chosen)
        if decided is not None and decided < first + asked.within:
            told = [aggregate(function, chosen[k].until(decided)) for function, k in asked.told]
            ends = [(each.ts, None if each.open_at(decided) else each.te) for each in chosen]
            found.add(((*itertools.chain(*ends), *told), decided, first + asked.within))
    return found


def instants(asked: Asked, chosen: Sequence[Stretch], clock: int) -> Iterator[int]:
    """All times at which something may have become certain: as many as the clock has reached."""
    return iter(range(max(each.ts for each in chosen), clock + 1))


def certain(asked: Asked, chosen: Sequence[Stretch], t: int) -> bool:
    """Whether all that can still come satisfies the pattern, by what is known at an instant at which all have begun."""
    for (at_least, at_most), each in zip(asked.lasting, chosen):
        if each.open_at(t):
            if at_most is not None or (at_least is not None and t - each.ts < at_least):
                return False
        elif not (at_least or 0) <= (each.te or 0) - each.ts <= (10**9 if at_most is None else at_most):
            return False
    free = [k for k, each in enumerate(chosen) if each.open_at(t)]
    for ends in itertools.product(range(1, len(free) + 1), repeat=len(free)):
        after = {k: t + later for k, later in zip(free, ends)}
        spans = [(each.ts, after.get(k, each.te)) for k, each in enumerate(chosen)]
        if not all(any(RELATIONS[name](*spans[i], *spans[j]) for name in names) for i, j, names in asked.constraints):  # type: ignore[arg-type]
            return False
    return True


def aggregate(function: str, values: Sequence[Any]) -> Any:
    """An aggregate of the values of readings in the order of time."""
    there = [value for value in values if value is not None]
    if function == "readings":
        return len(values)
    if function == "count":
        return len(there)
    if not there:
        return None
    if function == "avg":
        return sum(there) / len(there)
    return {"first": there[0], "last": there[-1], "sum": sum(there), "min": min(there), "max": max(there)}[function]


def told_at(
    asked: Asked, situations: Sequence[Sequence[Stretch]], clock: int
) -> dict[int, tuple[list[dict[str, bool]], list[Any]]]:
    """For each instant what begins, ends, lasts and fails, and the aggregates there; by definition, time by time."""
    found = {}
    for t in sorted({each.ts for stretch in situations for each in stretch} | set(range(clock + 1))):
        flags, there = [], []
        for (at_least, at_most), own in zip(asked.lasting, situations):
            here = next((each for each in own if each.ts <= t and (each.te is None or t <= each.te)), None)
            again = next((each for each in own if each.ts == t), here)
            ends = here is not None and here.te == t
            length = t - here.ts if here is not None else 0
            allowed = (at_least or 0) <= length <= (10**9 if at_most is None else at_most)
            lasts = at_least is not None and here is not None and not ends and length == at_least
            flags.append(
                {
                    "begins": again is not None and again.ts == t,
                    "ends": ends and allowed,
                    "lasts": lasts,
                    "fails": ends and not allowed,
                }
            )
            there.append(again)
        if any(any(flag.values()) for flag in flags):
            values = [aggregate(function, of.until(t)) if (of := there[k]) is not None else None for function, k in asked.told]
            found[t] = (flags, values)
    return found
