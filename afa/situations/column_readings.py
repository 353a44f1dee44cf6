"""The readings of all keys as columns, between two tables: take a table of insertions, take a promise, give all back row by row.

A state is never changed: each step makes another one, so that a call that fails goes back to the one it had. What is held of a
table is which of its rows are not final; their fields stay in the table.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.situations.key_standing import Kind
from afa.situations.reading_columns import BITS, NONE, Covers, Instants, Rows, derived, difference, standing
from afa.state.states import Column
from punctuation.time import FOREVER
from speculation.rows.row_keys import RowKeys

ROW_BITS = 32
SPARE = 1024
"""Numbers of keys are given anew once there are so many more than twice those of which anything is held."""


class Coming(NamedTuple):
    """Readings of a table, each an insertion: numbers of keys, LEs, which definitions they satisfy, columns of their fields."""

    key: Any
    le: Any
    on: Any
    fields: Mapping[str, Column]


class ColumnState(NamedTuple):
    """What is held of readings in columns.

    Parameters
    ----------
    kinds : sequence of Kind
    keys : RowKeys
    rows : Rows
    covers : Covers
    told : Instants
    tables : dict of int to dict
        The columns of the tables in which rows stand, by number.
    """

    kinds: Sequence[Kind]
    keys: RowKeys
    rows: Rows
    covers: Covers
    told: Instants
    tables: Mapping[int, Mapping[str, Column]]

    @classmethod
    def empty(cls, kinds: Sequence[Kind], keys: RowKeys) -> ColumnState:
        """Return the state in which nothing is held."""
        none = np.empty(0, np.int64)
        m = len(kinds)
        return cls(kinds, keys, Rows(none, none, np.empty((m, 0), np.bool_), none), _covers(m), NONE, {})

    def taken(self, coming: Coming, promised: int) -> tuple[ColumnState, tuple[Instants, Instants]] | None:
        """Take readings. Returns the state behind them, what goes and what comes; None: two readings of one key and time."""
        number = max(self.tables, default=-1) + 1
        source = np.arange(len(coming.le)) + (number << ROW_BITS)
        new = _sorted(Rows(coming.key, coming.le, coming.on, source))
        rows = new if not len(self.rows.le) else _joined(self.rows, new)
        if ((rows.key[1:] == rows.key[:-1]) & (rows.le[1:] == rows.le[:-1])).any():
            return None
        covers = _grown(self.covers, len(self.keys), len(self.kinds))
        told = derived(rows, covers, self.kinds, promised)
        state = self._replace(rows=rows, covers=covers, told=told, tables={**self.tables, number: coming.fields})
        return state, difference(self.told, told)

    def promised(self, t: int) -> tuple[ColumnState, tuple[Instants, Instants]]:
        """Take a promise: return the state without what is final, and what the clock brings."""
        told, found = self.told, (NONE, NONE)
        if any(kind.at_least is not None for kind in self.kinds):
            told = derived(self.rows, self.covers, self.kinds, t)
            found = difference(self.told, told)
        below = self.rows.le < t
        covers = standing(self.rows if below.all() else self.rows.at(below), self.covers, self.kinds, t)
        rows, told = self.rows.at(~below) if below.any() else self.rows, told.at(told.t >= t)
        live = set(np.unique(rows.source >> ROW_BITS).tolist())
        tables = {number: table for number, table in self.tables.items() if number in live}
        return self._replace(rows=rows, covers=covers, told=told, tables=tables)._tidy(), found

    def _tidy(self) -> ColumnState:
        """Give keys of which nothing is held no number any more, if they are many."""
        n = len(self.covers.ts)
        held = (self.covers.ts != FOREVER).any(axis=1)
        held[self.rows.key] = True
        held[self.told.key] = True
        count = int(np.count_nonzero(held))
        if n <= 2 * count + SPARE:
            return self
        number = np.cumsum(held) - 1
        keys = RowKeys()
        names = self.keys.names
        keys.numbers([names[each] for each in np.flatnonzero(held).tolist()])
        rows, told = self.rows._replace(key=number[self.rows.key]), self.told._replace(key=number[self.told.key])
        return self._replace(keys=keys, rows=rows, told=told, covers=Covers(*(each[held] for each in self.covers)))

    # -- row by row --------------------------------------------------------------------------------------------------------------

    def _held(self) -> Any:
        held = (self.covers.ts != FOREVER).any(axis=1)
        held[self.rows.key] = True
        return held

    def held(self) -> int:
        """Return how many keys something is held of."""
        return int(np.count_nonzero(self._held()))

    @property
    def keys_held(self) -> list[Hashable]:
        """The keys of which something is held."""
        return [self.keys.names[number] for number in np.flatnonzero(self._held()).tolist()]

    @property
    def going(self) -> int:
        """How many situations go on, as far as readings say."""
        return int(np.count_nonzero(standing(self.rows, self.covers, self.kinds, FOREVER).ts != FOREVER))

    def standings(self) -> Iterator[tuple[Hashable, list[tuple[int, bool] | None]]]:
        """Yield keys of which a situation goes on at the promise; of each since when, and whether it is known to last."""
        for number in np.flatnonzero((self.covers.ts != FOREVER).any(axis=1)).tolist():
            pairs = zip(self.covers.ts[number].tolist(), self.covers.lasted[number].tolist())
            yield self.keys.names[number], [None if ts == FOREVER else (ts, lasted) for ts, lasted in pairs]

    def readings(self, make: Any) -> Iterator[tuple[Hashable, int, Any]]:
        """Yield the key, LE and payload of each reading; ``make``: of values."""
        for number, fields in self.tables.items():
            there = np.flatnonzero(self.rows.source >> ROW_BITS == number)
            places = self.rows.source[there] & ((1 << ROW_BITS) - 1)
            columns = [items(column, places, kind) for column, kind in zip(fields.values(), make.kinds)]
            payloads = zip(*columns) if columns else [()] * len(places)
            for key, le, payload in zip(self.rows.key[there].tolist(), self.rows.le[there].tolist(), payloads):
                yield self.keys.names[key], le, make(payload)


def _covers(m: int, n: int = 0) -> Covers:
    return Covers(np.full((n, m), FOREVER), np.ones((n, m), np.bool_))


def _grown(covers: Covers, n: int, m: int) -> Covers:
    """Return covers of so many keys."""
    more = n - len(covers.ts)
    return covers if more <= 0 else Covers(*(np.concatenate(pair) for pair in zip(covers, _covers(m, more))))


def _sorted(rows: Rows) -> Rows:
    """Return rows by key and LE. Those in order stay; of one key the late ones are sorted alone, and put where they belong."""
    key, le = rows.key, rows.le
    ascends = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & (le[1:] >= le[:-1]))
    if ascends.all():
        return rows
    if (key[1:] == key[:-1]).all():
        late = le < np.maximum.accumulate(le)
        return _joined(rows.at(~late), _by(rows.at(late), lambda each: np.argsort(each.le, kind="stable")))
    narrow = key.astype(np.uint16) if len(key) and key.max() < 1 << 16 else key
    found = rows.at(np.argsort(narrow, kind="stable"))
    ordered = (found.key[1:] != found.key[:-1]) | (found.le[1:] >= found.le[:-1])
    return found if ordered.all() else _by(found, lambda each: np.lexsort((each.le, each.key)))


def _by(rows: Rows, order: Any) -> Rows:
    return rows.at(order(rows))


def _joined(old: Rows, new: Rows) -> Rows:
    """Return two sorted lists of readings as one."""
    if not len(new.le) or not len(old.le):
        return old if len(old.le) else new
    whole = Rows(*(np.concatenate(pair, axis=-1) for pair in zip(old, new)))
    one_key = old.key[0] == old.key[-1] == new.key[0] == new.key[-1]
    if one_key and new.le[0] > old.le[-1]:
        return whole
    if one_key:
        places = np.searchsorted(old.le, new.le, side="right") + np.arange(len(new.le))
        order = np.empty(len(whole.le), np.int64)
        there = np.ones(len(order), np.bool_)
        there[places] = False
        order[places] = np.arange(len(old.le), len(order))
        order[there] = np.arange(len(old.le))
        return whole.at(order)
    return whole.at(np.lexsort((whole.le, whole.key)))


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


def marks(instants: Instants, number: int, mark: int) -> Any:
    """Return for which instants something is this to a definition."""
    return (instants.code >> (BITS * number) & ((1 << BITS) - 1)) == mark
