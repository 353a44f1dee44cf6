"""Readings of many keys as columns, and what is told of them, by numpy: the same as `afa.situations.readings`, row by row.

    readings     key 0 0 0 0 1 1     le 1 2 3 4 1 5     on  0 1 1 0 1 0       sorted by key and LE
    instants     (0, 2) begins   (0, 4) ends   (1, 1) begins   (1, 5) ends

For readings without RE and order. What a reading satisfies are the bits of a number, one for each definition; a *mark* takes three
bits of an instant's code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.situations.column_folds import Folded, told_at
from afa.situations.key_standing import BEGINS, ENDS, FAILS, LASTS, Kind
from afa.situations.reading_sources import Unordered
from afa.situations.satisfied import as_bits, satisfied
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
    on : array of unsigned ints, shape (n,)
        Which definitions each satisfies, as bits.
    source : array of shape (n,), or Unordered
        Where the rest of each reading stands.
    values, held : tuples of arrays of shape (n,)
        What is aggregated, and what it has come to; each with which of it there are.
    moved : array of ints, or None
        Of one key: at which others are satisfied than at the one before; None: not worked out.
    """

    key: Any
    le: Any
    on: Any
    source: Any
    values: tuple[Any, ...] = ()
    held: tuple[Any, ...] = ()
    moved: Any = None

    def at(self, places: Any) -> Rows:
        """Return some of them."""
        if isinstance(places, slice):
            return Rows(self.key[places], self.le[places], self.on[places], self._sources(places), *self._more(places))
        if places.dtype == np.bool_:
            places = np.flatnonzero(places)  # numpy picks by numbers faster than by bools
        one = len(self.key) and self.key.strides == (0,)
        key = np.broadcast_to(self.key[:1], (len(places),)) if one else self.key.take(places)
        return Rows(key, self.le.take(places), self.on.take(places), self._sources(places), *self._more(places))

    def _sources(self, places: Any) -> Any:
        return self.source if isinstance(self.source, Unordered) else self.source[places]

    @property
    def sources(self) -> Any:
        """The source of each, as an array."""
        return self.source.of(self.le) if isinstance(self.source, Unordered) else self.source

    def _more(self, places: Any) -> tuple[Any, Any]:
        return tuple(each[places] for each in self.values), tuple(each[places] for each in self.held)


class Covers(NamedTuple):
    """How each key stands below the promise: since when a situation of each definition goes on (FOREVER: none), shape (keys, m)."""

    ts: Any
    lasted: Any
    held: tuple[Any, ...] = ()

    def at(self, places: Any) -> Covers:
        """Return those of some keys."""
        return Covers(self.ts[places], self.lasted[places], tuple(each[places] for each in self.held))

    def joined(self, more: Covers) -> Covers:
        """Return these and those of further keys."""
        ts, lasted = np.concatenate([self.ts, more.ts]), np.concatenate([self.lasted, more.lasted])
        return Covers(ts, lasted, tuple(map(np.concatenate, zip(self.held, more.held))))


class KeyInstants(NamedTuple):
    """What is told: the instants of each key, sorted by key and time, with a mark for each definition."""

    key: Any
    t: Any
    code: Any
    values: tuple[Any, ...] = ()

    def at(self, places: Any) -> KeyInstants:
        """Return some of them."""
        return KeyInstants(self.key[places], self.t[places], self.code[places], tuple(each[places] for each in self.values))


NONE = KeyInstants(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


class Moves(NamedTuple):
    """Readings at which definitions begin or end to be satisfied; ``before``, ``now``: which are, as bits."""

    key: Any
    le: Any
    before: Any
    now: Any


def derived(rows: Rows, covers: Covers, kinds: Sequence[Kind], promised: int, plan: Sequence[Folded] = ()) -> KeyInstants:
    """Return the instants of readings, as far as they and a promise tell. O(n)."""
    key, le, before, now = _moves(rows, covers)
    code = np.zeros(len(key), np.int64)
    lasting: list[tuple[Any, Any, int]] = []
    clock = _clock(rows, len(covers.ts), promised)
    for number, kind in enumerate(kinds):
        begins, ends = satisfied(now & ~before, number), satisfied(before & ~now, number)
        if kind.at_least is None and kind.at_most is None:
            code |= (begins * BEGINS + ends * ENDS).astype(np.int64) << (BITS * number)
            continue
        since, until = _spans(key, le, begins, ends, covers, number)
        allowed = np.ones(len(key), np.bool_)
        lasts = le - since
        if kind.at_least is not None:
            allowed &= lasts >= kind.at_least
            lasting += _lasting(kind.at_least, key, le, begins, ends, until, covers, number, clock)
        if kind.at_most is not None:
            allowed &= lasts <= kind.at_most
        code |= np.where(begins, BEGINS, np.where(ends, np.where(allowed, ENDS, FAILS), 0)) << (BITS * number)
    there = np.flatnonzero(code)
    found = KeyInstants(key[there], le[there], code[there])
    found = _merged(found, lasting) if lasting else found
    return found._replace(values=told_at(plan, *found[:3], rows, covers, BITS)) if plan else found


def _moves(rows: Rows, covers: Covers) -> Moves:
    """Return where something begins or ends: where a reading satisfies other definitions than the one before."""
    on, starts = rows.on, starts_of(rows.key)
    if rows.moved is None:
        moved = np.zeros(len(on), np.bool_)
        np.not_equal(on[1:], on[:-1], out=moved[1:])
        moved[starts] = True
        at = np.flatnonzero(moved)
    else:
        at = np.concatenate([starts, rows.moved])
    before, now = on[at - 1], on[at]
    before[np.searchsorted(at, starts)] = as_bits(covers.ts[rows.key[starts]].T != FOREVER, covers.ts.shape[1], len(starts))
    return Moves(rows.key[at], rows.le[at], before, now)


def _clock(rows: Rows, keys: int, promised: int) -> Any:
    """Return of each key up to when it is known what happens."""
    clock = np.full(keys, promised)
    if len(rows.key):
        last = np.append(starts_of(rows.key)[1:], len(rows.key)) - 1
        clock[rows.key[last]] = np.maximum(rows.le[last], clock[rows.key[last]])
    return clock


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
    at_least: int, key: Any, le: Any, begins: Any, ends: Any, until: Any, covers: Covers, number: int, clock: Any
) -> Iterator[tuple[Any, Any, int]]:
    """Yield when situations have lasted long enough and go on: of those that begin here, and of those that went on before."""
    mark = LASTS << (BITS * number)
    place = np.flatnonzero(begins)
    t, k, te = le[place] + at_least, key[place], until[place]
    there = (t > le[place]) & (t < te) & (t <= clock[k])  # above its beginning: within int64
    yield k[there], t[there], mark
    open_ = np.flatnonzero((covers.ts[:, number] != FOREVER) & ~covers.lasted[:, number])
    if len(open_):
        ended, off = np.full(len(covers.ts), FOREVER), np.flatnonzero(ends)[::-1]
        ended[key[off]] = le[off]  # of a key the first one counts
        since = covers.ts[open_, number]
        t = since + at_least
        there = (t > since) & (t < ended[open_]) & (t <= clock[open_])
        yield open_[there], t[there], mark


def _merged(found: KeyInstants, more: Sequence[tuple[Any, Any, int]]) -> KeyInstants:
    """Return instants with marks that lie elsewhere, sorted, one for each key and time."""
    key = np.concatenate([found.key, *(each[0] for each in more)])
    t = np.concatenate([found.t, *(each[1] for each in more)])
    code = np.concatenate([found.code, *(np.full(len(each[0]), each[2]) for each in more)])
    order = np.lexsort((t, key))
    key, t, code = key[order], t[order], code[order]
    if not len(key):
        return NONE
    new = np.flatnonzero(np.concatenate([[True], (key[1:] != key[:-1]) | (t[1:] != t[:-1])]))
    return KeyInstants(key[new], t[new], np.bitwise_or.reduceat(code, new))


def together(parts: Sequence[KeyInstants]) -> list[Any]:
    """Return the columns of several, one after the other: key, time, code, values."""
    return [np.concatenate(each) for each in zip(*((*part[:3], *part.values) for part in parts))]


def _alike(one: Any, other: Any) -> Any:
    """Return where columns are equal, NaN to itself."""
    return (one == other) | ((one != one) & (other != other)) if one.dtype.kind == "f" else one == other


def difference(old: KeyInstants, new: KeyInstants) -> tuple[KeyInstants, KeyInstants]:
    """Return the instants of two sorted tellings that go and that come."""
    n = min(len(old.t), len(new.t))
    unlike = np.zeros(n, np.bool_)
    for one, other in zip((*old[:3], *old.values), (*new[:3], *new.values)):
        unlike |= ~_alike(one[:n], other[:n])
    same = int(np.argmax(unlike)) if unlike.any() else n
    old, new = old.at(slice(same, None)), new.at(slice(same, None))
    if not len(old.t) or not len(new.t):
        return old, new
    near = np.flatnonzero(new.t <= old.t.max())  # few, where readings are a little late
    key, t, code, *values = together([old, new.at(near)])
    order = np.lexsort((t, key))
    twice = np.ones(len(order) - 1, np.bool_)
    for each in (key, t, code, *values):
        twice &= _alike(each[order[1:]], each[order[:-1]])
    stays = np.zeros(len(key), np.bool_)
    stays[order[1:][twice]] = stays[order[:-1][twice]] = True
    comes = np.ones(len(new.t), np.bool_)
    comes[near] = ~stays[len(old.t) :]
    return old.at(~stays[: len(old.t)]), new.at(comes)


def standing(told: Sequence[KeyInstants], covers: Covers, kinds: Sequence[Kind], below: int, clock: Any) -> Covers:
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
    return Covers(ts, lasted, covers.held)
