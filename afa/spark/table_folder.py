"""Fold changes into the matches that are in force, and keep these in a folder of tables, each the next state of one table.

    <n>-<batch>-<run>.afa.parquet     a table; there once it is whole, never changed after that
    _spark_metadata/<k>.compact       the name of the one to be read, in the form of Spark's file sink
    v=<n>                             a link to a table, for readers other than Spark: that with the largest number
    _afa_drafts/<n>-<batch>-<run>     where it is written

``spark.read.parquet(folder)`` finds the last list, and by it one table, which stays while the next ones are written. Nothing else
is deleted: of tables of older versions, without ``.afa``, only those of a query's id or of nobody; a list or a link only if it
names such a table.
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

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.types import ArrayType, LongType, StructType, TimestampType

from afa.errors import AfaError
from afa.operator.members import MEMBERS
from afa.spark.packed_rows import MATCH
from afa.spark.typed import column

DRAFTS, LISTS, LIST = "_afa_drafts", "_spark_metadata", ".compact"
NOBODY = ""
"""The run of tables whose query is not known."""
_NAME = re.compile(r"(\d+)-(\d+)-(.*?)(\.afa)?\.parquet", re.ASCII)
_OURS = re.compile(r"\d+-\d+-([A-Za-z0-9._-]*\.afa|([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?)\.parquet", re.ASCII)
_OLD = re.compile(r"v=(\d+)", re.ASCII)
_LISTED = re.compile(r"(\d+)(\.compact)?", re.ASCII)
FOLD = ("diff", "kind", "reason")


class FolderTable(NamedTuple):
    """A table of the folder."""

    number: int  # of two tables the later one has the larger number
    batch: int  # after which it is the state
    run: str  # whose batch
    path: Path

    @property
    def uri(self) -> str:
        """Where Spark finds it, which knows other file systems; nothing in it is quoted."""
        return f"file://{self.path}"


class Turn(NamedTuple):
    """A table to be written, and the one that it follows, if there is one."""

    before: FolderTable | None
    table: FolderTable

    @property
    def draft(self) -> Path:
        """The folder where it is to be written, as one Parquet file; what is there is of a batch that did not end."""
        return self.table.path.parent / DRAFTS / self.table.path.stem


class Tables:
    """The tables of a folder, which need not be there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()

    def all(self) -> list[FolderTable]:
        there = _inside(self._folder)
        named = ((_NAME.fullmatch(path.name), path) for path in there)
        found = [FolderTable(int(name[1]), int(name[2]), name[3], path) for name, path in named if name is not None]
        before = ((_OLD.fullmatch(path.name), path) for path in there if _is_table(path))
        return sorted(found + [FolderTable(int(name[1]), int(name[1]), NOBODY, path) for name, path in before if name is not None])

    def turn(self, run: str, batch: int, has_changes: Callable[[], bool]) -> Turn | None:
        """Return what a batch has to write: the table after it. None: the last one is that."""
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
        linked = [int(name[1]) for path in _inside(self._folder) if (name := _OLD.fullmatch(path.name))]  # some may not be ours
        number = max([batch, *(n + 1 for n in linked), *(table.number + 1 for table in self.all())])
        return Turn(before, FolderTable(number, batch, run, self._folder / f"{number}-{batch}-{run}.afa.parquet"))

    def _own(self, run: str, batch: int) -> list[FolderTable]:
        """Return the run's tables; if it has none and is at work, those of nobody."""
        tables = self.all()
        own = [table for table in tables if table.run == run]
        return own if own or batch == 0 else [table for table in tables if table.run == NOBODY]

    def show(self, turn: Turn) -> None:
        """Let readers have a table that is written in place of the one before."""
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

    def prune(self, n: int, besides: FolderTable | None) -> None:
        """Delete all tables of ours but the last n and another one that is to stay."""
        lists, ours = self._lists(), [table for table in self.all() if _is_ours(table.path)]
        for number in sorted(lists)[:-n]:
            if _is_list(lists[number]):
                _delete(lists[number])
        for table in ours[:-n]:
            if table != besides:
                _delete_link(self._folder / f"v={table.number}", table.path)
                _delete(table.path)
        for draft in _inside(self._folder / DRAFTS):
            if _OURS.fullmatch(f"{draft.name}.parquet") and not draft.is_symlink():
                shutil.rmtree(draft, ignore_errors=True)
        with contextlib.suppress(OSError):  # there is none, or it holds something else
            (self._folder / DRAFTS).rmdir()

    def _lists(self) -> dict[int, Path]:
        found = ((_LISTED.fullmatch(path.name), path) for path in _inside(self._folder / LISTS))
        return {int(named[1]): path for named, path in found if named is not None}


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _is_table(path: Path) -> bool:
    """Return whether a folder holds a table, not a link to one: so older versions wrote them."""
    return (path / "_SUCCESS").exists() and any(not file.is_symlink() for file in path.glob("*.parquet"))


def _link(table: Path, link: Path, draft: Path) -> None:
    """Make the folder by which readers find a table; it gets its name once it is whole."""
    hidden = draft / link.name
    hidden.mkdir()
    (hidden / "part-0.parquet").symlink_to(Path("..", table.name))
    (hidden / "_SUCCESS").touch()
    os.rename(hidden, link)


def _entry(path: Path) -> str:
    found = path.stat()
    told = {"path": path.as_uri(), "size": found.st_size, "isDir": False, "modificationTime": int(found.st_mtime * 1000)}
    return json.dumps({**told, "blockReplication": 1, "blockSize": 1 << 25, "action": "add"})


def _is_ours(path: Path) -> bool:
    return _OURS.fullmatch(path.name) is not None and path.is_file() and not path.is_symlink()


def _is_list(path: Path) -> bool:
    """Return whether a list names one table, which is ours: no other sink writes such."""
    try:
        version, entry = path.read_text(encoding="utf-8").splitlines()
        return version == "v1" and _OURS.fullmatch(json.loads(entry)["path"].rpartition("/")[2]) is not None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False


def _delete_link(link: Path, table: Path) -> None:
    """Delete the folder by which readers find a table, if it is that, and holds nothing else."""
    with contextlib.suppress(OSError):
        file = link / "part-0.parquet"
        if {path.name for path in link.iterdir()} == {file.name, "_SUCCESS"} and os.readlink(file) == f"../{table.name}":
            _delete(file)
            _delete(link / "_SUCCESS")
            link.rmdir()


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def current(changes: DataFrame) -> DataFrame:
    """Return the matches in force after a table of changes.

    Parameters
    ----------
    changes : DataFrame
        The output of `match`, read again: all of it, or several such tables together.

    Returns
    -------
    DataFrame
        Key columns, register fields, ``le``, ``re``, ``id``; each match once, where AFTER MATCH SKIP chooses as often as it is
        there. ``members``, if there are any, as they came with the
        match; of one that was withdrawn and came again those of one of its rows (`keep_current` has the last ones).

    Examples
    --------
    ``current(spark.read.parquet("changes"))``
    """
    kept = [name for name in changes.columns if name not in FOLD]
    nested = [field.name for field in changes.schema if isinstance(field.dataType, (ArrayType, StructType))]
    told = [name for name in kept if name == MEMBERS and name in nested]  # else it is a register's field
    sums = [F.sum("diff").alias("diff"), *(F.max(name).alias(name) for name in told)]
    found = changes.where(F.col("kind") == MATCH).groupBy(*(column(name) for name in kept if name not in told)).agg(*sums)
    each = F.explode(F.sequence(F.lit(1), F.col("diff"))).alias("diff")
    return found.where(F.col("diff") > 0).select(*map(column, kept), each).drop("diff")


def keep_current(path: str | Path, keep: int = 10, run: str | None = None) -> Callable[[DataFrame, int], None]:
    """Return a function for ``foreachBatch`` that keeps the matches in force as a Parquet table.

    The table is replaced as a whole after each batch that changes it.

    Parameters
    ----------
    path : str or Path
        A folder of a mounted file system, of one query at a time; what else is in it stays. ``spark.read.parquet(path)`` is the
        table after the last batch, one whole table also while the next is written. For readers other than Spark,
        ``path/v=<number>`` with the largest number is the same: the batch's number, or a larger one in a folder that was used
        before.
    keep : int
        How many of the last tables stay, for readers that have not finished.
    run : str, optional
        The owner of the tables: a query goes on only with its own tables. None: the query's id, which its checkpoint holds. Under
        Spark Connect, where a query does not know its id, batch 0 begins a new table, and other batches go on with the last one.

    Raises
    ------
    AfaError
        An argument is not valid. When a batch is written: the query's own last table is missing.

    Notes
    -----
    A batch that runs again is written again. O(matches in force) a batch, so it suits tables that one job can rewrite. A larger
    table, or one in an object store, needs a table format with MERGE, by ``id``: docs/spark.md has the lines for Delta.
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path)):
        raise AfaError(
            f"expected a folder of a mounted file system but got path={str(path)!r}; elsewhere, MERGE into a table by id"
        )
    if not isinstance(keep, int) or keep < 2:
        raise AfaError(f"expected 2 tables to keep at least, as a batch run again needs the one before it, but got keep={keep!r}")
    if run is not None and not re.fullmatch(r"[A-Za-z0-9._-]+", run):
        raise AfaError(f"expected a name of letters, digits, '.', '_' and '-' but got run={run!r}")

    def write(changes: DataFrame, batch: int) -> None:
        tables, news = Tables(Path(path)), changes.where(F.col("kind") == MATCH).persist()  # they are asked twice
        try:
            turn = tables.turn(run or _query(changes), batch, lambda: not news.isEmpty())
            if turn is not None:
                table = current(_with(news, turn.before)).coalesce(1).write.mode("overwrite")
                table.option("maxRecordsPerFile", 0).parquet(f"file://{turn.draft}")
                tables.show(turn)
                tables.prune(keep, turn.before)
        finally:
            news.unpersist()

    return write


def _query(changes: DataFrame) -> str:
    """Return the id of the query whose batch this is, if that can be known."""
    context = getattr(changes.sparkSession, "_sc", None)
    return (context and context.getLocalProperty("sql.streaming.queryId")) or NOBODY


def _with(news: DataFrame, before: FolderTable | None) -> DataFrame:
    """Return the table before, as insertions, and the changes after it."""
    if before is None:
        return news
    table = news.sparkSession.read.parquet(before.uri)
    for field in news.schema:  # what a match shows of the LE of an event was a bigint
        if isinstance(field.dataType, TimestampType) and isinstance(table.schema[field.name].dataType, LongType):
            table = table.withColumn(field.name, F.timestamp_micros(column(field.name)))
    old = table.withColumn("diff", F.lit(1)).withColumn("kind", F.lit(MATCH))
    return news.unionByName(old.withColumn("reason", F.lit(None).cast("string")))
