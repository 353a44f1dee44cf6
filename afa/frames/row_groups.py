"""Find matches in a Parquet file row group by row group: rows wait only as long as earlier ones may still come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from afa.errors import AfaError
from afa.frames.asked import Asked
from afa.frames.found import Columns, joined, written
from afa.frames.frame_reading import Reading
from afa.frames.slicing import by_time, columns_of
from afa.frames.through import taken
from afa.io.frame import Frame
from afa.operator.options import Options
from punctuation.door import Table
from punctuation.time import BEGINNING, FOREVER

T = TypeVar("T")


def parquet(path: str | Path) -> pq.ParquetFile:
    """Open a Parquet file.

    Raises
    ------
    AfaError
        There is none.
    """
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise AfaError(f"expected the path of a Parquet file but got {str(path)!r}: {reason}") from error


class _Columns:
    """The columns of a file, each read when it is asked for."""

    def __init__(self, file: pq.ParquetFile) -> None:
        self._file = file
        self.schema = file.schema_arrow

    def column(self, name: str) -> Any:
        """Return a column."""
        return self._file.read([name]).column(name)


def whole(path: str | Path) -> Frame:
    """Return a Parquet file as a frame, of which those columns are read that are asked for."""
    columns = _Columns(parquet(path))
    return Frame(Table("arrow", columns, columns))


def in_parts(pattern: Any, path: str | Path, options: Options, said: tuple[Any, ...]) -> pa.Table:
    """Find the matches in a Parquet file; see `afa.frames.find.find`. ``said``: what `Reading.of` takes."""
    file = parquet(path)
    head = Frame(file.schema_arrow.empty_table())
    reading = Reading.of(head, pattern, *said)
    plan = reading.asked(pattern, head, options)
    columns_of(head, plan, reading)  # which says what is missing
    groups, least, latest = _times(plan, reading, file, str(path))
    names = columns_read(plan, reading)
    parts = [Part(least[n], _reading(file, group, names), f"row group {group} of {path}") for n, group in enumerate(groups)]
    tables = list(through(plan, plan.make(), reading, parts, head.given.select(names), latest))
    return written(joined(tables, plan), head, plan, reading)


class Part(NamedTuple):
    """Rows that are read when it is their turn.

    Attributes
    ----------
    least : int
        The least LE of them.
    read : callable
        Returns them as a table.
    where : str
        Where they stand, in words.
    """

    least: int
    read: Callable[[], pa.Table]
    where: str


def columns_read(plan: Asked, reading: Reading) -> list[str]:
    """Return the columns that a pattern and its reading take."""
    of_key = [name for name in plan.keys if name != plan.events.instant]
    return list(dict.fromkeys([*(field.name for field in plan.fields), *of_key, *reading.columns]))


def _reading(file: pq.ParquetFile, group: int, names: list[str]) -> Callable[[], pa.Table]:
    return lambda: file.read_row_group(group, columns=names)


def through(plan: Asked, op: Any, reading: Reading, parts: Sequence[Part], empty: pa.Table, latest: int) -> Iterator[Columns]:
    """Yield what an operator gives for parts, each with the promise that no later one goes behind.

    ``empty``: a table without rows; ``latest``: the largest LE of all parts.
    """
    last = FOREVER if reading.end == "forever" else latest
    least = np.minimum.accumulate([part.least for part in parts][::-1])[::-1].tolist() if parts else []
    held: list[pa.Table] = [empty]
    waits = FOREVER  # the least LE of what is held
    for n, then in enumerate([*least[1:], None] if parts else [None]):
        if parts:
            held.append(parts[n].read())
            waits = min(waits, least[n])
        if then is not None and waits >= then:
            continue
        table = pa.concat_tables(held)
        held, waits = [], FOREVER
        if then is not None:
            early = Frame(table).ticks(reading.time, plan.tick, "time") < then
            rest = table.filter(pa.array(~early))
            held, waits, table = [rest], then if len(rest) else FOREVER, table.filter(pa.array(early))
        frame = Frame(table)
        where = parts[n].where if parts else "the file"
        rows = by_time(_told(lambda frame=frame: columns_of(frame, plan, reading), where), plan, grouped=False)  # type: ignore[misc]
        (group_of_rows,) = rows.groups
        yield from taken(op, rows, group_of_rows, last if then is None else then, plan.members is not None)


def _times(plan: Asked, reading: Reading, file: pq.ParquetFile, path: str) -> tuple[list[int], list[int], int]:
    """Return the row groups that have rows; for each the least LE there; and the largest LE."""
    groups, least, latest = [], [], BEGINNING
    for group in range(file.num_row_groups):
        if not file.metadata.row_group(group).num_rows:
            continue  # which says nothing of those behind it
        frame = Frame(file.read_row_group(group, columns=[reading.time]))
        where = f"row group {group} of {path}"
        ticks = _told(lambda frame=frame: frame.ticks(reading.time, plan.tick, "time"), where)  # type: ignore[misc]
        groups.append(group)
        least.append(int(ticks.min()))
        latest = max(latest, int(ticks.max()))
    return groups, least, latest


def _told(call: Callable[[], T], where: str) -> T:
    """Return what a call returns; an error says where it is."""
    try:
        return call()
    except AfaError as error:
        raise type(error)(f"{error} ({where})") from error
