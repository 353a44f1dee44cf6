"""Times in the columns of a feed: as a schema says them, or as text of ISO 8601; what is none is told by its line."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from afa.feeds.json_reader import OnFault
from afa.io.file_columns import timestamps_of_text
from punctuation.door import one_array

Converter = Callable[[pa.Array], pa.Array]
"""What makes a column of another type; Arrow's error, or a `ValueError`: a value can't be."""
DAYS, ZONED = "date", "zoned"
LOGICAL = {
    "io.debezium.time.Date": DAYS,
    "io.debezium.time.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
    "io.debezium.time.ZonedTimestamp": ZONED,
    "org.apache.kafka.connect.data.Date": DAYS,
    "org.apache.kafka.connect.data.Timestamp": "ms",
}
"""Kafka Connect's names of types that hold times."""
DECIMAL = "org.apache.kafka.connect.data.Decimal"


def converter_of(name: str, parameters: Mapping[str, str]) -> Converter | None:
    """Return what reads a column whose schema has this name; None: it stays as it is.

    >>> converter_of("io.debezium.time.Date", {})(pa.array([1])).to_pylist()
    [datetime.date(1970, 1, 2)]
    >>> converter_of("org.apache.kafka.connect.data.Decimal", {"scale": "2"})(pa.array(["BNI="])).to_pylist()
    [Decimal('12.34')]
    """
    if name == DECIMAL:
        scale = int(parameters["scale"])
        return lambda column: pa.array([_decimal(text, scale) for text in column.to_pylist()], pa.decimal128(38, scale))
    unit = LOGICAL.get(name)
    if unit == DAYS:
        return lambda column: column.cast(pa.int32()).cast(pa.date32())
    if unit == ZONED:
        return lambda column: column.cast(pa.timestamp("ns", "UTC"))
    return None if unit is None else lambda column: column.cast(pa.int64()).view(pa.timestamp(unit))


def _decimal(text: str | None, scale: int) -> Decimal | None:
    if text is None:
        return None
    return Decimal(int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)).scaleb(-scale)


class TimeColumns:
    """The columns of times of a feed; text is read as in its first block, with a zone or without one."""

    def __init__(self, names: Sequence[str], told: OnFault) -> None:
        self._names, self._told = names, told
        self._kind: pa.DataType | None = None  # of text

    def converted(self, rows: pa.Table, numbers: Any, there: Any, converters: Mapping[str, Converter]) -> tuple[pa.Table, Any]:
        """Return rows with times in place of text and of what a schema says, and which of those that are ``there`` are wrong."""
        bad = np.zeros(len(rows), np.bool_)
        for name in dict.fromkeys([*converters, *self._names]):
            if name not in rows.column_names:
                continue
            column = one_array(rows[name])
            if column.null_count == len(column):  # nobody knows yet whether its times have a zone
                rows = rows.set_column(rows.column_names.index(name), name, pa.nulls(len(column)))
                continue
            convert = converters.get(name) or self._convert(column)
            if convert is None:
                continue
            made, wrong = _each(column, convert)
            if made.null_count < len(made) and name not in converters and pa.types.is_timestamp(made.type):
                self._kind = made.type
            for i in np.flatnonzero(wrong & there).tolist():
                self._told(int(numbers[i]), f"expected {_wanted(made.type)} in {name!r} but got {_shown(column[i])}")
            rows, bad = rows.set_column(rows.column_names.index(name), name, made), bad | (wrong & there)
        return rows, bad

    def _convert(self, column: pa.Array) -> Converter | None:
        if pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            return None
        if pa.types.is_floating(column.type):
            return lambda part: part.cast(pa.int64())
        if not pa.types.is_string(column.type):
            return _no_times
        kind = self._kind
        return _times_of_text if kind is None else lambda part: part.cast(kind)


def _no_times(column: pa.Array) -> pa.Array:
    raise ValueError


def _times_of_text(column: pa.Array) -> pa.Array:
    found = timestamps_of_text(column)
    if found is None:
        raise ValueError
    return found


def _each(column: pa.Array, convert: Converter) -> tuple[pa.Array, Any]:
    """Return a column converted, null where it can't be, and where that is."""
    try:
        return convert(column), np.zeros(len(column), np.bool_)
    except (pa.ArrowException, ValueError, ArithmeticError):
        parts: list[pa.Array | None] = []
        kind = pa.timestamp("ns")
        with contextlib.suppress(pa.ArrowException, ValueError):
            kind = convert(column.slice(0, 0)).type
        for i in range(len(column)):
            try:
                parts.append(convert(column.slice(i, 1)))
            except (pa.ArrowException, ValueError, ArithmeticError):
                parts.append(None)
    kind = next(
        (part.type for part, is_null in zip(parts, column.is_null()) if part is not None and not is_null.as_py()),
        kind,
    )
    wrong = np.array([part is None or (part.type != kind and part.null_count == 0) for part in parts], np.bool_)
    values = [pa.nulls(1, kind) if bad or part is None or part.null_count else part for part, bad in zip(parts, wrong)]
    return one_array(pa.chunked_array(values, kind)), wrong


def _wanted(kind: pa.DataType) -> str:
    return str(kind) if pa.types.is_decimal(kind) else f"a time{' with a zone' if getattr(kind, 'tz', None) else ''}"


def _shown(value: Any) -> str:
    return repr(value.as_py()) if len(str(value)) <= 40 else f"{str(value)[:40]!r}.."
