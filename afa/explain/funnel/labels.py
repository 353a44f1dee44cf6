"""Call arcs by short names: their own, without the digest of those that a query has made; else by their ends. Tell events."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from afa.errors import AfaError
from afa.model.arc import Arc
from afa.schema import Schema
from punctuation.durations import NANOSECONDS

UNITS = ("d", "h", "min", "s", "ms", "us", "ns")
TICKS = ("s", "ms", "us", "ns")
PLAUSIBLE = range(1990, 2100)
"""The years in which times are likely to lie."""


def in_words(ticks: int, tick: str | None) -> str:
    """Return a duration in its largest unit.

    >>> in_words(720_000, "ms"), in_words(90, "min"), in_words(1_500, None)
    ('12 min', '1.5 h', '1,500 ticks')
    """
    if tick is None:
        return f"{ticks:,} tick{'s' * (ticks != 1)}"
    nanoseconds = ticks * NANOSECONDS[tick]
    unit = next((unit for unit in UNITS if nanoseconds >= NANOSECONDS[unit]), tick)
    return _said(nanoseconds, unit)


def ticks_in_words(ticks: int, tick: str | None) -> str:
    """Return a number of ticks with what it is.

    >>> ticks_in_words(600, "ms"), ticks_in_words(3_600, "s"), ticks_in_words(5, "s"), ticks_in_words(5, None)
    ('600 ticks of 1 ms = 0.6 s', '3,600 ticks of 1 s = 1 h', '5 ticks of 1 s', '5 ticks')
    """
    text = f"{ticks:,} tick{'s' * (ticks != 1)}"
    if tick is None:
        return text
    nanoseconds = ticks * NANOSECONDS[tick]
    unit = next((unit for unit in UNITS if nanoseconds >= NANOSECONDS[unit]), tick)
    if unit == tick and ticks >= 100 and unit != UNITS[0]:
        unit = UNITS[UNITS.index(unit) - 1]
    return f"{text} of 1 {tick}" + ("" if unit == tick else f" = {_said(nanoseconds, unit)}")


def _said(nanoseconds: int, unit: str) -> str:
    value = nanoseconds / NANOSECONDS[unit]
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def unit_hint(low: int, high: int, tick: str | None) -> str:
    """Return which tick the times are likely to have, where the one given puts them far from today; else nothing.

    >>> unit_hint(1_700_000_000_000, 1_700_000_900_000, "s")
    'by a tick of 1 s the times are those of the year 55841, by 1 ms of 2023: is one tick 1 ms?'
    """
    if tick not in TICKS or _year(low, tick) in PLAUSIBLE:
        return ""
    for other in TICKS:
        if _year(low, other) in PLAUSIBLE and _year(high, other) in PLAUSIBLE:
            of = f"by a tick of 1 {tick} the times are those of the year {_year(low, tick)}, by 1 {other} of {_year(low, other)}"
            return f"{of}: is one tick 1 {other}?"
    return ""


def is_dated(low: int, high: int, tick: str | None) -> bool:
    """Return whether ticks are likely to count from 1970 on: all times lie in our days then."""
    return tick is not None and low <= high and _year(low, tick) in PLAUSIBLE and _year(high, tick) in PLAUSIBLE


def as_date(le: int, tick: str) -> str:
    """Return ticks since 1970 as a time, UTC.

    >>> as_date(1_767_276_660_000, "ms"), as_date(1_767_276_660_250, "ms")
    ('2026-01-01 14:11:00', '2026-01-01 14:11:00.250000')
    """
    microseconds = le * NANOSECONDS[tick] // NANOSECONDS["us"]
    return (datetime(1970, 1, 1) + timedelta(microseconds=microseconds)).isoformat(sep=" ")


def _year(le: int, tick: str) -> int:
    """Return the year of an instant, roughly where no calendar goes."""
    seconds = le * NANOSECONDS[tick] // NANOSECONDS["s"]
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).year
    except (OverflowError, OSError, ValueError):
        return 1970 + round(seconds / (365.2425 * 86_400))


DIGEST = re.compile(r" #[0-9a-f]{8}$")


def label_of(arc: Arc) -> str:
    """Return what an arc is called.

    >>> label_of(Arc("a", "b", "True")), label_of(Arc("a", "b", "True", name="a: start -> a #77a619ee"))
    ('a -> b', 'a: start -> a')
    """
    return DIGEST.sub("", arc.name) if arc.name else f"{arc.src} -> {arc.dst}"


def event_in_words(event: Any, when: Callable[[int], str]) -> str:
    """Return an event as text; a field that is filled with its LE is told as one.

    >>> from typing import NamedTuple
    >>> from afa import Instant
    >>> class Pay(NamedTuple):
    ...     amount: int
    ...     at: Instant | None = None
    >>> event_in_words(Pay(7, 60), lambda le: f"12:{le}")
    'Pay(amount=7, at=12:60)'
    """
    try:
        instant = Schema.of(type(event), "event").instant
    except AfaError:  # of an operator whose events have no schema
        instant = None
    le = None if instant is None else getattr(event, instant)
    if type(le) is not int:
        return repr(event)
    fields = (f"{name}={when(value) if name == instant else repr(value)}" for name, value in event._asdict().items())
    return f"{type(event).__name__}({', '.join(fields)})"
