"""Durations with units, as ticks: what an int of LE counts is said once, by ``tick``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from afa.errors import QueryError
from punctuation.time import FOREVER

NANOSECONDS = {
    "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86_400 * 10**9,
    "w": 7 * 86_400 * 10**9,
}  # fmt: skip
"""Nanoseconds of each unit. Months and years have no fixed length."""
_NAMES = {
    "ns": "nanosecond", "us": "microsecond µs μs usec", "ms": "millisecond msec milli", "s": "second sec", "min": "minute",
    "h": "hour hr", "d": "day", "w": "week wk",
}  # fmt: skip
UNITS = {name: unit for unit, names in _NAMES.items() for each in (unit, *names.split()) for name in (each, f"{each}s")}
"""Every way to write a unit, in small letters."""
KNOWN = "nanoseconds, microseconds, milliseconds, seconds, minutes, hours, days, weeks (ns us ms s min h d w)"
LONGEST = 40
"""How many characters a number may have."""


def unit_of(name: str) -> str:
    """Return the short name of a unit.

    Raises
    ------
    QueryError

    Examples
    --------
    >>> unit_of("Hours")
    'h'
    """
    found = UNITS.get(name.lower()) if isinstance(name, str) else None
    if found is None:
        fixed = "; months and years have no fixed length, write days" if str(name).lower().rstrip("s") in ("month", "year") else ""
        raise QueryError(f"expected a unit of time but got {name!r}; units: {KNOWN}{fixed}")
    return found


def ticks(parts: Iterable[tuple[str | int | float, str | None]], tick: str | None) -> int:
    """Return a duration in ticks.

    Parameters
    ----------
    parts : iterable of (number, unit)
        They add up. A unit of None means ticks.
    tick : str or None
        The unit that one int of LE counts.

    Raises
    ------
    QueryError
        An unknown unit, a unit without ``tick``, no whole number of ticks, nothing or less, or more than an int64 holds.

    Examples
    --------
    >>> ticks([(1, "hour"), ("30", "minutes")], "s")
    5400
    >>> ticks([(12, None)], None)
    12
    """
    parts = list(parts)
    said = " ".join(f"{number} {unit}" if unit else str(number) for number, unit in parts)
    total = Fraction(0)
    for number, unit in parts:
        if unit is None:
            total += _exact(number, said)
            continue
        short = unit_of(unit)
        if tick is None:
            raise QueryError(
                f"expected tick=, what one int of LE counts, but got {said!r} without it; "
                f'give tick="ms", say, or write the duration as a bare number of ticks'
            )
        total += _exact(number, said) * NANOSECONDS[short] / NANOSECONDS[unit_of(tick)]
    if total.denominator != 1:
        raise QueryError(
            f"expected a whole number of ticks but got {said!r} with tick={tick!r}; "
            f"write a whole number of ticks, or give a finer tick, that LE counts in, too"
        )
    if not 0 < total <= FOREVER:
        raise QueryError(f"expected a duration from 1 tick to an int64 but got {said!r} with tick={tick!r}")
    return int(total)


def ticks_of(units: Mapping[str, int | float], tick: str | None) -> int:
    """Return a duration given as ``{"hours": 1, "minutes": 30}`` in ticks; see `ticks`.

    Examples
    --------
    >>> ticks_of({"hours": 1, "minutes": 30}, "min")
    90
    """
    return ticks([(number, unit) for unit, number in units.items()], tick)


def _exact(number: str | int | float, said: str) -> Fraction:
    """Return a number without rounding; a float as it is written."""
    text = str(number)
    try:
        found = Decimal(text.replace("_", "")) if len(text) <= LONGEST and not isinstance(number, bool) else None
    except InvalidOperation:
        found = None
    if found is None or not found.is_finite() or abs(found.adjusted()) > LONGEST:
        raise QueryError(f"expected a number but got {text[:LONGEST]!r} in {said[:LONGEST]!r}")
    return Fraction(found)
