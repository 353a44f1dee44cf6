"""Aggregates of situations by columns: what they have come to at each reading, and what an instant tells of them.

    on        x  x  -  x  x  x          sum of v, within each situation: 1 3 . 4 9 15
    v         1  2  3  4  5  6          a situation that goes on from before begins with what was held then

An aggregate takes two arrays: a value, and how many values there were (0: none yet). Sums are those of `afa.situations.folds`, in
the same order; ints that may leave int64 are left to the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.situations.key_standing import ENDS, FAILS
from afa.situations.satisfied import satisfied
from afa.state.plain import Unfit
from punctuation.time import BEGINNING, FOREVER

LONG = 256
"""Situations of more readings are added up one by one, all others side by side."""


class Folded(NamedTuple):
    """An aggregate: of which definition, its function, the place of its field among the values of rows (None: readings count)."""

    number: int
    fold: str
    place: int | None
    type: type


def empty(plan: Sequence[Folded], n: int) -> tuple[Any, ...]:
    """Return the arrays of aggregates that hold nothing."""
    return tuple(array for each in plan for array in (np.zeros(n, _kind(each)), np.zeros(n, np.int64)))


def _kind(each: Folded) -> Any:
    return np.float64 if each.fold == "avg" or (each.type is float and each.fold != "count") else np.int64


def folded(plan: Sequence[Folded], rows: Any, starts: Any, covers: Any) -> tuple[Any, ...]:
    """Return what aggregates have come to at each reading; ``starts``: where those of each key begin."""
    found = empty(plan, len(rows.key))
    for i, each in enumerate(plan):
        at = np.flatnonzero(satisfied(rows.on, each.number))
        if len(at):
            value, count = _of_one(each, rows, at, starts, covers, covers.held[2 * i : 2 * i + 2])
            found[2 * i][at], found[2 * i + 1][at] = value, count
    return found


def _of_one(each: Folded, rows: Any, at: Any, starts: Any, covers: Any, held: Sequence[Any]) -> tuple[Any, Any]:
    """Return an aggregate at the readings that satisfy its definition."""
    n, key = len(at), rows.key[at]
    begins = np.flatnonzero(np.concatenate([[True], (at[1:] != at[:-1] + 1) | (key[1:] != key[:-1])]))
    lengths = np.diff(np.append(begins, n))
    first = np.zeros(len(rows.key), np.bool_)
    first[starts] = True
    of = key[begins]
    goes_on = first[at[begins]] & (covers.ts[of, each.number] != FOREVER)
    before = np.where(goes_on, held[0][of], 0), np.where(goes_on, held[1][of], 0)
    value, present = (None, None) if each.place is None else (rows.values[2 * each.place][at], rows.values[2 * each.place + 1][at])
    there = np.ones(n, np.int64) if present is None else present.astype(np.int64)
    count = np.cumsum(there)
    count += np.repeat(before[1] - (count[begins] - there[begins]), lengths)
    if each.fold == "count":
        return count, count
    assert value is not None
    value = value.astype(_kind(each))
    return _FOLDS[each.fold](value, present, begins, lengths, before), count


def _sums(value: Any, present: Any, begins: Any, lengths: Any, before: Any) -> Any:
    value = np.where(present, value, 0)
    if value.dtype == np.int64:
        most = max(abs(int(value.max())), abs(int(value.min()))) * int(lengths.max()) + int(np.abs(before[0]).max())
        if most > FOREVER:
            raise Unfit
    return _along(value, begins, lengths, before[0], np.add)


def _bounds(function: Any, high: bool) -> Any:
    def bounds(value: Any, present: Any, begins: Any, lengths: Any, before: Any) -> Any:
        least, most = (BEGINNING, FOREVER) if value.dtype == np.int64 else (-np.inf, np.inf)
        none = least if high else most
        value = np.where(present, value, none)
        return _along(value, begins, lengths, np.where(before[1] > 0, before[0], none), function)

    return bounds


def _along(value: Any, begins: Any, lengths: Any, before: Any, function: Any) -> Any:
    """Return ``function`` from the first to each value of a situation, in order."""
    with np.errstate(all="ignore"):
        found = value.copy()
        found[begins] = function(before, value[begins])
        short = np.flatnonzero(lengths <= LONG)
        for step in range(1, int(lengths[short].max()) if len(short) else 0):
            short = short[lengths[short] > step]
            at = begins[short] + step
            found[at] = function(found[at - 1], value[at])
        for i in np.flatnonzero(lengths > LONG).tolist():
            low, high = int(begins[i]), int(begins[i] + lengths[i])
            found[low:high] = function.accumulate(np.concatenate([found[low : low + 1], value[low + 1 : high]]))
        return found


def _last(value: Any, present: Any, begins: Any, lengths: Any, before: Any) -> Any:
    at = np.maximum.accumulate(np.where(present, np.arange(len(value)), -1))
    own = at >= np.repeat(begins, lengths)
    return np.where(own, value[at], np.repeat(before[0], lengths).astype(value.dtype))


def _first(value: Any, present: Any, begins: Any, lengths: Any, before: Any) -> Any:
    at = np.minimum.reduceat(np.where(present, np.arange(len(value)), len(value) - 1), begins)
    return np.repeat(np.where(before[1] > 0, before[0].astype(value.dtype), value[at]), lengths)


_FOLDS = {
    "sum": _sums,
    "avg": _sums,
    "min": _bounds(np.minimum, False),
    "max": _bounds(np.maximum, True),
    "first": _first,
    "last": _last,
}


def told_at(plan: Sequence[Folded], key: Any, t: Any, code: Any, rows: Any, covers: Any, bits: int) -> tuple[Any, ...]:
    """Return the values that instants tell, and which of them there are."""
    low, place = _places(key, t, rows)
    found: list[Any] = []
    for i, each in enumerate(plan):
        mark = code >> (bits * each.number) & ((1 << bits) - 1)
        at = place - ((mark == ENDS) | (mark == FAILS))
        own = at >= low
        at = np.where(own, at, 0)
        on = satisfied(rows.on[at], each.number) if len(rows.key) else np.zeros(len(t), np.bool_)
        there = np.where(own, on, covers.ts[key, each.number] != FOREVER)
        value, count = (
            np.where(own, rows.held[2 * i + j][at] if len(rows.key) else 0, covers.held[2 * i + j][key]) for j in (0, 1)
        )
        if each.fold == "avg":
            value = value / np.maximum(count, 1)
        there = there if each.fold == "count" else there & (count > 0)
        found += [np.where(there, value, 0), there]
    return tuple(found)


def _places(key: Any, t: Any, rows: Any) -> tuple[Any, Any]:
    """Return where the readings of each instant's key begin, and the place of the last one up to its time."""
    low = np.searchsorted(rows.key, key, side="left")
    high = np.searchsorted(rows.key, key, side="right")
    first = low.copy()
    low = low - 1  # the last one known to be at or below t
    while (open_ := high - low > 1).any():
        middle = (low + high) >> 1
        below = open_ & (rows.le[np.minimum(middle, max(len(rows.le) - 1, 0))] <= t)
        low = np.where(below, middle, low)
        high = np.where(open_ & ~below, middle, high)
    return first, low


def held_behind(plan: Sequence[Folded], pieces: Sequence[Any], held: Sequence[Any]) -> tuple[Any, ...]:
    """Return what is held of each key behind readings in pieces, each behind those before in its keys."""
    if not plan:
        return ()
    found = tuple(each.copy() for each in held)
    for rows in pieces:
        if len(rows.key):
            last = np.append(np.flatnonzero(rows.key[1:] != rows.key[:-1]), len(rows.key) - 1)
            for to, of in zip(found, rows.held):
                to[rows.key[last]] = of[last]
    return found
