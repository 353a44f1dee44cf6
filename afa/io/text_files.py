"""CSV and JSON lines as Arrow tables, block by block; whatever can't be read is named, with its row and its column."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from afa.errors import AfaError, ChangeError
from afa.io.file_bytes import File, Stdin, blocks_of
from afa.io.file_columns import ANY, KEY, TIME, TYPES, FileColumn

NULLS = ["", "NA", "N/A", "null", "NULL"]
"""What says in CSV that a value is missing; text may be all of these."""
VALUE = re.compile(r"#(?P<column>\d+): (?P<row>row \d+, )?CSV conversion error to (?P<type>[^:]+): invalid value '(?P<value>.*)'")
PEEKED = 1000
"""How many lines of JSON are looked at for columns and their types."""
NO_SCALAR = pa.list_(pa.null())
SAMPLES = {pa.null(): None, **{TYPES[kind.__name__]: kind() for kind in (int, float, bool, str)}}
"""A value of each type that a guess may have."""


class FileSource:
    """A file that is read: its columns, how much of it there is and how much is done (bytes or rows), and its rows."""

    names: list[str] | None
    sparse = False
    first_row = 1
    blank = False
    """Whether there is no value to tell types by: a header alone."""
    unitless = False
    """Whether its timestamps have no unit of their own."""
    full: frozenset[str] = frozenset()
    """The columns that have a value in every row, as far as the file says it."""
    before = 0
    """How many rows stand before the first that is read."""

    def __init__(self, file: File | Stdin) -> None:
        self._file, self.total = file, file.total
        self.again = file.again
        """Whether its rows can be read once more, from the beginning."""
        self.stream = file if isinstance(file, Stdin) else None
        """Where the rows come from, as they come."""

    @property
    def faults(self) -> int:
        """How many rows, of those that can't be read, were left out so far."""
        return 0

    def kinds(self) -> dict[str, Any]:
        """Return the Arrow types of the columns, as far as the first rows show them."""
        raise NotImplementedError

    def done(self) -> int:
        """Return how much has been read, in the unit of ``total``."""
        return self._file.done()

    @property
    def place(self) -> int:
        """Where the tables that were yielded end, as a byte of a `PlacedFile`; 0: rows are counted from the first on."""
        found: int = getattr(self._file, "place", 0)
        return found

    def guessed(self) -> Any:
        """Return as an Arrow schema what types the first rows show, null where they show none."""
        raise NotImplementedError

    def as_guessed(self, schema: Any) -> None:
        """Take columns for what another file's `guessed` has said of them."""
        raise NotImplementedError

    def tables(self, columns: Sequence[FileColumn], rows: int) -> Iterator[pa.Table | None]:
        """Yield the rows in order, as tables of some of them; columns as in the file. None: there are no more just now."""
        raise NotImplementedError


class Csv(FileSource):
    """CSV with a header; numbers of rows count the header as row 1, as editors and spreadsheets do."""

    first_row = 2
    unitless = True

    def __init__(self, file: File | Stdin) -> None:
        super().__init__(file)
        self._passed = 0  # rows that were parsed before
        head = self._parsed(b"", file.look(2), None, ())  # the header, and a row that shows types
        self.names = head.column_names
        self._guessed: dict[str, Any] = {}
        self.as_guessed(head.schema)

    def kinds(self) -> dict[str, Any]:
        return {name: pa.string() if pa.types.is_null(kind) else kind for name, kind in self._guessed.items()}

    def guessed(self) -> Any:
        return pa.schema(self._guessed)

    def as_guessed(self, schema: Any) -> None:
        self._guessed |= dict(zip(schema.names, schema.types))
        self.blank = all(pa.types.is_null(kind) for kind in self._guessed.values())

    def tables(self, columns: Sequence[FileColumn], rows: int) -> Iterator[pa.Table | None]:
        types = {column.source: self._type(column) for column in reversed(columns)}  # the first, an event's field, decides
        header, self._passed = b"", self.before
        for block in blocks_of(self._file):
            if block is None:
                yield None
                continue
            if not header:
                at = block.find(b"\n") + 1
                header, block = block[:at], block[at:]
            if block:
                found = self._parsed(header, block, types, columns)
                self._passed += len(found)
                yield found

    def _parsed(self, header: bytes, rows: bytes, types: dict[str, Any] | None, columns: Sequence[FileColumn]) -> pa.Table:
        text = header + rows
        read = pyarrow.csv.ReadOptions(use_threads=False, block_size=len(text) + 1)  # with threads, errors name no row
        convert = pyarrow.csv.ConvertOptions(column_types=types, include_columns=types and list(types), null_values=NULLS)
        try:
            return pyarrow.csv.read_csv(io.BytesIO(text), read_options=read, convert_options=convert)
        except pa.ArrowInvalid as error:
            raise self._said(str(error), columns) from None

    def _type(self, column: FileColumn) -> Any:
        guessed = self._guessed[column.source]
        if column.kind == KEY:
            return pa.string()  # "007" and "7" are two keys
        if column.kind == ANY:
            return pa.string() if pa.types.is_null(guessed) else guessed
        if column.kind != TIME:
            return TYPES[column.kind]
        if pa.types.is_null(guessed):
            return pa.int64()
        return pa.timestamp("ns", getattr(guessed, "tz", None)) if pa.types.is_temporal(guessed) else guessed

    def _said(self, text: str, columns: Sequence[FileColumn]) -> AfaError:
        """Return pyarrow's error about a row or a value, with the column's name."""
        text = re.sub(r"^(CSV parse error: |In CSV column )", "", text).split("\n")[0]
        text = re.sub(r"Row #(\d+): (E)?", lambda m: f"row {int(m[1]) + self._passed}{': e' if m[2] else ', '}", text)
        found = VALUE.match(text)
        if found:
            name = (self.names or [])[int(found["column"])]
            column = next(column for column in columns if column.source == name)
            wanted = column.kind if column.kind in TYPES else found["type"]
            text = f"expected {wanted} ({column.role}) but got {found['value']!r}"
            text = f"{found['row'] or ''}column {name!r}: {text}"
        return ChangeError(f"{self._file.name}: {text}")


class JsonLines(FileSource):
    """One JSON object a line; a field that may be None may be left out."""

    sparse = True

    def __init__(self, file: File | Stdin) -> None:
        super().__init__(file)
        seen: dict[str, Any] = {}
        for number, line in enumerate(itertools.islice(_lines(file.look(1)), PEEKED), 1):
            for name, value in self._object(line, number).items():
                seen[name] = value if seen.get(name) is None else seen[name]
        self.names = list(seen) or None
        self._seen = seen

    def kinds(self) -> dict[str, Any]:
        return {name: TYPES.get(type(value).__name__, pa.string()) for name, value in self._seen.items()}

    def guessed(self) -> Any:
        kinds = {name: TYPES.get(type(value).__name__, NO_SCALAR) for name, value in self._seen.items()}
        return pa.schema({name: pa.null() if self._seen[name] is None else kind for name, kind in kinds.items()})

    def as_guessed(self, schema: Any) -> None:
        self._seen |= {field.name: SAMPLES.get(field.type, []) for field in schema}
        self.names = list(self._seen) or None

    def tables(self, columns: Sequence[FileColumn], rows: int) -> Iterator[pa.Table | None]:
        schema = pa.schema({column.source: self._type(column) for column in reversed(columns)})
        row = self.first_row + self.before
        for block in blocks_of(self._file):
            if block is None:
                yield None
            elif block.strip():
                try:
                    found = _json(block, schema)
                except pa.ArrowInvalid as error:
                    raise self._said(error, block, row, schema, columns) from None
                if len(found) != block.count(b"\n") + (block[-1:] != b"\n"):  # blank lines, or an object on two lines
                    for number, line in enumerate(_lines(block), row):
                        self._object(line, number)
                yield found
                row += len(found)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as objects, whatever they hold."""
        for number, line in enumerate((line for block in blocks_of(self._file) for line in _lines(block or b"")), 1):
            yield self._object(line, number)

    def _object(self, line: bytes, row: int) -> dict[str, Any]:
        found = None
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(line)
        if not isinstance(found, dict):
            raise ChangeError(f"{self._file.name}: row {row}: expected a JSON object a line but got {cut(line)}")
        return found

    def _type(self, column: FileColumn) -> Any:
        if column.kind in TYPES:
            return TYPES[column.kind]
        value = self._seen.get(column.source)
        if value is None:
            return pa.int64() if column.kind == TIME else pa.string()
        if type(value).__name__ not in TYPES:
            raise ChangeError(f"{self._file.name}: column {column.source!r}: expected a scalar ({column.role}) but got {value!r}")
        return TYPES[type(value).__name__]

    def _said(self, error: Exception, block: bytes, row: int, schema: Any, columns: Sequence[FileColumn]) -> AfaError:
        """Read the block once more, line by line, for the row that is wrong; pyarrow does not always tell."""
        for number, line in enumerate(_lines(block), row):
            value = self._object(line, number)
            for column in columns:
                one = pa.schema([schema.field(column.source)])
                try:
                    _json(json.dumps({column.source: value.get(column.source)}).encode(), one)
                except pa.ArrowInvalid:
                    place = f"row {number}, column {column.source!r}"
                    expected = column.kind if column.kind in TYPES or column.kind == TIME else one.types[0]
                    got = value[column.source]
                    return ChangeError(f"{self._file.name}: {place}: expected {expected} ({column.role}) but got {got!r}")
        return ChangeError(f"{self._file.name}: {plain(error)}")


def _json(text: bytes, schema: Any) -> pa.Table:
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    read = pyarrow.json.ReadOptions(block_size=max(len(text), 1) + 1)
    return pyarrow.json.read_json(io.BytesIO(text), read_options=read, parse_options=options)


def _lines(text: bytes) -> Iterator[bytes]:
    """Yield the lines that are not blank."""
    return (line for line in text.split(b"\n") if line.strip())


def cut(line: bytes) -> str:
    """Return the beginning of a line, for messages."""
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


@contextlib.contextmanager
def in_one_line(what: str) -> Iterator[None]:
    """Turn what the system and pyarrow say about a file into one line behind ``what``, which names it."""
    try:
        yield
    except OSError as error:
        raise AfaError(f"{what}: {os.strerror(error.errno) if error.errno else plain(error)}") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise AfaError(f"{what}: {plain(error)}") from error


def plain(error: Exception) -> str:
    """Return the first sentence of what pyarrow says, without its own words for the place."""
    return re.sub(r"^(CSV parse error: |JSON parse error: )", "", str(error)).split("\n")[0].rstrip(".")
