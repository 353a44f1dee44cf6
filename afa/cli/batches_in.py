"""The input of ``afa run`` in the operator's form, batch by batch: which of its columns are read, and as what.

The column of ``--diff`` says what is an insertion and what a retraction; rows may name their event by its id (``--id``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa import BEGINNING, FOREVER
from afa.cli.advice import Advice
from afa.cli.fault import CommandError
from afa.cli.request import FIRST, CommandRequest
from afa.errors import did_you_mean
from afa.io.file_columns import ANY, KEY, ORDER, TIME, BatchPlace, FileColumn, convert, kind_of_times
from afa.io.files import FileBatch, batches
from afa.io.table_times import TimeType
from afa.io.text_files import FileSource
from afa.model.event_order import fields_in
from afa.schema import Schema
from punctuation.door import one_array

FLAGS = {"le": "--time", "re": "--until", "diff": "--diff"}
"""Which option names a column."""


class Input:
    """The input in the operator's form, batch by batch; there is always one, if an empty one."""

    def __init__(self, job: CommandRequest, source: FileSource, events: Schema, advice: Advice | None = None) -> None:
        self.latest = BEGINNING  # the largest timestamp so far
        self.first: Any = None  # the first batch
        self.times: TimeType | None = None  # the type of its times, in which those of the output leave; None: they are ints
        self._job, self._source, self._said = job, source, _chosen(job, source, events)
        self._columns = with_signs(self._said, job)
        self._advice = advice

    def __iter__(self) -> Iterator[pa.Table]:
        for found in self._batches(self._source):
            yield self._converted(found)
        yield from self._none()

    def _batches(self, source: FileSource, at: int = 0, taken: int = 0, before: int = 0) -> Iterator[FileBatch]:
        """Yield the rows of a source from a place on; the first batch of all, with no row ``before``, is small."""
        job = self._job
        sizes = itertools.chain([] if before else [min(FIRST, job.rows)], itertools.repeat(job.rows))
        return batches(source, job.file, self._columns, job.rows, sizes, at, taken)

    def _none(self) -> Iterator[pa.Table]:
        """Yield a batch without rows, where there was none at all."""
        if self.first is None:
            empty = pa.table({column.source: pa.nulls(0) for column in self._columns})
            yield self._converted(FileBatch(self._source.first_row, empty, 0, 0))

    def _times_of(self, table: pa.Table) -> TimeType | None:
        tick = self._job.tick or "ms"
        kind = kind_of_times(table, self._columns, tick)
        if self._source.unitless and pa.types.is_timestamp(kind):
            kind = pa.timestamp(tick, kind.tz)
        return TimeType.of_arrow(kind, tick)

    def _converted(self, batch: FileBatch) -> pa.Table:
        place = BatchPlace(self._job.file, batch.row)
        self.times = self._times_of(batch.table) if self.first is None else self.times
        found = convert(batch.table, self._columns, self._job.tick, place)
        found = signed(found, self._said, self._job, place, self.latest)
        self.latest = max(self.latest, pc.max(found["le"]).as_py() if len(found) else BEGINNING)
        if self._advice is not None:
            self._advice.look(found)
        self.first = found if self.first is None else self.first
        return found

    @property
    def total(self) -> int:
        """How much there is to be read; 0: nobody knows."""
        return self._source.total

    @property
    def done(self) -> int:
        """How much of that is done."""
        return self._source.done()

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
    kinds = {field.name: field.type.__name__ if field.type else ANY for field in fields} | dict.fromkeys(events.times, TIME)
    kinds.pop(events.instant or "", None)
    roles = {field.name: f"field {field.name} of {events.cls.__name__}" for field in fields}
    roles |= {**dict.fromkeys(fields_in(job.order_by), ORDER), **dict.fromkeys(job.keys, "the key")}
    chosen = [FileColumn(each.name, each.name, kinds[each.name], each.optional, roles[each.name]) for each in fields]
    chosen += [FileColumn(key, key, KEY, True, "--key") for key in job.keys if key not in kinds and key not in job.made]
    beside = [name for name in (*job.id, job.version) if name is not None and name not in {*kinds, *job.keys}]
    chosen += [FileColumn(name, name, ANY if name == job.version else KEY, False, _of_ids(name, job)) for name in beside]
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


def _of_ids(name: str, job: CommandRequest) -> str:
    return "--version" if name == job.version else "--id"


def _check_there(file: str, names: Sequence[str], column: FileColumn) -> None:
    count = names.count(column.source)
    if count > 1:
        raise CommandError(f"{file}: expected one column {column.source!r} ({column.role}) but got {count}")
    if count == 0:
        hint = did_you_mean(column.source, names)
        if column.role == "--time" and column.source == "le":
            hint = "; say which column holds the timestamps with --time"
        raise CommandError(f"{file}: no column {column.source!r} ({column.role}) among {', '.join(names)}{hint}")


def with_signs(columns: Sequence[FileColumn], job: CommandRequest) -> list[FileColumn]:
    """Return the columns to read: ``--diff`` as it is, where its values have a meaning; what ``--id`` lets miss as optional."""
    twice = set(job.insert) & set(job.retract)
    if twice:
        raise CommandError(f"expected values that mean one thing but got {min(twice)!r} as --insert and as --retract")
    targets = [column.target for column in columns]
    found = [column._replace(kind=ANY) if column.target == "diff" and job.insert else column for column in columns]
    if not job.id or "diff" not in targets:
        return found
    said = ("diff", *job.id, job.version)
    return [column if column.target in said else column._replace(optional=True) for column in found]


def signed(table: pa.Table, columns: Sequence[FileColumn], job: CommandRequest, place: BatchPlace, latest: int) -> pa.Table:
    """Return a batch in which ``diff`` is 1 or -1, and where nothing misses but in retractions by an id.

    ``columns``: as they were before `with_signs`. ``latest``: the largest timestamp so far, that of retractions without one. The
    first row whose value means neither, or misses, is refused by its number.
    """
    if job.insert:
        column = next(column for column in columns if column.target == "diff")
        at = table.column_names.index("diff")
        table = table.set_column(at, "diff", pa.array(_signs(table.column(at), job, column, place)))
    if not job.id or "diff" not in table.column_names:
        return table
    gone = table["diff"].to_numpy() < 0
    for column in columns:
        missing = table[column.target].is_null().to_numpy()
        wrong = missing & ~gone
        if not column.optional and wrong.any():
            raise place.fault(column, int(np.argmax(wrong)), f"expected {column.kind} ({column.role}) but got no value")
        if column.kind == TIME and column.target == "le" and missing.any():
            le = table["le"].fill_null(latest).to_numpy()
            seen = np.maximum(np.maximum.accumulate(np.where(missing, latest, le)), latest)
            table = table.set_column(table.column_names.index("le"), "le", pa.array(np.where(missing, seen, le)))
    return table


def _signs(values: Any, job: CommandRequest, column: FileColumn, place: BatchPlace) -> Any:
    """Return 1 and -1 for a column's values."""
    values = one_array(values)
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    try:
        texts = values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise place.whole(column, f"expected text or integers (--diff, --insert, --retract) but got {values.type}") from None
    come, gone = (pc.is_in(texts, pa.array(said, pa.string())).to_numpy(zero_copy_only=False) for said in (job.insert, job.retract))
    wrong = ~(come | gone)
    if wrong.any():
        i = int(np.argmax(wrong))
        wanted = ", ".join([*job.insert, *job.retract])
        raise place.fault(column, i, f"expected one of {wanted} (--insert, --retract) but got {texts[i].as_py()!r}")
    return np.where(come, 1, -1)
