"""The events of a batch, sorted by key and number; what in it is unusual."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from afa.keys import Keys
from afa.tableout import TIMES, kind_of, names_of
from punctuation.reading import EVENT, PUNCTUATION
from punctuation.time import FOREVER
from speculation.ordered_columns import Unusual, integers, numbered_keys
from speculation.sequences import Sequences

WIDE = 4
"""Numbers that range over so many times their count are sorted by places, as they are nearly all there."""


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
    there, fields = names_of(batch), [field.name for field in sequences.derived.schema.fields]
    needed = {*fields, "le", *(keys.columns if keys else ())}
    if any(name in TIMES for name in fields) or len(set(there)) != len(there) or not needed <= set(there):
        raise Unusual
    le, numbers = integers(batch, "le"), integers(batch, sequences.derived.number)
    if len(le) != len(numbers):
        raise Unusual
    rows, promises, is_late = _rows(sequences, batch, le)
    late = rows[:0]
    if is_late is not None:
        if core.late.policy == "raise":
            raise Unusual
        rows, late = rows[~is_late], rows[is_late]
    if not len(rows):
        raise Unusual
    codes, found = None, list[Hashable]([None])
    if keys is not None:
        codes, found = numbered_keys([column_of(batch, name) for name in keys.names], keys.single)
        if len(codes) != len(le):
            raise Unusual
    rows, begins = _in_order(rows, numbers, codes)
    times, code = le[rows], None if codes is None else codes[rows]
    falls = times[1:] < times[:-1]
    if falls.any() and (code is None or (falls & (code[1:] == code[:-1])).any()):
        raise Unusual
    promises += [item.t for item in then]
    promised, first = max([core.progress.events, *promises]), numbers[rows[begins]]
    return Arrivals(batch, rows, begins, first, times, code, found, late, codes, promises, promised)


def _rows(sequences: Sequences, batch: Any, le: Any) -> tuple[Any, list[int], Any]:
    """The rows of events, the promises among them, and which of the events are late; None: none is."""
    promised: Any = sequences.core.progress.events
    there = names_of(batch)
    kind = integers(batch, "kind") if "kind" in there and "kind" not in sequences.derived.names else None
    rows = np.arange(len(le)) if kind is None else np.flatnonzero(kind == EVENT)
    if "diff" in there and (integers(batch, "diff")[rows] != 1).any():
        raise Unusual
    if kind is None or len(rows) == len(le):
        is_late = le < promised
        return rows, [], is_late if is_late.any() else None
    at = np.flatnonzero(kind == PUNCTUATION)
    if len(at) + len(rows) != len(le):
        raise Unusual
    promises = np.maximum.accumulate(np.maximum(le[at], promised))
    ahead = le[: at[0]]
    if (np.minimum.reduceat(le, at) >= promises).all() and (not len(ahead) or ahead.min() >= promised):
        return rows, le[at].tolist(), None
    before = np.append(promised, promises)[at.searchsorted(rows)]
    is_late = le[rows] < before
    return rows, le[at].tolist(), is_late if is_late.any() else None


def column_of(batch: Any, name: str) -> Any:
    """A column of a table."""
    return batch.column(name) if kind_of(batch) == "arrow" else batch[name]


def _in_order(rows: Any, numbers: Any, codes: Any) -> tuple[Any, Any]:
    """The rows by key and number, and where blocks begin among them. O(n) where numbers are dense, which they mostly are."""
    found = numbers[rows]
    least, most = int(found.min()), int(found.max())
    if codes is not None:  # one more than they span: between two keys there is a gap
        span, code = most - least + 2, codes[rows]
        if span * (int(code.max()) + 1) >= FOREVER:
            raise Unusual
        found = code * span + (found - least)
        least, most = int(found.min()), int(found.max())
    if (found[1:] > found[:-1]).all():
        return rows, _begins(found)
    if most - least >= WIDE * len(found):
        order = np.argsort(found)
        found = found[order]
        if (found[1:] == found[:-1]).any():
            raise Unusual
        return rows[order], _begins(found)
    places = np.full(most - least + 1, -1)
    places[found - least] = rows
    missing = np.flatnonzero(places < 0)
    if len(places) - len(missing) < len(rows):
        raise Unusual  # a number that comes twice
    begins = np.append(0, missing - np.arange(len(missing)))
    begins = begins[np.append(True, begins[1:] != begins[:-1])]
    if len(missing) > len(rows) >> 6:
        return places[places >= 0], begins
    ends = [-1, *missing.tolist(), len(places)]
    return np.concatenate([places[a + 1 : b] for a, b in pairwise(ends)]), begins


def _begins(found: Any) -> Any:
    """Where blocks begin in numbers that are in order."""
    if int(found[-1]) - int(found[0]) == len(found) - 1:
        return np.zeros(1, np.int64)
    return np.append(0, np.flatnonzero(found[1:] - found[:-1] != 1) + 1)
