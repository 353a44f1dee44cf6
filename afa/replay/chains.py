"""Candidates of several witnesses, in order and within a window: the spans of time in which a match can lie.

(Thesis, Marburg 2021, Algorithm 3.1 and the cases S1 to S3, for keys, and for lifetimes of mixed length.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.replay.key_spans import Places, Spans, different, joined, later


class Candidates(NamedTuple):
    """Events that may be a witness, or several that stand at exact distances."""

    place: tuple[int, int]  # of which witnesses: the first one's place in the order of all of them, and the last one's
    key: Any  # the number of the key
    # le, end: the LE of the first event, and the least LE that the last one can have: the same for one witness
    le: Any
    end: Any
    re: Any  # the RE of the first event: behind it no run goes on that has it
    exact: Any  # bool: whether ``end`` is the LE of the last event


def joined_candidates(place: tuple[int, int], parts: Sequence[Candidates]) -> Candidates:
    """Return candidates of the same witnesses as one; of no part: none."""
    none = np.zeros(0, np.int64)
    columns = zip((none, none, none, none, np.zeros(0, bool)), *(part[1:] for part in parts))
    return Candidates(place, *(np.concatenate(column) for column in columns))


def spans_of(several: Sequence[Candidates], longest: int, first: bool, last: bool, strict: bool) -> Spans:
    """Return the spans in which a run can lie that has a candidate of each kind, in order.

    ``several``: by their place, one at least. ``longest``: the longest lifetime of an event. ``first``, ``last``: whether the first
    candidate begins a run; whether the last one ends it, with nothing to wait for. ``strict``: whether a later event of a run has a
    larger LE. For each first candidate the earliest chain is followed by bisection: O(n log n) for each kind.
    """
    if not all(len(one.key) for one in several):
        return joined(*np.zeros((3, 0), np.int64))
    several = [_sorted(one, one.le) for one in several]
    head, tail = several[0], several[-1]
    at = Places(different(np.concatenate([part for one in several for part in (one.le, one.end, one.re)])))
    alive = np.arange(len(head.key))
    reached, place = head.end, head.place
    for one in several[1:]:
        begun = reached if one.place[0] > place[1] else head.le[alive]  # a kind may stand between the events of another one
        index = _first_from(at, one, head.key[alive], begun, strict)
        found = np.minimum(index, len(one.key) - 1)
        good = (index < len(one.key)) & (one.key[found] == head.key[alive]) & (one.end[found] < head.re[alive])
        alive, reached, place = alive[good], one.end[found[good]], one.place
    key, le, re = head.key[alive], head.le[alive], head.re[alive]
    low = le if first else later(reached, 1 - longest)
    high = re
    if last and len(several) == 1:
        high = np.where(head.exact, np.minimum(re, later(head.end, 1)), re)
    elif last and bool(tail.exact.all()):
        ends = _sorted(tail, tail.end)
        index = np.searchsorted(at.of(ends.key, ends.end), at.of(key, re, "left"), "right") - 1
        high = np.minimum(re, later(ends.end[index], 1))
    return joined(key, low, high)


def _first_from(at: Places, one: Candidates, key: Any, le: Any, strict: bool) -> Any:
    """Return the place of the first candidate of a key behind an instant, or at it if not ``strict``."""
    mine = at.of(one.key, one.le)
    return np.searchsorted(mine, at.of(key, le), "right" if strict else "left")


def _sorted(one: Candidates, by: Any) -> Candidates:
    order = np.lexsort((by, one.key))
    return Candidates(one.place, *(column[order] for column in one[1:]))
