"""Read the bytes of the input: a file, or standard input, which can be opened again after a look at its beginning."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

STREAM = "-"
"""The name of standard input and output on the command line."""
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
HEAD = 1 << 20
"""How many bytes of a stream are looked at."""


class File:
    """A file; `open` as often as one likes."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.again = True  # whether it can be read from its beginning once more
        self.total = path.stat().st_size
        self.packed = path.suffix.lower() in CODECS
        self._path = path
        self._raw: Any = None

    def open(self, look: bool = False) -> Any:
        """Return the bytes, decompressed where the extension says so. ``look``: only a look at the beginning is wanted."""
        self._raw = pa.OSFile(self.name)
        codec = CODECS.get(self._path.suffix.lower())
        return self._raw if codec is None else pa.CompressedInputStream(self._raw, codec)

    def done(self) -> int:
        """Return how many bytes have been read."""
        return 0 if self._raw is None or self._raw.closed else int(self._raw.tell())

    def whole(self) -> Any:
        """Return what `pyarrow.parquet.ParquetFile` reads."""
        return self._path


class Stdin:
    """Standard input: a look at its beginning, then all of it, once."""

    name = STREAM
    again = packed = False
    total = 0

    def __init__(self, raw: Any = None) -> None:
        self._raw = raw or sys.stdin.buffer
        self._head: bytes | None = None
        self._read = 0

    def open(self, look: bool = False) -> Any:
        """Return the bytes: of a look, as far as whole lines go."""
        if self._head is None:
            self._head = self._raw.read(HEAD)
        if look:
            whole = self._head if len(self._head) < HEAD else self._head[: self._head.rfind(b"\n") + 1]
            return pa.BufferReader(whole or self._head)
        return pa.PythonFile(_Chained(self._head, self._raw), mode="r")

    def done(self) -> int:
        """Return 0: nobody knows how much is still to come."""
        return 0

    def whole(self) -> Any:
        """Return what `pyarrow.parquet.ParquetFile` reads: it begins at the end."""
        return pa.BufferReader(self._raw.read())


class _Chained(io.RawIOBase):
    """A beginning that was read already, and the rest."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._head.read(len(buffer)) or self._rest.read1(len(buffer))
        buffer[: len(found)] = found
        return len(found)
