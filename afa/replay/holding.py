"""Which rows satisfy a box, and which row groups may: by the bounds that their statistics tell. In doubt they do.

A row group may hold where there are no statistics, where the values that count include NaN, which bounds leave out, or None, unless
none is missing, and where the column's type is one whose bounds writers have got wrong (unsigned 64 bits, decimals). A text
that has been cut off is a bound of all that begins like it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import AfaError
from afa.expression.intervals import ValueRange
from afa.io.frame import Frame
from afa.replay.column_totals import BlockColumn
from afa.replay.stored import trusted
from afa.replay.witness.boxes import Box
from afa.schema import Field, Schema
from punctuation.time import BEGINNING, FOREVER

LARGE = int(sys.float_info.max)


class Extent(NamedTuple):
    """The bounds of an event's field in each row group."""

    # low, high: numbers, or texts as objects; what stands where nobody knows means nothing
    low: Any
    high: Any
    known: Any  # bool: where the bounds are known
    # empty, nulls: bool: where no value is there at all; where one may be missing
    empty: Any
    nulls: Any


class Extents:
    """The bounds of fields in the row groups of a source, or in blocks of them, each worked out once.

    ``bounds``: returns those of a column; ``rows``, ``least``, ``latest``: how many rows there are, the least and the largest LE.
    """

    def __init__(
        self,
        bounds: Callable[[str], BlockColumn],
        rows: Any,
        events: Schema,
        tick: str | None,
        least: Any,
        latest: Any,
    ) -> None:
        self._bounds, self.rows = bounds, rows
        self._events, self._tick = events, tick
        self.least, self.latest = least, latest
        self._known: dict[str, Extent | None] = {}

    def may_hold(self, boxes: Sequence[Box]) -> Any:
        """Return which row groups may have a row in one of the boxes."""
        found = np.zeros(len(self.rows), bool)
        for box in boxes:
            here = (self.latest >= box.since) & (self.least < box.until)
            for name, allowed in box.fields:
                here &= self._may(name, allowed)
            found |= here
        return found

    def float_bounds(self, name: str) -> tuple[Any, Any] | None:
        """Return the bounds of a field of numbers as floats; None: it has none, or nobody knows them everywhere."""
        extent = self._extent(name)
        if extent is None or field_of(self._events, name).type is str or not extent.known.all():
            return None
        return np.asarray(extent.low, float), np.asarray(extent.high, float)

    def _extent(self, name: str) -> Extent | None:
        if name == self._events.instant:
            some = np.zeros(len(self.rows), bool)
            return Extent(self.least, self.latest, ~some, some, some)
        if name not in self._known:
            self._known[name] = extent_of(self._bounds(name), self.rows, field_of(self._events, name), self._events, self._tick)
        return self._known[name]

    def _may(self, name: str, allowed: ValueRange) -> Any:
        extent = self._extent(name)
        return np.ones(len(self.rows), bool) if extent is None else within(allowed, extent, field_of(self._events, name))


def field_of(events: Schema, name: str) -> Field:
    """Return the field of a name."""
    return next(field for field in events.fields if field.name == name)


def extent_of(bounds: BlockColumn, rows: Any, field: Field, events: Schema, tick: str | None) -> Extent | None:
    """Return the bounds of a column as those of an event's field; None: nobody knows them."""
    known = np.asarray(pc.and_(bounds.low.is_valid(), bounds.high.is_valid()))
    empty = (bounds.nulls == rows) & ~known
    nulls = bounds.nulls != 0
    if not trusted(bounds.low.type) or not known.any():
        return Extent(bounds.nulls, bounds.nulls, np.zeros(len(known), bool), empty, nulls)
    ends = []
    for values in (bounds.low, bounds.high):
        filled = values.fill_null(values.drop_null()[0])
        if field.type is str:
            ends.append(np.array([str(value) for value in filled.to_pylist()], object))
            continue
        try:
            column = Frame(pa.table({field.name: filled})).field(field, events, tick)
        except (AfaError, pa.ArrowException, TypeError, ValueError, OverflowError):
            return None  # a value that the field does not hold: a scan will say so
        if not isinstance(column, np.ndarray) or column.dtype == object:
            return None
        ends.append(column)
    if field.type is float:
        known &= ~(np.isnan(ends[0]) | np.isnan(ends[1]))
    return Extent(ends[0], ends[1], known, empty, nulls)


def within(allowed: ValueRange, extent: Extent, field: Field) -> Any:
    """Return which row groups may have a value of a field in a range."""
    low, high, known, empty, nulls = extent
    if field.type is str:
        fits = np.array([not told or _text_within(allowed, *ends) for *ends, told in zip(low, high, known)], bool)
    else:
        fits = _meets(allowed, low, high, field)
    fits = np.where(known, fits, True) & ~empty
    if allowed.nan and field.type is float:
        fits |= ~empty
    return fits | (nulls & allowed.none)


def _meets(allowed: ValueRange, low: Any, high: Any, field: Field) -> Any:
    bound = _bounds(allowed, field)
    if bound is None:
        return np.zeros(len(low), bool)
    least, most = bound
    fits = np.ones(len(low), bool)
    if least is not None:
        fits &= high > least if allowed.low_open and field.type is float else high >= least
    if most is not None:
        fits &= low < most if allowed.high_open and field.type is float else low <= most
    if allowed.values is not None:
        values = _values(allowed, field)
        if low is high:
            fits &= low == values[0] if len(values) == 1 else np.isin(low, values)
        else:
            fits &= np.logical_or.reduce([(low <= value) & (value <= high) for value in values]) if values else False
    return fits


def _text_within(allowed: ValueRange, low: Any, high: Any) -> bool:
    if allowed.values is None:
        return True
    texts = [value for value in allowed.values if isinstance(value, str)]
    return any(low <= text and (text <= high or text.startswith(high)) for text in texts)


def _bounds(allowed: ValueRange, field: Field) -> tuple[Any, Any] | None:
    """Return the ends of a range, None where it is open; for ints as ints that int64 holds. None: no such value is in it."""
    low = None if allowed.low == -math.inf else allowed.low
    high = None if allowed.high == math.inf else allowed.high
    if field.type is float or field.type is None:
        return _floats(low, -math.inf), _floats(high, math.inf)
    if low is not None:
        low = math.floor(low) + 1 if allowed.low_open else math.ceil(low)
    if high is not None:
        high = math.ceil(high) - 1 if allowed.high_open else math.floor(high)
    if (low is not None and low > FOREVER) or (high is not None and high < BEGINNING):
        return None
    return None if low is None else max(low, BEGINNING), None if high is None else min(high, FOREVER)


def _floats(bound: Any, beyond: float) -> Any:
    """Return a bound that floats are compared with: an int that no float is, as a float beyond it."""
    if not isinstance(bound, int):
        return bound
    try:
        found = float(bound)
    except OverflowError:
        found = math.copysign(sys.float_info.max, 1 if bound > 0 else -1)
    return found if found == bound else math.nextafter(found, beyond)


def _values(allowed: ValueRange, field: Field) -> list[Any]:
    """Return the values of a range that a field of numbers can have."""
    numbers = [value for value in allowed.values or () if isinstance(value, (int, float))]
    if field.type is float:
        return [
            float(value) for value in numbers if isinstance(value, float) or (-LARGE <= value <= LARGE and float(value) == value)
        ]
    return [int(value) for value in numbers if BEGINNING <= value <= FOREVER and value == math.floor(value)]


# -- rows ------------------------------------------------------------------------------------------------------------------------


def rows_in(boxes: Sequence[Box], columns: Mapping[str, Any], le: Any, events: Schema) -> Any:
    """Return which rows are in one of the boxes; ``columns``: of the fields that the boxes name, as `Frame.field` gives them."""
    known: dict[tuple[str, ValueRange], Any] = {}
    found: Any = None
    for box in boxes:
        here: Any = None
        if box.timed:
            here = (le >= box.since) & (le < box.until)
        for name, allowed in box.fields:
            if (name, allowed) not in known:
                column = le if name == events.instant else columns[name]
                known[name, allowed] = values_in(allowed, column, field_of(events, name))
            here = known[name, allowed] if here is None else here & known[name, allowed]
        here = np.ones(len(le), bool) if here is None else here
        found = here if found is None else found | here
    return found if found is not None else np.zeros(len(le), bool)


def compared(frame: Frame, name: str, events: Schema, tick: str | None) -> Any:
    """Return a column of an event's field to be compared: without a copy where it has numbers of the field's own type."""
    field = field_of(events, name)
    column = frame.raw(name, f"field {name} of {events.cls.__name__}")
    plain = {int: pa.int64(), float: pa.float64()}.get(field.type) if field.type else None
    alike = plain is not None and isinstance(column, pa.ChunkedArray) and column.type == plain
    if alike and column.num_chunks == 1 and not column.null_count:
        return column.chunk(0).to_numpy()
    return frame.field(field, events, tick)


def values_in(allowed: ValueRange, column: Any, field: Field) -> Any:
    """Return which values of a column are in a range: an array, or one of Arrow with texts coded or values missing."""
    if isinstance(column, pa.DictionaryArray):
        each = np.array([allowed.contains(value) for value in column.dictionary.to_pylist()] + [allowed.none], bool)
        return each[column.indices.fill_null(len(column.dictionary)).to_numpy()]
    if isinstance(column, pa.Array):
        gone = column.is_null().to_numpy(zero_copy_only=False)
        kept = np.zeros(len(column), bool)
        kept[~gone] = values_in(allowed, column.drop_null().to_numpy(zero_copy_only=False), field)
        kept[gone] = allowed.none
        return kept
    if column.dtype == object:
        return np.array([allowed.contains(value) for value in column.tolist()], bool)
    return _numbers_in(allowed, column, field)


def _numbers_in(allowed: ValueRange, column: Any, field: Field) -> Any:
    found = _meets(allowed, column, column, field)
    if field.type is not float:
        return found
    if allowed.nan:
        return found | (column != column)
    return found if _bounded(allowed) else found & (column == column)


def _bounded(allowed: ValueRange) -> bool:
    return allowed.values is not None or allowed.low != -math.inf or allowed.high != math.inf
