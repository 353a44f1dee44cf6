"""The columns of a file in the form of an operator: typed, times as ticks; a value that does not fit is named by its row.

Values that fit go on to the door of all tables (`punctuation.door`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import ChangeError
from punctuation.door import arrow_type, one_array, scalar_of, without_views
from punctuation.timestamps import counted, times_of

TICKS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
TIME, KEY, ANY = "int or timestamp", "key", "any"
ORDER = "the order of rows"
"""What a column is for that orders rows of one instant."""
TYPES = {kind.__name__: arrow_type(kind) for kind in (int, float, bool, str)}


class FileColumn(NamedTuple):
    """One column that is read: its name in the input and in the operator's table, what it may hold, what it is for."""

    source: str
    target: str
    kind: str
    optional: bool
    role: str


class BatchPlace(NamedTuple):
    """Where in the input a batch stands: for messages."""

    file: str
    row: int

    def whole(self, column: FileColumn, text: str) -> ChangeError:
        """Return a fault of the column as such."""
        return ChangeError(f"{self.file}: column {column.source!r}: {text}")

    def fault(self, column: FileColumn, i: int, text: str) -> ChangeError:
        """Return a fault in row ``i`` of the batch."""
        return ChangeError(f"{self.file}: row {self.row + i}, column {column.source!r}: {text}")


def convert(table: pa.Table, columns: Iterable[FileColumn], tick: str | None, place: BatchPlace) -> pa.Table:
    """Return a batch as the operator takes it: its columns under the operator's names, times in ticks.

    The first row whose value is missing, or does not fit, is refused by its number (`ChangeError`).
    """
    arrays = {}
    for column in columns:
        array = one_array(without_views(table.column(column.source)))
        if array.null_count and not column.optional:
            hint = "" if column.kind == TIME or column.target == "diff" else f"; {column.kind} | None would allow it"
            hint = "; NULLS LAST behind it in ORDER BY of SQL would allow it" if column.role == ORDER else hint
            row = pc.index(array.is_null(), True).as_py()
            raise place.fault(column, row, f"expected {column.kind} ({column.role}) but got no value{hint}")
        coded = pa.types.is_dictionary(array.type)
        if not (coded and column.kind == KEY and pa.types.is_string(array.type.value_type)):
            array = array.dictionary_decode() if coded else array
            times = times_of(array) if column.kind == "int" else None
            if times is not None and tick is None:
                hint = "say what an integer counts with --tick, and times stand for integers"
                raise place.whole(column, f"expected int ({column.role}) but got {array.type}; {hint}")
            as_ticks = column.kind == TIME or times is not None
            array = _ticks(array, column, tick or "ms", place) if as_ticks else _typed(array, column, place)
        arrays[column.target] = array
    return pa.table(arrays)


def kind_of_times(table: pa.Table, columns: Iterable[FileColumn], tick: str) -> pa.DataType:
    """Return the type of a batch's LEs; where they are text, that of timestamps of the tick."""
    array = without_views(next(table.column(column.source) for column in columns if column.target == "le"))
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    found = timestamps_of_text(one_array(array)) if scalar_of(kind) is str else None
    return kind if found is None else pa.timestamp(tick, found.type.tz)


def _typed(array: pa.Array, column: FileColumn, place: BatchPlace) -> pa.Array:
    if pa.types.is_null(array.type):
        return array.cast(TYPES.get(column.kind, pa.string()))
    if column.kind == ANY:
        return array
    if pa.types.is_decimal(array.type) and column.kind in ("float", KEY):  # which the door of tables takes, a key as it is
        return array
    scalar = scalar_of(array.type)
    found = scalar.__name__ if scalar else None
    if column.kind == KEY:
        if found is None and not pa.types.is_temporal(array.type):
            raise place.whole(column, f"expected int, float, bool, str or a time as a key but got {array.type}")
    elif found != column.kind and not (found == "int" and column.kind == "float"):
        raise place.whole(column, f"expected {column.kind} ({column.role}) but got {array.type}")
    wanted = TYPES[(found or "str") if column.kind == KEY else column.kind]
    return _cast(array, wanted, column, place, f"expected {found or 'time'} that fits {wanted}")


def _ticks(array: pa.Array, column: FileColumn, tick: str, place: BatchPlace) -> pa.Array:
    """Integers as they are; timestamps and dates as ticks since 1970 (without a zone: as if UTC)."""
    if pa.types.is_integer(array.type) or pa.types.is_null(array.type):
        return _cast(array, pa.int64(), column, place, "expected an int64 (ticks)")
    if scalar_of(array.type) is str:
        array = _parsed(array, column, place)
    times = times_of(array)
    if times is None:
        raise place.whole(column, f"expected integers or timestamps ({column.role}) but got {array.type}")
    ticks, missing, wrong = counted(array, times, tick)
    if wrong.any():
        i = int(np.argmax(wrong))
        hint = "" if tick == "ns" else "; try a finer --tick"
        raise place.fault(column, i, f"expected a whole number of {TICKS[tick]} (int64) but got {_shown(array[i])}{hint}")
    return pa.array(ticks, mask=missing if array.null_count else None)


def _parsed(array: pa.Array, column: FileColumn, place: BatchPlace) -> pa.Array:
    """Text as timestamps, all of them with a zone or none."""
    parsed = timestamps_of_text(array)
    if parsed is not None:
        return parsed
    before = None
    for i, value in enumerate(array.to_pylist()):
        if value is None or value.removeprefix("-").isdecimal():  # a column of ints with one slip: name the slip
            continue
        one = timestamps_of_text(array.slice(i, 1))
        zone = None if one is None else "with" if one.type.tz else "without"
        if zone is None or before not in (None, zone):
            wanted = "an int or a timestamp (ISO 8601)" if zone is None else f"a timestamp {before} a zone, as in the rows before,"
            raise place.fault(column, i, f"expected {wanted} but got {value!r}")
        before = zone
    raise place.whole(column, f"expected integers or timestamps ({column.role}) but got text: {array[0].as_py()!r}")


def timestamps_of_text(array: pa.Array) -> pa.Array | None:
    """Text as timestamps without a zone or with one; None: neither fits all of it."""
    for zone in (None, "UTC"):
        try:
            return array.cast(pa.timestamp("ns", zone))
        except pa.ArrowInvalid:
            continue
    return None


def _cast(array: pa.Array, kind: pa.DataType, column: FileColumn, place: BatchPlace, wrong: str) -> pa.Array:
    """Cast, or name the first row that can't be."""
    try:
        return array.cast(kind)
    except pa.ArrowInvalid:
        for i in range(len(array)):
            try:
                array.slice(i, 1).cast(kind)
            except pa.ArrowInvalid:
                raise place.fault(column, i, f"{wrong} but got {_shown(array[i])}") from None
        raise


def _shown(scalar: Any) -> str:
    try:
        return repr(scalar.as_py()) if pa.types.is_string(scalar.type) else str(scalar)
    except (OverflowError, ValueError):  # a timestamp beyond Python's
        return f"{scalar.value} ({scalar.type})"
