"""Read the bytes of the input: a file, or standard input, which can be opened again after a look at its beginning."""

from __future__ import annotations

import io
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

STREAM = "-"
"""The name of standard input and output on the command line."""
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
HEAD, CHUNK = 1 << 20, 1 << 18
"""How many bytes of a stream are looked at, and are read at a time."""
PAUSE = 0.5
"""After so many seconds without a byte a stream pauses: what has come is taken as it is."""


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
    """Standard input: a look at its beginning, then all of it, once. It is read as it comes, so that one sees when it pauses."""

    again = packed = False
    total = 0
    needed = 1
    """How many lines a look must have before a pause ends it."""

    def __init__(self, raw: Any = None, name: str = STREAM) -> None:
        self.name = name
        self._raw = raw or (sys.stdin.buffer if name == STREAM else open(name, "rb"))  # noqa: SIM115  (for as long as it is read)
        self._head: bytes | None = None
        self._ended = False

    def open(self, look: bool = False) -> Any:
        """Return the bytes: of a look, as far as whole lines go."""
        head = self._look()
        if look:
            whole = head if self._ended else head[: head.rfind(b"\n") + 1]
            return pa.BufferReader(whole or head)
        return pa.PythonFile(_Chained(self.chunks()), mode="r")

    def chunks(self) -> Iterator[bytes | None]:
        """Yield the bytes as they come, from the beginning; None: there are no more just now."""
        head, self._head = self._look(), b""
        yield head
        while not self._ended:
            found = self._more(CHUNK)
            if found != b"":
                yield found

    def _look(self) -> bytes:
        """Return the beginning: as many lines as are needed, then as much as there is, up to `HEAD`."""
        head = b"" if self._head is None else self._head
        while self._head is None and not self._ended and len(head) < HEAD:
            found = self._more(HEAD - len(head))
            if found is None and head.count(b"\n") >= self.needed:
                break
            head += found or b""
        self._head = head
        return head

    def _more(self, most: int) -> bytes | None:
        """Return what has come; b"": it is at its end; None: nothing has come for a while."""
        number = _file_number(self._raw)
        if number is None:
            raw: Any = self._raw
            found: bytes = raw.read1(most)
        elif not select.select([number], [], [], PAUSE)[0]:
            return None
        else:
            found = os.read(number, most)
        self._ended = not found
        if self._ended and self.name != STREAM:
            self._raw.close()
        return found

    def done(self) -> int:
        """Return 0: nobody knows how much is still to come."""
        return 0

    def whole(self) -> Any:
        """Return what `pyarrow.parquet.ParquetFile` reads: it begins at the end."""
        return pa.BufferReader(b"".join(part for part in self.chunks() if part))


class Growing(Stdin):
    """A file that others append to: read as it comes, and waited for at its end."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.open("rb"), str(path))

    def _more(self, most: int) -> bytes | None:
        found: bytes = self._raw.read(most)
        if not found:
            time.sleep(PAUSE)
        return found or None


def _file_number(raw: Any) -> int | None:
    """Return the number of a file that can be waited for; None: it is no file of the system."""
    try:
        number: int = raw.fileno()
        select.select([number], [], [], 0)
    except (AttributeError, OSError, ValueError):
        return None
    return number


class _Chained(io.RawIOBase):
    """Chunks as a file, which waits for the next one."""

    def __init__(self, chunks: Iterator[bytes | None]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            found = next(self._chunks, b"")
            if found == b"":
                return 0
            self._rest = found or b""
        found, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)
