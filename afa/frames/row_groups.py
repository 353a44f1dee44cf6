"""Find matches in a Parquet file row group by row group: rows wait only as long as earlier ones may still come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from afa.errors import AfaError
from afa.frames.asked import Asked, Options
from afa.frames.decoded import Frame
from afa.frames.found import Columns, joined, written
from afa.frames.frame_reading import Reading
from afa.frames.slicing import by_time, columns_of
from afa.frames.through import taken
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
    tables = list(_found(plan, reading, file, str(path)))
    return written(joined(tables, plan), head, plan, reading)


def _found(plan: Asked, reading: Reading, file: pq.ParquetFile, path: str) -> Iterator[Columns]:
    """Yield what an operator gives for the row groups, each with the promise that no later one goes behind."""
    op = plan.make()
    groups, least, latest = _times(plan, reading, file, path)
    of_key = [name for name in plan.keys if name != plan.events.instant]
    names = list(dict.fromkeys([*(field.name for field in plan.fields), *of_key, *reading.columns]))
    last = FOREVER if reading.end == "forever" else latest
    held: list[pa.Table] = [file.schema_arrow.empty_table().select(names)]
    waits = FOREVER  # the least LE of what is held
    for n, then in enumerate([*least[1:], None] if groups else [None]):
        group = groups[n] if groups else 0
        if groups:
            held.append(file.read_row_group(group, columns=names))
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
        rows = by_time(_told(lambda frame=frame: columns_of(frame, plan, reading), path, group), plan, grouped=False)  # type: ignore[misc]
        (group_of_rows,) = rows.groups
        yield from taken(op, rows, group_of_rows, last if then is None else then, plan.members is not None)


def _times(plan: Asked, reading: Reading, file: pq.ParquetFile, path: str) -> tuple[list[int], list[int], int]:
    """Return the row groups that have rows; for each the least LE there and in all later ones; and the largest LE."""
    groups, least, latest = [], [], BEGINNING
    for group in range(file.num_row_groups):
        if not file.metadata.row_group(group).num_rows:
            continue  # which says nothing of those behind it
        frame = Frame(file.read_row_group(group, columns=[reading.time]))
        ticks = _told(lambda frame=frame: frame.ticks(reading.time, plan.tick, "time"), path, group)  # type: ignore[misc]
        groups.append(group)
        least.append(int(ticks.min()))
        latest = max(latest, int(ticks.max()))
    return groups, np.minimum.accumulate(least[::-1])[::-1].tolist() if least else [], latest


def _told(call: Callable[[], T], path: str, group: int) -> T:
    """Return what a call returns; an error says in which row group it is."""
    try:
        return call()
    except AfaError as error:
        raise type(error)(f"{error} (row group {group} of {path})") from error
