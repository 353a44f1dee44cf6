"""The layout of payloads and registers in memory: 64-bit words.

    int        the int64
    float      the bits of a float64; one NaN, no -0.0
    bool       0 or 1
    str        its number in the operator's `Strings`; equal strings have equal numbers
    T | None   two words: 1 and the value, or 0 and 0

A record is the words of its fields in schema order, so that equal records have equal words.
"""

from __future__ import annotations

from typing import NamedTuple

from afa.schema import Field, Schema


class FieldSlot(NamedTuple):
    """Where a field stands: its first word, how many it takes (an optional field: its presence, then its value), its value's."""

    field: Field
    offset: int
    width: int
    value: int


class Layout(NamedTuple):
    """The words of a schema's records.

    >>> from typing import NamedTuple
    >>> class Tick(NamedTuple):
    ...     price: float
    ...     size: int | None = None
    >>> layout = Layout.of(Schema.of(Tick, "event"))
    >>> [(slot.field.name, slot.offset, slot.width) for slot in layout.slots], layout.width
    ([('price', 0, 1), ('size', 1, 2)], 3)
    """

    schema: Schema
    slots: tuple[FieldSlot, ...]
    width: int

    @classmethod
    def of(cls, schema: Schema) -> Layout:
        slots, offset = [], 0
        for field in schema.fields:
            width = 2 if field.optional else 1
            slots.append(FieldSlot(field, offset, width, offset + width - 1))
            offset += width
        return cls(schema, tuple(slots), offset)

    def slot(self, name: str) -> FieldSlot:
        return next(slot for slot in self.slots if slot.field.name == name)
