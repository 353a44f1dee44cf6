"""The changes as a file, Parquet or JSON lines: there as a whole or not at all."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from afa.cli.fault import CommandError

FORMS = {".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
Write = Callable[[pa.Table], None]


@contextlib.contextmanager
def writing(file: str | None, schema: pa.Schema) -> Iterator[Write]:
    """A function that adds a table to ``file``; None: it does nothing.

    Raises
    ------
    CommandError
        The file can't be written.

    Notes
    -----
    Writes under a temporary name beside it and renames at the end, so that a failed run leaves what was there before.
    """
    if file is None:
        yield lambda table: None
        return
    path = Path(file)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    open_writer = _parquet if FORMS[path.suffix.lower()] == "parquet" else _json_lines
    try:
        with contextlib.ExitStack() as stack:
            with _writable(file):
                write = stack.enter_context(open_writer(draft, schema))
            yield lambda table: _write(write, table, file)
        with _writable(file):
            os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


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
    with pyarrow.parquet.ParquetWriter(draft, schema) as writer:
        yield lambda table: writer.write_table(table) if len(table) else None


@contextlib.contextmanager
def _json_lines(draft: Path, schema: pa.Schema) -> Iterator[Write]:
    with open(draft, "w", encoding="utf-8") as stream:
        yield lambda table: stream.writelines(f"{json.dumps(_no_nan(row))}\n" for row in table.to_pylist())


def _no_nan(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN and no infinity: null and text stand for them."""
    odd = (name for name, value in row.items() if isinstance(value, float) and not math.isfinite(value))
    return row | {name: None if row[name] != row[name] else str(row[name]) for name in odd}
