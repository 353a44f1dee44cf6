"""Where the changes go: to a file, or to standard output as JSON lines; never over what is read."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from afa.cli.fault import CommandError
from afa.cli.request import CommandRequest
from afa.io.column_texts import json_lines
from afa.io.file_bytes import STREAM
from afa.io.file_writing import WRITTEN, Write, writable, writing_file
from afa.io.whole_file import check_kind


def reads(job: CommandRequest) -> list[str]:
    """Return the files that a job reads: its pattern, its input, and those of its logs."""
    logs = [entry.path for log in (job.arcs, job.rules) if log is not None and os.path.isdir(log) for entry in os.scandir(log)]
    return [job.file, *pattern_files(job.pattern), *logs]


def pattern_files(pattern: str) -> list[str]:
    """Return the file of a pattern, or those of a folder of rules; none where there is no such file."""
    if os.path.isdir(pattern):
        return sorted(entry.path for entry in os.scandir(pattern) if entry.is_file() and not entry.name.startswith("."))
    return [file for file in (pattern, pattern.rpartition(":")[0]) if os.path.isfile(file)][:1]


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
        with writable(file):
            check_kind(path, form or WRITTEN[path.suffix.lower()], "name another file, or say --force")


@contextlib.contextmanager
def writing(file: str | None, schema: pa.Schema) -> Iterator[Write]:
    """Yield a function that adds a table to ``file``; "-": to standard output. Without a file the function does nothing."""
    if file is None or file == STREAM:
        yield _print if file else lambda table: None
        return
    with writing_file(file, schema) as write:
        yield write


def _print(table: pa.Table) -> None:
    sys.stdout.writelines(json_lines(table))
    sys.stdout.flush()
