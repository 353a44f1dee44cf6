"""Tables of rows that come in order, as columns: what their rows look at follows by shifting columns, without the kernels.

Of each key the last rows are held as words, its *tail*, at which the next ones look. Tables wait as they came, until something does
not come in order: then the kernels take them, and the last rows of tables that a promise has let go.

    table      key a b a a b       by key      a a a | b b       one before    tail of a, a, a | tail of b, b
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from afa.state.plain import stable_order
from afa.state.states import Column
from punctuation.time import BEGINNING
from speculation.rows.row_layout import RowPool

UNKNOWN, ALONE = -2, -1
"""In place of a row of a tail: the kernels know it; there is none."""


class RowPiece(NamedTuple):
    """Rows of a table, side by side: the numbers of their keys, columns of times and fields, and those of the key as they came."""

    key: Any
    times: dict[str, Any]
    fields: dict[str, Column]
    of_keys: list[Any]

    def part(self, low: int, high: int) -> RowPiece:
        """Return some of the rows."""
        return self.at(slice(low, high))._replace(of_keys=[each[low:high] for each in self.of_keys])

    def at(self, rows: Any) -> RowPiece:
        """Return the rows at some places, without the key's columns."""
        fields = {
            name: Column(values[rows], present if present is None else present[rows], texts)
            for name, (values, present, texts) in self.fields.items()
        }
        return RowPiece(self.key[rows], {name: each[rows] for name, each in self.times.items()}, fields, [])


class RowRuns:
    """The rows of a piece by key: ``order`` (None: as they are), where the run of each key begins, and how long it is."""

    def __init__(self, piece: RowPiece, keys: int) -> None:
        key = piece.key
        self.order = None if keys == 1 else stable_order(key)
        key = self.of(key)
        self.begin = np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1]) if keys > 1 else np.zeros(1, np.int64)
        self.n = np.diff(self.begin, append=len(key))
        self.keys, self.le = key[self.begin], self.of(piece.times["le"])

    def of(self, column: Any) -> Any:
        """Return a column by key."""
        return column if self.order is None else column[self.order]

    def back(self, column: Any) -> Any:
        """Return a column that stands by key in the order of the piece."""
        if self.order is None:
            return column
        found = np.empty_like(column)
        found[self.order] = column
        return found

    @property
    def ascend(self) -> bool:
        """Whether each row of a key has a later LE than the one before."""
        later = self.le[1:] > self.le[:-1]
        later[self.begin[1:] - 1] = True
        return bool(later.all())

    def at(self, i: int) -> tuple[Any, Any]:
        """Return the runs that have a row at place i (below 0: from their end), and these rows."""
        runs = np.flatnonzero(self.n > (i if i >= 0 else -i - 1))
        return runs, self.begin[runs] + (i if i >= 0 else self.n[runs] + i)


class RowTails:
    """The tails of keys: rows of words in a pool, and of each key the places of its last ``depth`` rows there, last one first."""

    def __init__(self, width: int, depth: int) -> None:
        self.rows, self.places = np.empty((0, width), np.int64), np.empty((0, depth), np.int64)
        self.tables = np.empty(0, np.int64)  # of each row which table it came in; ALONE: the kernels have it
        self.top, self.came, self.gone = 0, 0, 0  # rows in the pool; how many tables have come; the first ones, that are gone
        self.waiting: tuple[RowPiece, ...] = ()
        self._undo: list[tuple[Any, Any, Any]] = []
        self._before: tuple[Any, ...] = ()
        self._bound = 1024  # beyond so many rows those of the pool are looked through

    @property
    def any(self) -> bool:
        """Whether anything is held."""
        return bool(self.top or self.waiting)

    @property
    def live(self) -> Any:
        """The rows of the pool, those that tables that are gone have left among them."""
        return self.rows[: self.top]

    def begins(self) -> None:
        """Begin a call; forget rows of the pool that are in no tail."""
        self._undo = []
        if self.top > self._bound:
            stays, there = self.tables[: self.top] >= self.gone, self.places >= 0
            stays[self.places[there]] = stays[self._behind()] = True
            at = np.flatnonzero(stays)
            self.places[there] = (np.cumsum(stays) - 1)[self.places[there]]
            self.rows, self.tables, self.top, self._bound = self.rows[at], self.tables[at], len(at), max(1024, 2 * len(at))
        self._before = self.rows, self.places, self.tables, self.top, self.came, self.gone, self.waiting

    def failed(self) -> None:
        """Restore all as it was when the call began."""
        self.rows, self.places, self.tables, self.top, self.came, self.gone, self.waiting = self._before
        for places, keys, old in reversed(self._undo):
            places[keys] = old

    def clear(self) -> None:
        """Forget all; what stood there stays as it is, as `failed` may restore it."""
        self.rows, self.tables, self.places = self.rows[:0], self.tables[:0], self.places[:0]
        self.top, self.gone, self.waiting = 0, self.came, ()

    def drop(self, t: int) -> None:
        """Forget tables that a promise makes final, but for tails."""
        waiting = self.waiting
        while waiting and int(waiting[0].times["le"].max()) < t:
            waiting = waiting[1:]
        self.gone, self.waiting = self.came - len(waiting), waiting

    def _behind(self) -> Any:
        """Return the last rows of each key of the tables that are gone, by their places in the pool; of a row its last version."""
        at = np.flatnonzero((self.tables[: self.top] >= 0) & (self.tables[: self.top] < self.gone))
        key, le = (self.rows[at, column] for column in (RowPool.key, RowPool.le))
        at = at[np.lexsort((at, le, key))]
        key, le = (self.rows[at, column] for column in (RowPool.key, RowPool.le))
        at = at[np.append((key[1:] != key[:-1]) | (le[1:] != le[:-1]), np.ones(min(1, len(at)), np.bool_))]
        key, depth = self.rows[at, RowPool.key], self.places.shape[1]
        return at[np.append(key[depth:] != key[:-depth], np.ones(min(depth, len(at)), np.bool_))]

    def left_behind(self) -> Any:
        """Return the rows of tables that are gone at which those of others look."""
        return self.rows[self._behind()]

    def of(self, keys: Any, n: int) -> Any:
        """Return the places of keys, of which there are ``n`` in all."""
        if len(self.places) < n:
            more = np.full((max(n, 2 * len(self.places)), self.places.shape[1]), UNKNOWN)
            more[: len(self.places)] = self.places
            self.places = more
        return self.places[keys]

    def put(self, rows: Any, tables: Any) -> Any:
        """Put rows into the pool. Returns their places."""
        n, top = len(rows), self.top
        if top + n > len(self.rows):
            room = max(2 * len(self.rows), top + n, 64)
            more, of = np.empty((room, self.rows.shape[1]), np.int64), np.empty(room, np.int64)
            more[:top], of[:top] = self.rows[:top], self.tables[:top]
            self.rows, self.tables = more, of
        self.rows[top : top + n], self.tables[top : top + n] = rows, tables
        self.top += n
        return np.arange(top, top + n)

    def move(self, keys: Any, places: Any) -> None:
        """Let these be the places of keys."""
        self._undo.append((self.places, keys, self.places[keys]))
        self.places[keys] = places

    def first_open(self, t: int, following: int, window: int) -> int | None:
        """Return the LE of the first row below a promise that one at or behind it may follow. None: the tails don't tell."""
        there = self.places >= 0
        le = np.where(there, self.rows[self.places, RowPool.le], BEGINNING) if self.top else np.empty(self.places.shape, np.int64)
        above, at = (there & (le >= t)).sum(1)[:, None], np.arange(self.places.shape[1])
        if ((above[:, 0] + following > len(at)) & there[:, -1]).any():
            return None
        still = le[there & (at >= above) & (at < above + following)]
        if window and t >= BEGINNING + window:
            still = still[still > t - window]
        return min(t, int(still.min(initial=t)))
