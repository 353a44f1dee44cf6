"""Changes of events as a set of rules has them: as columns and as changes, each made of the other when it is first asked."""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from afa.change import Change
from afa.operator.call import Core
from afa.operator.tables import shape_of
from afa.schema import Field, Schema
from afa.state.plain import Unfit, field_columns, filled, ints, number_array
from afa.state.sound import wanted
from afa.state.states import Column, sorted_texts
from punctuation.door import Table, arrow_type
from punctuation.time import BEGINNING, FOREVER

SPREAD, WORD = np.uint64(0x9E3779B97F4A7C15), (1 << 64) - 1
FLOAT, BITS = struct.Struct("<d"), struct.Struct("<Q")
HALF = BITS.unpack(FLOAT.pack(0.5))[0]


class EventRows:
    """Some changes of events in their form. They are never changed.

    ``le``, ``diff``: arrays of int64; ``re``: a `Column`, where RE is missing of a row that has none of its own; None: none has.
    """

    __slots__ = ("_changes", "_columns", "_digests", "diff", "le", "re", "schema")

    def __init__(self, schema: Schema, le: Any, diff: Any, re: Column | None, columns: Any = None, changes: Any = None) -> None:
        self.schema, self.le, self.diff, self.re = schema, le, diff, re
        self._columns: dict[str, Column] | None = columns
        self._changes: list[Change] | None = changes
        self._digests: Any = None

    @classmethod
    def of(cls, schema: Schema, changes: list[Change]) -> EventRows:
        """Make rows of changes in their form; RE is None where it was not given."""
        le, diff = (np.array([change[i] for change in changes], np.int64) for i in (1, 3))
        ends = None if all(change.re is None for change in changes) else Column.of([change.re for change in changes], END)
        return cls(schema, le, diff, ends, changes=changes)

    @classmethod
    def of_table(cls, front: Core, table: Table) -> EventRows:
        """Make rows of a table. Raises `Unfit` where its rows must be looked at one by one, which also says what is wrong."""
        schema, shape = front.taken, shape_of(front, table)
        if shape.wanted is None or shape.mixed or schema is None:
            raise Unfit
        found, low = table.take(shape.wanted), len(shape.wanted) - len(shape.times)
        given = {field.name: column for field, column in zip(shape.wanted, found[:low])}
        times = dict(zip(shape.times, found[low:]))
        le, diff = ints([times["le"], times.get("diff")])
        diff = np.ones(len(le), np.int64) if diff is None else diff
        if len(le) and (le.max() == FOREVER or le.min() < BEGINNING or not diff.all()):
            raise Unfit
        if schema.instant is not None:
            given.setdefault(schema.instant, le)
        columns = dict(zip(given, field_columns(given.values(), schema.fields, len(le))))
        if schema.instant is not None and (columns[schema.instant].values != le).any():
            raise Unfit
        re = None
        if "re" in times:
            values, present = filled(times["re"], int, True)
            re = Column(number_array(values, int), present)
            if len(re.values) != len(le) or ((re.values <= le) & (True if present is None else present)).any():
                raise Unfit
        return cls(schema, le, diff, re, columns)

    def __len__(self) -> int:
        return len(self.le)

    def at(self, places: Any) -> EventRows:
        """Return the rows at some places, an array or a slice."""
        columns = self._columns and {name: column.moved(places) for name, column in self._columns.items()}
        changes = self._changes
        if changes is not None:
            changes = changes[places] if isinstance(places, slice) else [changes[i] for i in places.tolist()]
        return EventRows(self.schema, self.le[places], self.diff[places], self.re and self.re.moved(places), columns, changes)

    def within(self, le: int, re: int) -> EventRows:
        """Return the rows with an LE in ``[le, re)``; all of them: the same object."""
        if not len(self.le) or (le <= self.le.min() and self.le.max() < re):
            return self
        return self.at(np.flatnonzero((le <= self.le) & (self.le < re)))

    def singles(self) -> list[EventRows]:
        """Return the rows one by one."""
        return [self.at(slice(i, i + 1)) for i in range(len(self))]

    def negated(self) -> EventRows:
        """Return what takes these changes back."""
        changes = self._changes and [change._replace(diff=-change.diff) for change in self._changes]
        return EventRows(self.schema, self.le, -self.diff, self.re, self._columns, changes)

    @property
    def in_columns(self) -> bool:
        """Whether the rows have come as columns, and nobody has asked for changes."""
        return self._changes is None

    def columns(self) -> dict[str, Column]:
        """Return the fields of the events."""
        if self._columns is None:
            assert self._changes is not None
            rows, made = [change.payload for change in self._changes], _of_one if len(self) == 1 else Column.of
            self._columns = {field.name: made([row[i] for row in rows], field) for i, field in enumerate(self.schema.fields)}
        return self._columns

    def changes(self) -> list[Change]:
        """Return the rows as changes."""
        if self._changes is None:
            listed = [column.items(field) for column, field in zip(self.columns().values(), self.schema.fields)]
            records = zip(*listed) if listed else [()] * len(self)
            ends = [None] * len(self) if self.re is None else self.re.items(END)
            make = self.schema.cls._make  # type: ignore[attr-defined]
            times = zip(self.le.tolist(), ends, self.diff.tolist())
            self._changes = [Change(make(record), *rest) for record, rest in zip(records, times)]
        return self._changes

    def table(self) -> Any:
        """Return the rows as an Arrow table."""
        import pyarrow as pa

        made = {field.name: arrow_of(column, field) for field, column in zip(self.schema.fields, self.columns().values())}
        made |= {"le": self.le} | ({} if self.re is None else {"re": arrow_of(self.re, END)})
        return pa.table(made | {"diff": self.diff})

    def saved(self) -> list[Any]:
        """Return the rows as plain data: columns as bytes, or, where a field holds anything, row by row."""
        if not self.schema.scalar:
            return [[tuple(change.payload), *change[1:4]] for change in self.changes()]
        columns = [_saved(column) for column in self.columns().values()]
        return [len(self), _bytes(self.le), _bytes(self.diff), None if self.re is None else _saved(self.re), columns]

    @classmethod
    def of_saved(cls, schema: Schema, saved: list[Any]) -> EventRows:
        """Return what `saved` was made of. Raises whatever is wrong with it."""
        if not schema.scalar:
            rows = [Change(schema.take(tuple(payload)), le, re, diff) for payload, le, re, diff in saved]
            return cls.of(schema, rows)
        n, le, diff, re, columns = saved
        wanted("columns of events", len(columns) == len(schema.fields), len(columns))
        made = {field.name: _of_saved(column, field, n) for field, column in zip(schema.fields, columns)}
        ends = None if re is None else _of_saved(re, END, n)
        found = cls(schema, _words(le, n), _words(diff, n), ends, made)
        wanted("changes of events", bool((found.diff != 0).all() and (found.le < FOREVER).all()), "none")
        if ends is not None:
            wanted("lifetimes", bool(((ends.values > found.le) | (ends.present is not None and ~ends.present)).all()), "none")
        return found

    def digests(self) -> Any:
        """Return a word of each event, which tells it from others as far as 64 bits can."""
        if self._digests is None:
            self._digests = digests(list(self.columns().values()), len(self))
        return self._digests


END = Field("re", int, True)
FIRST, THERE, MISSING = np.zeros(1, np.int64), np.ones(1, np.bool_), np.zeros(1, np.bool_)


def _of_one(items: list[Any], field: Field) -> Column:
    """As `Column.of`, of one value."""
    (value,) = items
    if field.type is None:
        return Column(items)
    if value is None:
        return Column(FIRST.astype(np.float64) if field.type is float else FIRST, MISSING, [""] if field.type is str else None)
    present = THERE if field.optional else None
    if field.type is str:
        return Column(FIRST, present, items)
    return Column(np.array(items, np.float64 if field.type is float else np.int64), present)


def _bytes(values: Any) -> bytes:
    found: bytes = values.astype(values.dtype.newbyteorder("<")).tobytes()
    return found


def _saved(column: Column) -> list[Any]:
    """Return a column as plain data, alike of equal values, whichever way they have come."""
    values, present, texts = column
    if present is not None:
        values, present = np.where(present, values, 0), None if present.all() else present
    if texts is not None:
        there = slice(None) if present is None else present
        found, texts = sorted_texts(values[there], texts)
        values = np.zeros(len(values), np.int64)
        values[there] = found
        texts = texts or [""]
    values = values if values.dtype.kind == "f" else values.astype(np.int64)  # of texts they may be int32
    return [_bytes(values), None if present is None else _bytes(present), texts]


def _words(blob: Any, n: int, kind: str = "<i8") -> Any:
    wanted("a column of events", type(blob) is bytes and type(n) is int and len(blob) == n * np.dtype(kind).itemsize, n)
    return np.frombuffer(blob, kind).astype(np.dtype(kind).newbyteorder("="))


def _of_saved(saved: list[Any], field: Field, n: int) -> Column:
    blob, there, texts = saved
    values = _words(blob, n, "<f8" if field.type is float else "<i8")
    present = None if there is None else _words(there, n, "<u1")
    known = 2 if field.type is bool else len(texts or ()) if field.type is str else None
    wanted("values of a field", known is None or bool(((values >= 0) & (values < known)).all()), field.name)
    wanted(
        "texts of a field",
        (texts is not None) == (field.type is str) and all(type(text) is str for text in texts or ()),
        field.name,
    )
    wanted("which values are there", present is None or (field.optional and bool((present < 2).all())), field.name)
    return Column(values, None if present is None else present.astype(np.bool_), texts)


def joined(rows: Sequence[EventRows]) -> EventRows:
    """Return several rows as one, in their order."""
    first = rows[0]
    if len(rows) == 1:
        return first
    le, diff = (np.concatenate([getattr(each, name) for each in rows]) for name in ("le", "diff"))
    re = None if all(each.re is None for each in rows) else _joined([_ends(each) for each in rows])
    if all(each._columns is not None for each in rows):
        parts = [list(each.columns().values()) for each in rows]
        columns = {field.name: _joined([part[i] for part in parts]) for i, field in enumerate(first.schema.fields)}
        return EventRows(first.schema, le, diff, re, columns)
    return EventRows(first.schema, le, diff, re, changes=[change for each in rows for change in each.changes()])


def _ends(rows: EventRows) -> Column:
    return rows.re or Column(np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_))


def _joined(parts: list[Column]) -> Column:
    present = None
    if any(part.present is not None for part in parts):
        present = np.concatenate([np.ones(len(part.values), np.bool_) if part.present is None else part.present for part in parts])
    if parts[0].texts is None:
        return Column(np.concatenate([part.values for part in parts]), present)
    places: dict[str, int] = {}
    values = []
    for part in parts:
        numbers = np.array([places.setdefault(text, len(places)) for text in part.texts or ()] or [0], np.int64)
        values.append(numbers[part.values])
    return Column(np.concatenate(values), present, list(places))


def arrow_of(column: Column, field: Field) -> Any:
    """Return a column as Arrow has it."""
    import pyarrow as pa

    values, present, texts = column
    mask = None if present is None else ~present
    if texts is not None:
        places = pa.array(values.astype(np.int32), mask=mask)
        return pa.DictionaryArray.from_arrays(places, pa.array(texts, pa.string())).dictionary_decode()
    return pa.array(values.astype(np.bool_) if field.type is bool else values, arrow_type(field.type), mask=mask)


def digests(columns: list[Column], n: int) -> Any:
    """Return a word of each of ``n`` events, so that a retraction which waits meets no other event that looks alike to a rule."""
    if n == 1:
        return np.array([_digest(columns)], np.uint64).view(np.int64)
    found = np.zeros(n, np.uint64)
    for column in columns:
        values = column.values
        if column.texts is not None:
            words = np.array([text_word(text) for text in column.texts] or [0], np.uint64)[values]
        elif values.dtype == np.float64:
            words = np.where(np.isnan(values), 0.5, values + 0.0).view(np.uint64) ^ np.isnan(values).astype(np.uint64)
        else:
            words = values.astype(np.int64).view(np.uint64)
        if column.present is not None:
            words = np.where(column.present, words, SPREAD)
        found = (found ^ words) * SPREAD
        found ^= found >> np.uint64(29)
    return found.view(np.int64)


def _digest(columns: list[Column]) -> int:
    """Return the word of one event, as `digests` does."""
    found, spread = 0, int(SPREAD)
    for values, present, texts in columns:
        if present is not None and not present[0]:
            word = spread
        elif texts is not None:
            word = text_word(texts[values[0]])
        elif values.dtype == np.float64:
            value = float(values[0])
            word = HALF ^ 1 if value != value else BITS.unpack(FLOAT.pack(value + 0.0))[0]
        else:
            word = int(values[0])
        found = (found ^ word) * spread & WORD
        found ^= found >> 29
    return found


@functools.lru_cache(1 << 14)
def text_word(text: str) -> int:
    """Return 64 bits of a text, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
