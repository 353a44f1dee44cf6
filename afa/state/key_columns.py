"""Many keys as columns, without a Python object for each of them.

    ints      int64
    floats    float64, with one NaN and without -0.0
    bools     bool
    texts     an Arrow array of large strings: valid UTF-8, no nulls
    objects   a list, of whatever no such column holds

A column of the first four may have values missing: these are None. A key is the value of the one column (width 0), or a tuple of
the values of so many.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from afa.schema import NAN, ODD

TEXTS = 2**31 - 1
"""Bytes of texts in an Arrow array of plain strings."""
DTYPES: dict[type | None, Any] = {int: np.int64, float: np.float64, bool: np.bool_}


@dataclass(frozen=True, slots=True, eq=False)
class KeyColumn:
    """One part of many keys."""

    kind: type | None  # which form the values have; None: objects
    values: Any  # a numpy array, an Arrow array or a list: see the head of this module
    present: Any = None  # which are there, an array of bool; None: all. What stands where one is missing does not count

    @classmethod
    def of(cls, items: Sequence[Any]) -> KeyColumn:
        """Take values apart. O(n), without a Python step for each.

        >>> KeyColumn.of([3, None, 5]).values.tolist(), KeyColumn.of([3, "a"]).kind, KeyColumn.of([1, True]).values
        ([3, 0, 5], None, [1, True])
        """
        kinds = set(map(type, items))
        optional = type(None) in kinds
        kinds.discard(type(None))
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind not in (int, float, bool, str):
            return cls(None, list(items))
        present = None
        if optional:
            present = np.fromiter((item is not None for item in items), np.bool_, len(items))
            nothing = kind()
            items = [nothing if item is None else item for item in items]
        try:
            return cls(
                kind, texts_of(items) if kind is str else floats_of(items) if kind is float else _array(items, kind), present
            )
        except ODD:  # an int beyond int64, text that no UTF-8 holds
            return cls(None, list(items) if present is None else _with_none(items, present))

    @classmethod
    def from_arrow(cls, array: Any) -> KeyColumn:
        """Read an Arrow array, of whatever width and encoding."""
        import pyarrow as pa

        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        kinds, present = pa.types, None
        if array.null_count:
            present = array.is_valid().to_numpy(zero_copy_only=False)
            if not present.any():
                return cls(None, [None] * len(array))
        try:
            if kinds.is_boolean(array.type):
                return cls(bool, array.fill_null(False).to_numpy(zero_copy_only=False), present)
            if kinds.is_integer(array.type):
                return cls(int, array.cast(pa.int64()).fill_null(0).to_numpy(), present)
            if kinds.is_floating(array.type):
                return cls(float, floats_of(array.cast(pa.float64()).fill_null(0).to_numpy()), present)
            if kinds.is_string(array.type) or kinds.is_large_string(array.type) or str(array.type) == "string_view":
                if present is None:
                    return cls(str, texts_as(array, pa.large_string()))
                return cls(str, array.cast(pa.large_string()).fill_null(""), present)
        except (pa.ArrowException, *ODD):  # an unsigned int beyond int64
            pass
        return cls.of(array.to_pylist())

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def item(self, i: int) -> Any:
        """Return the value at a place."""
        if self.kind is None:
            return self.values[i]
        if self.present is not None and not self.present[i]:
            return None
        found = self.values[i]
        return found.as_py() if self.kind is str else NAN if found != found else found.item()

    def tolist(self) -> list[Any]:
        if self.kind is None:
            return list(self.values)
        found: list[Any] = self.values.to_numpy(zero_copy_only=False).tolist() if self.kind is str else self.values.tolist()
        if self.kind is float:
            found = [NAN if item != item else item for item in found]
        return found if self.present is None else _with_none(found, self.present)

    def take(self, places: Any) -> KeyColumn:
        """Return the values at places, an array of int64."""
        if self.kind is None:
            return KeyColumn(None, list(map(self.values.__getitem__, places.tolist())))
        present = None if self.present is None else self.present[places]
        return KeyColumn(self.kind, self.values.take(_places(places)) if self.kind is str else self.values[places], present)

    def settled(self) -> KeyColumn:
        """Return the same values with ``present`` only where some are there and some are not: those taken of others may all be."""
        if self.present is None or (self.present.any() and not self.present.all()):
            return self
        return KeyColumn(self.kind, self.values) if self.present.all() else KeyColumn(None, [None] * len(self))

    def part(self, low: int, high: int) -> KeyColumn:
        """Return the values from one place to another."""
        present = None if self.present is None else self.present[low:high]
        return KeyColumn(self.kind, self.values[low:high], present)

    def arrow(self) -> Any:
        """Return the values as an Arrow array of their form; objects as Arrow finds fit (or it raises what it raises)."""
        import pyarrow as pa

        missing = None if self.present is None else ~self.present
        if self.kind is not str:
            return pa.array(self.values, mask=missing)
        if missing is None:
            return self.values
        import pyarrow.compute as pc

        return pc.if_else(pa.array(self.present), self.values, pa.scalar(None, pa.large_string()))

    def in_arrow(self, kind: Any) -> Any:
        """Return the values as an Arrow array of a type; None: the type is not one that holds each of them as it is."""
        import pyarrow as pa

        kinds = pa.types
        if self.kind is str and self.present is None and kinds.is_string(kind):
            return texts_as(self.values, kind)
        fits: dict[type | None, bool] = {
            int: kinds.is_integer(kind) or kinds.is_floating(kind),
            float: kind == pa.float64(),
            bool: kinds.is_boolean(kind),
            str: kinds.is_string(kind) or kinds.is_large_string(kind),
            None: False,
        }
        try:
            return self.arrow().cast(kind) if fits[self.kind] else None
        except (pa.ArrowException, *ODD):
            return None

    def objects(self) -> Any:
        """Return the values as a numpy array of objects."""
        if self.kind is str and self.present is None:
            return self.values.to_numpy(zero_copy_only=False)
        found = np.empty(len(self), object)
        for i, item in enumerate(self.tolist()):
            found[i] = item
        return found

    def normal(self) -> KeyColumn:
        """Return the same values in the form that they alone decide."""
        return KeyColumn.of(self.values) if self.kind is None else self.settled()

    def same(self, other: KeyColumn) -> Any:
        """Return which values are equal, as an array of bools."""
        if self.kind is None or self.kind is not other.kind:
            return np.fromiter(map(_equal, self.tolist(), other.tolist()), np.bool_, len(self))
        if self.kind is str:
            import pyarrow.compute as pc

            found = pc.equal(self.values, other.values).to_numpy(zero_copy_only=False)
        else:
            found = self.values == other.values
            if self.kind is float:
                found |= (self.values != self.values) & (other.values != other.values)
        if self.present is None and other.present is None:
            return found
        mine, its = (np.ones(len(self), np.bool_) if p is None else p for p in (self.present, other.present))
        return (found & mine & its) | ~(mine | its)

    def then(self, item: Any) -> KeyColumn:
        """Return the values with one more behind them."""
        if self.kind is str and item == "" and self.present is None:  # as behind each table with a promise
            import pyarrow as pa

            return KeyColumn(str, pa.concat_arrays([self.values, _empty_text()]))
        return _joined([self, KeyColumn.of([item])])


class KeyColumns(Sequence[Hashable]):
    """Many keys, as columns; a sequence of them.

    >>> keys = KeyColumns.of([("a", 1), ("b", None)])
    >>> keys.width, len(keys), keys[1], list(keys), list(keys.take(np.array([1, 1])))
    (2, 2, ('b', None), [('a', 1), ('b', None)], [('b', None), ('b', None)])
    >>> KeyColumns.of([7, 9]) == [7, 9], KeyColumns.of([("a",), "a"]).columns[0].kind
    (True, None)
    """

    __slots__ = ("columns", "width")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, width: int, columns: Sequence[KeyColumn]) -> None:
        self.width, self.columns = width, list(columns)

    @classmethod
    def of(cls, keys: Iterable[Hashable]) -> KeyColumns:
        """Take keys apart, unless that was done before. O(n)."""
        if isinstance(keys, KeyColumns):
            return keys
        found: list[Any] = keys if isinstance(keys, list) else list(keys)
        if set(map(type, found)) == {tuple}:
            widths = set(map(len, found))
            if len(widths) == 1 and (width := widths.pop()):
                return cls(width, [KeyColumn.of(list(map(itemgetter(i), found))) for i in range(width)])
        return cls(0, [KeyColumn.of(found)])

    @classmethod
    def concat(cls, parts: Iterable[KeyColumns]) -> KeyColumns:
        """Return keys one after the other."""
        found = [part for part in parts if len(part)]
        if not found:
            return cls.of([])
        if len(found) == 1:
            return found[0]
        if len({part.width for part in found}) > 1:
            return cls.of(list(itertools.chain.from_iterable(found)))
        return cls(found[0].width, [_joined(columns) for columns in zip(*(part.columns for part in found))])

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            low, high, step = i.indices(len(self))
            return (
                KeyColumns(self.width, [c.part(low, high) for c in self.columns])
                if step == 1
                else self.take(np.arange(low, high, step))
            )
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        found = tuple(column.item(int(i)) for column in self.columns)
        return found if self.width else found[0]

    def __iter__(self) -> Iterator[Any]:
        lists = [column.tolist() for column in self.columns]
        return zip(*lists) if self.width else iter(lists[0])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, KeyColumns) and self.width == other.width:
            return len(self) == len(other) and bool(self.same(other).all())
        return isinstance(other, (list, KeyColumns)) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"KeyColumns.of({list(self)!r})"

    @property
    def has_objects(self) -> bool:
        """Whether a column is a list of objects."""
        return any(column.kind is None for column in self.columns)

    def take(self, places: Any) -> KeyColumns:
        """Return the keys at places: an array of int64, or of a bool for each key."""
        places = np.flatnonzero(places) if getattr(places, "dtype", None) == np.bool_ else np.asarray(places, np.int64)
        return KeyColumns(self.width, [column.take(places) for column in self.columns])

    def same(self, other: KeyColumns) -> Any:
        """Return which keys equal those of another, of the same length and width, as an array of bools."""
        found = self.columns[0].same(other.columns[0])
        for mine, its in zip(self.columns[1:], other.columns[1:]):
            found &= mine.same(its)
        return found

    def normal(self) -> KeyColumns:
        """Return the same keys in the form that they alone decide, whatever they came from."""
        if not len(self):
            return KeyColumns.of([])
        if not self.width and self.columns[0].kind is None:
            return KeyColumns.of(self.columns[0].values)
        return KeyColumns(self.width, [column.normal() for column in self.columns])


def keys_at(keys: Sequence[Hashable], places: Any) -> Sequence[Hashable]:
    """Return the keys at places, as columns if they are."""
    return keys.take(places) if isinstance(keys, KeyColumns) else [keys[i] for i in places]


def chained(columns: Sequence[Any]) -> Any:
    """Return columns, arrays or `KeyColumn`, one after the other."""
    if not any(isinstance(column, KeyColumn) for column in columns):
        return np.concatenate(columns)
    return _joined([column if isinstance(column, KeyColumn) else KeyColumn.of(column.tolist()) for column in columns])


def texts_of(items: Sequence[str]) -> Any:
    """Return strings as an Arrow array. Raises UnicodeEncodeError if UTF-8 does not hold one."""
    import pyarrow as pa

    found = pa.array(items, pa.large_string())
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


@functools.cache
def _empty_text() -> Any:
    return texts_of([""])


def texts_as(texts: Any, kind: Any) -> Any:
    """Return strings without nulls as an Arrow array of another type: by their offsets, for `cast` takes three times as long."""
    import pyarrow as pa

    widths: dict[Any, Any] = {pa.string(): np.int32, pa.large_string(): np.int64}
    before, after = widths.get(texts.type), widths[kind]
    buffers: Any = texts.buffers() if len(texts) and before and before is not after else [None]
    if buffers[-1] is None or (places := np.frombuffer(buffers[1], before)[texts.offset :][: len(texts) + 1])[-1] > TEXTS:
        return texts.cast(kind)
    made = pa.StringArray if after is np.int32 else pa.LargeStringArray
    return made.from_buffers(len(texts), pa.py_buffer(places.astype(after)), buffers[2])


def texts_between(offsets: Any, data: Any) -> Any:
    """Return strings that stand side by side as valid UTF-8; ``offsets``: int64, one more than there are strings."""
    import pyarrow as pa

    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))


def spans(texts: Any) -> tuple[Any, Any]:
    """Return where strings stand (int64, one more than there are strings), and the bytes in which they do."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1] if len(texts) else np.zeros(1, np.int64)
    return places, np.frombuffer(b"" if data is None else data, np.uint8)


def floats_of(items: Any) -> Any:
    """Return floats with one NaN, and 0.0 for -0.0."""
    found = np.array(items, np.float64)
    found[np.isnan(found)] = NAN  # before any arithmetic: one that signals would warn
    found += 0.0
    return found


def _array(items: Sequence[Any], kind: type) -> Any:
    return np.array(items, DTYPES[kind])


def _places(places: Any) -> Any:
    import pyarrow as pa

    return pa.array(places)


def _with_none(items: Sequence[Any], present: Any) -> list[Any]:
    return [item if there else None for item, there in zip(items, present.tolist())]


def _equal(a: Any, b: Any) -> bool:
    return a is b or bool(a == b)


def _nothing(kind: type | None, column: KeyColumn) -> KeyColumn:
    """Return objects that are all None as a column of a kind, of which nothing is there; others as they are."""
    if kind is None or any(item is not None for item in column.values):
        return column
    n = len(column)
    return KeyColumn(kind, texts_of([""] * n) if kind is str else np.zeros(n, DTYPES[kind]), np.zeros(n, np.bool_))


def _joined(columns: Sequence[KeyColumn]) -> KeyColumn:
    kinds = {column.kind for column in columns}
    if len(kinds) == 2 and None in kinds:
        (kind,) = kinds - {None}
        columns = [_nothing(kind, column) if column.kind is None else column for column in columns]
        kinds = {column.kind for column in columns}
    if len(kinds) > 1 or None in kinds:
        return KeyColumn.of([item for column in columns for item in column.tolist()])
    present = None
    if any(column.present is not None for column in columns):
        present = np.concatenate([np.ones(len(c), np.bool_) if c.present is None else c.present for c in columns])
    values = [column.values for column in columns]
    if str not in kinds:
        return KeyColumn(columns[0].kind, np.concatenate(values), present)
    import pyarrow as pa

    return KeyColumn(str, pa.concat_arrays(values), present)
