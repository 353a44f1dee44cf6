"""The order of events of one LE: by a field, ``seq``, or by a list, ``price desc nulls first, id, *``.

A list orders by one text, made of all its values, whose code points stand in the order that the list asks for; so both engines
order by one value, whatever the list. A piece of this text is

    optional     a byte: whether the value is there
    bool         a byte
    int, float   eight bytes, the largest first: the int + 2**63, the bits of the float with the order of its values
    str          its UTF-8, a zero as 0 1, then 0 0: no piece begins another one
    desc         all bytes but the first of an optional value are turned over

and a byte is the character of that number.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from afa.errors import AutomatonError, ChangeError
from afa.schema import Field, Schema

VALUES = "*"
"""In a list: all fields that it does not name, in the order of the event, ascending, None behind all."""
_COLUMN = re.compile(r"\s*(\w+)(\s+asc|\s+desc)?(\s+nulls\s+first|\s+nulls\s+last)?\s*", re.IGNORECASE)
_OVER = bytes(range(255, -1, -1))
_SIGN, _ALL = 1 << 63, (1 << 64) - 1
_FROM_FLOAT, _TO_INT = struct.Struct(">d"), struct.Struct(">Q")


class OrderColumn(NamedTuple):
    """A field of a list, as it orders."""

    place: int  # of the field in the event
    field: Field
    descending: bool
    nulls_first: bool
    strict: bool  # whether NaN is refused

    def piece(self, value: Any) -> bytes:
        """Return the piece of the text that stands for a value."""
        kind, there = self.field.type, value is not None
        assert kind is not None
        value = value if there else kind()
        if kind is str:
            found: bytes = value.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\1") + b"\0\0"
        elif kind is bool:
            found = bytes([value])
        else:
            found = _TO_INT.pack(_float_word(value) if kind is float else value + _SIGN)
        found = found.translate(_OVER) if self.descending else found
        return bytes([there is self.nulls_first]) + found if self.field.optional else found

    def pieces(self, column: Any) -> list[str]:
        """Return the pieces of a `afa.state.states.Column`, as characters."""
        values, present, texts = column
        if texts is not None:
            of_texts = [self.piece(text).decode("latin-1") for text in texts]
            found = [of_texts[i] for i in values.tolist()]
            if present is not None:
                missing = self.piece(None).decode("latin-1")
                found = [text if there else missing for text, there in zip(found, present.tolist())]
            return found
        values = np.asarray(values)
        values = values if present is None else np.where(present, values, values.dtype.type(0))
        if self.field.type is bool:
            words = values.astype(np.uint8).reshape(-1, 1)
        else:
            numbers = sortable_floats(values) if self.field.type is float else values.astype(np.int64)
            words = (numbers.view(np.uint64) ^ np.uint64(_SIGN)).astype(">u8").view(np.uint8).reshape(-1, 8)
        words = ~words if self.descending else words
        if self.field.optional:
            there = np.ones(len(words), np.bool_) if present is None else np.asarray(present, np.bool_)
            words = np.column_stack([(there == self.nulls_first).astype(np.uint8), words])
        width, text = words.shape[1], words.tobytes().decode("latin-1")
        return [text[i : i + width] for i in range(0, len(text), width)]


class EventOrder(NamedTuple):
    """A list that orders events.

    >>> class Trade(NamedTuple):
    ...     price: float
    ...     venue: str | None
    >>> order = EventOrder.of("price desc, venue nulls first", Schema.of(Trade, "event"))
    >>> trades = [Trade(1.0, "X"), Trade(2.0, "Y"), Trade(2.0, None), Trade(-1.0, None)]
    >>> [(price, venue) for price, venue in sorted(trades, key=order.text)]
    [(2.0, None), (2.0, 'Y'), (1.0, 'X'), (-1.0, None)]
    """

    said: str
    columns: tuple[OrderColumn, ...]

    @classmethod
    def of(cls, said: str, schema: Schema | None) -> EventOrder:
        """Read a list over the fields of an event. Raises `AutomatonError`: it is none, or names what does not order."""
        if schema is None:
            raise AutomatonError(f"expected an automaton with event=, whose fields order_by={said!r} names, but got one without")
        known = {field.name: (place, field) for place, field in enumerate(schema.fields)}
        columns: list[OrderColumn] = []
        parts = said.split(",")
        for i, part in enumerate(parts):
            if part.strip() == VALUES and i == len(parts) - 1:
                taken = {column.field.name for column in columns}
                columns += [OrderColumn(*known[name], False, False, False) for name in known if name not in taken]
                continue
            found = _COLUMN.fullmatch(part)
            if found is None:
                raise AutomatonError(
                    f"expected fields, each perhaps with desc and nulls first or nulls last, and * at the end for all others, but "
                    f"got {part.strip()!r} in order_by={said!r}"
                )
            if found[1] not in known:
                raise AutomatonError(f"expected a field of {schema.describe()} but got {found[1]!r} in order_by={said!r}")
            if found[1] in {column.field.name for column in columns}:
                raise AutomatonError(f"expected each field once but got {found[1]!r} twice in order_by={said!r}")
            place, field = known[found[1]]
            if field.optional and not found[3]:
                raise AutomatonError(
                    f"expected to read where None stands, {field.name} nulls first or {field.name} nulls last, but got "
                    f"order_by={said!r}"
                )
            first, down = "first" in (found[3] or "").lower(), "desc" in (found[2] or "").lower()
            columns.append(OrderColumn(place, field, down, first, True))
        for column in columns:
            if column.field.type is None:
                raise AutomatonError(
                    f"expected fields of int, float, bool or str but got {column.field.name}, which holds anything, in "
                    f"order_by={said!r}"
                )
        return cls(said, tuple(columns))

    def text(self, payload: Any) -> str:
        """Return the text by which an event in the form of its schema stands among those of its LE."""
        return b"".join([column.piece(payload[column.place]) for column in self.columns]).decode("latin-1")

    def texts(self, columns: Sequence[Any]) -> list[str]:
        """Return the texts of many events, by the columns (`afa.state.states.Column`) of all their fields."""
        pieces = [column.pieces(columns[column.place]) for column in self.columns]
        return pieces[0] if len(pieces) == 1 else list(map("".join, zip(*pieces)))

    def check(self, payload: Any) -> None:
        """Refuse an event with NaN in a field that the list names, as NaN is before and behind nothing (`ChangeError`)."""
        for place, field, _, _, strict in self.columns:
            if strict and payload[place] != payload[place]:  # fields of * may be filled by a stage behind
                raise ChangeError(
                    f"expected a number that has a place in order_by={self.said!r} but got {field.name}=nan in {payload!r}"
                )

    def has_nan(self, columns: Sequence[Any]) -> bool:
        """Return whether an event among many has such a NaN."""
        for place, field, _, _, strict in self.columns:
            if strict and field.type is float:
                values, present, _ = columns[place]
                wrong = values != values
                if (wrong if present is None else wrong & present).any():
                    return True
        return False


def is_list(order_by: str | None) -> TypeGuard[str]:
    """Return whether events of one LE are ordered by a list.

    >>> is_list("seq"), is_list("seq desc"), is_list("*"), is_list(None)
    (False, True, True, False)
    """
    return isinstance(order_by, str) and not order_by.isidentifier()


def fields_in(order_by: str | None) -> list[str]:
    """Return the fields that an order names.

    >>> fields_in("price desc, id, *"), fields_in(None)
    (['price', 'id'], [])
    """
    return [] if order_by is None else [part.split()[0] for part in order_by.split(",") if part.strip() not in ("", VALUES)]


def placing(order_by: str, schema: Schema | None) -> Callable[[Any], Any]:
    """Return the function that gives the value by which an event stands among those of its LE."""
    return EventOrder.of(order_by, schema).text if is_list(order_by) else attrgetter(order_by)


def _float_word(value: float) -> int:
    word: int = _TO_INT.unpack(_FROM_FLOAT.pack(math.nan if value != value else value + 0.0))[0]
    return _ALL - word if word & _SIGN else word | _SIGN


def sortable_floats(values: Any) -> Any:
    """Return floats as int64s in the same order, NaN behind all."""
    words = np.where(values != values, np.nan, values + 0.0).astype(np.float64).view(np.int64)  # -0.0 becomes 0.0
    return np.where(words >= 0, words, words ^ np.iinfo(np.int64).max)
