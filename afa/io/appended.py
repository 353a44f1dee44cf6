"""Output that a job appends to, and cuts back to where it was: a file of JSON lines or CSV, or a folder of parts in Parquet.

Where it is is plain JSON: ``{"bytes": .., "mark": .., "file": ..}`` of a file, ``{"parts": .., "job": ..}`` of a folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from afa.errors import AfaError, SnapshotError
from afa.io.column_texts import in_text, json_lines
from afa.io.file_writing import WRITERS, WRITTEN, check_no_lists, writable
from afa.io.placed_file import mark
from afa.io.whole_file import sync, write_all

OutputPlace = dict[str, Any]


class AppendedFile:
    """A file of JSON lines or CSV.

    ``place``: where a commit says that it is; None: there is no commit yet, and it may not be there, or is empty.
    """

    def __init__(self, path: str, schema: pa.Schema, place: OutputPlace | None) -> None:
        self.path, self._form = path, WRITTEN[Path(path).suffix.lower()]
        with writable(path):
            if self._form == "csv":
                check_no_lists(schema)
            self._check(place)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            sync(os.path.dirname(path) or ".")
            self._size = 0
        self._header = _csv(schema.empty_table(), True) if self._form == "csv" else b""
        self.cut({"bytes": 0} if place is None else place)

    def _check(self, place: OutputPlace | None) -> None:
        """Refuse a file that is not the one of a commit. Of one that was empty then the system's number tells."""
        there = os.path.exists(self.path)
        size = os.stat(self.path).st_size if there else 0
        if place is None:
            if size or (there and not os.path.isfile(self.path)):
                raise AfaError(f"{self.path}: expected no file yet, where a state begins, but got one; move it, or name another")
        elif size < place["bytes"] or (place["bytes"] and mark(self.path, place["bytes"]) != place["mark"]):
            raise AfaError(f"{self.path}: expected the output of the state, {place['bytes']:,} bytes of it, but got another file")
        elif not place["bytes"] and size and os.stat(self.path).st_ino != place["file"]:
            raise AfaError(f"{self.path}: expected the output of the state, which is empty so far, but got another file; move it")

    def write(self, table: pa.Table) -> None:
        """Append changes; CSV begins with its header, also where there are none."""
        text = b"" if self._size else self._header
        if len(table):
            text += _csv(table, False) if self._form == "csv" else "".join(json_lines(table)).encode()
        with writable(self.path):
            write_all(self._file, text)
        self._size += len(text)

    def commit(self) -> OutputPlace:
        """Wait until all is on disk; return where it is."""
        with writable(self.path):
            os.fsync(self._file)
            return {"bytes": self._size, "mark": mark(self.path, self._size), "file": os.fstat(self._file).st_ino}

    def cut(self, place: OutputPlace) -> None:
        """Drop what was written behind a place."""
        with writable(self.path):
            os.ftruncate(self._file, place["bytes"])
            self._size = os.lseek(self._file, place["bytes"], os.SEEK_SET)

    def close(self) -> None:
        os.close(self._file)


class AppendedParts:
    """A folder of files in Parquet, one for each commit that brings changes, whose names have the token of their job.

    A part is written under a name with a dot; a commit gives it its own.
    """

    def __init__(self, path: str, schema: pa.Schema, place: OutputPlace | None) -> None:
        self.path, self._schema = path, schema
        with writable(path):
            if place is None and os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
                raise AfaError(f"{path}: expected no folder yet, or an empty one, where a state begins; move it, or name another")
            os.makedirs(path, exist_ok=True)
            sync(os.path.dirname(os.path.abspath(path)))
            self._place: OutputPlace = {"parts": 0, "job": secrets.token_hex(4)} if place is None else dict(place)
        missing = next((n for n in range(self._place["parts"]) if not os.path.exists(self._name(n))), None)
        if missing is not None:
            raise AfaError(f"{path}: expected the output of the state but got a folder without part {missing}")
        self._part = contextlib.ExitStack()
        self._write: Any = None
        self.cut(self._place)

    def _name(self, number: int, draft: bool = False) -> str:
        return os.path.join(self.path, f"{'.' if draft else ''}part-{number:06}-{self._place['job']}.parquet")

    def write(self, table: pa.Table) -> None:
        if not len(table):
            return
        with writable(self.path):
            if self._write is None:
                draft = Path(self._name(self._place["parts"], draft=True))
                self._write = self._part.enter_context(WRITERS["parquet"](draft, self._schema))
            self._write(table)

    def commit(self) -> OutputPlace:
        """End the part, wait until it is on disk, and return where the output is."""
        with writable(self.path):
            if self._write is not None:
                draft, part = (self._name(self._place["parts"], which) for which in (True, False))
                self._write = None
                self._part.close()
                sync(draft)
                os.replace(draft, part)
                self._place["parts"] += 1
            sync(self.path)
        return dict(self._place)

    def cut(self, place: OutputPlace) -> None:
        """Remove the parts of this job behind a place."""
        own = re.compile(rf"\.?part-([0-9]+)-{re.escape(place['job'])}\.parquet")
        self._write = None
        with writable(self.path):
            with contextlib.suppress(OSError, pa.ArrowException):
                self._part.close()
            for name in os.listdir(self.path):
                found = own.fullmatch(name)
                if found and int(found[1]) >= place["parts"]:
                    os.unlink(os.path.join(self.path, name))
        self._place = dict(place)

    def close(self) -> None:
        """Do nothing: no file is held open."""


def appended(path: str, schema: pa.Schema, place: OutputPlace | None) -> AppendedFile | AppendedParts:
    """Open an output by its name: a file that ends in .jsonl or .csv, or a folder of Parquet; see `AppendedFile`."""
    folder = os.path.isdir(path) or not Path(path).suffix
    if place is not None and not (_of_folder(place) if folder else _of_file(place)):
        raise SnapshotError(
            f"{path}: expected the place of a {'folder' if folder else 'file'}'s output in the state but got {place!r}"
        )
    if folder:
        return AppendedParts(path, schema, place)
    if Path(path).suffix.lower() in (".parquet", ".pq"):
        raise AfaError(f"{path}: expected a folder, in which Parquet comes part by part, but got the name of a file")
    return AppendedFile(path, schema, place)


def _of_file(place: Any) -> bool:
    kinds = {"bytes": int, "mark": str, "file": int}
    return isinstance(place, dict) and {name: type(value) for name, value in place.items()} == kinds and 0 <= place["bytes"] < 2**63


def _of_folder(place: Any) -> bool:
    there = isinstance(place, dict) and list(place) == ["parts", "job"] and type(place["parts"]) is int and place["parts"] >= 0
    return there and bool(re.fullmatch("[0-9a-f]{8}", str(place["job"])))


def _csv(table: pa.Table, header: bool) -> bytes:
    out = pa.BufferOutputStream()
    pyarrow.csv.write_csv(in_text(table), out, pyarrow.csv.WriteOptions(include_header=header))
    found: bytes = out.getvalue().to_pybytes()
    return found
