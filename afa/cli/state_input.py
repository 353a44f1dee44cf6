"""The input of ``afa run --state``: a file, or the files of a folder, each batch with the place behind it.

A place is plain JSON: the files that are done, with their bytes; of the one that is read the byte where a block begins, and how
many of the rows behind it are taken. A folder's files are read in the order of their names, each to its end, and no batch has rows
of two; what comes into the folder later is read after that, again by name. Files that begin with a dot or an underscore are left
out: a writer's, before they get their name.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from afa.cli.batches_in import Input
from afa.cli.fault import CommandError
from afa.cli.request import CommandRequest
from afa.io.file_bytes import AGE, File, Stdin
from afa.io.files import FORMS, form_of
from afa.io.input_shape import InputShape
from afa.io.placed_file import PlacedFile, mark
from afa.io.text_files import in_one_line
from afa.schema import Schema

InputPlace = dict[str, Any]
BEGIN: InputPlace = {"done": {}, "file": None, "at": 0, "taken": 0, "row": 0, "read": 0, "rows": 0}
"""Before the first row. ``at``, ``taken``: of the block; ``row``, ``read``: rows and bytes of the file; ``rows``: of all files."""


class StateFiles:
    """The files of INPUT, in order. ``stopped`` says whether the job is to end, also where it waits for more."""

    def __init__(self, job: CommandRequest, stopped: Callable[[], bool]) -> None:
        self.job, self.stopped = job, stopped
        self.folder = os.path.isdir(job.file)
        grows = job.follow and not self.folder
        self._form = None if self.folder else form_of(job.file, job.form, grows)
        self._ended = stopped if grows else lambda: True

    def names(self) -> list[str]:
        """Return the files that are there, in order."""
        if not self.folder:
            return [os.path.basename(self.job.file)]
        with in_one_line(self.job.file), os.scandir(self.job.file) as entries:
            return sorted(entry.name for entry in entries if entry.name[0] not in "._" and entry.is_file())

    def size(self, name: str) -> int:
        """Return the bytes of a file; -1: it is not there any more."""
        with in_one_line(self.path(name)), contextlib.suppress(FileNotFoundError):
            return os.stat(self.path(name)).st_size
        return -1

    def more(self, place: InputPlace, size: int) -> bool:
        """Return whether there is more than a place has read; ``size``: of the one file, as it was at its end."""
        names = self.names()
        return any(name not in place["done"] for name in names) if self.folder else size != self.size(names[0])

    def path(self, name: str) -> str:
        return os.path.join(self.job.file, name) if self.folder else self.job.file

    def coming(self, place: InputPlace) -> Iterator[str | None]:
        """Yield the names of files that a place has not done; None: there is none just now, and more are waited for."""
        if not self.folder:
            yield from self.names()
            return
        if place["file"] is not None:
            yield place["file"]
        while True:
            new = [name for name in self.names() if name not in place["done"]]
            yield from new
            if not new and (not self.job.follow or self.stopped()):
                return
            if not new:
                yield None
                time.sleep(AGE)

    def opened(self, name: str, place: InputPlace) -> tuple[File, str]:
        """Open a file where a place says; return its form, too."""
        path = self.path(name)
        form = self._form or form_of(path, self.job.form)
        with in_one_line(path):
            if form == "parquet":
                return File(Path(path)), form
            return PlacedFile(Path(path), place["at"], form == "csv", self._ended), form

    def check(self, place: InputPlace) -> None:
        """Refuse files that are not those that were read."""
        for done, size in place["done"].items():
            if (now := self.size(done)) not in (size, -1):
                raise CommandError(f"{self.path(done)}: expected {size:,} bytes, as it was read, but got {now:,}")
        name = place["file"]
        if name is not None:
            path, read = self.path(name), place["read"]
            with in_one_line(path):
                if os.stat(path).st_size < read or mark(path, read) != place["mark"]:
                    raise CommandError(f"{path}: expected the file of which the state has read {read:,} bytes but got another")

    def marked(self, place: InputPlace) -> InputPlace:
        """Return a copy of a place, with what its file is known by."""
        return dict(place) if place["file"] is None else {**place, "mark": mark(self.path(place["file"]), place["read"])}


def first_shape(files: StateFiles) -> InputShape:
    """Return the columns of the first file, which is waited for where ``--follow`` says so."""
    name = next((name for name in files.coming(BEGIN) if name is not None), None)
    if name is None:
        raise CommandError(f"{files.job.file}: expected a file in the folder but got none; --follow waits for one")
    file, form = files.opened(name, BEGIN)
    if files.stopped():
        raise KeyboardInterrupt
    with in_one_line(files.path(name)):
        return InputShape.of(FORMS[form](file), form, not files.folder)


class StateInput(Input):
    """The input from a place on, batch by batch; None: no file comes just now. ``place`` is that behind the last batch."""

    def __init__(self, job: CommandRequest, files: StateFiles, shape: InputShape, events: Schema, place: InputPlace) -> None:
        super().__init__(job, shape.empty(job.file), events)
        self.place, self.last = place, None  # type: InputPlace, File | None
        self._files, self._shape = files, shape

    @property
    def total(self) -> int:
        return 0 if self._files.folder or self._job.follow else self._files.size(os.path.basename(self._job.file))

    @property
    def done(self) -> int:
        found: int = self.place["read"]
        return found

    def __iter__(self) -> Iterator[Any]:
        for name in self._files.coming(self.place):
            if name is None:
                yield None
                continue
            yield from self._of_file(name)
            if self._files.folder:
                rest = list(self.ending())
                assert self.last is not None
                done = self.place["done"] | {name: self.last.read}
                self.place |= {**BEGIN, "done": done, "rows": self.place["rows"]}
                yield from rest
        yield from self._none()

    def ending(self) -> Iterator[Any]:
        """Yield the rows of the last line, if no newline ends it."""
        rest = getattr(self.last, "rest", b"")
        if rest:
            assert isinstance(self.last, PlacedFile)
            yield from self._from(self.last.behind(), {**self.place, "at": 0, "taken": 0})

    def _of_file(self, name: str) -> Iterator[Any]:
        path, place = self._files.path(name), self.place
        self.last, form = self._files.opened(name, place)
        if form != self._shape.form:
            raise CommandError(f"{path}: expected {self._shape.form}, as the file before, but got {form}")
        self._job = self._job._replace(file=path)
        place["file"] = name
        yield from self._from(self.last, place)

    def _from(self, file: File | Stdin, place: InputPlace) -> Iterator[Any]:
        """Yield the rows of a file from a place on, and move the place behind each batch."""
        with in_one_line(file.name):
            source = self._shape.opened(file)
        source.before = place["row"] - place["taken"]
        assert self.last is not None
        for found in self._batches(source, place["at"], place["taken"], place["rows"]):
            n = len(found.table)
            place |= {
                "at": found.at,
                "taken": found.taken,
                "row": place["row"] + n,
                "rows": place["rows"] + n,
                "read": self.last.read,
            }
            yield self._converted(found)
