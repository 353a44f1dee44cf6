"""Durations as ticks: ``tick`` says once what an int of LE counts; nothing is rounded.

A duration is an int (ticks), a ``timedelta`` (also that of pandas and of numpy), or text:

    10 minutes    1h 30m    1.5 hours    500 ms     numbers with units, which add up; a bare m is minutes
    1:30:00       2 days 0:00:01.5                  as Python and pandas print a timedelta
    PT1H30M       P2DT1.5S                          ISO 8601
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from punctuation.base_errors import AfaError
from punctuation.time import FOREVER, as_time

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
UNITS["m"] = "min"
"""Every way to write a unit, in small letters."""
KNOWN = "nanoseconds, microseconds, milliseconds, seconds, minutes, hours, days, weeks (ns us ms s min h d w)"
LONGEST, LONGEST_TEXT = 40, 200
"""How many characters a number may have, and how many a text."""

Duration = int | str | timedelta
_NUMBER = r"([0-9]+(?:\.[0-9]*)?)"
_ISO = re.compile(rf"\s*P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?\s*")
_PART = re.compile(r"\s*(?:and\s+|,\s*)?([0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9]+)\s*([^\W\d_]+)")
_CLOCK = re.compile(r"\s*,?\s*([0-9]+):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]*)?))?\s*$")


def in_units(ticks: Any, tick: str | None) -> str:
    """Return a duration in words: in the largest unit that it is a whole number of; without a tick, and of text, as it is.

    >>> in_units(600_000, "ms"), in_units(86_400, "s"), in_units(1_500, "ms"), in_units(60, None), in_units("1h 30m", None)
    ('10 minutes', '1 day', '1500 milliseconds', '60', '1h 30m')
    """
    if tick is None or type(ticks) is not int or ticks < 1:
        return str(ticks)
    length = ticks * NANOSECONDS[tick]
    many, unit = next((length // NANOSECONDS[unit], unit) for unit in reversed(_NAMES) if length % NANOSECONDS[unit] == 0)
    return f"{many} {_NAMES[unit].split()[0]}{'' if many == 1 else 's'}"


def unit_of(name: Any, error: type[AfaError] = AfaError, what: str = "") -> str:
    """Return the short name of a unit; ``error`` is raised for what is none, ``what`` names its place.

    >>> unit_of("Hours")
    'h'
    """
    found = UNITS.get(name.lower()) if isinstance(name, str) and name != "M" else None
    if found is None:
        fixed = "; months and years have no fixed length, write days" if str(name).lower().rstrip("s") in ("month", "year") else ""
        fixed = "; write min for minutes, days for months" if name == "M" else fixed
        raise error(f"expected a unit of time but got {what}{name!r}; units: {KNOWN}{fixed}")
    return found


def ticks(parts: Iterable[tuple[str | int | float, str | None]], tick: str | None, error: type[AfaError] = AfaError) -> int:
    """Returns a duration of at least one tick, given as numbers with units that add up, in ticks; a unit of None means ticks.

    ``tick`` is the unit that one int of LE counts. ``error`` is raised for an unknown unit, a unit without ``tick``, no whole
    number of ticks, nothing or less, or more than an int64 holds.

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
            total += _exact(number, said, error)
            continue
        short = unit_of(unit, error)
        if tick is None:
            raise error(
                f"expected tick=, what one int of LE counts, but got {said!r} without it; "
                f'give tick="ms", say, or write the duration as a bare number of ticks'
            )
        total += _exact(number, said, error) * NANOSECONDS[short] / NANOSECONDS[unit_of(tick, error)]
    found = _whole(total, said, tick, error)
    if not 0 < found <= FOREVER:
        raise error(f"expected a duration from 1 tick to an int64 but got {said!r} with tick={tick!r}")
    return found


def has_unit(value: Any) -> bool:
    """Return whether a value is a duration that needs a tick: text, or a ``timedelta`` of Python's, pandas' or numpy's."""
    return isinstance(value, (str, timedelta, np.timedelta64))


def ticks_of_duration(value: Duration, tick: str | None, name: str) -> int:
    """Returns a duration in ticks. An int is ticks; text and ``timedelta`` need ``tick``, and a whole number of ticks.

    ``name`` is the argument's, for messages. Refused are what is no duration, has no whole number of ticks, is negative (an int
    may be), or is more than an int64 holds; and what needs ``tick``, where there is none.

    >>> ticks_of_duration("1h 30m", "s", "window"), ticks_of_duration(timedelta(milliseconds=5), "us", "window")
    (5400, 5000)
    >>> ticks_of_duration(90, None, "window")
    90
    >>> ticks_of_duration("1 second", None, "window")
    Traceback (most recent call last):
    punctuation.base_errors.AfaError: expected tick=, what one int of LE counts, beside window='1 second' but got none; give...
    """
    if not has_unit(value):
        return as_time(value, name)
    nanoseconds = nanoseconds_of(value, name)
    if tick is None:
        raise AfaError(
            f"expected tick=, what one int of LE counts, beside {name}={value!r} but got none; "
            f'give tick="ms", say, or write the duration as an int, a number of ticks'
        )
    found = _whole(nanoseconds / NANOSECONDS[unit_of(tick, AfaError, "tick=")], f"{name}={value!r}", tick, AfaError)
    if not 0 <= found <= FOREVER:
        raise AfaError(f"expected a duration from 0 to an int64 of ticks but got {name}={value!r} with tick={tick!r}")
    return found


def nanoseconds_of(value: Any, name: str) -> Fraction:
    """Return the length of a duration that is no bare number, in nanoseconds. Raises and names as `ticks_of_duration`.

    >>> nanoseconds_of("2 us", "window")
    Fraction(2000, 1)
    """
    if isinstance(value, np.timedelta64):
        unit, step = np.datetime_data(value.dtype)
        short = {"m": "min", "D": "d", "W": "w"}.get(unit, unit)
        if np.isnat(value) or short not in NANOSECONDS:
            raise _no_duration(value, name)
        return Fraction(int(value.astype(np.int64)) * step * NANOSECONDS[short])
    if isinstance(value, timedelta):
        if value != value:  # NaT of pandas
            raise _no_duration(value, name)
        whole = (value.days * 86_400 + value.seconds) * 10**6 + value.microseconds
        return Fraction(whole * 1000 + int(getattr(value, "nanoseconds", 0)))  # what pandas keeps beyond Python
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise _no_duration(value, name)
    return _read(value, name)


def _read(text: str, name: str) -> Fraction:
    """Returns the duration that a text says, in nanoseconds."""
    iso = _ISO.fullmatch(text)
    if iso is not None and any(iso.groups()):
        return _sum(zip(iso.groups(), ("w", "d", "h", "min", "s")), text)
    total, at, clock = Fraction(0), 0, _CLOCK.search(text)
    end = len(text.rstrip()) if clock is None else clock.start()
    while at < end:
        part = _PART.match(text, at, end)
        if part is None:
            raise _no_duration(text, name)
        total += _exact(part[1], text, AfaError) * NANOSECONDS[unit_of(part[2], AfaError, f"{name}={text!r} with the unit ")]
        at = part.end()
    if clock is not None:
        return total + _sum(zip(clock.groups(), ("h", "min", "s")), text)
    if not at:
        raise _no_duration(text, name)
    return total


def _sum(parts: Iterable[tuple[str | None, str]], text: str) -> Fraction:
    return sum((_exact(number, text, AfaError) * NANOSECONDS[unit] for number, unit in parts if number), Fraction(0))


def _no_duration(value: Any, name: str) -> AfaError:
    shown = repr(value)
    return AfaError(
        f'expected a duration such as "10 minutes", "1h 30m" or a timedelta but got {name}={shown[:LONGEST_TEXT]}; units: {KNOWN}'
    )


def _whole(found: Fraction, said: str, tick: str | None, error: type[AfaError]) -> int:
    if found.denominator != 1:
        raise error(
            f"expected a whole number of ticks but got {said if '=' in said else repr(said)} with tick={tick!r}; "
            f"write a whole number of ticks, or give a finer tick, that LE counts in, too"
        )
    return int(found)


def _exact(number: str | int | float, said: str, error: type[AfaError]) -> Fraction:
    """Return a number without rounding; a float as it is written."""
    text = str(number)
    try:
        found = Decimal(text.replace("_", "")) if len(text) <= LONGEST and not isinstance(number, bool) else None
    except InvalidOperation:
        found = None
    if found is None or not found.is_finite() or abs(found.adjusted()) > LONGEST:
        raise error(f"expected a number but got {text[:LONGEST]!r} in {said[:LONGEST]!r}")
    return Fraction(found)
