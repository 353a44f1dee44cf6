"""The contents of messages by place: rows of Arrow tables, and changes that came one by one. Contents are added, and compared.

What nobody holds any more is dropped between calls, when it is more than half of all; places are given anew then, and what is
held of a part as a whole is not copied.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from afa.change import Change
from afa.state.key_columns import KeyColumn, KeyColumns
from punctuation.door import one_array
from speculation.waiting import SMALL

FEW = 1024
"""So many contents that nobody holds may stay."""
PARTS = 64
"""At so many parts, changes among tables become tables."""


class IdRows:
    """Contents. ``rows_of`` makes a table of changes, of a schema; ``changes_of`` makes changes of a table.

    >>> import pyarrow as pa
    >>> rows = IdRows()
    >>> rows.add_rows(pa.table({"x": [5, 6]}))
    >>> rows.add_rows(pa.table({"x": [7]}))
    >>> rows.take(np.array([2, 0])).column("x").to_pylist(), len(rows)
    ([7, 5], 3)
    """

    rows_of: Callable[[list[Change], Any], Any]
    changes_of: Callable[[Any], list[Change]]

    def __init__(self) -> None:
        self.parts: list[Any] = []  # tables, and lists of changes
        self._begins: list[int] = []
        self.top = 0  # the place of the next one
        self._last = 0  # the rows of the last table
        self._n = self._kept = 0  # how many there are; and were when it was last seen which of them are held

    def __len__(self) -> int:
        return self._n

    @property
    def many(self) -> bool:
        """Whether it is time to see which contents are held."""
        return self._n > 2 * self._kept + max(FEW, 3 * self._last)

    def add_rows(self, table: Any) -> None:
        """Add the rows of a table."""
        if len(table):
            self._last = len(table)
            self._add(whole(table))

    def add_change(self, change: Change) -> None:
        """Add a change."""
        if self.parts and type(self.parts[-1]) is list:
            self.parts[-1].append(change)
            self.top += 1
            self._n += 1
        else:
            self._add([change])

    def _add(self, part: Any) -> None:
        self.parts.append(part)
        self._begins.append(self.top)
        self.top += len(part)
        self._n += len(part)

    # -- contents ----------------------------------------------------------------------------------------------------------------

    def change(self, place: int) -> Change:
        """Return the content at a place as a change."""
        at = bisect_right(self._begins, place) - 1
        part, i = self.parts[at], place - self._begins[at]
        found: Change = part[i] if type(part) is list else self.changes_of(part.slice(i, 1))[0]
        return found

    def take(self, places: Any, schema: Any = None) -> Any:
        """Return contents as a table. ``schema``: of those that are changes."""
        import pyarrow as pa

        if not len(places):
            return (self.parts[0].schema if schema is None else schema).empty_table()
        which = np.searchsorted(self._begins, places, side="right") - 1
        there = np.flatnonzero(np.bincount(which))
        found, order = [], []
        for i in there.tolist():
            mine = np.flatnonzero(which == i)
            part, at = self.parts[i], places[mine] - self._begins[i]
            if type(part) is list:
                part, at = self.rows_of([part[j] for j in at.tolist()], schema), np.arange(len(at))
            in_order = len(at) and at[-1] - at[0] == len(at) - 1 and (at[1:] > at[:-1]).all()
            found.append(part.slice(int(at[0]), len(at)) if in_order else part.take(at))
            order.append(mine)
        if len(found) == 1:
            return found[0]
        back = np.empty(len(places), np.int64)
        back[np.concatenate(order)] = np.arange(len(places))
        return whole(pa.concat_tables(found)).take(back)

    # -- between calls -----------------------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Join small parts that stand side by side, so that there are not many."""
        parts, begins = list(self.parts), list(self._begins)
        if len(parts) > PARTS:
            tables = [part for part in parts if type(part) is not list]
            for i, part in enumerate(parts):
                if type(part) is list and tables:
                    parts[i] = whole(self.rows_of(part, tables[0].schema))
        while (
            len(parts) > 1 and begins[-2] + len(parts[-2]) == begins[-1] and (joined := _joined(parts[-2], parts[-1])) is not None
        ):
            parts[-2:], begins[-1:] = [joined], []
        vars(self).update(parts=parts, _begins=begins)

    def only(self, places: Any) -> dict[str, Any]:
        """Return what the rows are once they are those at some places, which ascend; parts that are held as a whole stay."""
        found: list[Any] = []
        for begin, part in zip(self._begins, self.parts):
            low, high = np.searchsorted(places, [begin, begin + len(part)]).tolist()
            if low < high:
                at = places[low:high] - begin
                if len(at) == len(part):
                    found.append(part)
                    continue
                found.append([part[i] for i in at.tolist()] if type(part) is list else part.take(at))
        begins = np.cumsum([0, *map(len, found)]).tolist()
        return {"parts": found, "_begins": begins[:-1], "_n": begins[-1], "top": begins[-1], "_kept": begins[-1]}

    def fits(self, schema: Any, alike: bool = True) -> bool:
        """Return whether rows of a schema can stand beside what there is; ``alike``: whether changes become such rows."""
        return all(alike if type(part) is list else part.schema.equals(schema) for part in self.parts)

    @property
    def les(self) -> Any:
        """The LE of each content."""
        parts = [[c.le for c in part] if type(part) is list else np.asarray(part.column("le")) for part in self.parts]
        return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)

    def names(self, fields: tuple[str, ...], name_of: Callable[[Any], Any]) -> KeyColumns:
        """Return the id of each content, in these fields; ``name_of`` returns that of a payload."""
        found, width = [], 0 if len(fields) == 1 else len(fields)
        for part in self.parts:
            if type(part) is list:
                found.append(KeyColumns.of([name_of(change.payload) for change in part]))
            else:
                found.append(KeyColumns(width, [KeyColumn.from_arrow(part.column(name)) for name in fields]))
        return KeyColumns.concat(found)

    # -- calls -------------------------------------------------------------------------------------------------------------------

    def mark(self) -> Any:
        """Return what `back` takes."""
        return len(self.parts), self.top, self._n

    def back(self, mark: Any) -> None:
        """Drop what was added since."""
        count, self.top, self._n = mark
        del self.parts[count:], self._begins[count:]
        if self.parts and type(self.parts[-1]) is list:
            del self.parts[-1][self.top - self._begins[-1] :]


def whole(table: Any) -> Any:
    """Return a table each of whose columns is one array, so that rows are taken out of it quickly."""
    return table if all(column.num_chunks == 1 for column in table.columns) else table.combine_chunks()


def _joined(one: Any, other: Any) -> Any:
    """Return two parts as one; None: they stay."""
    import pyarrow as pa

    if type(one) is not type(other) or len(one) > 2 * len(other) or len(one) >= SMALL:
        return None
    if type(one) is list:
        return one + other
    return whole(pa.concat_tables([one, other])) if one.schema.equals(other.schema) else None


def alike(one: Any, other: Any, names: list[str]) -> Any:
    """Return of which rows two tables have equal values in some columns: NaN equals itself, and what is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = np.ones(len(one), np.bool_)
    for name in names:
        a, b = one_array(one.column(name)), one_array(other.column(name))
        try:
            same = pc.fill_null(pc.equal(a, b), False)
        except pa.ArrowException:  # lists, structs, within which NaN equals itself, too
            found &= np.fromiter((x == y or repr(x) == repr(y) for x, y in zip(a.to_pylist(), b.to_pylist())), np.bool_, len(a))
            continue
        if a.null_count and b.null_count:
            same = pc.or_(same, pc.and_(pc.is_null(a), pc.is_null(b)))
        if pa.types.is_floating(a.type):
            same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(a), pc.is_nan(b)), False))
        found &= same.to_numpy(zero_copy_only=False)
    return found
