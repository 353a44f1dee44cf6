"""Read the input as a stream of Arrow tables: CSV, JSON lines and Parquet."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from afa.cli.bytes import CODECS, STREAM, File, Growing, Stdin, lines_of
from afa.cli.fault import CommandError
from afa.cli.input_columns import ANY, KEY, TIME, TYPES, Column

SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet", ".pq": "parquet"}
BLOCK, STREAMED = 1 << 20, 1 << 25
"""Bytes of CSV that are parsed at a time, and of standard input; where a row is longer a file is read again with twice as many."""
LONG, MOST = "straddling object straddles two block boundaries", 1 << 30
VALUE = re.compile(r"#(?P<column>\d+): (?P<row>row \d+, )?CSV conversion error to (?P<type>[^:]+): invalid value '(?P<value>.*)'")
PEEKED = 1000
"""How many lines of JSON are looked at for columns and their types."""


class Source(Protocol):
    """A file that is read: its columns, how much of it there is and how much is done (bytes or rows), and its rows."""

    names: list[str] | None
    sparse: bool
    first_row: int
    total: int

    stream: Stdin | None
    """Where the rows come from, as they come."""

    again: bool
    """Whether they can be read once more, from the beginning."""

    full: frozenset[str]
    """The columns that have a value in every row, as far as the file says it."""

    def kinds(self) -> dict[str, Any]:
        """Return the Arrow types of the columns, as far as the first rows show them."""

    def done(self) -> int:
        """Return how much has been read, in the unit of ``total``."""

    def tables(self, columns: Sequence[Column], rows: int) -> Iterator[pa.Table | None]:
        """Yield the rows in order, as tables of about ``rows`` rows; columns as in the file. None: there are no more just now."""


def open_source(file: str, form: str | None, grows: bool = False) -> Source:
    """Open an input by its extension or by ``form`` ("csv", "jsonl", "parquet"); ``grows``: wait at its end for more."""
    path, form = Path(file), form_of(file, form, grows)
    with readable(file):
        once = comes_once(file)
        if once and path.suffix.lower() in CODECS:
            raise CommandError(f"{file}: expected a pipe whose bytes are not compressed; decompress them on the way")
        return FORMS[form](Growing(path) if grows and file != STREAM else Stdin(name=file) if once else File(path))


def form_of(file: str, form: str | None, grows: bool = False) -> str:
    """Return the form of an input, without a look at it. A `CommandError` says what is wrong."""
    path = Path(file)
    if file == STREAM and form is None:
        raise CommandError("-: expected the form of standard input; say --format csv, jsonl or parquet")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in CODECS]
    form = form or SUFFIXES.get(suffixes[-1] if suffixes else "")
    if form is None:
        raise CommandError(f"{file}: expected one of {', '.join(SUFFIXES)} (or these with .gz); say --format csv, jsonl or parquet")
    if grows and file != STREAM and comes_once(file):
        raise CommandError(f"{file}: expected a file to follow as it grows; a pipe is read as it comes: leave out --follow")
    if grows and (form == "parquet" or path.suffix.lower() in CODECS):
        raise CommandError(f"{file}: expected CSV or JSON lines, not compressed, to follow as it grows")
    return form


def comes_once(file: str) -> bool:
    """Return whether an input is read as it comes, and no second time: standard input, a named pipe, a device."""
    path = Path(file)
    return file == STREAM or path.is_fifo() or path.is_char_device()


@contextlib.contextmanager
def readable(file: str) -> Iterator[None]:
    """Turn what the system and pyarrow say about a file into one line that names it."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{file}: {os.strerror(error.errno) if error.errno else _plain(error)}") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: {_plain(error)}") from error


def _plain(error: Exception) -> str:
    """Return the first sentence of what pyarrow says, without its own words for the place."""
    return re.sub(r"^(CSV parse error: |JSON parse error: )", "", str(error)).split("\n")[0].rstrip(".")


def batches(
    source: Source, file: str, columns: Sequence[Column], rows: int, sizes: Iterator[int]
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of a source in tables of ``sizes`` (the last has fewer), each with the number of its first row.

    Of a stream what has come is handed on when it is old, and nothing as a table without rows, once there was one. ``rows``:
    about how many are read at once.
    """
    row, held, count, size = source.first_row, list[pa.Table](), 0, next(sizes)
    tables = source.tables(columns, rows)
    while True:
        with readable(file):
            table = next(tables, END)
        if table is END:
            break
        if table is None:
            if held:
                whole = pa.concat_tables(held)
                yield row, whole
                held, count, row = [whole.slice(len(whole))], 0, row + count
            continue
        held.append(table)
        count += len(table)
        while count >= size:
            whole = pa.concat_tables(held)
            yield row, whole.slice(0, size)
            held, count, row, size = [whole.slice(size)], count - size, row + size, next(sizes)
            if source.stream is not None:
                source.stream.renew()
    if count or (held and row == source.first_row):
        yield row, pa.concat_tables(held)


END: Any = object()


class _LongRow(Exception):  # noqa: N818  (no error: it is read again in larger blocks)
    """A row of CSV that is longer than a block."""


class Csv:
    """CSV with a header; numbers of rows count the header as row 1, as editors and spreadsheets do."""

    first_row = 2
    sparse = False
    full: frozenset[str] = frozenset()

    def __init__(self, file: File | Stdin) -> None:
        self._file, self.again = file, file.again
        self._block = BLOCK if file.again else STREAMED
        self._blocks = 0
        self._passed = 0  # rows of a stream that were parsed before
        self.stream = file if isinstance(file, Stdin) else None
        if self.stream is not None:
            self.stream.needed = 2  # the header, and a row that shows types
        self.total = file.total
        with self._open({}, None, (), look=True) as peeked:
            self.names: list[str] | None = list(peeked.schema.names)
            self._guessed = dict(zip(peeked.schema.names, peeked.schema.types))

    @property
    def blank(self) -> bool:
        """Whether there is no value to tell types by: a header alone."""
        return all(pa.types.is_null(kind) for kind in self._guessed.values())

    def kinds(self) -> dict[str, Any]:
        return {name: pa.string() if pa.types.is_null(kind) else kind for name, kind in self._guessed.items()}

    def done(self) -> int:
        if self._file.packed:
            return self._file.done()
        return min(self._blocks * self._block, self.total)  # pyarrow reads 32 blocks ahead: the position says little

    def tables(self, columns: Sequence[Column], rows: int) -> Iterator[pa.Table]:
        types = {column.source: self._type(column) for column in reversed(columns)}  # the first, an event's field, decides
        if self.stream is not None:
            yield from self._as_it_comes(self.stream, types, columns)
            return
        passed = 0
        while True:
            try:
                for batch in self._batches(types, columns, passed):
                    passed += len(batch)
                    yield pa.Table.from_batches([batch])
                return
            except _LongRow:
                self._blocks //= 2
                self._block *= 2

    def _as_it_comes(self, file: Stdin, types: dict[str, Any], columns: Sequence[Column]) -> Iterator[pa.Table | None]:
        """Yield the rows of a stream; what has come is parsed by itself when it is old, as far as rows are whole."""
        rest, header = b"", b""
        for chunk in itertools.chain(file.chunks(), [b""]):
            rest += chunk or b""
            if chunk and len(rest) < BLOCK:
                continue
            cut = len(rest) if chunk == b"" else rest.rfind(b"\n") + 1  # no row goes on behind a line end, not in quotes either
            if not header:
                header = rest[: rest.find(b"\n") + 1]
                rest, cut = rest[len(header) :], cut - len(header)
            if cut > 0:
                yield self._parsed(header, rest[:cut], types, columns)
                rest = rest[cut:]
            elif len(rest) > self._block:
                raise CommandError(f"{file.name}: expected rows of at most {self._block >> 20} MB but got a longer one")
            if chunk is None:
                yield None

    def _parsed(self, header: bytes, rows: bytes, types: dict[str, Any], columns: Sequence[Column]) -> pa.Table:
        read = pyarrow.csv.ReadOptions(use_threads=False, block_size=len(header) + len(rows) + 1)
        with self._in_our_words(columns):
            found = pyarrow.csv.read_csv(
                io.BytesIO(header + rows), read_options=read, convert_options=self._options(types, list(types))
            )
        self._passed += len(found)
        return found

    def _options(self, types: dict[str, Any], include: list[str] | None) -> Any:
        return pyarrow.csv.ConvertOptions(
            column_types=types, include_columns=include, null_values=["", "NA", "N/A", "null", "NULL"]
        )

    def _batches(self, types: dict[str, Any], columns: Sequence[Column], passed: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows after those that have passed."""
        with self._open(types, list(types), columns) as reader:
            while True:
                with self._in_our_words(columns):
                    batch = next(reader, None)
                if batch is None:
                    return
                skipped = min(passed, len(batch))
                passed -= skipped
                self._blocks += not passed
                if skipped < len(batch) or not len(batch):
                    yield batch.slice(skipped)

    def _open(self, types: dict[str, Any], include: list[str] | None, columns: Sequence[Column], look: bool = False) -> Any:
        options = self._options(types, include)
        while True:
            read = pyarrow.csv.ReadOptions(use_threads=False, block_size=self._block)  # with threads, errors name no row
            try:
                with self._in_our_words(columns):  # the first block is parsed at once
                    return pyarrow.csv.open_csv(self._file.open(look), read_options=read, convert_options=options)
            except _LongRow:
                self._block *= 2

    def _type(self, column: Column) -> Any:
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

    @contextlib.contextmanager
    def _in_our_words(self, columns: Sequence[Column]) -> Iterator[None]:
        """What pyarrow says about a row or a value, with the column's name."""
        try:
            yield
        except pa.ArrowInvalid as error:
            if LONG in str(error):
                if self._file.again and self._block < MOST:
                    raise _LongRow from None
                raise CommandError(
                    f"{self._file.name}: expected rows of at most {self._block >> 20} MB but got a longer one"
                ) from None
            text = re.sub(r"^(CSV parse error: |In CSV column )", "", str(error)).split("\n")[0]
            text = re.sub(r"Row #(\d+): (E)?", lambda m: f"row {int(m[1]) + self._passed}{': e' if m[2] else ', '}", text)
            found = VALUE.match(text)
            if found:
                name = (self.names or [])[int(found["column"])]
                column = next(column for column in columns if column.source == name)
                wanted = column.kind if column.kind in TYPES else found["type"]
                text = f"expected {wanted} ({column.role}) but got {found['value']!r}"
                text = f"{found['row'] or ''}column {name!r}: {text}"
            raise CommandError(f"{self._file.name}: {text}") from None


class JsonLines:
    """One JSON object a line; a field that may be None may be left out."""

    first_row = 1
    sparse = True
    full: frozenset[str] = frozenset()

    def __init__(self, file: File | Stdin) -> None:
        self._file, self.stream, self.again = file, file if isinstance(file, Stdin) else None, file.again
        self.total = file.total
        seen: dict[str, Any] = {}
        with self._lines(look=True) as lines:
            for number, line in enumerate(itertools.islice(lines, PEEKED), 1):
                for name, value in self._object(line, number).items():
                    seen[name] = value if seen.get(name) is None else seen[name]
        self.names: list[str] | None = list(seen) or None
        self._seen = seen

    def kinds(self) -> dict[str, Any]:
        return {name: TYPES.get(type(value).__name__, pa.string()) for name, value in self._seen.items()}

    def done(self) -> int:
        return self._file.done()

    def tables(self, columns: Sequence[Column], rows: int) -> Iterator[pa.Table]:
        fields = {column.source: self._type(column) for column in reversed(columns)}
        schema = pa.schema(list(fields.items()))
        row = self.first_row
        for block in self._blocks(rows):
            if block is None:
                yield None
                continue
            try:
                yield _json(b"".join(block), schema)
            except pa.ArrowInvalid as error:
                raise self._said(error, block, row, schema, columns) from None
            row += len(block)

    def _blocks(self, rows: int) -> Iterator[list[bytes] | None]:
        """Yield the lines by about so many; of a stream what has come when it is old, then None."""
        if self.stream is not None:
            block: list[bytes] = []
            for line in lines_of(self.stream.chunks()):
                if line is not None and line.strip():
                    block.append(line)
                if block and (line is None or len(block) == rows):
                    yield block
                    block = []
                if line is None:
                    yield None
            if block:
                yield block
            return
        with self._lines() as lines:
            while block := list(itertools.islice(lines, rows)):
                yield block

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as objects, whatever they hold."""
        with self._lines() as lines:
            for number, line in enumerate(lines, 1):
                yield self._object(line, number)

    @contextlib.contextmanager
    def _lines(self, look: bool = False) -> Iterator[Iterator[bytes]]:
        with self._file.open(look) as raw:
            yield (line for line in io.BufferedReader(raw) if line.strip())

    def _object(self, line: bytes, row: int) -> dict[str, Any]:
        found = None
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(line)
        if not isinstance(found, dict):
            raise CommandError(f"{self._file.name}: row {row}: expected a JSON object a line but got {_cut(line)}")
        return found

    def _type(self, column: Column) -> Any:
        if column.kind in TYPES:
            return TYPES[column.kind]
        value = self._seen.get(column.source)
        if value is None:
            return pa.int64() if column.kind == TIME else pa.string()
        if type(value).__name__ not in TYPES:
            raise CommandError(f"{self._file.name}: column {column.source!r}: expected a scalar ({column.role}) but got {value!r}")
        return TYPES[type(value).__name__]

    def _said(self, error: Exception, block: list[bytes], row: int, schema: Any, columns: Sequence[Column]) -> CommandError:
        """Read the block once more, line by line, for the row that is wrong; pyarrow does not always tell."""
        for number, line in enumerate(block, row):
            value = self._object(line, number)
            for column in columns:
                one = pa.schema([schema.field(column.source)])
                try:
                    _json(json.dumps({column.source: value.get(column.source)}).encode(), one)
                except pa.ArrowInvalid:
                    place = f"row {number}, column {column.source!r}"
                    expected = column.kind if column.kind in TYPES or column.kind == TIME else one.types[0]
                    got = value[column.source]
                    return CommandError(f"{self._file.name}: {place}: expected {expected} ({column.role}) but got {got!r}")
        return CommandError(f"{self._file.name}: {_plain(error)}")


def _json(text: bytes, schema: Any) -> pa.Table:
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    read = pyarrow.json.ReadOptions(block_size=max(len(text), 1) + 1)
    return pyarrow.json.read_json(io.BytesIO(text), read_options=read, parse_options=options)


def _cut(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


class Parquet:
    """Parquet, read row group by row group."""

    first_row = 1
    sparse = False

    stream: Stdin | None = None

    def __init__(self, file: File | Stdin) -> None:
        self._bytes, self.again = file.whole(), file.again
        self._file = pyarrow.parquet.ParquetFile(self._bytes)
        self.full = _full(self._file.metadata)
        self.names: list[str] | None = list(self._file.schema_arrow.names)
        self.total = self._file.metadata.num_rows
        self._done = 0

    def kinds(self) -> dict[str, Any]:
        return dict(zip(self._file.schema_arrow.names, self._file.schema_arrow.types))

    def done(self) -> int:
        return self._done

    def tables(self, columns: Sequence[Column], rows: int) -> Iterator[pa.Table]:
        wanted = list(dict.fromkeys(column.source for column in columns))
        schema = self._file.schema_arrow
        keys = [c.source for c in columns if c.kind == KEY and pa.types.is_string(schema.field(c.source).type)]
        coded = pyarrow.parquet.ParquetFile(self._bytes, read_dictionary=[key for key in keys if "." not in key])
        yield coded.schema_arrow.empty_table().select(wanted)  # without rows, the types still count
        for batch in coded.iter_batches(rows, columns=wanted):
            self._done += len(batch)
            yield pa.Table.from_batches([batch])


def _full(told: Any) -> frozenset[str]:
    """Return the columns of a Parquet file whose statistics count no null."""
    groups = [told.row_group(i) for i in range(told.num_row_groups)]
    columns = [[group.column(i) for group in groups] for i in range(told.num_columns)]
    return frozenset(
        parts[0].path_in_schema
        for parts in columns
        if parts and all(part.statistics is not None and part.statistics.null_count == 0 for part in parts)
    )


FORMS: dict[str, Callable[[File | Stdin], Source]] = {"csv": Csv, "jsonl": JsonLines, "parquet": Parquet}
