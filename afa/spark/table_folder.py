"""A folder of tables, each the next state of one table: written beside the others, then shown to readers in one step.

    <n>-<batch>-<run>.parquet     a table; there once it is whole, never changed after that
    _spark_metadata/<k>.compact   the name of the one to be read, in the form of Spark's file sink
    v=<n>                         a link to a table, for readers other than Spark: that with the largest number
    _drafts/<n>-<batch>-<run>     where it is written

``spark.read.parquet(folder)`` finds the last list, and by it one table, which stays while the next ones are written.
Nothing here knows of Spark.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from afa.errors import AfaError

DRAFTS, LISTS, LIST = "_drafts", "_spark_metadata", ".compact"
NOBODY = ""
"""The run of tables whose query is not known."""
_NAME = re.compile(r"(\d+)-(\d+)-(.*)\.parquet", re.ASCII)
_OLD = re.compile(r"v=(\d+)", re.ASCII)
_LISTED = re.compile(r"(\d+)(\.compact)?", re.ASCII)


class Table(NamedTuple):
    """A table of the folder.

    Parameters
    ----------
    number : int
        Of two tables the later one has the larger number.
    batch : int
        After which it is the state.
    run : str
        Whose batch.
    path : Path
    """

    number: int
    batch: int
    run: str
    path: Path

    @property
    def uri(self) -> str:
        """Where Spark finds it, which knows other file systems; nothing in it is quoted."""
        return f"file://{self.path}"


class Turn(NamedTuple):
    """A table to be written, and the one that it follows, if there is one."""

    before: Table | None
    table: Table

    @property
    def draft(self) -> Path:
        """The folder where it is to be written, as one Parquet file; what is there is of a batch that did not end."""
        return self.table.path.parent / DRAFTS / self.table.path.stem


class Tables:
    """The tables of a folder.

    Parameters
    ----------
    folder : Path
        It need not be there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()

    def all(self) -> list[Table]:
        """Return the tables, in their order."""
        there = _inside(self._folder)
        named = ((_NAME.fullmatch(path.name), path) for path in there)
        found = [Table(int(name[1]), int(name[2]), name[3], path) for name, path in named if name is not None]
        before = ((_OLD.fullmatch(path.name), path) for path in there if _is_table(path))
        return sorted(found + [Table(int(name[1]), int(name[1]), NOBODY, path) for name, path in before if name is not None])

    def turn(self, run: str, batch: int, has_changes: Callable[[], bool]) -> Turn | None:
        """Return what a batch has to write: the table after it. None: the last one is that.

        Raises
        ------
        AfaError
            The run must have a table, and has none.
        """
        own = self._own(run, batch)
        before = max((table for table in own if table.batch < batch), default=None)
        if before is None and batch > 0 and run != NOBODY:
            raise AfaError(
                f"expected the table before batch {batch} of the query {run} in {self._folder} but got none: a query keeps its "
                "table in one folder from its first batch on; begin with a new checkpoint, or put the folder back"
            )
        undone = before is not None and any(table.batch >= batch and table > before for table in own)
        if before is not None and not undone and not has_changes():
            return None
        number = max([batch, *(table.number + 1 for table in self.all())])
        return Turn(before, Table(number, batch, run, self._folder / f"{number}-{batch}-{run}.parquet"))

    def _own(self, run: str, batch: int) -> list[Table]:
        """Return the run's tables; if it has none and is at work, those of nobody."""
        tables = self.all()
        own = [table for table in tables if table.run == run]
        return own if own or batch == 0 else [table for table in tables if table.run == NOBODY]

    def show(self, turn: Turn) -> None:
        """Let readers have a table that is written in place of the one before.

        Raises
        ------
        OSError
        """
        [file] = turn.draft.glob("*.parquet")
        os.rename(file, turn.table.path)
        with contextlib.suppress(OSError):  # a file system without links: then Spark alone reads it by the name of the folder
            _link(turn.table.path, self._folder / f"v={turn.table.number}", turn.draft)
        lists = self._folder / LISTS
        lists.mkdir(exist_ok=True)
        number = max([-1, *self._lists()]) + 1
        hidden = lists / f".{number}{LIST}.tmp"
        hidden.write_text(f"v1\n{_entry(turn.table.path)}", encoding="utf-8")
        os.replace(hidden, lists / f"{number}{LIST}")

    def prune(self, n: int, besides: Table | None) -> None:
        """Delete all tables but the last n and another one that is to stay."""
        stay, lists = {*self.all()[-n:], besides}, self._lists()
        for number in sorted(lists)[:-n]:
            _delete(lists[number])
        for table in self.all():
            if table not in stay:
                _delete(self._folder / f"v={table.number}")
                _delete(table.path)
        _delete(self._folder / DRAFTS)

    def _lists(self) -> dict[int, Path]:
        found = ((_LISTED.fullmatch(path.name), path) for path in _inside(self._folder / LISTS))
        return {int(named[1]): path for named, path in found if named is not None}


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _is_table(path: Path) -> bool:
    """Return whether a folder holds a table, not a link to one: so older versions wrote them."""
    return (path / "_SUCCESS").exists() and any(not file.is_symlink() for file in path.glob("*.parquet"))


def _link(table: Path, link: Path, draft: Path) -> None:
    """A folder by which readers find a table; it has its name once it is whole."""
    hidden = draft / link.name
    hidden.mkdir()
    (hidden / "part-0.parquet").symlink_to(Path("..", table.name))
    (hidden / "_SUCCESS").touch()
    os.rename(hidden, link)


def _entry(path: Path) -> str:
    """Return a file in Spark's words."""
    found = path.stat()
    told = {"path": path.as_uri(), "size": found.st_size, "isDir": False, "modificationTime": int(found.st_mtime * 1000)}
    return json.dumps({**told, "blockReplication": 1, "blockSize": 1 << 25, "action": "add"})


def _delete(path: Path) -> None:
    """A file, a link or a folder; it may be gone."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
