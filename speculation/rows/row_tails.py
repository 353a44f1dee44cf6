"""Tables of rows that come in order, as columns: what their rows look at follows by shifting columns, without the kernels.

Of each key the last rows are held as words, its *tail*, at which the next ones look. Tables wait as they came, until something does
not come in order: then the kernels take them, and the last rows of tables that a promise has let go.

    table      key a b a a b       by key      a a a | b b       one before    tail of a, a, a | tail of b, b
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from afa.io.listed_columns import picked
from afa.state.plain import stable_order
from afa.state.states import Column
from punctuation.time import BEGINNING
from speculation.rows.row_layout import RowPool

FEW = 65_536
"""So many rows of tables may wait though they are final: a row whose clock is ahead keeps the tables behind its own."""
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


class WaitingTable(NamedTuple):
    """A table that the kernels do not know, and the tails of its keys as they were before it: ``places`` in the pool."""

    piece: RowPiece
    keys: Any
    places: Any
    top: int  # the largest LE


class RowRuns:
    """The rows of a piece by key: ``piece``, where the run of each key begins there, how long it is, and its key as it came."""

    def __init__(self, piece: RowPiece, keys: int) -> None:
        order = stable_order(piece.key) if keys > 1 else np.arange(len(piece.key))
        self.piece = piece.at(order) if keys > 1 else piece
        self.le, key = self.piece.times["le"], self.piece.key
        self.begin = np.append(0, np.flatnonzero(key[1:] != key[:-1]) + 1)
        self.n, self.keys = np.diff(self.begin, append=len(key)), key[self.begin]
        self.of_keys = [picked(each, order[self.begin]) for each in piece.of_keys]

    @property
    def ascend(self) -> bool:
        """Whether each row of a key has a later LE than the one before."""
        later = self.le[1:] > self.le[:-1]
        later[self.begin[1:] - 1] = True
        return bool(later.all())

    def at(self, i: int) -> tuple[Any, Any]:
        """Return the runs that have a row at place i (below 0: from their end), and these rows of the piece."""
        runs = np.flatnonzero(self.n > (i if i >= 0 else -i - 1))
        return runs, self.begin[runs] + (i if i >= 0 else self.n[runs] + i)

    def beside(self, offset: int) -> Any:
        """Return for each row of the piece the one so many steps behind, or before it in its run; -1: there is none."""
        found = np.arange(offset, offset + len(self.le))
        for j in range(abs(offset)):
            found[self.at(-1 - j if offset > 0 else j)[1]] = -1
        return found


class RowTails:
    """The tails of keys: rows of words in a pool, and of each key the places of its last ``depth`` rows there, last one first."""

    def __init__(self, width: int, depth: int) -> None:
        self.rows, self.places = np.empty((0, width), np.int64), np.empty((0, depth), np.int64)
        self.free = np.empty(0, np.int64)  # places of the pool that are in no tail
        self.waiting: tuple[WaitingTable, ...] = ()
        self._undo: list[tuple[Any, Any, Any]] = []
        self._before: tuple[Any, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything is held."""
        return bool(len(self.free) < len(self.rows) or self.waiting)

    @property
    def live(self) -> Any:
        """The rows of all tails, and of those before the tables that wait."""
        return self.rows[self._used()]

    def _used(self) -> Any:
        used = np.zeros(len(self.rows), np.bool_)
        for places in (self.places, *(table.places for table in self.waiting)):
            used[places[places >= 0]] = True
        return used

    def begins(self) -> None:
        """Begin a call; where most of the pool has been given out, look which rows are in no tail any more."""
        self._undo = []
        if 4 * len(self.free) < len(self.rows):
            self.free = np.flatnonzero(~self._used())
            if 2 * len(self.free) < len(self.rows):
                self._grow(len(self.rows))
        self._before = self.rows, self.places, self.free, self.waiting

    def failed(self) -> None:
        """Restore all as it was when the call began."""
        self.rows, self.places, self.free, self.waiting = self._before
        for places, keys, old in reversed(self._undo):
            places[keys] = old

    def clear(self) -> None:
        """Forget all; what stood there stays as it is, as `failed` may restore it."""
        self.rows, self.places, self.free, self.waiting = self.rows[:0], self.places[:0], self.free[:0], ()

    def drop(self, t: int) -> bool:
        """Forget tables that a promise makes final, but for tails, up to the first that it does not.

        Returns whether most of the rows that wait stand behind that one, and are final.
        """
        while self.waiting and self.waiting[0].top < t:
            self.waiting = self.waiting[1:]
        final = sum(len(table.piece.key) for table in self.waiting if table.top < t)
        return final > FEW and 2 * final > sum(len(table.piece.key) for table in self.waiting)

    def left_behind(self) -> Any:
        """Return the rows of tails before the tables that wait."""
        places = self.places.copy()
        for _, keys, before, _ in reversed(self.waiting):
            places[keys] = before
        return self.rows[places[places >= 0]]

    def of(self, keys: Any, n: int) -> Any:
        """Return the places of keys, of which there are ``n`` in all."""
        if len(self.places) < n:
            more = np.full((max(n, 2 * len(self.places)), self.places.shape[1]), UNKNOWN)
            more[: len(self.places)] = self.places
            self.places = more
        return self.places[keys]

    def put(self, rows: Any) -> Any:
        """Put rows into the pool. Returns their places."""
        n = len(rows)
        if n > len(self.free):
            self._grow(max(n, len(self.rows)))
        places, self.free = self.free[:n], self.free[n:]
        self.rows[places] = rows
        return places

    def _grow(self, n: int) -> None:
        """Make room for so many rows more; the rows of before stay as they are, as `failed` may restore them."""
        top = len(self.rows)
        rows = np.empty((top + n, self.rows.shape[1]), np.int64)
        rows[:top] = self.rows
        self.rows, self.free = rows, np.append(self.free, np.arange(top, top + n))

    def move(self, keys: Any, places: Any) -> None:
        """Let these be the places of keys."""
        self._undo.append((self.places, keys, self.places[keys]))
        self.places[keys] = places

    def first_open(self, t: int, following: int, window: int) -> int | None:
        """Return the LE of the first row below a promise that one at or behind it may follow. None: the tails don't tell."""
        found, keys, wanted = t, np.arange(len(self.places)), np.full(len(self.places), following)
        for places in self.places.T:
            at = places[keys]
            keys, at = keys[at >= 0], at[at >= 0]
            le = self.rows[at, RowPool.le]
            still = le[le < t]
            if window and t >= BEGINNING + window:
                still = still[still > t - window]
            found = int(still.min(initial=found))
            wanted[keys] -= le < t
            keys = keys[wanted[keys] > 0]
        return None if len(keys) else found
