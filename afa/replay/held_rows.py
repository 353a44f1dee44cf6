"""Rows of tables that a gate holds: sorted by key and LE, so that those of a span of a key are found by bisection.

    HeldRows    an Arrow table, and its rows by (key, LE): their numbers, keys as codes, LEs, and which of them are still held

Each is a value: what takes rows out returns another one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctuation.time import BEGINNING, FOREVER
from speculation.waiting import ints, joined

SMALL = 1 << 14
"""Tables of fewer rows are joined, so that there are not many; a large one costs more to sort anew than to look into."""
RADIX = 1 << 16
"""Up to so many keys are sorted by their digits, in O(n)."""
MOST_KEYS = 1 << 62


class HeldRows(NamedTuple):
    """Rows of a table that are held.

    Attributes
    ----------
    rows : pyarrow.Table
        In the form of `speculation.event_columns`, insertions only.
    order : numpy.ndarray
        The numbers of the rows by key and LE; so are all arrays below.
    code, le, diff, alive : numpy.ndarray
        The key's number in this table, LE in ticks, copies, whether the row is still held.
    least, latest : int
        The least and the largest LE of what is held.
    values : list of dict
        Of each column of the key the numbers of its values.
    """

    rows: Any
    order: Any
    code: Any
    le: Any
    diff: Any
    alive: Any
    least: int
    latest: int
    values: list[dict[Any, int]]

    @classmethod
    def of(cls, rows: Any, names: Sequence[str]) -> HeldRows | None:
        """Sort rows by the columns of their key; None: keys are missing or NaN, or too many. O(n log n), O(n) in order of time."""
        le = ints(rows, "le")
        code, values, many = np.zeros(len(le), np.int64), [], 1
        for name in names:
            column = rows.column(name)
            if column.null_count or pa.types.is_floating(column.type):
                return None
            coded = pc.dictionary_encode(column.combine_chunks())
            coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
            many *= len(coded.dictionary)
            if many > MOST_KEYS:
                return None
            code = code * len(coded.dictionary) + coded.indices.to_numpy()
            values.append({value: n for n, value in enumerate(coded.dictionary.to_pylist())})
        if many <= RADIX:
            code = code.astype(np.uint16)
        in_order = bool((le[1:] >= le[:-1]).all())
        order = np.argsort(code, kind="stable") if in_order else np.lexsort([le, code])
        by = le[order]
        ends = (int(le.min()), int(le.max())) if len(le) else (FOREVER, BEGINNING)
        alive = np.ones(len(le), np.bool_)
        return cls(rows, order, code[order], by, ints(rows, "diff")[order], alive, *ends, values)

    def places(self, key: Hashable, low: int, high: int) -> Any:
        """Return where in the order the rows of a key in ``[low, high)`` stand that are held. O(found + log n)."""
        code = self.code_of(key)
        if code is None or high <= self.least or low > self.latest:
            return _NO_PLACES
        begin, end = (
            np.searchsorted(self.code, self.code.dtype.type(code)),
            np.searchsorted(self.code, self.code.dtype.type(code), "right"),
        )
        first, last = begin + np.searchsorted(self.le[begin:end], [low, high])
        return first + np.flatnonzero(self.alive[first:last])

    def code_of(self, key: Hashable) -> int | None:
        """Return the number of a key; None: it has no row here."""
        parts = (key,) if len(self.values) == 1 and not isinstance(key, tuple) else key if self.values else ()
        code = 0
        for value, numbers in zip(parts, self.values):  # type: ignore[call-overload]
            number = numbers.get(value)
            if number is None:
                return None
            code = code * len(numbers) + number
        return code

    def up_to(self, le: int) -> Any:
        """Return where the rows with an LE up to this one stand that are held. O(n), unless all are later."""
        return np.flatnonzero(self.alive & (self.le <= le)) if self.least <= le else _NO_PLACES

    def at(self, places: Any) -> Any:
        """Return rows at these places, as they stand in the table."""
        return self.rows.take(np.sort(self.order[places]))

    def without(self, places: Any) -> HeldRows:
        """Return what is held without the rows at these places. O(n)."""
        alive = self.alive.copy()
        alive[places] = False
        left = self.le[alive]
        ends = (int(left.min()), int(left.max())) if len(left) else (FOREVER, BEGINNING)
        return self._replace(alive=alive, least=ends[0], latest=ends[1])

    def copies(self, places: Any) -> int:
        """Return how many copies the rows at these places are."""
        return sum(self.diff[places].tolist())

    @property
    def left(self) -> Any:
        """The rows that are held, as a table."""
        return self.rows if self.alive.all() else self.at(self.alive)


_NO_PLACES = np.zeros(0, np.int64)
Tables = tuple[HeldRows, ...]


def with_rows(tables: Tables, held: HeldRows, names: Sequence[str]) -> Tables:
    """Return tables and one more; small ones are joined, so that there are not many."""
    tables = (*tables, held)
    while len(tables) > 1 and len(tables[-2].order) <= 2 * len(tables[-1].order) and len(tables[-2].order) < SMALL:
        both = HeldRows.of(joined([tables[-2].left, tables[-1].left]), names)
        if both is None:
            break
        tables = (*tables[:-2], both)
    return tables


def compact(tables: Tables, names: Sequence[str]) -> Tables:
    """Return tables without those of which nothing is held, and those of which little is without the rows that are gone."""
    found = []
    for held in tables:
        n = int(np.count_nonzero(held.alive))
        if 0 < n < len(held.order) // 4:
            held = HeldRows.of(held.left, names) or held
        found += [held] if n else []
    return tuple(found)
