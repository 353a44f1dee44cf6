"""In how many worlds each match is in force, between two calls; and what changes of that by one.

    world 3: +m [7, 12)      m: worlds {1, 3}    told 2/400 [5, 9]     ->    worlds {1}    told 1/400 [5, 5]
    world 3: -m [7, 12)

Matches are told apart by key, by what they show and by their bounds, so that one which a promise makes final stays as it is told.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sortedcontainers import SortedDict

from afa.engine import Logged
from afa.journal import Journal
from afa.schema import NAN
from afa.state.key_columns import KeyColumn, KeyColumns
from punctuation.calls import Member
from punctuation.time import FOREVER

Name = tuple[Any, tuple[Any, ...], int, int]
"""Of a match: its key, what it shows, its bounds."""


class Told(NamedTuple):
    """What is told of a match: in how many worlds it is, the range of its times in these, its lifetime."""

    worlds: int
    first: int
    last: int
    le: int
    re: int


class Record(NamedTuple):
    """The matches of all worlds that are one, as columns world, LE, RE, copies, shape (4, n); and what is told of them."""

    rows: Any
    told: Told


class Difference(NamedTuple):
    """What goes and what comes: of each match its name and what is told."""

    gone: list[tuple[Name, Told]]
    come: list[tuple[Name, Told]]


class Confidences(Member):
    """The matches of all worlds.

    Parameters
    ----------
    worlds : int
    least : int
        In how many worlds a match must be to be told.
    window : int
        That of the operator of the worlds; a match's RE less it is when it begins.
    bounded : bool
        Whether lifetimes end: the user gave a window.
    """

    def __init__(self, worlds: int, least: int, window: int, bounded: bool) -> None:
        self.worlds, self.least, self._window, self._bounded = worlds, least, window, bounded
        self.records: dict[Name, Record] = {}
        self._final: SortedDict[int, dict[Name, None]] = SortedDict()  # by their LE: a promise above it lets them go
        self.told = self.withdrawn = 0
        self._journal = Journal()

    # -- what comes ------------------------------------------------------------------------------------------------------------

    def take(self, rows: Logged) -> Difference:
        """Take what the operator of the worlds tells. O(rows log rows + what is held of the matches that they concern)."""
        found = Difference([], [])
        if not len(rows.le):
            return found
        for name, more in self._by_match(rows):
            old = self.records.get(name)
            there = _added(more if old is None else np.concatenate([old.rows, more], axis=1))
            new = self._told(name, there) if there.shape[1] else None
            self._put(name, old, None if new is None else Record(there, new))
            was = None if old is None or old.told.worlds < self.least else old.told
            now = None if new is None or new.worlds < self.least else new
            if was != now:
                found.gone.extend([] if was is None else [(name, was)])
                found.come.extend([] if now is None else [(name, now)])
        self.told += len(found.come)
        self.withdrawn += len(found.gone)
        return found

    def _by_match(self, rows: Logged) -> Iterator[tuple[Name, Any]]:
        """Yield the name of each match, and what comes of it, as the columns of a `Record`."""
        world, of_key = _keys(rows)
        columns = [np.asarray(rows.fields[-2]), np.asarray(rows.fields[-1])]
        codes = [_codes(column) for column in (*of_key, *rows.fields)]
        order = np.lexsort((world, *codes))
        new = np.zeros(len(order), np.bool_)
        new[0] = True
        for code in codes:
            new[1:] |= code[order[1:]] != code[order[:-1]]
        starts = np.flatnonzero(new)
        places = order[starts]
        shown = [_items(column, places) for column in rows.fields[:-2]]
        keys = [_items(column, places) for column in of_key]
        payloads = list(zip(*shown)) if shown else [()] * len(places)
        of = list(zip(*keys)) if keys else [None] * len(places)
        names = zip(of, payloads, *(column[places].tolist() for column in columns))
        cells = np.array([world, rows.le, rows.re, rows.diff], np.int64)[:, order]
        ends = [*starts[1:].tolist(), len(order)]
        for name, low, high in zip(names, starts.tolist(), ends):
            yield name, cells[:, low:high].copy()

    def _told(self, name: Name, rows: Any) -> Told:
        """Return what is told of a match that some worlds have."""
        *_, first_by, last_by = name
        world, le, re, _ = rows
        first, last = int(re.min()) - self._window, int(le.max())
        worlds = 1 + int(np.count_nonzero(world[1:] != world[:-1]))
        end = first_by + self._window if self._bounded and first_by <= FOREVER - self._window else FOREVER
        return Told(worlds, first, last, max(min(last_by, end - 1), last), end)

    def _put(self, name: Name, old: Record | None, new: Record | None) -> None:
        journal = self._journal
        if old is not None and (new is None or new.told.le != old.told.le):
            journal.drop(self._final[old.told.le], name)
        if new is None:
            if old is not None:
                journal.drop(self.records, name)
            return
        journal.put(self.records, name, new)
        if old is None or new.told.le != old.told.le:
            names = self._final.get(new.told.le)
            if names is None:
                names = {}
                journal.put(self._final, new.told.le, names)
            journal.put(names, name, None)

    def settle(self, t: int) -> None:
        """Forget the matches that a promise makes final: those with an LE below it."""
        for le in list(self._final.irange(None, t, inclusive=(True, False))):
            for name in self._final[le]:
                self._journal.drop(self.records, name)
            self._journal.drop(self._final, le)

    def share(self, told: Told) -> float:
        """Return a confidence: the share of the worlds that have a match."""
        return told.worlds / self.worlds

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        return self.told, self.withdrawn

    def call_failed(self, before: Any) -> None:
        self._journal.rollback()
        self.told, self.withdrawn = before

    def call_worked(self) -> None:
        self._journal.commit()

    # -- snapshots -------------------------------------------------------------------------------------------------------------

    def data(self) -> list[Any]:
        """Return what is held as plain data."""
        held = [[key, list(shown), *bounds, record.rows.ravel().tolist()] for (key, shown, *bounds), record in self.records.items()]
        return [self.told, self.withdrawn, sorted(held, key=repr)]

    def load(self, data: Any) -> None:
        """Take what `data` returned, where nothing is held; the caller turns what it raises into a `SnapshotError`."""
        self.told, self.withdrawn, held = data
        for key, shown, first_by, last_by, cells in held:
            rows = np.array(cells, np.int64).reshape(4, -1)
            name = (key, tuple(shown), first_by, last_by)
            sound = rows.shape[1] and (rows[0] >= 0).all() and (rows[0] < self.worlds).all() and (rows[3] > 0).all()
            if name in self.records or not sound or (_added(rows) != rows).any():
                raise ValueError(f"no matches of worlds: {cells!r}")
            self._put(name, None, Record(rows, self._told(name, rows)))
        self._journal.commit()


def least_of(threshold: float | None, worlds: int) -> int:
    """Return in how many worlds a match must be for its confidence not to lie below a threshold."""
    return 1 if threshold is None else max(1, math.ceil(threshold * worlds - 1e-9))


def _added(rows: Any) -> Any:
    """Return rows sorted by world, LE and RE, with the copies of equal ones added up, without those of which there are none."""
    if rows.shape[1] > 1:
        rows = rows[:, np.lexsort((rows[2], rows[1], rows[0]))]
        new = np.concatenate([[True], (rows[:3, 1:] != rows[:3, :-1]).any(axis=0)])
        if not new.all():
            starts = np.flatnonzero(new)
            rows = np.concatenate([rows[:3, starts], np.add.reduceat(rows[3], starts)[None]])
    return rows if rows[3].all() else rows[:, rows[3] != 0]


def _keys(rows: Logged) -> tuple[Any, Sequence[Any]]:
    """Return the world of each row, and the columns of the user's key."""
    parts = rows.keys.columns if isinstance(rows.keys, KeyColumns) else [KeyColumn.of(part) for part in zip(*rows.keys)]
    world, *rest = parts
    return np.asarray(world.values, np.int64), rest


def _codes(column: Any) -> Any:
    """Return numbers, equal where a column's values are."""
    if isinstance(column, KeyColumn) and column.kind in (int, bool) and column.present is None:
        column = column.values.astype(np.int64)
    if isinstance(column, np.ndarray):
        return column.view(np.int64) if column.dtype == np.float64 else column  # which has one zero and one NaN
    numbers: dict[Hashable, int] = {}
    items = column.tolist() if isinstance(column, KeyColumn) else column
    return np.array([numbers.setdefault(_named(item), len(numbers)) for item in items], np.int64)


def _named(item: Any) -> Hashable:
    return "NaN" if item != item else (type(item), item)


def _items(column: Any, places: Any) -> list[Any]:
    """Return the values of a column at some places, as Python has them."""
    if isinstance(column, np.ndarray):
        found: list[Any] = column[places].tolist()
        return [NAN if item != item else item for item in found] if column.dtype == np.float64 else found
    if isinstance(column, KeyColumn):
        return column.take(places).tolist()
    return [column[i] for i in places.tolist()]
