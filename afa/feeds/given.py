"""Whatever a feed is given, as blocks: lines with their numbers, or tables of columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from afa.errors import ChangeError
from afa.feeds.json_reader import NumberedLines
from afa.io.column_texts import json_texts
from afa.io.file_bytes import File, blocks_of
from afa.io.text_files import in_one_line
from punctuation.door import is_table, scalar_of

LINES = 1 << 14
"""How many lines are read at once, of those that come one by one."""
NESTED = ("before", "after", "source", "transaction", "key", "value", "payload", "data", "old")
"""Columns that hold objects, be it as their text."""


def blocks_in(given: Any, first: int) -> Iterator[NumberedLines | tuple[pa.Table, Any]]:
    """Yield lines, or tables with the numbers of their rows, which begin with ``first``."""
    if isinstance(given, (str, Path)):
        if not Path(given).is_file():
            raise ChangeError(f"expected lines, a table or the path of a file but got {str(given)[:80]!r}")
        with in_one_line(str(given)):
            file = File(Path(given))
            for block in blocks_of(file):
                found = lines_in(block or b"", first)
                first += len(found.lines)
                yield found
    elif isinstance(given, (bytes, bytearray)):
        yield lines_in(bytes(given), first)
    elif not isinstance(given, (list, tuple)) and is_table(given):
        table = pa.table(dict(given) if hasattr(given, "keys") and not hasattr(given, "columns") else given)
        table = table.cast(pa.schema([field.with_type(_plain(field.type)) for field in table.schema]))
        numbers = np.arange(first, first + len(table))
        texts = [name for name in table.column_names if name in NESTED and _is_text(table.schema.field(name).type)]
        yield NumberedLines(_lines_of(table, texts), numbers) if texts else (table, numbers)
    elif isinstance(given, Iterable):
        lines = iter(given)
        while part := [_line(each) for each in islice(lines, LINES)]:
            yield NumberedLines(part, np.arange(first, first + len(part)))
            first += len(part)
    else:
        raise ChangeError(f"expected lines, a table or the path of a file but got {given!r}")


def lines_in(text: bytes, first: int) -> NumberedLines:
    """Return the lines of a text."""
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return NumberedLines(lines, np.arange(first, first + len(lines)))


def _line(given: Any) -> bytes:
    """Return a line as bytes; of a key and a value, as Kafka has them, one that holds both; of an object its text."""
    if type(given) is bytes and b"\n" not in given:
        return given
    if isinstance(given, tuple) and len(given) == 2:
        key, value = (_line(part) for part in given)
        return value if key == b"null" else b'{"key":' + key + b',"value":' + value + b"}"
    if isinstance(given, str):
        given = given.encode("utf-8", "surrogatepass")
    if given is None:
        return b"null"
    if isinstance(given, dict):
        return json.dumps(given, default=str).encode()
    if not isinstance(given, (bytes, bytearray)):
        raise ChangeError(f"expected lines of text or bytes but got {given!r}")
    return bytes(given).replace(b"\n", b" ") if b"\n" in given else bytes(given)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return plain text in place of texts in any other form."""
    return pa.string() if scalar_of(kind) is str else kind


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_binary, pa.types.is_large_binary))


def _lines_of(table: pa.Table, texts: list[str]) -> list[bytes]:
    """Return the rows of a table as lines; what ``texts`` hold is JSON already."""
    if "value" in texts and "op" not in table.column_names:
        keys = table["key"].to_pylist() if "key" in texts else [None] * len(table)
        return [_line(pair) for pair in zip(keys, table["value"].to_pylist())]
    columns = [
        [_line(text).decode() for text in table[name].to_pylist()] if name in texts else json_texts(table[name])
        for name in table.column_names
    ]
    names = [json.dumps(name) for name in table.column_names]
    return [("{" + ",".join(map(":".join, zip(names, row))) + "}").encode() for row in zip(*columns)]
