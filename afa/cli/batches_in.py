"""The input of ``afa run`` in the operator's form, batch by batch: which of its columns are read, and as what."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from afa import BEGINNING, FOREVER
from afa.cli.advice import Advice
from afa.cli.fault import CommandError
from afa.cli.request import FIRST, CommandRequest
from afa.cli.signs import signed, with_signs
from afa.errors import did_you_mean
from afa.io.file_columns import ANY, KEY, TIME, FileColumn, Place, convert, kind_of_times
from afa.io.files import FileSource, batches
from afa.io.table_times import TimeType
from afa.schema import Schema

FLAGS = {"le": "--time", "re": "--until", "diff": "--diff"}
"""Which option names a column."""


class Input:
    """The input in the operator's form, batch by batch; there is always one, if an empty one.

    Parameters
    ----------
    job : Job
    source : Source
    events : Schema
        Of the events that come.

    Raises
    ------
    CommandError
        The input has no column that is needed, or has it twice.
    """

    def __init__(self, job: CommandRequest, source: FileSource, events: Schema, advice: Advice | None = None) -> None:
        self.latest = BEGINNING  # the largest timestamp so far
        self.first: Any = None  # the first batch
        self.times: TimeType | None = None  # the type of its times, in which those of the output leave; None: they are ints
        self._job, self._source, self._said = job, source, _chosen(job, source, events)
        self._columns = with_signs(self._said, job)
        self._advice = advice

    def __iter__(self) -> Iterator[pa.Table]:
        job, row = self._job, None
        sizes = itertools.chain([min(FIRST, job.rows)], itertools.repeat(job.rows))
        for row, table in batches(self._source, job.file, self._columns, job.rows, sizes):
            if self.first is None:
                self.times = self._times_of(table)
            yield self._converted(table, row)
        if row is None:
            empty = pa.table({column.source: pa.nulls(0) for column in self._columns})
            yield self._converted(empty, self._source.first_row)

    def _times_of(self, table: pa.Table) -> TimeType | None:
        tick = self._job.tick or "ms"
        kind = kind_of_times(table, self._columns, tick)
        if self._source.unitless and pa.types.is_timestamp(kind):
            kind = pa.timestamp(tick, kind.tz)
        return TimeType.of_arrow(kind, tick)

    def _converted(self, table: pa.Table, row: int) -> pa.Table:
        place = Place(self._job.file, row)
        found = convert(table, self._columns, self._job.tick, place)
        found = signed(found, self._said, self._job, place, self.latest)
        self.latest = max(self.latest, pc.max(found["le"]).as_py() if len(found) else BEGINNING)
        if self._advice is not None:
            self._advice.look(found)
        self.first = found if self.first is None else self.first
        return found

    @property
    def end(self) -> int:
        """The promise at the end of the input."""
        return FOREVER if self._job.end == "forever" else self.latest


def _chosen(job: CommandRequest, source: FileSource, events: Schema) -> list[FileColumn]:
    """Return the columns to read: the event's fields, the key, ``le``, and ``re`` and ``diff`` where named or there."""
    names, named = source.names or (), {"le": job.time, "re": job.until, "diff": job.diff}
    fields = [field for field in events.fields if field.name != events.instant]
    if not named["le"] and events.instant in names and "le" not in names:
        named["le"] = events.instant
    kinds = {field.name: field.type.__name__ if field.type else ANY for field in fields}
    roles = {
        field.name: "the key" if field.name in job.keys else f"field {field.name} of {events.cls.__name__}" for field in fields
    }
    chosen = [FileColumn(each.name, each.name, kinds[each.name], each.optional, roles[each.name]) for each in fields]
    chosen += [FileColumn(key, key, KEY, True, "--key") for key in job.keys if key not in kinds]
    for target, kind in (("le", TIME), ("re", TIME), ("diff", "int")):
        if target == "le" or named[target] or (target in names and target not in kinds):
            chosen.append(FileColumn(named[target] or target, target, kind, target == "re", FLAGS[target]))
    for column in chosen if source.names is not None else ():
        if not (source.sparse and column.target in kinds and column.optional):
            _check_there(job.file, names, column)
    taken = [column.target for column in chosen]
    for target in taken:
        if taken.count(target) > 1:
            raise CommandError(f"expected field and key names other than le, re and diff but got {target!r} in {events.describe()}")
    return chosen


def _check_there(file: str, names: Sequence[str], column: FileColumn) -> None:
    count = names.count(column.source)
    if count > 1:
        raise CommandError(f"{file}: expected one column {column.source!r} ({column.role}) but got {count}")
    if count == 0:
        hint = did_you_mean(column.source, names)
        if column.role == "--time" and column.source == "le":
            hint = "; say which column holds the timestamps with --time"
        raise CommandError(f"{file}: no column {column.source!r} ({column.role}) among {', '.join(names)}{hint}")
