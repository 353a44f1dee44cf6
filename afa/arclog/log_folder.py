"""The files of an arc log's folder, as they come, grow and are put in one another's place.

A file's lines are read as far as they are whole: the last one, if no newline ends it yet, once it is a JSON object, which no part
of one is. Files that begin with a dot or an underscore are not looked at: a writer's, before they get their name.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from afa.arclog.lines import object_in, shown


class Mark(NamedTuple):
    """How far a file has been read."""

    size: int  # bytes
    digest: bytes  # of these bytes
    nows: tuple[bytes, ...] = ()  # by which the lines among them are known that hold from when they were read


class Raw(NamedTuple):
    """A line as it stands in a file."""

    text: bytes
    file: str
    number: int  # from 1


class FolderReading(NamedTuple):
    """What a folder has brought."""

    lines: list[Raw]
    marks: dict[str, Mark]  # of all files that are there
    faults: list[tuple[str, str]]  # files that can't be read, and why
    open: list[Raw]  # last lines that are not whole yet


class LogFolder:
    """A folder of lines; what it keeps is only to look at no file in vain."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.open: list[Raw] = []  # last lines that were not whole yet when it was read
        self._known: dict[str, tuple[tuple[int, ...], bytes | None]] = {}  # how a file looked, and its digest; None: not readable

    def read(self, marks: Mapping[str, Mark]) -> FolderReading:
        """Return what stands behind the marks; a file that does not begin any more as it did is read from its beginning."""
        found = FolderReading([], {}, [], [])
        for name in sorted(os.listdir(self.path)):
            if not name.startswith((".", "_")):
                self._look(name, marks.get(name), found)
        self.open = found.open
        self._known = {name: known for name, known in list(self._known.items()) if name in found.marks or known[1] is None}
        return found

    def forget_faults(self) -> None:
        """Let the next `read` tell again which files can't be read."""
        self._known = {name: known for name, known in self._known.items() if known[1] is not None}

    def _look(self, name: str, mark: Mark | None, found: FolderReading) -> None:
        look: tuple[int, ...] = ()  # of a file of which not even this can be asked: a link that leads to itself, say
        try:
            there = os.stat(f"{self.path}{os.sep}{name}")  # a join of paths would take longer than all else
            look = there.st_size, there.st_mtime_ns, there.st_ino
            known = self._known.get(name)
            if known is not None and known[0] == look and (known[1] is None or (mark is not None and known[1] == mark.digest)):
                if mark is not None:
                    found.marks[name] = mark
                return
            if not os.path.isfile(self.path / name):
                return
            data = (self.path / name).read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            if mark is not None:
                found.marks[name] = mark
            if self._known.get(name) != (look, None):
                self._known[name] = look, None
                found.faults.append((name, f"expected a file that can be read but got {os.strerror(error.errno or 0)}"))
            return
        if mark is not None and (len(data) < mark.size or _digest(data[: mark.size]) != mark.digest):
            mark = Mark(0, _digest(b""), mark.nows)  # another file has its name
        size = self._lines(data, name, mark.size if mark is not None else 0, found)
        found.marks[name] = Mark(size, _digest(data[:size]), mark.nows if mark is not None else ())
        if size == len(data):
            self._known[name] = look, found.marks[name].digest

    def _lines(self, data: bytes, name: str, size: int, found: FolderReading) -> int:
        """Read the lines from a place on; return the place behind the last whole one."""
        number, rest = data.count(b"\n", 0, size) + 1, data[size:]
        for n, text in enumerate(rest.split(b"\n"), number):
            ended = size + len(text) < len(data)
            raw = Raw(text.removeprefix(b"\xef\xbb\xbf") if size == 0 else text, name, n)
            if text.strip() and (ended or object_in(raw.text) is not None):
                found.lines.append(raw)
            elif text.strip():
                found.open.append(raw)
                break
            size += len(text) + ended
        return size


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def place_of(raw: Raw) -> str:
    """Return where a line stands, and what it begins with."""
    return f"{raw.file}, line {raw.number}: {shown(raw.text)}"
