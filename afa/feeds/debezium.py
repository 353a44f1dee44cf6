"""Debezium's messages: JSON with and without their schema, with and without the message's key, and tables of such columns.

    {"before": {..}, "after": {..}, "source": {"lsn": 24023128, "ts_ms": .., "table": "orders"}, "op": "u", "ts_ms": ..}
    {"schema": {..}, "payload": {..}}    {"key": {..}, "value": {..}}    null: a tombstone, no more than the delete before it

Versions are Postgres' ``lsn``; MySQL's ``file``, ``pos`` and ``row``; SQL Server's ``commit_lsn``, ``change_lsn`` and
``event_serial_no``; else ``source.ts_ms`` with the transaction's ``total_order``, where there is one. Without a version a row
that a snapshot has read is older than any other.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import AfaError, ChangeError
from afa.feeds.decoder import Decoder
from afa.feeds.feed_times import Converter, converter_of
from afa.feeds.json_reader import NumberedLines, OnFault, strict
from afa.feeds.messages import FeedOptions, Messages, missing, parts_of, path_in, version_of
from punctuation.door import one_array

ORDERS = (
    ("source.lsn",),
    ("source.nextlsn", "source.index"),  # of wal2json
    ("source.file", "source.pos", "source.row"),
    ("source.commit_lsn", "source.change_lsn", "source.event_serial_no"),
    ("source.ts_ms", "transaction.total_order"),
    ("source.ts_ms",),
    ("ts_ms",),
)
"""What orders messages, the first of these that is there."""
INT, TEXT, STRUCT = pa.int64(), pa.string(), pa.struct([])
SOURCE = {"lsn": INT, "nextlsn": INT, "index": INT, "file": TEXT, "pos": INT, "row": INT, "commit_lsn": TEXT, "change_lsn": TEXT}
SOURCE |= {"event_serial_no": INT, "ts_ms": INT, "db": TEXT, "schema": TEXT, "table": TEXT}
BODY: dict[str, pa.DataType] = {"op": TEXT, "before": STRUCT, "after": STRUCT, "ts_ms": INT, "source": pa.struct(SOURCE)}
BODY |= {"transaction": pa.struct({"id": TEXT, "total_order": INT})}
LOOKED = 100
"""So many lines say by majority where in a line a message stands."""
SCHEMA = re.compile(rb'\s*\{\s*"schema"\s*:\s*')
KINDS = {"boolean": pa.bool_(), "string": TEXT, "bytes": TEXT, "float": pa.float64(), "double": pa.float64()}
KINDS |= dict.fromkeys(("int8", "int16", "int32", "int64"), INT)
OPEN = ("source.change_lsn", "source.event_serial_no")
"""What SQL Server's rows of a snapshot have not."""
TOMBSTONES = (b"", b"null", b'{"schema":null,"payload":null}')


class Debezium(Decoder):
    """The decoder of Debezium's messages."""

    def __init__(self, asked: FeedOptions, told: OnFault) -> None:
        super().__init__(asked, told)
        self._order = asked.version
        self._prefix = b"\0"  # how the lines before began: their schema
        self._converters: dict[str, Converter] = {}
        self._said: dict[str, str] = {}  # which type of times or decimals schemas say of a column
        self._columns: dict[str, pa.DataType] = {}
        self._shape: tuple[str, ...] | None = None

    def lines(self, given: NumberedLines) -> NumberedLines:
        """Return the lines that say something, without their schemas, which are taken note of."""
        given = given.where([line.strip() not in TOMBSTONES for line in given.lines])
        if any(b'"payload"' in line for line in given.lines[:LOOKED]) or b'"payload"' in b"\n".join(given.lines):
            lines = [self._plain(line, number) for line, number in zip(given.lines, given.numbers.tolist())]
            given = given._replace(lines=lines).where([line is not None for line in lines])
        if self._shape is None:
            shapes = Counter(shape for shape in map(_shape_of, given.lines[:LOOKED]) if shape is not None)
            self._shape = shapes.most_common(1)[0][0] if shapes else None
        return given

    def types(self) -> pa.Schema:
        """Return the types of a line's fields, those that schemas have said among them."""
        row = pa.struct(self._columns)
        found, shape = BODY | {"before": row, "after": row}, self._shape or ()
        for name in reversed(shape):
            found = {name: pa.struct(found)}
        return pa.schema(found | ({"key": STRUCT} if "value" in shape else {}))

    @property
    def exact(self) -> tuple[str, ...]:
        return (*self._maker.key, *(".".join((*(self._shape or ()), path)) for paths in (self._order, *ORDERS) for path in paths))

    def messages(self, table: pa.Table, numbers: Any) -> Messages:
        return self._maker.messages(self._envelope(table, numbers), self._converters)

    def _plain(self, line: bytes, number: int) -> Any:
        """Return a line without its schemas; one that can't be read as it is; None: its schema contradicts those before."""
        if line.startswith(self._prefix):
            return b'{"payload":' + line[len(self._prefix) :]
        try:
            found = SCHEMA.match(line)
            if found:
                schema, end = json.JSONDecoder().raw_decode(line.decode()[found.end() :])
                begin = len(line.decode()[: found.end() + end].encode())
                comma = re.compile(rb'\s*,\s*"payload"\s*:\s*').match(line, begin)
                if comma:
                    self._learn(schema)
                    self._prefix = line[: comma.end()]
                    return b'{"payload":' + line[comma.end() :]
            elif b'"schema"' not in line or b'"payload"' not in line:
                return line
            whole = strict(line)
            for part in (whole, whole.get("key"), whole.get("value")):
                if isinstance(part, dict) and isinstance(part.get("schema"), dict) and "payload" in part:
                    if part is not whole.get("key"):
                        self._learn(part["schema"])
                    del part["schema"]
            return json.dumps(whole).encode()
        except ChangeError as error:
            self._told(number, str(error))
            return None
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return line

    def _learn(self, schema: Mapping[str, Any]) -> None:
        """Take note of the types of the columns of a row."""
        row: Any = next((field for field in schema["fields"] if field["field"] == "after"), {})
        for field in row.get("fields", ()):
            name, kind, scale = field["field"], field.get("name", ""), field.get("parameters", {}).get("scale", "")
            convert = converter_of(kind, field.get("parameters", {}))
            said = f"{kind} {scale}".strip() if convert is not None else "no type of times or decimals"
            if self._said.setdefault(name, said) != said:
                raise ChangeError(f"expected {self._said[name]} in {name!r}, as the schemas before have it, but got {said}")
            if convert is not None:
                self._converters[name] = convert
            if field["type"] in KINDS:
                self._columns.setdefault(field["field"], KINDS[field["type"]])

    def _envelope(self, table: pa.Table, numbers: Any) -> pa.Table:
        """Return the envelopes of messages, without tombstones."""
        whole = {name: one_array(table[name]) for name in table.column_names}
        body, key = whole, whole.get("key")
        for name in self._shape or ():
            body = parts_of(body.get(name, pa.nulls(len(table))))
        there = np.ones(len(table), np.bool_)
        if key is not None and key.null_count < len(table):
            there = missing(key) | ~missing(body.get("op", pa.nulls(len(table))))
            key = parts_of(key).get("payload", key)
        nothing = pa.nulls(len(table))
        columns = {name: body.get(name, nothing) for name in ("op", "before", "after")}
        columns["op"] = columns["op"].cast(TEXT)
        source = parts_of(body.get("source", nothing))
        schema = pc.coalesce(*(source.get(name, nothing).cast(TEXT) for name in ("schema", "db")), pa.scalar(""))
        found = pa.table(columns | {"key": nothing if key is None else key, "number": pa.array(numbers)})
        if "table" in source:
            found = found.append_column("table", pc.binary_join_element_wise(schema, source["table"].cast(TEXT), "."))
        times = [each.cast(INT) for each in (source.get("ts_ms"), body.get("ts_ms")) if each is not None]
        if times:
            found = found.append_column("time", pc.coalesce(*times).view(pa.timestamp("ms")))
        version, ordered = self._versions(body, found["op"])
        orders = ", ".join(self._order or ("source.lsn", "source.ts_ms", "ts_ms"))
        self._maker.tell(numbers[there & ~ordered], f"expected an order ({orders}) but got none")
        return found.append_column("version", version).filter(pa.array(there & ordered))

    def _versions(self, body: Mapping[str, pa.Array], ops: Any) -> tuple[pa.Array, Any]:
        """Return what orders messages, and which have it; those without an operation count as such, they are told anyway."""
        without = ~one_array(pc.is_in(ops, pa.array(["c", "u", "d", "t"]))).to_numpy(zero_copy_only=False)
        asked = [self._order] if self._order else ORDERS
        for paths in asked:
            columns = [path_in(body, path) for path in paths]
            nulls = [self._order or path in OPEN for path in paths]
            if all(column is not None and (may or column.null_count < len(column)) for column, may in zip(columns, nulls)):
                if not without.all():
                    self._order = paths
                return version_of([column for column in columns if column is not None]), without | ~missing(columns[0])
        if self._asked.version:
            raise AfaError(f"no {self._asked.version[0]!r} in the messages, by which version= orders them")
        return version_of([pa.nulls(len(ops), INT)]), without


def _shape_of(line: bytes) -> tuple[str, ...] | None:
    """Return where in a line its message stands; None: it has none."""
    try:
        shape, found = list[str](), strict(line)
    except ValueError:
        return None
    for name in ("value", "payload"):
        if isinstance(found, dict) and name in found and "op" not in found:
            shape, found = [*shape, name], found[name]
    return tuple(shape) if isinstance(found, dict) and "op" in found else None
