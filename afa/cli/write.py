"""Write the changes to a file, Parquet or JSON lines, which appears as a whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from afa.cli.fault import CommandError
from afa.cli.json_texts import json_texts
from afa.cli.request import Job
from afa.io.file_bytes import STREAM
from afa.io.whole_file import check_kind, drafted

FORMS = {".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
Write = Callable[[pa.Table], None]
ROWS = 1 << 17
"""How many rows a row group of Parquet has."""


def reads(job: Job) -> list[str]:
    """Return the files that a job reads: its pattern, its input, and those of its arc log."""
    log = [] if job.arcs is None or not os.path.isdir(job.arcs) else [entry.path for entry in os.scandir(job.arcs)]
    return [job.file, job.pattern, *log]


def check_output(file: str | None, form: str | None, inputs: Iterable[str], force: bool, special: bool = False) -> None:
    """Refuse an output that would take the place of an input (of a pattern: what stands before the colon), or of another kind.

    ``form``: what is written, None: as the name says. ``force``: over a file of any kind, but for those that are read.
    ``special``: it may be what is no file, such as /dev/stdout.
    """
    if file is None or (file == STREAM and not special):
        return
    path = Path(file)
    if not path.exists():
        return
    for given in inputs:
        read = given if os.path.exists(given) else given.rpartition(":")[0]
        if read and os.path.exists(read) and os.path.samefile(path, read):
            raise CommandError(f"can't write {file}: it is {read}, which is read")
    if path.is_dir() or not (path.is_file() or special):
        raise CommandError(f"can't write {file}: {'a directory' if path.is_dir() else 'no file'}")
    if not force:
        with _writable(file):
            check_kind(path, form or FORMS[path.suffix.lower()], "name another file, or say --force")


@contextlib.contextmanager
def writing(file: str | None, schema: pa.Schema) -> Iterator[Write]:
    """Yield a function that adds a table to ``file``. Without a file the function does nothing.

    It writes under a temporary name beside it (of a link, beside what it points to) and renames at the end, so that a failed run
    leaves what was there before.
    """
    if file is None:
        yield lambda table: None
        return
    if file == STREAM:
        yield lambda table: _print(table)
        return
    open_writer = _parquet if FORMS[Path(file).suffix.lower()] == "parquet" else _json_lines
    with contextlib.ExitStack() as stack:
        with _writable(file):
            draft = stack.enter_context(drafted(file))
            write = stack.enter_context(open_writer(draft, schema))
        yield lambda table: _write(write, table, file)
        with _writable(file):
            stack.close()  # what is held back is written, and the draft takes its place


def _print(table: pa.Table) -> None:
    sys.stdout.writelines(_lines(table))
    sys.stdout.flush()


def _write(write: Write, table: pa.Table, file: str) -> None:
    with _writable(file):
        write(table)


@contextlib.contextmanager
def _writable(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CommandError(f"can't write {file}: {os.strerror(error.errno) if error.errno else error}") from error


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
        yield lambda table: stream.writelines(_lines(table))


def _lines(table: pa.Table) -> Iterator[str]:
    """Yield the rows as lines of JSON, made column by column."""
    if not len(table):
        return iter(())
    template = (
        "{"
        + ", ".join(
            f"{json.dumps(name)}: %s".replace("%s", "\0").replace("%", "%%").replace("\0", "%s") for name in table.column_names
        )
        + "}\n"
    )
    columns = [json_texts(column.combine_chunks()) for column in table.columns]
    return (template % row for row in zip(*columns))
