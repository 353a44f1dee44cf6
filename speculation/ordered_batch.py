"""The events of a batch, sorted by key and number; what in it is unusual."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from afa.model.keys import Keys
from afa.operator.table_out import TIMES
from punctuation.reading import EVENT, PUNCTUATION
from punctuation.time import FOREVER
from speculation.ordered_columns import Unusual, integers, numbered_keys
from speculation.sequences import Sequences

WIDE = 4
"""Numbers that range over so many times their count are sorted by places, as they are nearly all there."""
LOOK = 512
"""So many rows say whether it is worthwhile to see if all are in order."""


class Arrivals(NamedTuple):
    """The events of a batch that are not late, by key and number.

    Parameters
    ----------
    batch : table
    rows : numpy array
        Their rows in the batch.
    begins, first : numpy array
        Where among them blocks of adjacent numbers begin, and with which number.
    le, code : numpy array
        ``code``: which of the keys; None: there are none.
    keys : list
    late, codes : numpy array
        The rows of events that are late; ``code`` of each row of the batch.
    promises : list of int
        In order of arrival.
    promised : int
        After all of them.
    """

    batch: Any
    rows: Any
    begins: Any
    first: Any
    le: Any
    code: Any
    keys: list[Hashable]
    late: Any
    codes: Any
    promises: list[int]
    promised: int


def arrivals_of(sequences: Sequences, keys: Keys | None, batch: Any, then: list[Any]) -> Arrivals:
    """Take the events of a batch apart, and sort them. O(n), where numbers are not dense O(n log n).

    Parameters
    ----------
    sequences : Sequences
    keys : Keys or None
    batch : table
    then : list of Punctuation
        What comes after it.

    Raises
    ------
    Unusual
        It must go row by row.
    """
    core = sequences.core
    there, fields = batch.names, [field.name for field in sequences.derived.schema.fields]
    needed = {*fields, "le", *(keys.columns if keys else ())}
    if any(name in TIMES for name in fields) or len(set(there)) != len(there) or not needed <= set(there):
        raise Unusual
    le, numbers = integers(batch, "le"), integers(batch, sequences.derived.number)
    if len(le) != len(numbers):
        raise Unusual
    others, promises, late = _apart(sequences, batch, le)
    if len(late):
        if core.late.policy == "raise":
            raise Unusual
        others = np.union1d(others, late)
    if len(others) == len(le):
        raise Unusual
    codes, found = None, list[Hashable]([None])
    if keys is not None:
        codes, found = numbered_keys([column_of(batch, name) for name in keys.names], keys.single)
        if len(codes) != len(le):
            raise Unusual
    rows, begins = in_order(numbers, codes, others)
    times, code = le[rows], None if codes is None else codes[rows]
    falls = times[1:] < times[:-1]
    if falls.any() and (code is None or (falls & (code[1:] == code[:-1])).any()):
        raise Unusual
    promises += [item.t for item in then]
    promised, first = max([core.progress.events, *promises]), numbers[rows[begins]]
    return Arrivals(batch, rows, begins, first, times, code, found, late, codes, promises, promised)


def _apart(sequences: Sequences, batch: Any, le: Any) -> tuple[Any, list[int], Any]:
    """The rows that are no events, the promises that they are, and the rows of events that are late."""
    promised: Any = sequences.core.progress.events
    there = batch.names
    at = np.empty(0, np.int64)
    if "kind" in there and "kind" not in sequences.derived.names:
        kind = integers(batch, "kind", wide=False)
        at = np.flatnonzero(kind != EVENT)
        if len(kind) != len(le) or (kind[at] != PUNCTUATION).any():
            raise Unusual
    if "diff" in there:
        diff = integers(batch, "diff")
        if len(diff) != len(le) or len(np.setdiff1d(np.flatnonzero(diff != 1), at)):
            raise Unusual
    if not len(at):
        return at, [], np.flatnonzero(le < promised)
    promises = np.maximum.accumulate(np.maximum(le[at], promised))
    ahead = le[: at[0]]
    late = at[:0]
    if (np.minimum.reduceat(le, at) < promises).any() or (len(ahead) and ahead.min() < promised):
        rows = _all_but(at, len(le))
        late = rows[le[rows] < np.append(promised, promises)[at.searchsorted(rows)]]
    return at, le[at].tolist(), late


def column_of(batch: Any, name: str) -> Any:
    """A column of a table."""
    return batch.column(name)


def in_order(numbers: Any, codes: Any, others: Any) -> tuple[Any, Any]:
    """The rows but some others by key and number, and where blocks begin among them. O(n) where numbers are dense.

    Each pass over a batch costs about as much as the next: what stands in order is known by few of its rows, else each row is put
    to the place of its number, and places that stay empty are left out.
    """
    count = len(numbers) - len(others)
    if codes is not None:
        numbers = _combined(numbers, codes, others)
    start = numbers[_all_but(others, min(LOOK, len(numbers)))]
    if (start[1:] > start[:-1]).all():
        rows = _all_but(others, len(numbers))
        found = numbers[rows]
        if (found[1:] > found[:-1]).all():
            return rows, _begins(found)
    found = _without(numbers, others)
    least, most = int(found.min()), int(found.max())
    if most - least >= WIDE * count:
        rows = _all_but(others, len(numbers))
        rows = rows[np.argsort(numbers[rows])]
        found = numbers[rows]
        if (found[1:] == found[:-1]).any():
            raise Unusual
        return rows, _begins(found)
    places = np.full(most - least + 2, -1)
    at = np.subtract(found, least, out=found if len(others) else None)
    at[others] = most - least + 1  # where nobody looks
    places[at] = np.arange(len(at))
    places = places[:-1]
    missing = np.flatnonzero(places < 0)
    if len(places) - len(missing) < count:
        raise Unusual  # a number that comes twice
    begins = np.append(0, missing - np.arange(len(missing)))
    return _closed(places, missing), begins[np.append(True, begins[1:] != begins[:-1])]


def _all_but(others: Any, count: int) -> Any:
    """The first ``count`` rows, but for some."""
    left = np.ones(count, np.bool_)
    left[others[: others.searchsorted(count)]] = False
    return np.flatnonzero(left)


def _combined(numbers: Any, codes: Any, others: Any) -> Any:
    """Keys and numbers as one: the numbers of each key apart from those of the next, so that there is a gap between them."""
    found = _without(numbers, others)
    least = int(found.min())
    span = int(found.max()) - least + 2
    if span * (int(codes.max()) + 1) >= FOREVER:
        raise Unusual
    return codes * span + (found - least)


def _without(numbers: Any, others: Any) -> Any:
    """The numbers, but of some other rows that of a row that is none of them."""
    if not len(others):
        return numbers
    found, odd = numbers.copy(), np.flatnonzero(others != np.arange(len(others)))
    found[others] = numbers[odd[0] if len(odd) else len(others)]
    return found


def _closed(places: Any, missing: Any) -> Any:
    """Places without the missing ones, which mostly are at the ends: what lies between those is copied as it stands."""
    edges = np.concatenate([[-1], missing, [len(places)]])
    widest = int(np.argmax(edges[1:] - edges[:-1]))
    low, high = int(edges[widest]) + 1, int(edges[widest + 1])
    if high - low < len(places) // 2:
        return places[places >= 0]
    head, tail = places[:low], places[high:]
    return np.concatenate([head[head >= 0], places[low:high], tail[tail >= 0]])


def _begins(found: Any) -> Any:
    """Where blocks begin in numbers that are in order."""
    if int(found[-1]) - int(found[0]) == len(found) - 1:
        return np.zeros(1, np.int64)
    return np.append(0, np.flatnonzero(found[1:] - found[:-1] != 1) + 1)
