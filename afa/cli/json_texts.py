"""Columns as JSON, value by value: numbers, text, times as ISO 8601, lists and structs of them."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa

from afa.cli.output_times import iso_texts


def json_texts(column: Any) -> list[str]:
    """Return values as JSON, which has no NaN and no infinity: null and text stand for them.

    Examples
    --------
    >>> json_texts(pa.array([[1, 2], None, []])), json_texts(pa.array([{"a": [0.5], "b": []}]))
    (['[1,2]', 'null', '[]'], ['{"a":[0.5],"b":[]}'])
    """
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = column.type
    if pa.types.is_list(kind):
        return _lists(column)
    if pa.types.is_struct(kind):
        return _structs(column)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
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
    parts = json_texts(column.flatten())
    ends, found, low = column.value_lengths().to_pylist(), [], 0
    for length in ends:
        if length is None:
            found.append("null")
            continue
        found.append(f"[{','.join(parts[low : low + length])}]")
        low += length
    return found


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
