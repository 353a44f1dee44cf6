"""The bytes of an input: a file, or a stream, whose beginning is looked at before it is read, once."""

from __future__ import annotations

import itertools
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from afa.errors import AfaError

STREAM = "-"
"""The name of standard input and output."""
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
HEAD, CHUNK = 1 << 20, 1 << 18
"""How many bytes are looked at, and are read at a time of a stream."""
BLOCK = 1 << 20
"""About so many bytes of rows are parsed at a time."""
AGE = 0.2
"""What has come of a stream is looked at, and handed on, when it is so many seconds old, whether more comes or not."""
PAUSE = 0.5
"""Where nothing comes, the reader is told so each time that so many seconds have passed: it looks at other things, then."""
STEP = 0.02
"""So many seconds lie between two looks at the end of a file that grows."""


class File:
    """A file, read as often as one likes; decompressed where its name says that it is packed."""

    again = True  # whether it can be read from its beginning once more
    longest = 1 << 30  # bytes of a row
    passed = 0  # bytes of the blocks that `blocks_of` has yielded

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.total = path.stat().st_size
        self._codec = CODECS.get(path.suffix.lower())
        self._raw: Any = None

    @property
    def read(self) -> int:
        """How many of its bytes have counted so far, by which it is known later."""
        return self.total

    def look(self, lines: int) -> bytes:
        """Return the beginning, as far as whole lines go: `HEAD` bytes, and more where they have fewer lines than that."""
        head, found = bytearray(), 0
        for chunk in self.chunks():
            head += chunk
            found += chunk.count(b"\n")
            if len(head) >= HEAD and found >= lines:
                return bytes(head[: head.rfind(b"\n") + 1])
            check_length(self, len(head))
        return bytes(head)

    def chunks(self) -> Iterator[bytes]:
        """Yield all bytes, in order."""
        self._raw = pa.OSFile(self.name)
        with self._raw if self._codec is None else pa.CompressedInputStream(self._raw, self._codec) as stream:
            while chunk := stream.read(BLOCK):
                yield chunk

    def done(self) -> int:
        """Return the number of bytes that have been read."""
        return 0 if self._raw is None or self._raw.closed else int(self._raw.tell())

    def whole(self) -> Any:
        """Return the source for `pyarrow.parquet.ParquetFile`."""
        return self.name


class Stdin:
    """Standard input: a look at its beginning, then all of it, once. What has come is handed on when it is `AGE` old."""

    again = False
    longest = 1 << 25
    passed = total = 0

    def __init__(self, raw: Any = None, name: str = STREAM) -> None:
        self.name = name
        self._raw = raw or (sys.stdin.buffer if name == STREAM else open(name, "rb"))  # noqa: SIM115  (for as long as it is read)
        self._head: bytes | None = None
        self._ended = False
        self._since: float | None = None  # when the oldest came of what is not handed on yet
        self._last = 0.0  # when the latest came

    def look(self, lines: int) -> bytes:
        """Return the beginning, as far as whole lines go: so many, then what comes until it is `AGE` old, up to `HEAD` bytes."""
        head = b"" if self._head is None else self._head
        while self._head is None and not self._ended and len(head) < HEAD:
            found = self._next(HEAD - len(head))
            if found is None:
                if head.count(b"\n") >= lines:
                    break
                self._since = None  # there is no row yet: it is waited for
            head += found or b""
        self._head = head
        return head if self._ended else head[: head.rfind(b"\n") + 1] or head

    def chunks(self) -> Iterator[bytes | None]:
        """Yield the bytes as they come, from the beginning; None: what has come is `AGE` old, or nothing comes: hand it on."""
        self.look(1)
        head, self._head = self._head, b""
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

    def _next(self, most: int) -> bytes | None:
        """Return the bytes that have come; b"": the end; None: the oldest are `AGE` old, or nothing has come for a while."""
        left = PAUSE if self._since is None else self._since + AGE - time.monotonic()
        found = self._more(most, left) if left > 0 else None
        if found:
            self._last = time.monotonic()
            self._since = self._last if self._since is None else self._since
        return found

    def _more(self, most: int, wait: float) -> bytes | None:
        """Return the bytes that have come; b"": the end; None: nothing has come in so many seconds."""
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
        """Return the source for `pyarrow.parquet.ParquetFile`, all bytes: Parquet is read from its end."""
        return pa.BufferReader(b"".join(part for part in self.chunks() if part))


def _file_number(raw: Any) -> int | None:
    """Return the number of a file that can be waited for; None: it is no file of the system."""
    try:
        number: int = raw.fileno()
        select.select([number], [], [], 0)
    except (AttributeError, OSError, ValueError):
        return None
    return number


def blocks_of(file: File | Stdin) -> Iterator[bytes | None]:
    """Yield the bytes in blocks that end where lines do, of about `BLOCK`; of a stream what has come when it is old, then None."""
    held, size = list[bytes](), 0
    for chunk in itertools.chain(file.chunks(), [b""]):
        held.append(chunk or b"")
        size += len(held[-1])
        if not chunk or (size >= BLOCK and b"\n" in chunk):
            whole = b"".join(held)
            cut = size if chunk == b"" else whole.rfind(b"\n") + 1
            if cut:
                file.passed += cut
                yield whole[:cut]
            held, size = [whole[cut:]], size - cut
        check_length(file, size)
        if chunk is None:
            yield None


def check_length(file: File | Stdin, size: int) -> None:
    """Refuse a row that is longer than a file may have one."""
    if size > file.longest:
        raise AfaError(f"{file.name}: expected rows of at most {file.longest >> 20} MB but got a longer one")
