"""Readings of tables in pieces, each in order: what came together, and what was held and lies among it.

held 3 5     table 4 7 6 8     piece 3 4 5 6 7 8
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.situations.reading_columns import Rows
from afa.situations.reading_sources import ROW_BITS, Unordered

DENSE = 8
"""Rows are put at their times, in place of sorted, where there are at least one in so many ticks."""


class Piece(NamedTuple):
    """Readings that came together, or were brought into order together, sorted by key and LE.

    ``table``: the number of the table in which all of them stand; -1: their sources say it.
    """

    table: int
    rows: Rows

    @property
    def whole(self) -> Rows:
        """The readings, with sources that say their table."""
        return self.rows._replace(source=self.rows.sources + (max(self.table, 0) << ROW_BITS))

    @property
    def ordered(self) -> Piece:
        """The same, with sources as an array."""
        return self._replace(rows=self.rows._replace(source=self.rows.sources))


def together_with(new: Piece, held: Sequence[Piece], one_key: bool) -> Piece | None:
    """Return readings of a table, and those held that lie among them, by key and LE; None: two are of one key and time."""
    le = new.rows.le
    if not held and one_key and (le[1:] > le[:-1]).all():
        return new
    if one_key and not new.rows.values and (joined := _put_at_times(new, held)) is not None:
        return joined if len(joined.rows.le) else None
    if not held:
        rows = in_order(new.rows, one_key)
        return None if rows is None else new._replace(rows=rows)
    rows = in_order(one_after_another([*(each.whole for each in held), new.whole], one_key), one_key)
    return None if rows is None else Piece(-1, rows)


def _put_at_times(new: Piece, held: Sequence[Piece]) -> Piece | None:
    """Return the same of one key, each put at its time, in a third of what sorting takes.

    None: the times lie too far apart. Empty: two are of one time.
    """
    parts = [*(each.whole for each in held), new.rows]
    n, first = sum(len(each.le) for each in parts), min(int(each.le.min()) for each in parts)
    span = max(int(each.le.max()) for each in parts) - first + 1
    if span > DENSE * n:
        return None
    on = new.rows.on
    none = np.iinfo(on.dtype).max  # no reading has this bit: there is room for one more than there are definitions
    at_times = np.full(span, none, on.dtype)
    for each in parts:
        at_times[each.le - first] = each.on
    there = np.flatnonzero(at_times != none)
    if len(there) < n:
        return Piece(-1, new.rows.at(slice(0, 0)))
    on = at_times if span == n else at_times[there]
    there += first
    source = Unordered([each.le for each in parts], [each.source for each in parts], [0] * len(held) + [new.table << ROW_BITS])
    return Piece(-1, Rows(np.broadcast_to(new.rows.key[:1], (n,)), there, on, source))


def tables_of(piece: Piece) -> Any:
    """Return the numbers of the tables in which readings stand."""
    return np.array([piece.table]) if piece.table >= 0 else np.unique(piece.rows.sources >> ROW_BITS)


def rows_from(rows: Rows, t: int) -> Rows:
    """Return the readings from a time on."""
    if len(rows.le) and rows.key[0] == rows.key[-1]:
        low = int(np.searchsorted(rows.le, t))
        return rows.at(slice(low, None)) if low else rows
    return rows.at(rows.le >= t)


def rows_below(rows: Rows, t: int) -> Rows:
    """Return the readings below a time."""
    if len(rows.le) and rows.key[0] == rows.key[-1]:
        return rows.at(slice(0, int(np.searchsorted(rows.le, t))))
    return rows.at(rows.le < t)


def one_after_another(parts: Sequence[Rows], one_key: bool) -> Rows:
    key, le, on, source, values, held, _ = zip(*parts)
    n = sum(len(each) for each in key)
    joined = np.broadcast_to(key[0][:1], (n,)) if one_key else np.concatenate(key)
    more = [tuple(map(np.concatenate, zip(*each))) if all(each) else () for each in (values, held)]
    return Rows(joined, np.concatenate(le), np.concatenate(on), np.concatenate(source), *more)


def in_order(rows: Rows, one_key: bool) -> Rows | None:
    """Return rows by key and LE; None: two are of one key and LE. Those in order stay as they are."""
    key, le = rows.key, rows.le
    if one_key:
        if (le[1:] > le[:-1]).all():
            return rows
        rows = rows.at(np.argsort(le, kind="stable"))
        return rows if (rows.le[1:] > rows.le[:-1]).all() else None
    if (key[1:] < key[:-1]).any():
        narrow = key.astype(np.uint16) if key.max() < 1 << 16 else key
        rows = rows.at(np.argsort(narrow, kind="stable"))
        key, le = rows.key, rows.le
    same = key[1:] == key[:-1]
    if (same & (le[1:] <= le[:-1])).any():
        rows = rows.at(np.lexsort((le, key)))
        if ((rows.key[1:] == rows.key[:-1]) & (rows.le[1:] == rows.le[:-1])).any():
            return None
    return rows
