"""A file of lines that is read from a place on, and may be read on later, when it has grown.

Only whole lines are rows: what no newline ends is the *rest*, which a later look may find longer.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from afa.errors import AfaError
from afa.io.file_bytes import AGE, BLOCK, STEP, File, Stdin, check_length

SEEN = 4096
"""So many bytes at both ends of what was read tell whether a file is still the same."""


class PlacedFile(File):
    """A file whose rows are read from byte ``at`` on, behind its first line, if it has a ``header`` (CSV).

    ``ended``: says whether the end is the end; until then more is waited for there.
    """

    again = False  # its rows are not those of the whole file

    def __init__(self, path: Path, at: int = 0, header: bool = False, ended: Callable[[], bool] = lambda: True) -> None:
        super().__init__(path)
        self.at, self.rest, self._ended = at, b"", ended
        self._file = os.stat(path).st_ino
        self._first = self.look(1).partition(b"\n")[0] + b"\n" if header else b""
        self._header = self._first if at else b""

    @property
    def place(self) -> int:
        """Where the blocks that were read end, as a byte of the file."""
        return self.at - len(self._header) + self.passed

    @property
    def read(self) -> int:
        return self.place + len(self.rest) if self._codec is None else self.total

    def look(self, lines: int) -> bytes:
        """Return the beginning as `File` does; where more may come, only whole lines, and at least so many."""
        while True:
            found = File(Path(self.name)).look(lines)
            if self._ended():
                return found
            if found.count(b"\n") >= lines:
                return found[: found.rfind(b"\n") + 1]
            time.sleep(STEP)

    def chunks(self) -> Iterator[bytes | None]:  # type: ignore[override]
        """Yield the header, then whole lines from ``at`` on; None: there are no more just now."""
        yield self._header
        held, at = b"", self.at
        while True:
            for chunk in self._bytes(at):
                cut = chunk.rfind(b"\n") + 1
                if cut:
                    yield held + chunk[:cut]
                held = chunk[cut:] if cut else held + chunk
                check_length(self, len(held))
                at += len(chunk)
            if self._ended():
                break
            yield None
            time.sleep(AGE)
            there = os.stat(self.name)
            if there.st_size < at or there.st_ino != self._file:
                raise AfaError(f"{self.name}: expected a file that only grows but got one that is shorter, or another in its place")
        self.rest = held

    def _bytes(self, at: int) -> Iterator[bytes]:
        """Yield the bytes from a place on."""
        if self._codec is not None:
            passed = 0
            for chunk in super().chunks():
                yield chunk[max(at - passed, 0) :]
                passed += len(chunk)
            return
        with open(self.name, "rb") as self._raw:
            self._raw.seek(at)
            while chunk := self._raw.read(BLOCK):
                yield chunk

    def behind(self) -> Stdin:
        """Return what no newline ends as a file of its own, behind the header."""
        return in_memory((self._first if self.place else b"") + self.rest, self.name)


def in_memory(data: bytes, name: str) -> Stdin:
    return Stdin(io.BytesIO(data), name)


def mark(path: str, end: int) -> str:
    """Return by what a file is known of which ``end`` bytes were read."""
    with open(path, "rb") as file:
        found = hashlib.blake2b(file.read(min(end, SEEN)), digest_size=16)
        file.seek(max(end - SEEN, 0))
        found.update(file.read(min(end, SEEN)))
    return found.hexdigest()
