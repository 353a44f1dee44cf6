"""Readings of many keys as columns, and what is told of them, by numpy: the same as `afa.situations.readings`, row by row.

    readings     key 0 0 0 0 1 1     le 1 2 3 4 1 5     on  - x x - x -       sorted by key and LE
    instants     (0, 2) begins   (0, 4) ends   (1, 1) begins   (1, 5) ends

For readings without RE, order and aggregates. A *mark* takes three bits of an instant's code, one mark for each definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.situations.key_standing import BEGINS, ENDS, FAILS, LASTS, Kind
from punctuation.time import FOREVER

BITS = 3
MOST = 62 // BITS
"""How many definitions there may be."""


class Rows(NamedTuple):
    """Readings, sorted by key and LE.

    Parameters
    ----------
    key, le : arrays of shape (n,)
        Numbers of keys; ticks.
    on : array of bool, shape (definitions, n)
        Which definitions each satisfies.
    source : array of shape (n,)
        Where the rest of the reading stands: the number of its table << 32 | its row there.
    """

    key: Any
    le: Any
    on: Any
    source: Any

    def at(self, places: Any) -> Rows:
        """Return some of them."""
        if isinstance(places, slice) or places.dtype == np.bool_:
            return Rows(self.key[places], self.le[places], self.on[:, places], self.source[places])
        one = len(self.key) and self.key.strides == (0,)
        key = np.broadcast_to(self.key[:1], (len(places),)) if one else self.key.take(places)
        return Rows(key, self.le.take(places), picked(self.on, places), self.source.take(places))


class Covers(NamedTuple):
    """How each key stands below the promise: since when a situation of each definition goes on (FOREVER: none), shape (keys, m)."""

    ts: Any
    lasted: Any


class Instants(NamedTuple):
    """What is told: the instants of each key, sorted by key and time, with a mark for each definition."""

    key: Any
    t: Any
    code: Any

    def at(self, places: Any) -> Instants:
        """Return some of them."""
        return Instants(self.key[places], self.t[places], self.code[places])


NONE = Instants(*(np.empty(0, np.int64) for _ in range(3)))


def derived(rows: Rows, covers: Covers, kinds: Sequence[Kind], promised: int) -> Instants:
    """Return the instants of readings, as far as they and a promise tell. O(n)."""
    on, going = rows.on, covers.ts != FOREVER
    starts = starts_of(rows.key)
    moved, other = np.zeros((2, len(rows.key)), np.bool_)
    for each in on:
        np.logical_or(moved[1:], np.not_equal(each[1:], each[:-1], out=other[1:]), out=moved[1:])
    moved[starts] = True
    at = np.flatnonzero(moved)
    before, now = picked(on, at - 1), picked(on, at)
    of_starts = np.searchsorted(at, starts)
    before[:, of_starts] = going[rows.key[starts]].T
    key, le = rows.key[at], rows.le[at]
    code = np.zeros(len(at), np.int64)
    lasting: list[tuple[Any, Any, int]] = []
    for number, kind in enumerate(kinds):
        begins, ends = now[number] & ~before[number], before[number] & ~now[number]
        if kind.at_least is None and kind.at_most is None:
            code |= (begins * BEGINS + ends * ENDS).astype(np.int64) << (BITS * number)
            continue
        since, until = _spans(key, le, begins, ends, covers, number)
        allowed = np.ones(len(at), np.bool_)
        lasts = le - since
        if kind.at_least is not None:
            allowed &= lasts >= kind.at_least
            lasting += _lasting(kind.at_least, rows, starts, key, le, begins, until, covers, number, promised)
        if kind.at_most is not None:
            allowed &= lasts <= kind.at_most
        code |= np.where(begins, BEGINS, np.where(ends, np.where(allowed, ENDS, FAILS), 0)) << (BITS * number)
    there = np.flatnonzero(code)
    found = Instants(key[there], le[there], code[there])
    return _merged(found, lasting) if lasting else found


def picked(on: Any, places: Any) -> Any:
    """Return ``on[:, places]``, as numpy does it fast."""
    found = np.empty((len(on), len(places)), np.bool_)
    for each, to in zip(on, found):
        each.take(places, out=to, mode="wrap")
    return found


def starts_of(key: Any) -> Any:
    """Return where the rows of each key begin, of sorted numbers of keys."""
    if not len(key) or key[0] == key[-1]:
        return np.zeros(min(len(key), 1), np.int64)
    return np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1])


def _spans(key: Any, le: Any, begins: Any, ends: Any, covers: Covers, number: int) -> tuple[Any, Any]:
    """Return of each end since when its situation lasts, and of each beginning until when (FOREVER: it goes on)."""
    n = len(key)
    started, ended = np.flatnonzero(begins), np.flatnonzero(ends)
    since, until = covers.ts[key, number], np.full(n, FOREVER)
    if len(started):
        before = np.searchsorted(started, ended) - 1
        own = (before >= 0) & (key[started[before]] == key[ended])
        since[ended[own]] = le[started[before[own]]]
    if len(ended):
        behind = np.searchsorted(ended, started)
        own = behind < len(ended)
        own[own] = key[ended[behind[own]]] == key[started[own]]
        until[started[own]] = le[ended[behind[own]]]
    since[~ends] = le[~ends]
    return since, until


def _lasting(
    at_least: int, rows: Rows, starts: Any, key: Any, le: Any, begins: Any, until: Any, covers: Covers, number: int, promised: int
) -> Iterator[tuple[Any, Any, int]]:
    """Yield when situations have lasted long enough and go on: of those that begin here, and of those that went on before."""
    clock = np.full(len(covers.ts), promised)
    if len(starts):
        last = np.append(starts[1:], len(rows.key)) - 1
        clock[rows.key[last]] = np.maximum(rows.le[last], promised)
    mark = LASTS << (BITS * number)
    place = np.flatnonzero(begins)
    t, k, te = le[place] + at_least, key[place], until[place]
    there = (t > le[place]) & (t < te) & (t <= clock[k])  # above its beginning: within int64
    yield k[there], t[there], mark
    open_ = np.flatnonzero((covers.ts[:, number] != FOREVER) & ~covers.lasted[:, number])
    if len(open_):
        ended = np.full(len(covers.ts), FOREVER)
        off = np.flatnonzero(~rows.on[number])
        if len(off):
            firsts = off[np.concatenate([[True], rows.key[off[1:]] != rows.key[off[:-1]]])]
            ended[rows.key[firsts]] = rows.le[firsts]
        since = covers.ts[open_, number]
        t = since + at_least
        there = (t > since) & (t < ended[open_]) & (t <= clock[open_])
        yield open_[there], t[there], mark


def _merged(found: Instants, more: Sequence[tuple[Any, Any, int]]) -> Instants:
    """Return instants with marks that lie elsewhere, sorted, one for each key and time."""
    key = np.concatenate([found.key, *(each[0] for each in more)])
    t = np.concatenate([found.t, *(each[1] for each in more)])
    code = np.concatenate([found.code, *(np.full(len(each[0]), each[2]) for each in more)])
    order = np.lexsort((t, key))
    key, t, code = key[order], t[order], code[order]
    if not len(key):
        return NONE
    new = np.flatnonzero(np.concatenate([[True], (key[1:] != key[:-1]) | (t[1:] != t[:-1])]))
    return Instants(key[new], t[new], np.bitwise_or.reduceat(code, new))


def difference(old: Instants, new: Instants) -> tuple[Instants, Instants]:
    """Return the instants of two sorted tellings that go and that come."""
    n = min(len(old.t), len(new.t))
    unlike = (old.key[:n] != new.key[:n]) | (old.t[:n] != new.t[:n]) | (old.code[:n] != new.code[:n])
    same = int(np.argmax(unlike)) if unlike.any() else n
    old, new = old.at(slice(same, None)), new.at(slice(same, None))
    if not len(old.t) or not len(new.t):
        return old, new
    key, t, code = (np.concatenate(pair) for pair in zip(old, new))
    order = np.lexsort((code, t, key))
    twice = (np.diff(key[order]) == 0) & (np.diff(t[order]) == 0) & (np.diff(code[order]) == 0)
    stays = np.zeros(len(key), np.bool_)
    stays[order[1:][twice]] = stays[order[:-1][twice]] = True
    return old.at(~stays[: len(old.t)]), new.at(~stays[len(old.t) :])


def standing(told: Sequence[Instants], covers: Covers, kinds: Sequence[Kind], below: int, clock: Any) -> Covers:
    """Return how keys stand behind what was told of times below one; ``clock``: up to when each has told what lasts."""
    ts = covers.ts.copy()
    for number in range(len(kinds)):
        for each in told:
            code = each.code >> (BITS * number) & ((1 << BITS) - 1)
            moves = np.flatnonzero((code != 0) & (code != LASTS) & (each.t < below))
            ts[each.key[moves], number] = np.where(code[moves] == BEGINS, each.t[moves], FOREVER)  # of one key the last one counts
    lasted = np.ones(ts.shape, np.bool_)
    for number, kind in enumerate(kinds):
        if kind.at_least is not None:
            since = ts[:, number]
            known = covers.lasted[:, number] & (since == covers.ts[:, number])
            lasted[:, number] = known | ((since <= clock) & (clock - np.minimum(since, clock) >= kind.at_least))
    return Covers(ts, lasted)
