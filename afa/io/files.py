"""Read a file, or standard input, as a stream of Arrow tables: CSV, JSON lines and Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from afa.errors import AfaError
from afa.io.file_bytes import CODECS, STREAM, File, Stdin
from afa.io.file_columns import KEY, FileColumn
from afa.io.placed_file import PlacedFile
from afa.io.text_files import Csv, FileSource, JsonLines, in_one_line

SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet", ".pq": "parquet"}


class Parquet(FileSource):
    """Parquet, read row group by row group."""

    def __init__(self, file: File | Stdin) -> None:
        super().__init__(file)
        self._bytes, self.stream = file.whole(), None
        self._parquet = pyarrow.parquet.ParquetFile(self._bytes)
        self.full = _full(self._parquet.metadata)
        self.names = list(self._parquet.schema_arrow.names)
        self.total = self._parquet.metadata.num_rows
        self._done = 0

    def kinds(self) -> dict[str, Any]:
        return dict(zip(self._parquet.schema_arrow.names, self._parquet.schema_arrow.types))

    def done(self) -> int:
        return self._done

    def tables(self, columns: Sequence[FileColumn], rows: int) -> Iterator[pa.Table]:
        wanted = list(dict.fromkeys(column.source for column in columns))
        schema = self._parquet.schema_arrow
        keys = [c.source for c in columns if c.kind == KEY and pa.types.is_string(schema.field(c.source).type)]
        coded = pyarrow.parquet.ParquetFile(self._bytes, read_dictionary=[key for key in keys if "." not in key])
        yield coded.schema_arrow.empty_table().select(wanted)  # without rows, the types still count
        groups, self._done = _groups_from(self._parquet.metadata, self.before)
        for batch in coded.iter_batches(rows, row_groups=groups, columns=wanted):
            skipped = min(max(self.before - self._done, 0), len(batch))
            self._done += len(batch)
            if skipped < len(batch):
                yield pa.Table.from_batches([batch.slice(skipped)])

    def guessed(self) -> Any:
        return self._parquet.schema_arrow.remove_metadata()

    def as_guessed(self, schema: Any) -> None:
        found = self.guessed()
        if found != schema:
            other = next(name for name in [*schema.names, *found.names] if _column(schema, name) != _column(found, name))
            raise AfaError(
                f"expected column {other!r} as {_column(schema, other)}, as in the file before, but got {_column(found, other)}"
            )


def _column(schema: Any, name: str) -> Any:
    return schema.field(name).type if schema.names.count(name) == 1 else "none"


def _groups_from(told: Any, row: int) -> tuple[list[int], int]:
    """Return the row groups of a Parquet file from the one of a row on, and the number of the first row in them."""
    groups, first = list(range(told.num_row_groups)), 0
    while groups and first + told.row_group(groups[0]).num_rows <= row:
        first += told.row_group(groups.pop(0)).num_rows
    return groups, first


def _full(told: Any) -> frozenset[str]:
    """Return the columns of a Parquet file whose statistics count no null."""
    groups = [told.row_group(i) for i in range(told.num_row_groups)]
    columns = [[group.column(i) for group in groups] for i in range(told.num_columns)]
    return frozenset(
        parts[0].path_in_schema
        for parts in columns
        if parts and all(part.statistics is not None and part.statistics.null_count == 0 for part in parts)
    )


FORMS: dict[str, Callable[[File | Stdin], FileSource]] = {"csv": Csv, "jsonl": JsonLines, "parquet": Parquet}


def open_source(file: str, form: str | None, grows: bool = False) -> FileSource:
    """Open an input by its extension or by ``form`` ("csv", "jsonl", "parquet"); ``grows``: wait at its end for more."""
    form = form_of(file, form, grows)
    with in_one_line(file):
        return FORMS[form](opened_file(file, grows))


def opened_file(file: str, grows: bool = False) -> File | Stdin:
    """Open a file, or what comes once, whatever it holds; ``grows``: wait at its end for more."""
    path, once = Path(file), comes_once(file)
    if once and path.suffix.lower() in CODECS:
        raise AfaError(f"{file}: expected a pipe whose bytes are not compressed; decompress them on the way")
    if grows and not once:
        return PlacedFile(path, ended=lambda: False)
    return Stdin(name=file) if once else File(path)


def form_of(file: str, form: str | None, grows: bool = False) -> str:
    """Return the form of an input, without a look at it. An `AfaError` says what is wrong."""
    path = Path(file)
    if file == STREAM and form is None:
        raise AfaError("-: expected the form of standard input; say --format csv, jsonl or parquet")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in CODECS]
    form = form or SUFFIXES.get(suffixes[-1] if suffixes else "")
    if form is None:
        raise AfaError(f"{file}: expected one of {', '.join(SUFFIXES)} (or these with .gz); say --format csv, jsonl or parquet")
    if grows and file != STREAM and comes_once(file):
        raise AfaError(f"{file}: expected a file to follow as it grows; a pipe is read as it comes: leave out --follow")
    if grows and (form == "parquet" or path.suffix.lower() in CODECS):
        raise AfaError(f"{file}: expected CSV or JSON lines, not compressed, to follow as it grows")
    return form


def comes_once(file: str) -> bool:
    """Return whether an input is read as it comes, and no second time: standard input, a named pipe, a device."""
    path = Path(file)
    return file == STREAM or path.is_fifo() or path.is_char_device()


class FileBatch(NamedTuple):
    """Rows of a source, and where they stand."""

    row: int  # the number of the first one
    table: pa.Table
    at: int  # the byte at which the block begins that holds the row behind them
    taken: int  # how many rows of that block stand before it


def batches(
    source: FileSource, file: str, columns: Sequence[FileColumn], rows: int, sizes: Iterator[int], at: int = 0, taken: int = 0
) -> Iterator[FileBatch]:
    """Yield the rows of a source in tables of ``sizes`` (the last has fewer).

    Where nothing more comes just now, what has come is handed on, and nothing as a table without rows, once there was one.
    ``rows``: about how many are read at once; ``at``, ``taken``: where the source begins, see `FileBatch`.
    """
    first = row = source.first_row + source.before + taken
    held, count, size = list[FileBatch](), 0, next(sizes)
    tables = source.tables(columns, rows)
    while True:
        with in_one_line(file):
            table = next(tables, END)
        waits = table is None or table is END
        if table is not None and table is not END:
            skipped = min(taken, len(table))
            held.append(FileBatch(0, table.slice(skipped), at, skipped))
            count += len(table) - skipped
            at, taken = source.place, taken - skipped
        while count >= size or (waits and held and (count or table is None or row == first)):
            n = min(size, count)
            whole = pa.concat_tables([part.table for part in held])
            yield FileBatch(row, whole.slice(0, n), *_behind(held, n, at))
            row, count, size = row + n, count - n, next(sizes) if n == size else size
            if source.stream is not None and not waits:
                source.stream.renew()
            if waits and not count:
                break
        if table is END:
            return


def _behind(held: list[FileBatch], n: int, end: int) -> tuple[int, int]:
    """Take ``n`` rows out of what is held, which keeps its types; return where the row behind them is. ``end``: of all blocks."""
    while len(held) > 1 and len(held[0].table) <= n:
        n -= len(held.pop(0).table)
    held[0] = held[0]._replace(table=held[0].table.slice(n), taken=held[0].taken + n)
    return (held[0].at, held[0].taken) if len(held[0].table) else (end, 0)


END: Any = object()
