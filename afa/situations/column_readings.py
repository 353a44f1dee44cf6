"""The readings of all keys as columns, between two tables: take a table of insertions, take a promise, give all back row by row.

A state is never changed: each step makes another one, so that a call that fails goes back to the one it had. What is held of a
table is which of its rows are not final; their fields stay in the table.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.schema import NAN
from afa.situations.column_folds import Folded, empty, folded, held_behind
from afa.situations.key_standing import Kind
from afa.situations.reading_columns import BITS, NONE, Covers, KeyInstants, Rows, derived, difference, standing, starts_of, together
from afa.situations.reading_pieces import Piece, in_order, one_after_another, rows_below, rows_from, tables_of, together_with
from afa.situations.reading_sources import ROW_BITS
from afa.situations.satisfied import as_bits
from afa.state.states import Column
from punctuation.time import BEGINNING, FOREVER
from speculation.rows.row_keys import RowKeys

PIECES = 64
"""So many pieces are joined to one: a promise, and each late table, goes through all of them."""
SPARE = 1024
"""Numbers of keys are given anew once there are so many more than twice those of which anything is held."""


class Coming(NamedTuple):
    """Readings of a table, each an insertion: numbers of keys, LEs, which definitions they satisfy, columns of their fields.

    The rest as of `Rows`.
    """

    key: Any
    le: Any
    on: Any
    fields: Mapping[str, Column]
    values: tuple[Any, ...] = ()
    moved: Any = None


class ColumnState(NamedTuple):
    """What is held of readings in columns.

    Parameters
    ----------
    kinds : sequence of Kind
    keys : RowKeys
    pieces : sequence of Piece
    last : array of shape (keys,)
        The LE of the last reading of each key.
    covers : Covers
        How each key stands at the promise.
    behind : Covers
        How each key stands behind all readings.
    told : sequence of Instants
        What is told at or above the promise; in each key those of a piece lie behind those of the pieces before.
    tables : dict of int to dict
        The columns of the tables in which rows stand, by number.
    """

    kinds: Sequence[Kind]
    keys: RowKeys
    pieces: Sequence[Piece]
    last: Any
    covers: Covers
    behind: Covers
    told: Sequence[KeyInstants]
    tables: Mapping[int, Mapping[str, Column]]
    plan: Sequence[Folded] = ()

    @classmethod
    def empty(cls, kinds: Sequence[Kind], keys: RowKeys, plan: Sequence[Folded] = ()) -> ColumnState:
        """Return the state in which nothing is held."""
        covers = _covers(len(kinds), plan)
        return cls(kinds, keys, (), np.empty(0, np.int64), covers, covers, (), {}, plan)

    def taken(self, coming: Coming, promised: int) -> tuple[ColumnState, tuple[KeyInstants, KeyInstants]] | None:
        """Take readings. Returns the state behind them, what goes and what comes; None: two readings of one key and time."""
        number, one_key = max(self.tables, default=-1) + 1, len(self.keys) == 1
        new = Rows(coming.key, coming.le, coming.on, _counted(len(coming.le)), coming.values, moved=coming.moved)
        state = self._grown()._replace(tables={**self.tables, number: coming.fields})
        known = np.maximum(state.last, promised if self._waits else BEGINNING)
        late = bool((new.le <= (known[0] if one_key else known[new.key])).any())
        cut = int(new.le.min()) if late else FOREVER
        below, above = state._cut(cut)
        clock = np.maximum(state.last, promised)
        covers = state._standing(clock)
        if late:
            covers = standing(below.told, state.covers, self.kinds, FOREVER, np.minimum(clock, cut - 1))
            covers = covers._replace(held=held_behind(self.plan, [each.rows for each in below.pieces], state.covers.held))
        piece = together_with(Piece(number, new), above.pieces, one_key)
        if piece is None:
            return None
        rows = piece.rows
        if self.plan:
            rows = rows._replace(held=folded(self.plan, rows, starts_of(rows.key), covers))
            piece = piece._replace(rows=rows)
        told = derived(rows, covers, self.kinds, promised, self.plan)
        last = state.last.copy()
        if len(rows.key):
            ends = np.append(starts_of(rows.key)[1:], len(rows.key)) - 1
            last[rows.key[ends]] = np.maximum(last[rows.key[ends]], rows.le[ends])
        behind = standing((told,), covers, self.kinds, FOREVER, np.maximum(last, promised))
        behind = behind._replace(held=held_behind(self.plan, [rows], covers.held))
        pieces = [*below.pieces, piece] if len(rows.le) else below.pieces
        if len(pieces) > PIECES:
            whole = in_order(one_after_another([each.whole for each in pieces], one_key), one_key)
            assert whole is not None
            pieces = [Piece(-1, whole)]
        told_all = (*below.told, told) if len(below.told) < PIECES else (_told((*below.told, told)),)
        found = state._replace(pieces=pieces, last=last, behind=behind, told=told_all)
        return found, difference(_told(above.told), told)

    def _cut(self, t: int) -> tuple[ColumnState, ColumnState]:
        """Return the pieces, and what is told, below a time; and those from there on."""
        if t == FOREVER:
            return self, self._replace(pieces=(), told=())
        pieces, told = [], []
        for piece in self.pieces:
            low = Piece(piece.table, rows_below(piece.rows, t))
            pieces += [low] if len(low.rows.le) else []
        for each in self.told:
            kept = each.at(each.t < t)
            told += [kept] if len(kept.t) else []
        high = [Piece(piece.table, rows_from(piece.rows, t)) for piece in self.pieces]
        rest = [each.at(each.t >= t) for each in self.told]
        high = [each for each in high if len(each.rows.le)]
        return self._replace(pieces=pieces, told=told), self._replace(pieces=high, told=rest)

    @property
    def latest(self) -> int:
        """The time up to which something is told, or was."""
        return max((int(each.t.max()) for each in self.told if len(each.t)), default=BEGINNING)

    @property
    def _waits(self) -> bool:
        """Whether the clock tells something without a reading."""
        return any(kind.at_least is not None for kind in self.kinds)

    def _standing(self, clock: Any) -> Covers:
        """Return how each key stands behind all that is held, when its clock is there."""
        return standing((), self.behind, self.kinds, FOREVER, clock)

    def promised(self, t: int) -> tuple[ColumnState, tuple[KeyInstants, KeyInstants]]:
        """Take a promise: return the state without what is final, and what the clock brings."""
        told, come, behind = self.told, NONE, self.behind
        if self._waits:
            none = Rows(NONE.key, NONE.key, as_bits((), len(self.kinds), 0), NONE.key, (), empty(self.plan, 0))
            come = derived(none, behind, self.kinds, t, self.plan)
            told = (*told, come)
            behind = standing((), behind, self.kinds, FOREVER, np.maximum(self.last, t))
        covers = standing(told, self.covers, self.kinds, t, np.full(len(self.last), t - 1))
        if self.plan:
            covers = covers._replace(
                held=held_behind(self.plan, [rows_below(rows, t) for _, rows in self.pieces], self.covers.held)
            )
        pieces = [Piece(table, rows_from(rows, t)) for table, rows in self.pieces]
        pieces = [each.ordered for each in pieces if len(each.rows.le)]
        told = tuple(kept for each in told if len((kept := each.at(each.t >= t)).t))
        live = {int(each) for piece in pieces for each in tables_of(piece)}
        tables = {number: table for number, table in self.tables.items() if number in live}
        return self._replace(pieces=pieces, covers=covers, behind=behind, told=told, tables=tables)._tidy(), (NONE, come)

    def _grown(self) -> ColumnState:
        """Return this state with room for all keys that have numbers."""
        more = len(self.keys) - len(self.last)
        if more <= 0:
            return self
        none = _covers(len(self.kinds), self.plan, more)
        covers, behind = (each.joined(none) for each in (self.covers, self.behind))
        return self._replace(covers=covers, behind=behind, last=np.concatenate([self.last, np.full(more, BEGINNING)]))

    def _tidy(self) -> ColumnState:
        """Give keys of which nothing is held no number any more, if they are many."""
        held = self._held()
        count = int(np.count_nonzero(held))
        if len(held) <= 2 * count + SPARE:
            return self
        number = np.cumsum(held) - 1
        keys = RowKeys()
        names = self.keys.names
        keys.numbers([names[each] for each in np.flatnonzero(held).tolist()])
        pieces = [Piece(table, rows._replace(key=number[rows.key])) for table, rows in self.pieces]
        told = [each._replace(key=number[each.key]) for each in self.told]
        covers, behind = (each.at(held) for each in (self.covers, self.behind))
        return self._replace(keys=keys, pieces=pieces, last=self.last[held], covers=covers, behind=behind, told=told)

    def _held(self) -> Any:
        """Return of which keys something is held."""
        held = (self.covers.ts != FOREVER).any(axis=1)
        for key in (*(piece.rows.key for piece in self.pieces), *(each.key for each in self.told)):
            held[key] = True
        return held

    # -- row by row --------------------------------------------------------------------------------------------------------------

    @property
    def keys_held(self) -> list[Hashable]:
        """The keys of which something is held."""
        return [self.keys.names[number] for number in np.flatnonzero(self._held()).tolist()]

    @property
    def going(self) -> int:
        """How many situations go on, as far as readings say."""
        return int(np.count_nonzero(self.behind.ts != FOREVER))

    @property
    def readings_held(self) -> int:
        """How many readings are held."""
        return sum(len(each.rows.le) for each in self.pieces)

    @property
    def due(self) -> int:
        """The smallest promise at which something is told or forgotten; FOREVER: none. O(readings + keys)."""
        found = [int(each.rows.le.min()) + 1 for each in self.pieces]
        for covers in (self.covers, self.behind):
            for number, kind in enumerate(self.kinds):
                waits = (covers.ts[:, number] != FOREVER) & ~covers.lasted[:, number]
                if kind.at_least is not None and waits.any():
                    found.append(min(int(covers.ts[waits, number].min()) + kind.at_least, FOREVER))
        return min(found, default=FOREVER)

    def standings(self) -> Iterator[tuple[Hashable, list[tuple[int, bool, tuple[Any, ...]] | None]]]:
        """Yield keys of which a situation goes on at the promise: since when, whether it is known to last, its aggregates."""
        for number in np.flatnonzero((self.covers.ts != FOREVER).any(axis=1)).tolist():
            pairs = enumerate(zip(self.covers.ts[number].tolist(), self.covers.lasted[number].tolist()))
            going = [None if ts == FOREVER else (ts, lasted, self._held_of(k, number)) for k, (ts, lasted) in pairs]
            yield self.keys.names[number], going

    def _held_of(self, definition: int, key: int) -> tuple[Any, ...]:
        """Return what a situation's aggregates have come to, as `Going` holds it."""
        found: list[Any] = []
        for i, each in enumerate(self.plan):
            if each.number == definition:
                value, count = self.covers.held[2 * i][key].item(), self.covers.held[2 * i + 1][key].item()
                value = NAN if value != value else value
                found.append(None if not count else (value, count) if each.fold == "avg" else value)
        return tuple(found)

    def readings(self, make: Any) -> Iterator[tuple[Hashable, int, Any]]:
        """Yield the key, LE and payload of each reading; ``make``: of values."""
        for piece in self.pieces:
            rows = piece.whole
            for number in tables_of(piece).tolist():
                there = np.flatnonzero(rows.source >> ROW_BITS == number)
                places = rows.source[there] & ((1 << ROW_BITS) - 1)
                columns = [items(column, places, kind) for column, kind in zip(self.tables[number].values(), make.kinds)]
                payloads = zip(*columns) if columns else [()] * len(places)
                for key, le, payload in zip(rows.key[there].tolist(), rows.le[there].tolist(), payloads):
                    yield self.keys.names[key], le, make(payload)


def _covers(m: int, plan: Sequence[Folded], n: int = 0) -> Covers:
    return Covers(np.full((n, m), FOREVER), np.ones((n, m), np.bool_), empty(plan, n))


def _told(parts: Sequence[KeyInstants]) -> KeyInstants:
    """Return what is told in one piece, sorted."""
    if len(parts) < 2:
        return parts[0] if parts else NONE
    key, t, code, *values = together(parts)
    whole = KeyInstants(key, t, code, tuple(values))
    return whole.at(np.lexsort((whole.t, whole.key)))


def _counted(n: int) -> Any:
    """Return 0, 1, .. n - 1, which nobody changes."""
    global _NUMBERS
    if len(_NUMBERS) < n:
        _NUMBERS = np.arange(max(n, 2 * len(_NUMBERS)))
        _NUMBERS.flags.writeable = False
    return _NUMBERS[:n]


_NUMBERS: Any = np.empty(0, np.int64)


def items(column: Column, places: Any, kind: Any) -> list[Any]:
    """Return the values of a field at some places as Python has them."""
    items: list[Any] = column.values[places].tolist()
    if column.texts is not None:
        items = [column.texts[each] for each in items]
    elif kind is bool:
        items = list(map(bool, items))
    if column.present is not None:
        items = [item if there else None for item, there in zip(items, column.present[places].tolist())]
    return items


def marks(instants: KeyInstants, number: int, mark: int) -> Any:
    """Return for which instants something is this to a definition."""
    return (instants.code >> (BITS * number) & ((1 << BITS) - 1)) == mark
