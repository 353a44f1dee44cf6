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
"""How many bytes of a stream are looked at at most, and are read at a time."""
AGE = 0.2
"""What has come of a stream is looked at, and handed on, when it is so many seconds old, whether more comes or not."""
PAUSE = 0.5
"""Where nothing comes, the reader is told so each time that so many seconds have passed: it looks at other things, then."""
STEP = 0.02
"""So many seconds lie between two looks at the end of a file that grows."""


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
    """Standard input: a look at its beginning, then all of it, once. What has come is handed on when it is `AGE` old."""

    again = packed = False
    total = 0
    needed = 1
    """How many lines a look must have before its age ends it."""

    def __init__(self, raw: Any = None, name: str = STREAM) -> None:
        self.name = name
        self._raw = raw or (sys.stdin.buffer if name == STREAM else open(name, "rb"))  # noqa: SIM115  (for as long as it is read)
        self._head: bytes | None = None
        self._ended = False
        self._since: float | None = None  # when the oldest came of what is not handed on yet
        self._last = 0.0  # when the latest came

    def open(self, look: bool = False) -> Any:
        """Return the bytes: of a look, as far as whole lines go."""
        head = self._look()
        if look:
            whole = head if self._ended else head[: head.rfind(b"\n") + 1]
            return pa.BufferReader(whole or head)
        return pa.PythonFile(_Chained(self.chunks()), mode="r")

    def chunks(self) -> Iterator[bytes | None]:
        """Yield the bytes as they come, from the beginning; None: what has come is `AGE` old, or nothing comes: hand it on."""
        head, self._head = self._look(), b""
        yield head
        while not self._ended:
            found = self._next(CHUNK)
            if found is None:
                self._since = None
            if found != b"":
                yield found

    def renew(self) -> None:
        """Let the age begin with what came last: all before it was handed on, as there was enough of it."""
        self._since = None if self._since is None else self._last

    def _look(self) -> bytes:
        """Return the beginning: as many lines as are needed, then what comes until it is `AGE` old, up to `HEAD`."""
        head = b"" if self._head is None else self._head
        while self._head is None and not self._ended and len(head) < HEAD:
            found = self._next(HEAD - len(head))
            if found is None:
                if head.count(b"\n") >= self.needed:
                    break
                self._since = None  # there is no row yet: it is waited for
            head += found or b""
        self._head = head
        return head

    def _next(self, most: int) -> bytes | None:
        """Return what has come; b"": it is at its end; None: the oldest is `AGE` old, or nothing has come for a while."""
        left = PAUSE if self._since is None else self._since + AGE - time.monotonic()
        found = self._more(most, left) if left > 0 else None
        if found:
            self._last = time.monotonic()
            self._since = self._last if self._since is None else self._since
        return found

    def _more(self, most: int, wait: float) -> bytes | None:
        """Return what has come; b"": it is at its end; None: nothing has, in so many seconds."""
        number = _file_number(self._raw)
        if number is None:
            raw: Any = self._raw
            found: bytes = raw.read1(most)
        elif not select.select([number], [], [], wait)[0]:
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

    def _more(self, most: int, wait: float) -> bytes | None:
        until = time.monotonic() + wait
        while True:
            found: bytes = self._raw.read(most)
            left = until - time.monotonic()
            if found or left <= 0:
                return found or None
            time.sleep(min(STEP, left))


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


def lines_of(chunks: Iterator[bytes | None]) -> Iterator[bytes | None]:
    """Yield the lines of a stream of bytes as they come, the last one with or without its end; None: there are no more just now."""
    rest = b""
    for chunk in chunks:
        if chunk is None:
            yield None
            continue
        *lines, rest = (rest + chunk).split(b"\n") if chunk else [rest]
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest
