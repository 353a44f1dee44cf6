"""Records of a schema as words that are compared as numbers, and back: columns, without a Python object for each row.

A field takes a word, one that may be None two: whether it is missing (then it stands behind all others), and its value. Ints and
bools are themselves, floats are in the order of their values with the one NaN behind all, texts are their numbers in a `Strings`.
A field of any type takes two: a number that equal values share, and one of its own, as 1 and True are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.code.strings import Strings
from afa.model.event_order import sortable_floats
from afa.schema import NAN, Schema
from afa.state.states import Column
from afa.state.value_numbers import ValueNumbers
from speculation.rows.row_layout import RowPool

_MASK = 0x7FFFFFFFFFFFFFFF


class FieldPlace(NamedTuple):
    """Where a field's words stand in a row: its value, whether it is missing (None: it never is); and its type."""

    value: int
    missing: int | None
    kind: Any


class RowWords:
    """The two forms of the records of one schema.

    >>> from typing import NamedTuple
    >>> class M(NamedTuple):
    ...     name: str
    ...     x: float | None
    >>> words = RowWords(Schema.of(M, "match"))
    >>> rows = np.zeros((2, words.width), np.int64)
    >>> words.fill(rows, [["a", "b"], [None, -2.5]])
    >>> [list(column) for column in words.columns(rows)]
    [['a', 'b'], [None, -2.5]]
    """

    def __init__(self, schema: Schema) -> None:
        self.strings = Strings()
        self._values = ValueNumbers([None])  # (value,) and (value, its text) of fields of any type
        self.cls: Any = schema.cls
        self.places: dict[str, FieldPlace] = {}
        at: int = RowPool.payload
        for field in schema.fields:
            typed = field.type is not None
            missing = at if field.optional and typed else None
            at += missing is not None
            self.places[field.name] = FieldPlace(at, missing, field.type)
            at += 1 if typed else 2
        self.width = at
        self._all = list(self.places.values())

    @property
    def many(self) -> bool:
        """Whether it is time to ask which texts and values are in use."""
        return self.strings.many or self._values.many

    def keep(self, rows: Any, more: Sequence[tuple[Any, int]] = ()) -> None:
        """Give the numbers of texts and values that stand in none of these rows again; ``more``: as of `optional`."""
        texts = [place.value for place in self._all if place.kind is str] + [at + 1 for kind, at in more if kind is str]
        values = [place.value + i for place in self._all if place.kind is None for i in range(2)]
        values += [at + 1 for kind, at in more if kind is None]
        for numbers, columns in ((self.strings, texts), (self._values, values)):
            used = np.zeros(len(numbers), bool)
            used[rows[:, columns]] = True
            numbers.keep(used)

    def fill(self, rows: Any, columns: Sequence[Any]) -> None:
        """Write the fields of records, given as columns, into their rows."""
        for (value, missing, kind), column in zip(self._all, columns):
            if missing is not None:
                items = column.tolist() if isinstance(column, np.ndarray) else column
                gone = np.array([item is None for item in items], bool)
                rows[:, missing] = gone
                nothing = "" if kind is str else kind()
                column = [nothing if item is None else item for item in items] if gone.any() else items
            if kind is None:
                rows[:, value + 1] = self._values.numbers_of([(item, repr(item)) for item in column])
                column = self._values.numbers_of([(item,) for item in column])
            elif kind is str:
                column = self.strings.numbers_of(column.tolist() if isinstance(column, np.ndarray) else column)
            rows[:, value] = sortable_floats(np.array(column, np.float64)) if kind is float else column

    def columns(self, rows: Any) -> list[Any]:
        """Return the fields of records as columns: arrays of numbers, else of objects."""
        found = []
        for value, missing, kind in self._all:
            items = self._items(np.ascontiguousarray(rows[:, value + (kind is None)]), kind)
            if missing is not None:
                items = _objects([None if gone else item for item, gone in zip(items.tolist(), rows[:, missing].tolist())])
            found.append(items)
        return found

    def _items(self, column: Any, kind: Any) -> Any:
        if kind is float:
            return np.where(column >= 0, column, column ^ _MASK).view(np.float64)
        if kind is str:
            return _objects(self.strings.texts(column.tolist()))
        if kind is None:
            return _objects([(self._values.all[number] or (None,))[0] for number in column.tolist()])
        return column.astype(np.bool_) if kind is bool else column

    def values(self, rows: Any, kind: Any, at: int) -> list[Any]:
        """Return values that two words hold, whether there is one and which; as Python has them."""
        items = self._items(np.ascontiguousarray(rows[:, at + 1]), kind).tolist()
        return [(NAN if item != item else item) if there else None for item, there in zip(items, rows[:, at].tolist())]

    def optional(self, rows: Any, kind: Any, at: int) -> Any:
        """Return these values as a column; those of any type as a list."""
        return self.values(rows, kind, at) if kind is None else self.column(rows[:, at : at + 2], kind)

    def column(self, words: Any, kind: Any) -> Column:
        """Return values that two words hold, each whether there is one and which, as a column."""
        return self.named(self.numbered(words, kind), kind)

    def numbered(self, words: Any, kind: Any) -> Column:
        """Return the same, texts by their numbers."""
        numbers = np.ascontiguousarray(words[:, 1])
        return Column(self._items(numbers, kind) if kind is float else numbers, words[:, 0] == 1)

    def named(self, column: Column, kind: Any) -> Column:
        """Return a column with its texts in the place of their numbers."""
        if kind is not str:
            return column
        used, places = np.unique(column.values, return_inverse=True)
        return Column(places, column.present, self.strings.texts(used.tolist()))

    def records(self, rows: Any) -> list[Any]:
        """Return records, with the one NaN."""
        columns = [column.tolist() for column in self.columns(rows)]
        for i, place in enumerate(self._all):
            if place.kind is float:
                columns[i] = [NAN if item != item else item for item in columns[i]]
        return [self.cls._make(items) for items in zip(*columns)] if columns else [self.cls()] * len(rows)


def words_of(place: FieldPlace, column: Column, strings: Strings, rows: Any) -> None:
    """Write a field, given as numbers, into the rows."""
    values, present, texts = column
    if texts is not None:
        values = strings.numbers_of(texts)[values]
    elif place.kind is float:
        values = sortable_floats(values)
    if present is not None:
        values = np.where(present, values, 0)
        rows[:, place.missing] = ~present
    rows[:, place.value] = values


def _objects(items: list[Any]) -> Any:
    return np.fromiter(items, object, len(items))
