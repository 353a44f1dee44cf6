"""Application time: int64 ticks, the unit is the user's."""

from __future__ import annotations

import operator
from typing import Any

from punctuation.base_errors import AfaError

BEGINNING = -(2**63)
"""Before every event: the LE of an arc that was always in force."""

FOREVER = 2**63 - 1
"""After every event: the RE of a lifetime that does not end."""


def as_time(value: Any, what: str) -> int:
    """Returns ``value`` as ticks; refuses, by the name ``what``, all but an int or another index (``numpy.int64``) within int64.

    A bool is refused, too.

    >>> as_time(7, "le")
    7
    >>> as_time(7.5, "le")
    Traceback (most recent call last):
    punctuation.base_errors.AfaError: expected an int (ticks) but got le=7.5
    """
    if type(value) is int:
        ticks = value
    else:
        if isinstance(value, bool) or not hasattr(type(value), "__index__"):
            raise AfaError(f"expected an int (ticks) but got {what}={value!r}")
        try:
            ticks = int(operator.index(value))
        except TypeError as error:  # an array of more than one number
            raise AfaError(f"expected an int (ticks) but got {what}={value!r}") from error
    if not BEGINNING <= ticks <= FOREVER:
        raise AfaError(f"expected an int64 (ticks) but got {what}={value!r}")
    return ticks


def as_count(value: Any) -> int:
    """Returns ``value`` as a number of copies; refuses what is no int64, or less than 1."""
    count = as_time(value, "count")
    if count < 1:
        raise AfaError(f"expected a count of at least 1 but got {value!r}")
    return count


def end_of_time(le: int) -> str:
    """Return the text of the error for an event at FOREVER, the same on every way in: the event's lifetime would be empty.

    >>> end_of_time(FOREVER)
    'expected le < 9223372036854775807 (FOREVER: after every event) but got le=9223372036854775807'
    """
    return f"expected le < {FOREVER} (FOREVER: after every event) but got le={le}"
