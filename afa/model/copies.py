"""Count copies of events: sums of ``diff`` stay within int64, on every way in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from afa.errors import AfaError, ChangeError
from afa.model.raised import Faults, Raised
from afa.schema import as_ticks, shown_text
from punctuation.time import BEGINNING, FOREVER, as_time

COPIES = FOREVER
"""The most copies of one event in force after a change, the most waiting retractions of it, and the most copies of one change."""


def as_diff(diff: Any, payload: Any) -> int:
    """Returns how many copies enter or leave with a change; refuses 0, and what is beyond int64.

    >>> as_diff(-2, "tick")
    -2
    >>> as_diff(2**63, "tick")
    Traceback (most recent call last):
    afa.errors.ChangeError: expected at most 9223372036854775807 copies but got diff=9223372036854775808 for 'tick'
    """
    if type(diff) is not int:
        diff = as_ticks(diff, "diff")
    copies: int = diff
    if not copies:
        raise ChangeError(f"expected diff=1 or -1 but got diff=0 for {payload!r}")
    if not -COPIES <= copies <= COPIES:
        raise ChangeError(f"expected at most {COPIES} copies but got diff={diff} for {payload!r}")
    return copies


def crowded(payload: Any, le: int | None, diff: int) -> ChangeError:
    """Return the error for a change after which there would be too many copies of its event."""
    what = "copies of an event" if diff > 0 else "retractions of an event that wait"
    return ChangeError(f"expected at most {COPIES} {what} but got diff={diff} beside those of {payload!r} at le={le}")


def added(count: int, diff: int, payload: Any, le: int | None) -> int:
    """Return ``count + diff``, the copies of an event after a change; refuse too many (`ChangeError`)."""
    count += diff
    if not -COPIES <= count <= COPIES:
        raise crowded(payload, le, diff)
    return count


def as_plain(n: int) -> int | str:
    """Return a count over many events as plain data: an int, or text if int64 does not hold it."""
    return n if BEGINNING <= n <= FOREVER else str(n)


def as_total(value: Any, least: int | None = 0) -> int:
    """Returns the count that `as_plain` wrote; refuses what is no count, or less than ``least``.

    >>> as_total(as_plain(2**64))
    18446744073709551616
    """
    text = isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,40}", value)
    count = int(value) if text else as_time(value, "count")
    if least is not None and count < least:
        raise AfaError(f"expected a count of at least {least} but got {value!r}")
    return count


def refuse_ties(payloads: Sequence[Any], le: int, key: Any, faults: Faults | None = None) -> None:
    """Refuse events that share an instant of a key (`ChangeError`), or tell it: nothing says which of them comes first."""
    at = f"at le={le}" + ("" if key is None else f" of key {key!r}")
    first, second = sorted(map(shown_text, payloads))[:2]
    said = f"expected rows of one key that ORDER BY tells apart but got {first} and {second}"
    hint = 'name a further column in ORDER BY, or give order_by=, to say which comes first; or say ties="value" (afa.sql)'
    if faults is None:
        raise ChangeError(f"{said} {at}: {hint}")
    faults.take(Raised(key, le, None, "", "ties", said), f"{at}, which are alternatives: {hint}")


def total(diffs: Any) -> int:
    """Return how many copies an array of int64 diffs moves, without wrapping."""
    if not len(diffs):
        return 0
    largest = max(int(diffs.max()), -int(diffs.min()))
    if largest * len(diffs) <= COPIES:
        return int(np.abs(diffs).sum())
    return sum(map(abs, diffs.tolist()))
