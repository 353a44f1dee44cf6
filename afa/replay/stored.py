"""A stored table: files of row groups, which are read one by one, and what their statistics say.

    path, folder, list of paths, pyarrow.dataset  ->  files  ->  row groups: rows, least and largest time, bounds of columns

A file of another format than Parquet is one group without statistics. Whoever rewrites a file while it is read is found out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import types
from pyarrow.fs import LocalFileSystem

from afa.errors import AfaError, ChangeError
from afa.io.frame import Frame
from afa.io.listed_columns import missing
from afa.replay.column_totals import BlockColumn, holds_times, unknown_column, value_type
from punctuation.door import Table

KEPT = 1 << 27
"""How many bytes of columns are kept that are likely to be read again."""
OPEN = 64
"""How many files are kept open."""
THREADS = 1 << 18
"""From so many rows on columns may be decoded by several threads."""
TOGETHER = 1 << 17
"""So many rows of small row groups are looked at together."""


class _File:
    """A file of a source: where it is, its row groups, and what it looked like when it was opened."""

    def __init__(self, fragment: Any, schema: pa.Schema, handles: _Handles) -> None:
        self._fragment, self._schema, self._handles = fragment, schema, handles
        self.path: str = getattr(fragment, "path", "") or "(in memory)"
        self.system: Any = getattr(fragment, "filesystem", None)
        self.metadata: Any = None
        self.parts: dict[str, Any] = ds.get_partition_keys(fragment.partition_expression)
        self.stamp = self._look()
        if isinstance(fragment, ds.ParquetFileFragment):
            with self._named():
                opened = self.opened()
            self.metadata = metadata = opened.metadata
            self.rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            self._places = {metadata.schema.column(i).path: i for i in range(len(metadata.schema))}
            kinds = {field.name: field.type for field in schema}
            self._plain = {field.name for field in opened.schema_arrow if kinds.get(field.name) == field.type}
        else:
            with self._named():
                self.rows = [fragment.count_rows()]

    def opened(self) -> pq.ParquetFile:
        """Return the file, opened; its footer is read once."""
        local = isinstance(self.system, LocalFileSystem)
        return pq.ParquetFile(self.path if local else self.system.open_input_file(self.path), metadata=self.metadata)

    @property
    def parquet(self) -> Any:
        """The opened file; None: it is no Parquet."""
        return None if self.metadata is None else self._handles.opened(self)

    @contextmanager
    def _named(self, where: str = "") -> Iterator[None]:
        """Name the file in errors of what reads it."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            if where:
                self.check_unchanged()
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise AfaError(f"expected a file that can be read but got {self.path}{where}: {reason}") from error

    def _look(self) -> tuple[Any, ...] | None:
        """Return the size and the time of the last change, as far as the file system tells."""
        if self.system is None or not getattr(self._fragment, "path", ""):
            return None
        with self._named():
            info = self.system.get_file_info(self.path)
            if not info.is_file:
                raise AfaError(f"expected a file {self.path!r} but there is none any more")
            return info.size, info.mtime_ns

    def check_unchanged(self) -> None:
        """Refuse to go on if the file is not what was opened."""
        now = self._look()
        if now != self.stamp:
            raise AfaError(
                f"expected {self.path} to stay as it is while it is read but it has changed (size and time were {self.stamp}, "
                f"are {now}); read again"
            )

    def read_several(self, groups: Sequence[int], columns: Sequence[str], threads: bool = False) -> pa.Table:
        """Return columns of some row groups, one behind the other: by one call, unless that fails, to tell which one it is."""
        if len(groups) > 1 and self.parquet is not None and all(name in self._plain for name in columns):
            threads = threads and sum(self.rows[group] for group in groups) >= THREADS
            with suppress(OSError, pa.ArrowException):
                return self.parquet.read_row_groups(list(groups), columns=list(columns), use_threads=threads)
        tables = [self.read(group, columns) for group in groups]
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)

    def read(self, group: int, columns: Sequence[str]) -> pa.Table:
        """Return columns of a row group, in the source's types."""
        with self._named(f", row group {group}"):
            if self.parquet is None:
                return self._fragment.to_table(schema=self._schema, columns=list(columns))
            if all(name in self._plain for name in columns):
                return self.parquet.read_row_group(group, columns=list(columns), use_threads=False)
            part = self._fragment.subset(row_group_ids=[group])
            return part.to_table(schema=self._schema, columns=list(columns))

    def sample(self, group: int, columns: Sequence[str], rows: int) -> pa.Table:
        """Return the first rows of a row group, without decoding the rest where that can be done."""
        if self.parquet is None or not all(name in self._plain for name in columns):
            return self.read(group, columns).slice(0, rows)
        with self._named(f", row group {group}"):
            batches = self.parquet.iter_batches(rows, row_groups=[group], columns=list(columns), use_threads=False)
            return pa.Table.from_batches([next(batches)])

    def bounds(self, group: int, column: str) -> tuple[Any, Any, int]:
        """Return the least and the largest value of a column in a row group, None if nobody knows, and how many are missing."""
        if column in self.parts:
            value = self.parts[column]
            return value, value, self.rows[group] if value is None else 0
        if self.metadata is None or column not in self._plain or column not in self._places:
            return None, None, -1
        found = self.metadata.row_group(group).column(self._places[column]).statistics
        if found is None:
            return None, None, -1
        nulls = found.null_count if found.has_null_count else -1
        if not found.has_min_max:
            return None, None, nulls
        try:
            return found.min, found.max, nulls
        except (pa.ArrowException, ValueError, OverflowError):  # a value that Python has no type for
            return None, None, nulls


class _Handles:
    """The files that are open, as many as a process may well have open."""

    def __init__(self) -> None:
        self._open: dict[int, pq.ParquetFile] = {}

    def opened(self, file: _File) -> pq.ParquetFile:
        """Return a file, opened; the one that was opened first is closed, if they are many."""
        found = self._open.get(id(file))
        if found is None:
            if len(self._open) >= OPEN:
                self._open.pop(next(iter(self._open))).close()
            found = self._open[id(file)] = file.opened()
        return found


class Stored:
    """An opened source. Footers are read, rows are not.

    It is a Parquet file, a folder of them (in subfolders ``name=value``, if there are any), a list of paths, a dataset of pyarrow.
    """

    def __init__(self, source: Any) -> None:
        self.name, dataset = _dataset(source)  # the source in words
        self.schema: pa.Schema = dataset.schema
        handles = _Handles()
        self.files = [_File(fragment, self.schema, handles) for fragment in dataset.get_fragments()]
        places = [(file, group) for file in self.files for group, rows in enumerate(file.rows) if rows]
        self._places = places
        self.rows = np.array([file.rows[group] for file, group in places], np.int64)  # of each row group; none is empty
        self._bounds: dict[str, BlockColumn] = {}
        self._kept: dict[tuple[int, str], Any] = {}
        self._room = KEPT

    def __len__(self) -> int:
        return len(self._places)

    @property
    def total(self) -> int:
        """How many rows there are."""
        return int(self.rows.sum())

    def head(self) -> Frame:
        """Return the source as a frame without rows: its columns and their types."""
        return Frame(self.schema.empty_table())

    def kind(self, column: str) -> pa.DataType:
        """Return the type of a column's values, whether they are coded or not."""
        return value_type(self.schema.field(column).type)

    def check_column(self, name: Any, what: str) -> None:
        """Refuse a name that no column has, or several; ``what``: what the column is for."""
        if not isinstance(name, str) or self.schema.names.count(name) != 1:
            raise missing(str(name), self.schema.names, what)

    def kind_of_times(self, time: str) -> pa.DataType:
        """Return the type of the column of times; refuse a column that has none."""
        if not isinstance(time, str):
            raise ChangeError(f"expected the name of a column but got time={time!r}")
        self.check_column(time, "time")
        kind = self.kind(time)
        if not holds_times(kind):
            raise ChangeError(f"expected ints, timestamps or dates in column {time!r} (time) but got {kind}")
        return kind

    def whole(self) -> Frame:
        """Return the source as a frame that reads a column when it is asked for."""
        columns = _Columns(self)
        return Frame(Table("arrow", columns, columns))

    def read(self, group: int, columns: Iterable[str]) -> pa.Table:
        """Return columns of a row group."""
        return self.read_several([group], columns)

    def read_several(self, groups: Sequence[int], columns: Iterable[str]) -> pa.Table:
        """Return columns of some row groups, one behind the other."""
        tables = [table for _, table in self.read_tables(groups, columns)]
        return tables[0] if len(groups) == 1 else pa.concat_tables(tables).unify_dictionaries().combine_chunks()

    def read_tables(
        self, groups: Sequence[int], columns: Iterable[str], threads: bool = False
    ) -> Iterator[tuple[list[int], pa.Table]]:
        """Yield some of the row groups, and columns of them, one behind the other, as often as a file has to be read."""
        names = list(columns)
        for (file, kept), part in groupby(groups, lambda group: (self._places[group][0], self._kept_of(group, names))):
            several = list(part)
            rest = [name for name in names if name not in kept]
            if rest or not kept:
                table = file.read_several([self._places[group][1] for group in several], rest, threads)
            if kept:
                found = {name: table.column(name) for name in rest}
                for name in kept:
                    found[name] = pa.chunked_array([chunk for group in several for chunk in self._kept[group, name].chunks])
                table = pa.table(found)
            yield several, table.select(names)

    def _kept_of(self, group: int, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if (group, name) in self._kept) if self._kept else ()

    def keep(self, groups: Sequence[int], table: pa.Table) -> None:
        """Keep columns of some row groups, one behind the other, for the next reading, as long as there is room."""
        begins = np.append(0, np.cumsum(self.rows[groups])).tolist()
        for name, column in zip(table.column_names, table.columns):
            if column.nbytes <= self._room and not any((group, name) in self._kept for group in groups):
                self._room -= column.nbytes
                for group, begin, end in zip(groups, begins, begins[1:]):
                    self._kept[group, name] = column.slice(begin, end - begin)

    def sample(self, group: int, columns: Iterable[str], rows: int) -> pa.Table:
        """Return columns of the first rows of a row group."""
        file, place = self._places[group]
        return file.sample(place, list(columns), rows)

    def place(self, group: int) -> tuple[str, int]:
        """Return the file of a row group, and its number there."""
        file, place = self._places[group]
        return file.path, place

    def where(self, group: int) -> str:
        """Return a row group in words."""
        path, place = self.place(group)
        return f"row group {place} of {path}"

    def bounds(self, column: str) -> BlockColumn:
        """Return bounds and nulls of a column in each row group, as its statistics tell them. Asked of the footers once."""
        if column not in self._bounds:
            kind = self.kind(column)
            found = [file.bounds(group, column) for file, group in self._places]
            low, high = (_values([item[i] for item in found], kind) for i in range(2))
            nulls = np.array([item[2] for item in found], np.int64)
            known = np.asarray(pc.and_(low.is_valid(), high.is_valid())) | (nulls == self.rows)
            self._bounds[column] = unknown_column(kind, len(self))._replace(low=low, high=high, nulls=nulls, known=known)
        return self._bounds[column]

    def check_unchanged(self) -> None:
        """Refuse what was found if a file has changed meanwhile (`AfaError`)."""
        for file in self.files:
            file.check_unchanged()


def together(groups: Sequence[int], rows: Any) -> Iterator[list[int]]:
    """Yield row groups, of small ones several together: what is done for each reading is done for all of them once.

    >>> list(together([0, 1, 2, 3], np.array([20_000, 90_000, 80_000, 30_000])))
    [[0, 1], [2, 3]]
    """
    found: list[int] = []
    held = 0
    for group in groups:
        if found and held + rows[group] > TOGETHER:
            yield found
            found, held = [], 0
        found.append(int(group))
        held += int(rows[group])
    if found:
        yield found


def trusted(kind: pa.DataType) -> bool:
    """Return whether bounds of this type are believed, which writers have got wrong of unsigned 64 bits and decimals."""
    ints = types.is_integer(kind) and kind != pa.uint64()
    texts = types.is_string(kind) or types.is_large_string(kind)
    return ints or texts or kind in (pa.float32(), pa.float64(), pa.bool_()) or types.is_timestamp(kind) or types.is_date(kind)


def _values(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return values of statistics as a column."""
    try:
        return pa.array(values if trusted(kind) else [None] * len(values), kind, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.nulls(len(values), kind)


class _Columns:
    """The columns of a source, each read when it is asked for."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self.schema = stored.schema

    def column(self, name: str) -> Any:
        """Return a column."""
        tables = [table for _, table in self._stored.read_tables(range(len(self._stored)), [name], threads=True)]
        return pa.concat_tables(tables or [self.schema.empty_table()]).column(name)


def schema_of(source: Any) -> pa.Schema:
    """Return the columns of files."""
    return _dataset(source)[1].schema


def _dataset(source: Any) -> tuple[str, ds.Dataset]:
    if isinstance(source, ds.Dataset):
        if getattr(source, "_scan_options", None):
            raise AfaError("expected a pyarrow.dataset without a filter but got one that has a filter; leave it to the pattern")
        return f"a {type(source).__name__}", source
    paths = source if isinstance(source, (list, tuple)) else [source]
    if not paths or not all(isinstance(path, (str, Path)) for path in paths):
        raise AfaError(
            f"expected a path, a folder, a list of paths or a pyarrow.dataset as the source but got {source!r}; "
            "afa.find takes frames in memory"
        )
    said = str(source) if not isinstance(source, (list, tuple)) else f"{len(paths)} files"
    try:
        given = str(paths[0]) if len(paths) == 1 else [str(path) for path in paths]
        found = ds.dataset(given, format="parquet", partitioning="hive")
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AfaError(f"expected the path of a Parquet file, or of a folder of them, but got {said!r}: {reason}") from error
    if not found.files:
        raise AfaError(f"expected a folder with Parquet files but got {said!r}, in which there is none")
    return said, found
