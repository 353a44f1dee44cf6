"""An instant as lines of an arc log, swaps and the page say it: an int or text, in ticks."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from fractions import Fraction
from typing import Any

import numpy as np

from afa.errors import AfaError, AutomatonError
from punctuation.durations import NANOSECONDS, unit_of
from punctuation.time import BEGINNING, FOREVER, as_time

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ISO = ("s", "ms", "us", "ns")
"""The ticks that numpy's times have, too."""
_BEYOND = re.compile(r"[.,][0-9]{6}([0-9]+)")
"""What a second has beyond microseconds, which `datetime.fromisoformat` drops."""


def instant(value: Any, what: str, tick: str | None = "us", unit: str | None = None) -> int:
    """Return an instant in ticks since 1970; ``unit``: of an int, where that is no tick.

    >>> instant("2013-07-01T00:00:00", "at"), instant(1_500, "at", "s", "ms")
    Traceback (most recent call last):
    afa.errors.AutomatonError: expected a whole number of ticks (s) but got at=1500 (ms)
    >>> instant("2013-07-01T00:00:00", "at")
    1372636800000000
    """
    said = repr(value)[:80]
    beyond = 0
    if isinstance(value, str):
        beyond = _beyond(value, f"{what}={said}")
        try:
            value = datetime.fromisoformat(f"{value[:-1]}+00:00" if value.endswith("Z") else value)
        except ValueError as error:
            known = {"us": "microseconds", None: "ticks"}.get(tick, f"ticks, {tick}")
            raise AutomatonError(f"expected an instant ({known} or ISO 8601) but got {what}={said}: {error}") from None
    try:
        if isinstance(value, datetime):
            moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
            delta = moment - EPOCH
            count = (delta.days * 86_400 + delta.seconds) * 10**6 + delta.microseconds
            count, unit = (count * 1000 + beyond, "ns") if beyond else (count, "us")
            return _in_ticks(count, unit, tick, f"{what}={said}")
        found = as_time(value, what)
        return found if unit is None else _in_ticks(found, unit_of(unit, AutomatonError, "tick="), tick, f"{what}={found}")
    except AutomatonError:
        raise
    except AfaError as error:
        raise AutomatonError(str(error)) from None


def in_words(at: int, tick: str | None) -> str:
    """Return an instant in ticks, with the time that it is.

    >>> in_words(1_372_636_800_500, "ms"), in_words(7, None)
    ('1372636800500 (2013-07-01T00:00:00.5)', '7')
    """
    return f"{at} ({as_iso(at, tick)})" if tick in ISO and BEGINNING < at < FOREVER else str(at)


def as_iso(at: int, tick: str) -> str:
    """Return an instant in ticks since 1970 as a time, UTC."""
    text = str(np.array(at).view(f"M8[{tick}]"))
    return text.rstrip("0").rstrip(".") if "." in text else text


def _beyond(text: str, said: str) -> int:
    """Return the nanoseconds that ISO 8601 text says beyond its microseconds."""
    more = _BEYOND.search(text)
    digits = "" if more is None else more[1].rstrip("0")
    if len(digits) > 3:
        raise AutomatonError(f"expected an instant of whole nanoseconds but got {said}")
    return int(digits.ljust(3, "0")) if digits else 0


def _in_ticks(count: int, unit: str, tick: str | None, said: str) -> int:
    if unit == tick:
        return as_time(count, "at")
    if tick is None:
        raise AutomatonError(
            f"expected an int, a number of ticks, but got {said} ({unit}): the operator has no tick=, so nobody knows what one is"
        )
    found = Fraction(count * NANOSECONDS[unit], NANOSECONDS[tick])
    if found.denominator != 1:
        raise AutomatonError(f"expected a whole number of ticks ({tick}) but got {said} ({unit})")
    return as_time(int(found), "at")
