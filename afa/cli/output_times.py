"""Times of the output as the input had them: of a type of Arrow in files, as ISO 8601 in text."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.io.table_times import TimeType
from punctuation.durations import NANOSECONDS
from punctuation.timestamps import Times


def type_of_times(kind: pa.DataType, tick: str) -> TimeType | None:
    """Return the type in which times leave that came in a column of a type; None: as ints.

    That is the type itself; for one that does not hold each tick, as dates for milliseconds, timestamps of the tick.
    """
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return None
    if Times("arrow", kind).unit > NANOSECONDS[tick]:
        kind = pa.timestamp(tick, getattr(kind, "tz", None))
    return TimeType(Times("arrow", kind), tick)


def as_times(table: pa.Table, names: Collection[str], times: TimeType | None) -> pa.Table:
    """Return a table in which some columns of ticks are times."""
    for i, name in enumerate(table.column_names):
        if times is not None and name in names:
            table = table.set_column(i, name, times.column(table.column(i), name))
    return table


def in_text(table: pa.Table) -> pa.Table:
    """Return a table whose times are text."""
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
            table = table.set_column(i, field.name, pa.array(iso_texts(table.column(i)), pa.string()))
    return table


def iso_texts(column: Any) -> list[str | None]:
    """Return times as ISO 8601, with the offset of their zone, if they have one, and no more digits than they need.

    Examples
    --------
    >>> stamps = pa.array([0, 1711846800500, None], pa.timestamp("ms", "Europe/Berlin"))
    >>> iso_texts(stamps)
    ['1970-01-01T01:00:00+01:00', '2024-03-31T03:00:00.5+02:00', None]
    >>> iso_texts(pa.array([1], pa.date32()))
    ['1970-01-02']
    """
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_date(column.type):
        return [None if day is None else day.isoformat() for day in column.to_pylist()]
    local = column if column.type.tz is None else pc.local_timestamp(column)
    unit = column.type.unit
    missing = local.is_null().to_numpy(zero_copy_only=False)
    walls = local.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    texts: list[str | None] = [_trimmed(text) for text in np.datetime_as_string(walls.view(f"M8[{unit}]")).tolist()]
    if column.type.tz is not None:
        per_minute = NANOSECONDS["min"] // NANOSECONDS[unit]
        ahead = (walls - column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)) // per_minute
        texts = [f"{text}{_offset(minutes)}" for text, minutes in zip(texts, ahead.tolist())]
    for i in np.flatnonzero(missing).tolist():
        texts[i] = None
    return texts


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _offset(minutes: int) -> str:
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"
