"""Write tables to a file, Parquet, JSON lines or CSV, which appears as a whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from afa.io.column_texts import in_text, json_lines
from afa.io.text_files import in_one_line
from afa.io.whole_file import drafted

WRITTEN = {".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}
"""The forms, by how a name ends."""
Write = Callable[[pa.Table], None]
ROWS = 1 << 17
"""How many rows a row group of Parquet has."""


@contextlib.contextmanager
def writing_file(file: str, schema: pa.Schema) -> Iterator[Write]:
    """Yield a function that adds a table to ``file``.

    It writes under a temporary name beside it (of a link, beside what it points to) and renames at the end, so that what was there
    before stays where it fails.
    """
    with contextlib.ExitStack() as stack:
        with writable(file):
            draft = stack.enter_context(drafted(file))
            write = stack.enter_context(WRITERS[WRITTEN[Path(file).suffix.lower()]](draft, schema))
        yield lambda table: _write(write, table, file)
        with writable(file):
            stack.close()  # what is held back is written, and the draft takes its place


def _write(write: Write, table: pa.Table, file: str) -> None:
    with writable(file):
        write(table)


def writable(file: str) -> contextlib.AbstractContextManager[None]:
    """Turn what the system and pyarrow say about a file that is written into one line."""
    return in_one_line(f"can't write {file}")


@contextlib.contextmanager
def _parquet(draft: Path, schema: pa.Schema) -> Iterator[Write]:
    """Tables in row groups of `ROWS`, however small they come."""
    held: list[pa.Table] = []
    with pyarrow.parquet.ParquetWriter(draft, schema) as writer:

        def write(table: pa.Table) -> None:
            held.append(table)
            if sum(map(len, held)) >= ROWS:
                writer.write_table(pa.concat_tables(held))
                held.clear()

        yield write
        if any(map(len, held)):
            writer.write_table(pa.concat_tables(held))


@contextlib.contextmanager
def _json_lines(draft: Path, schema: pa.Schema) -> Iterator[Write]:
    with open(draft, "w", encoding="utf-8") as stream:
        yield lambda table: stream.writelines(json_lines(table))


def check_no_lists(schema: pa.Schema) -> None:
    """Refuse columns that CSV does not hold."""
    lists = next((field for field in schema if pa.types.is_nested(field.type)), None)
    if lists is not None:
        raise pa.ArrowNotImplementedError(  # as what else it does not hold
            f"CSV holds no lists, and column {lists.name!r} is {lists.type}; write JSON lines (.jsonl) or Parquet (.parquet)"
        )


@contextlib.contextmanager
def _csv(draft: Path, schema: pa.Schema) -> Iterator[Write]:
    """Times as ISO 8601, nothing where a value is missing; text in quotes, so that an empty one is none that is missing."""
    check_no_lists(schema)
    with pyarrow.csv.CSVWriter(draft, in_text(schema.empty_table()).schema) as writer:
        yield lambda table: writer.write_table(in_text(table))


WRITERS: dict[str, Callable[[Path, pa.Schema], contextlib.AbstractContextManager[Write]]] = {
    "parquet": _parquet,
    "jsonl": _json_lines,
    "csv": _csv,
}
