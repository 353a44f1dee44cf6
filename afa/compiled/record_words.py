"""Convert payloads and registers to words, and back."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.strings import Strings
from afa.schema import NAN

_TO_BITS, _FROM_BITS = struct.Struct("<d"), struct.Struct("<q")


def bits(value: float) -> int:
    number: int = _FROM_BITS.unpack(_TO_BITS.pack(value))[0]
    return number


class RecordForms:
    """The two forms of the records of one schema.

    >>> from typing import NamedTuple
    >>> from afa.schema import Schema
    >>> class Tick(NamedTuple):
    ...     symbol: str
    ...     size: int | None
    >>> records = RecordForms(Layout.of(Schema.of(Tick, "event")), Strings())
    >>> records.words(Tick("YHOO", None)), records.record([1, 1, 7])
    ([1, 0, 0], Tick(symbol='YHOO', size=7))
    """

    def __init__(self, layout: Layout, strings: Strings) -> None:
        self.layout = layout
        self.strings = strings
        self._cls = layout.schema.cls
        kinds = [slot.field.type for slot in layout.slots]
        flat = all(slot.width == 1 for slot in layout.slots) and str not in kinds
        form = "<" + "".join("d" if kind is float else "q" for kind in kinds)
        self._typed = struct.Struct(form) if flat else None
        self._plain = struct.Struct(f"<{len(kinds)}q")
        self._bools = bool in kinds
        self._back: list[Callable[[int], Any]] = [_reader(kind, strings) for kind in kinds]

    def words(self, record: Any) -> list[int]:
        if self._typed is not None:
            return list(self._plain.unpack(self._typed.pack(*record)))
        found: list[int] = []
        for item, slot in zip(record, self.layout.slots):
            if slot.width == 2:
                found.append(int(item is not None))
            kind = slot.field.type
            if item is None:
                found.append(0)
            elif kind is float:
                found.append(bits(item))
            else:
                found.append(self.strings.number(item) if kind is str else int(item))
        return found

    def record(self, words: Sequence[int]) -> Any:
        if self._typed is not None and not self._bools:
            items = self._typed.unpack(self._plain.pack(*words))
            return self._cls(*[NAN if item != item else item for item in items])
        return self._cls(
            *[
                back(words[slot.value]) if slot.width == 1 or words[slot.offset] else None
                for back, slot in zip(self._back, self.layout.slots)
            ]
        )

    def columns(self, words: Any) -> list[Any]:
        """Return the fields of many records, as columns; ``words``: an array of shape (n, width)."""
        found = []
        for slot in self.layout.slots:
            column = np.ascontiguousarray(words[:, slot.value])
            kind = slot.field.type
            items: Any = column.view(np.float64) if kind is float else column.astype(np.bool_) if kind is bool else column
            if kind is str:
                items = _objects(self.strings.texts(column.tolist()))
            if slot.width == 2:
                there = words[:, slot.offset].tolist()
                items = _objects([item if here else None for item, here in zip(items.tolist(), there)])
            found.append(items)
        return found

    def fields(self, words: Any) -> list[tuple[Any, ...]]:
        """Return the fields of many records; ``words``: an array of shape (n, width)."""
        columns = []
        for column, slot in zip(self.columns(words), self.layout.slots):
            items = column.tolist()
            columns.append([NAN if item != item else item for item in items] if slot.field.type is float else items)
        return list(zip(*columns)) if columns else [()] * len(words)


def _objects(items: list[Any]) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array


def _reader(kind: type | None, strings: Strings) -> Callable[[int], Any]:
    if kind is float:
        return float_of
    if kind is bool:
        return bool
    return strings.text if kind is str else int


def float_of(word: int) -> float:
    """Return the float of some bits; of any NaN the one that all payloads have."""
    value: float = _TO_BITS.unpack(_FROM_BITS.pack(word))[0]
    return NAN if value != value else value


def sortable(value: float) -> int:
    """Return the bits of a float as an int64 in the same order."""
    word = bits(value)
    return word if word >= 0 else word ^ 0x7FFFFFFFFFFFFFFF
