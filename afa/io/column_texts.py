"""Columns as text, value by value: JSON, and times as ISO 8601."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctuation.door import one_array
from punctuation.durations import NANOSECONDS
from punctuation.timestamps import is_time_type


def iso_texts(column: Any) -> list[str | None]:
    """Return times as ISO 8601, with the offset of their zone, if they have one, and no more digits than they need.

    >>> stamps = pa.array([0, 1711846800500, None], pa.timestamp("ms", "Europe/Berlin"))
    >>> iso_texts(stamps)
    ['1970-01-01T01:00:00+01:00', '2024-03-31T03:00:00.5+02:00', None]
    >>> iso_texts(pa.array([1], pa.date32()))
    ['1970-01-02']
    """
    column = one_array(column)
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


def in_text(table: pa.Table) -> pa.Table:
    """Return a table whose times are text."""
    for i, field in enumerate(table.schema):
        if is_time_type(field.type):
            table = table.set_column(i, field.name, pa.array(iso_texts(table.column(i)), pa.string()))
    return table


def json_lines(table: pa.Table) -> Iterator[str]:
    """Yield the rows as lines of JSON, made column by column."""
    if not len(table):
        return iter(())
    names = [json.dumps(name).replace("%", "%%") for name in table.column_names]
    template = "{" + ", ".join(f"{name}: %s" for name in names) + "}\n"
    return (template % row for row in zip(*map(json_texts, table.columns)))


def json_texts(column: Any) -> list[str]:
    """Return values as JSON, which has no NaN and no infinity: null and text stand for them.

    >>> json_texts(pa.array([[1, 2], None, []])), json_texts(pa.array([{"a": [0.5], "b": []}]))
    (['[1,2]', 'null', '[]'], ['{"a":[0.5],"b":[]}'])
    """
    column = one_array(column)
    kind = column.type
    if pa.types.is_list(kind):
        return _lists(column)
    if pa.types.is_struct(kind):
        return _structs(column)
    if is_time_type(kind):
        return ["null" if text is None else f'"{text}"' for text in iso_texts(column)]
    if pa.types.is_string(kind):
        coded = column.dictionary_encode("encode")
        texts = [json.dumps(value) for value in coded.dictionary.to_pylist()]
        return [texts[i] for i in coded.indices.to_pylist()]
    values = column.to_pylist()
    if pa.types.is_integer(kind) and not column.null_count:
        return list(map(str, values))
    return [json.dumps(_plain(value)) for value in values]


def _lists(column: Any) -> list[str]:
    parts = iter(json_texts(column.flatten()))
    lengths = column.value_lengths().to_pylist()
    return ["null" if n is None else f"[{','.join(islice(parts, n))}]" for n in lengths]


def _structs(column: Any) -> list[str]:
    names = [json.dumps(field.name) for field in column.type]
    parts = [json_texts(part) for part in column.flatten()]
    rows = zip(*parts) if parts else iter([()] * len(column))
    there = column.is_valid().to_pylist()
    return ["{" + ",".join(map(":".join, zip(names, row))) + "}" if is_there else "null" for row, is_there in zip(rows, there)]


def _plain(value: Any) -> Any:
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if value != value else str(value)
