"""In how many worlds each match is in force, between two calls; and what changes of that by one.

    world 3: +m [7, 12)      m: worlds {1, 3}    told 2/400 [5, 9]     ->    worlds {1}    told 1/400 [5, 5]
    world 3: -m [7, 12)

Matches are told apart by key, by what they show and by their LE, the last time that is possible: so one that a promise makes final
stays as it is told.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sortedcontainers import SortedDict

from afa.engine import Logged
from afa.journal import Journal
from afa.model.copies import as_total
from afa.schema import NAN, Schema
from afa.state.key_columns import KeyColumn, KeyColumns
from punctuation.calls import Member
from punctuation.time import FOREVER, as_time

Name = tuple[Any, tuple[Any, ...], int]
"""Of a match: its key, what it shows, its LE."""
_le = itemgetter(2)


TOLD = ("worlds", "first", "last", "le", "re")
"""What is told of a match, as columns: in how many worlds it is, the range of its times in these, its lifetime."""


class ChangedMatches(NamedTuple):
    cells: Any  # shape (5, n): world, LE, RE, by when it begins, copies: of the matches of all worlds, those of one match together
    starts: Any  # where the cells of each match stand
    ends: Any
    told: tuple[Any, ...]  # columns as of `TOLD`


Record = tuple[ChangedMatches, int]
"""A match: the call that has changed it last, and its place there."""


class WorldMatches(NamedTuple):
    """Matches: names, and columns as of `TOLD`."""

    names: list[Name]
    told: tuple[Any, ...]

    def at(self, chosen: Any) -> WorldMatches:
        """Returns those for which an array of bools says so."""
        if chosen.all():
            return self
        return WorldMatches(
            [name for name, there in zip(self.names, chosen.tolist()) if there], tuple(each[chosen] for each in self.told)
        )


class Difference(NamedTuple):
    gone: WorldMatches
    come: WorldMatches


NONE = WorldMatches([], tuple(np.empty(0, np.int64) for _ in TOLD))


class Confidences(Member):
    """The matches of all worlds.

    ``least``: in how many worlds a match must be to be told. ``window``: that of the operator of the worlds; a match's RE less it
    is when it begins. ``bounded``: lifetimes end, as the user gave a window. ``waits``: time-outs match, and the window alone
    bounds when a match may happen. ``shown``: how many of the register's fields a match shows.
    """

    def __init__(self, worlds: int, least: int, window: int, bounded: bool, waits: bool, shown: int) -> None:
        self.worlds, self.least, self._window, self._bounded = worlds, least, window, bounded
        self._waits, self._shown = waits, shown
        self.records: dict[Name, Record] = {}
        self._final: SortedDict[int, list[tuple[list[int], list[Name]]]] = SortedDict()  # LEs, sorted, and whose; by the least
        self.told = self.withdrawn = 0
        self._journal = Journal()

    # -- what comes ------------------------------------------------------------------------------------------------------------

    def take(self, rows: Logged) -> Difference:
        """Take what the operator of the worlds tells. O(n log n) with n rows, and what is held of the matches that they concern."""
        if not len(rows.le):
            return Difference(NONE, NONE)
        names, group, cells = self._by_match(rows)
        olds = list(map(self.records.get, names))
        there = [i for i, old in enumerate(olds) if old is not None]
        was = _zeros(len(names))
        if there:
            known = [old for old in olds if old is not None]
            held = [_cells(old) for old in known]
            group = np.concatenate([group, np.repeat(there, [each.shape[1] for each in held])])
            cells = np.concatenate([cells, *held], axis=1)
            for i, column in enumerate(was):
                column[there] = [block.told[i][place] for block, place in known]
        group, cells = _added(group, cells)
        starts = np.searchsorted(group, np.arange(len(names)))
        ends = np.append(starts[1:], len(group))
        told = self._told(names, group, cells, starts, ends > starts)
        same = np.logical_and.reduce([one == other for one, other in zip(was, told)])
        gone = WorldMatches(names, was).at(~same & (was[0] >= self.least))
        come = WorldMatches(names, told).at(~same & (told[0] >= self.least))
        self._put(names, olds, ChangedMatches(cells, starts, ends, told))
        self.told += len(come.names)
        self.withdrawn += len(gone.names)
        return Difference(gone, come)

    def _by_match(self, rows: Logged) -> tuple[list[Name], Any, Any]:
        """Returns the names of the matches of worlds; which of them each row is of, and rows as cells of `ChangedMatches`."""
        world, of_key = _keys(rows)
        first_by, last_by = np.asarray(rows.fields[-2]), np.asarray(rows.fields[-1])
        ends = np.full(len(world), FOREVER - 1)
        if self._bounded:
            ends = np.minimum(first_by, FOREVER - self._window) + (self._window - 1)
        le = ends if self._waits else np.minimum(last_by, ends)
        codes = [_codes(column) for column in (*of_key, *rows.fields[: self._shown], le)]
        order = np.lexsort(codes)
        new = np.zeros(len(order), np.bool_)
        new[0] = True
        for code in codes:
            new[1:] |= code[order[1:]] != code[order[:-1]]
        places = order[np.flatnonzero(new)]
        shown = [_items(column, places) for column in rows.fields[: self._shown]]
        keys = [_items(column, places) for column in of_key]
        payloads = list(zip(*shown)) if shown else [()] * len(places)
        of = list(zip(*keys)) if keys else [None] * len(places)
        names = list(zip(of, payloads, le[places].tolist()))
        return names, np.cumsum(new) - 1, np.array([world, rows.le, rows.re, first_by, rows.diff], np.int64)[:, order]

    def _told(self, names: list[Name], group: Any, cells: Any, starts: Any, left: Any) -> tuple[Any, ...]:
        """Returns what is told of each match, as columns; zeros where no world has it."""
        found = _zeros(len(names))
        if not len(group):
            return found
        at = starts[left]
        new = np.ones(len(group), np.bool_)
        new[1:] = (group[1:] != group[:-1]) | (cells[0, 1:] != cells[0, :-1])
        le = np.array([name[2] for name in names], np.int64)[left]
        end = np.full(len(at), FOREVER)
        if self._bounded:
            end = np.minimum(np.maximum.reduceat(cells[3], at), FOREVER - self._window) + self._window
        columns = (
            np.add.reduceat(new, at, dtype=np.int64),
            np.minimum.reduceat(cells[2], at) - self._window,
            np.maximum.reduceat(cells[1], at),
            le,
            np.maximum(end, le + 1),
        )
        for to, column in zip(found, columns):
            to[left] = column
        return found

    def _put(self, names: list[Name], olds: Sequence[Record | None], block: ChangedMatches) -> None:
        """Hold the matches of a block in the place of what was held of them."""
        self._journal.note(_put_back, self.records, names, olds)
        self.records.update(zip(names, zip(repeat(block), range(len(names)))))
        for i in np.flatnonzero(block.starts == block.ends).tolist():
            del self.records[names[i]]
        new = sorted([name for name, old in zip(names, olds) if old is None], key=_le)
        self._wait([name[2] for name in new], new)

    def _wait(self, le: list[int], names: list[Name]) -> None:
        """Note at which promises matches become final."""
        if le:
            self._journal.put(self._final, le[0], [*self._final.get(le[0], ()), (le, names)])

    def settle(self, t: int) -> None:
        """Forget the matches that a promise makes final: those with an LE below it."""
        for least in list(self._final.irange(None, t, inclusive=(True, False))):
            waiting = self._final[least]
            self._journal.drop(self._final, least)
            for le, names in waiting:
                final = bisect_left(le, t)
                gone = [name for name in names[:final] if name in self.records]
                self._journal.note(_put_back, self.records, gone, [self.records[name] for name in gone])
                for name in gone:
                    self.records.pop(name, None)
                self._wait(le[final:], names[final:])

    def shares(self, matches: WorldMatches) -> Any:
        """Returns confidences: the share of the worlds that have each match."""
        return matches.told[0] / self.worlds

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
        held = [[key, list(shown), le, _cells(record).ravel().tolist()] for (key, shown, le), record in self.records.items()]
        return [self.told, self.withdrawn, sorted(held, key=lambda each: repr(each[:3]))]

    def load(self, data: Any, shown: Schema, keys: int) -> None:
        """Take what `data` returned, where nothing is held; the caller turns what it raises into a `SnapshotError`.

        ``shown``: the schema of matches; ``keys``: how many columns the key has.
        """
        told, withdrawn, held = data
        self.told, self.withdrawn = as_total(told), as_total(withdrawn)
        cls: Any = shown.cls
        names, parts = list[Name](), list[Any]()
        for key, payload, le, cells in held:
            if (key is not None or keys) and (type(key) is not tuple or len(key) != keys):
                raise ValueError(f"no key: {key!r}")
            names.append((key, tuple(shown.take(cls(*payload))), as_time(le, "le")))
            parts.append(np.array(cells, np.int64).reshape(5, -1))
        if names:
            self._put(names, [None] * len(names), self._block(names, parts))
        self._journal.commit()

    def _block(self, names: list[Name], parts: list[Any]) -> ChangedMatches:
        """Returns the matches of worlds that were held of each match as one block, checked."""
        sizes, cells = [each.shape[1] for each in parts], np.concatenate(parts, axis=1)
        ends, group = np.cumsum(sizes), np.repeat(np.arange(len(names)), sizes)
        starts, le = ends - sizes, np.array([name[2] for name in names], np.int64)
        sound = (
            min(sizes) > 0
            and (cells[0] >= 0).all()
            and (cells[0] < self.worlds).all()
            and (cells[4] > 0).all()
            and (cells[1] <= le[group]).all()
        )
        if not sound or len(set(names)) < len(names) or not np.array_equal(_added(group, cells)[1], cells):
            raise ValueError(f"no matches of worlds: {names!r}")
        return ChangedMatches(cells, starts, ends, self._told(names, group, cells, starts, ends > starts))


def least_of(threshold: float | None, worlds: int) -> int:
    """Returns in how many worlds a match must be for its confidence not to lie below a threshold."""
    return 1 if threshold is None else max(1, math.ceil(threshold * worlds - 1e-9))


def _added(group: Any, rows: Any) -> tuple[Any, Any]:
    """Returns rows sorted by group, world and times, the copies of equal ones added up, without those that cancel out."""
    if len(group) > 1:
        order = np.lexsort((*rows[3:0:-1], rows[0], group))
        group, rows = group[order], rows[:, order]
        new = np.ones(len(group), np.bool_)
        new[1:] = group[1:] != group[:-1]
        for row in rows[:4]:
            new[1:] |= row[1:] != row[:-1]
        if not new.all():
            starts = np.flatnonzero(new)
            group, rows = group[starts], np.concatenate([rows[:4, starts], np.add.reduceat(rows[4], starts)[None]])
    left = rows[4] != 0
    return (group, rows) if left.all() else (group[left], rows[:, left])


def _put_back(records: dict[Name, Record], names: Sequence[Name], olds: Sequence[Record | None]) -> None:
    for name, old in zip(names, olds):
        if old is None:
            records.pop(name, None)
        else:
            records[name] = old


def _cells(record: Record) -> Any:
    """Returns the matches of worlds that are a match, as of a `ChangedMatches`."""
    (cells, starts, ends, _), i = record
    return cells[:, starts[i] : ends[i]]


def _zeros(n: int) -> tuple[Any, ...]:
    return tuple(np.zeros(n, np.int64) for _ in TOLD)


def _keys(rows: Logged) -> tuple[Any, Sequence[Any]]:
    """Returns the world of each row, and the columns of the user's key."""
    parts = rows.keys.columns if isinstance(rows.keys, KeyColumns) else [KeyColumn.of(part) for part in zip(*rows.keys)]
    world, *rest = parts
    return np.asarray(world.values, np.int64), rest


def _codes(column: Any) -> Any:
    """Returns numbers, equal where a column's values are equal as keys of a dictionary."""
    if isinstance(column, KeyColumn) and column.present is None and column.kind is not None:
        column = column.values.dictionary_encode().indices.to_numpy() if column.kind is str else column.values
    if isinstance(column, np.ndarray):
        return np.where(column == column, column + 0.0, np.nan).view(np.int64) if column.dtype == np.float64 else column
    numbers: dict[Hashable, int] = {}
    items = column.tolist() if isinstance(column, KeyColumn) else column
    return np.array([numbers.setdefault(_NAN if item != item else item, len(numbers)) for item in items], np.int64)


_NAN = object()
"""In the place of NaN, which equals nothing."""


def _items(column: Any, places: Any) -> list[Any]:
    """Returns the values of a column at some places, as Python has them."""
    if isinstance(column, np.ndarray):
        found: list[Any] = column[places].tolist()
        return [NAN if item != item else item for item in found] if column.dtype == np.float64 else found
    if isinstance(column, KeyColumn):
        return column.take(places).tolist()
    return [column[i] for i in places.tolist()]
