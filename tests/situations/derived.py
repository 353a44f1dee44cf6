"""What situations a set of readings of one key has, by definition: slow, and without a word of the library's code."""

from __future__ import annotations

from typing import Any, NamedTuple


class Held(NamedTuple):
    """A reading that holds in ``[le, end)``; ``end`` None: nobody knows until when. ``on``: for each definition whether it does."""

    le: int
    end: int | None
    on: tuple[bool, ...]
    values: tuple[Any, ...]


class Lasted(NamedTuple):
    """A situation: ``te`` None: it goes on. ``readings``: (LE, value) of those in it."""

    ts: int
    te: int | None
    readings: tuple[tuple[int, Any], ...]


def held(readings: dict[int, tuple[int | None, tuple[bool, ...], tuple[Any, ...]]], clock: int) -> list[Held]:
    """Return from when until when each reading holds, as far as the clock tells."""
    times = sorted(readings)
    now = max([clock, *times])
    found = []
    for le, following in zip(times, [*times[1:], None]):
        re, on, values = readings[le]
        ends = [t for t in (re, following) if t is not None]
        end = min(ends) if ends else None
        found.append(Held(le, end if end is not None and end <= now else None, on, values))
    return found


def situations(readings: dict[int, Any], clock: int, number: int) -> list[Lasted]:
    """Return the maximal stretches of time in which a definition's condition holds."""
    found: list[Lasted] = []
    for le, end, on, values in held(readings, clock):
        if not on[number]:
            continue
        if found and found[-1].te == le:
            found[-1] = Lasted(found[-1].ts, end, (*found[-1].readings, (le, values[number])))
        else:
            found.append(Lasted(le, end, ((le, values[number]),)))
    return found


def aggregate(function: str, values: list[Any]) -> Any:
    """Return an aggregate of values in the order of time."""
    values = [value for value in values if value is not None]
    if function == "count":
        return len(values)
    if not values:
        return None
    if function in ("first", "last"):
        return values[0 if function == "first" else -1]
    if function in ("min", "max"):
        return min(values) if function == "min" else max(values)
    total = values[0] if function == "sum" else float(values[0])
    for value in values[1:]:
        total += value
    return total if function == "sum" else total / len(values)


def marks(lasted: Lasted, at_least: int | None, at_most: int | None, clock: int) -> dict[int, str]:
    """Return what happens to a situation, at which times."""
    ts, te, _ = lasted
    found = {ts: "begins"}
    if at_least is not None and ts + at_least <= clock and (te is None or te > ts + at_least):
        found[ts + at_least] = "lasts"
    if te is not None:
        allowed = (at_least is None or te - ts >= at_least) and (at_most is None or te - ts <= at_most)
        found[te] = "ends" if allowed else "fails"
    return found
