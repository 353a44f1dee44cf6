"""A change feed as the input of a command: lines of a file or pipe, block by block, as tables of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from afa.errors import ChangeError
from afa.feeds.changelog import VERSIONS
from afa.feeds.feed import ChangeFeed
from afa.feeds.given import lines_in
from afa.feeds.json_reader import strict
from afa.io.file_bytes import File, blocks_of
from afa.io.file_columns import FileColumn
from afa.io.files import opened_file
from afa.io.text_files import FileSource, in_one_line

LOOKED = 100
"""Lines that are looked at to recognise a format."""


class FeedSource(FileSource):
    """Messages of a format as a source of changes; their first lines say which columns there are.

    ``on_fault`` is told of messages that can't be read, which `faults` counts.
    """

    sparse = True

    def __init__(
        self,
        file: str,
        format: str,
        options: Mapping[str, Any],
        on_fault: str | Callable[[str], Any] = "raise",
        grows: bool = False,
    ) -> None:
        with in_one_line(file):
            super().__init__(opened_file(file, grows))
        faults: list[str] = []
        self._head = ChangeFeed(format, **options, on_fault=faults.append)
        schema = self._head.push(self._file.look(1)).schema
        table = options.get("table")
        if (faults or table) and not set(schema.names) - {"le", "diff"}:
            of = format if faults else f"the table {table} among the first ones"
            raise ChangeError(f"{file}: expected messages of {of} but got none{': ' if faults else ''}{''.join(faults[:1])}")
        self._kinds = dict(zip(schema.names, schema.types))
        self.names = list(schema.names)
        self._feed = ChangeFeed(format, **options, on_fault=on_fault)

    @property
    def faults(self) -> int:
        return self._feed.faults

    def kinds(self) -> dict[str, Any]:
        return {name: pa.string() if pa.types.is_null(kind) else kind for name, kind in self._kinds.items()}

    def tables(self, columns: Sequence[FileColumn], rows: int) -> Iterator[pa.Table | None]:
        floats = {column.source for column in columns if column.kind == "float"}
        schema = pa.schema({column.source: self._type(column) for column in reversed(columns)})
        self._feed.keep_types(self._head, floats)
        for block in blocks_of(self._file):
            if block is None:
                yield None
                continue
            found = self._feed.push(block)
            if len(found):
                yield self._in_schema(found, schema)

    def _type(self, column: FileColumn) -> Any:
        kind = self.kinds()[column.source]
        return pa.float64() if column.kind == "float" and pa.types.is_integer(kind) else kind

    def _in_schema(self, found: pa.Table, schema: pa.Schema) -> pa.Table:
        columns = []
        for field in schema:
            column = found[field.name] if field.name in found.column_names else pa.chunked_array([pa.nulls(len(found))])
            try:
                columns.append(column.cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                said = f"expected {field.type}, as in the first messages, but got {column.type}"
                raise ChangeError(f"{self._file.name}: column {field.name!r}: {said}") from None
        return pa.Table.from_arrays(columns, schema=schema)


class KnownFormat(NamedTuple):
    """What the first lines of a file are: their format, and the column that probably tells rows apart, where they have an order."""

    name: str
    key: str


def format_of(file: str) -> KnownFormat | None:
    """Return the format of messages whose fields the first lines of a file have; None: they are rows, or no JSON."""
    with in_one_line(file):
        head = lines_in(File(Path(file)).look(1), 1).lines
    for line in islice(head, LOOKED):
        try:
            whole = body = strict(line)
        except ValueError:
            continue
        for name in ("value", "payload"):
            body = body[name] if isinstance(body.get(name), dict) and "op" not in body else body
        for name, fields in FIELDS:
            if fields <= {*body} and (name != "flink" or {*map(str, map(body.get, fields))} <= {*FLINK}):
                ordered = name not in ("flink", "changelog") or not body.keys().isdisjoint(VERSIONS)
                return KnownFormat(name, _key(whole, body) if ordered else "")
    return None


def _key(whole: dict[str, Any], body: dict[str, Any]) -> str:
    """Return the column that probably tells rows apart: the message's key, else one that is called so, else the first one."""
    key = whole.get("key")
    key = key.get("payload", key) if isinstance(key, dict) and body is not whole else None
    row = key or body.get("after") or body.get("before") or body.get("data") or body
    changes = [each for each in body.get("change", ()) if each.get("columnnames")]
    names = [str(each.get("name")) for each in body.get("columns", ())] or [*(changes[0]["columnnames"] if changes else row)]
    return next((name for name in names if name == "id"), next((name for name in names if name.endswith("_id")), names[0]))


FLINK = ("+I", "-U", "+U", "-D")
FIELDS = (
    ("debezium", {"op", "after", "source"}),
    ("wal2json", {"action", "table"}),
    ("wal2json", {"change", "nextlsn"}),
    ("maxwell", {"database", "table", "type", "data"}),
    ("delta", {"_change_type", "_commit_version"}),
    ("iceberg", {"_change_type", "_change_ordinal"}),
    ("hudi", {"_hoodie_operation"}),
    ("flink", {"row_kind"}),
    ("flink", {"op"}),
    ("changelog", {"__op"}),
)
"""What lines have, by which a format is recognised."""
