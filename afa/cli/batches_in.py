"""The input of ``afa run`` in the operator's form, batch by batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from afa import BEGINNING, FOREVER
from afa.cli.advice import Advice
from afa.cli.input_columns import Column, Place, convert, kind_of_times
from afa.cli.output_times import type_of_times
from afa.cli.read import Csv, Source, batches
from afa.cli.request import FIRST, Job
from afa.cli.signs import signed, with_signs
from afa.io.table_times import TimeType


class Input:
    """The input in the operator's form, batch by batch; there is always one, if an empty one."""

    def __init__(self, job: Job, source: Source, columns: list[Column], advice: Advice | None = None) -> None:
        self.latest = BEGINNING  # the largest timestamp so far
        self.first: Any = None  # the first batch
        self.times: TimeType | None = None  # the type of its times, in which those of the output leave; None: they are ints
        self._job, self._source, self._said = job, source, columns
        self._columns = with_signs(columns, job)
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
        if isinstance(self._source, Csv) and pa.types.is_timestamp(kind):  # which knows no units
            kind = pa.timestamp(tick, kind.tz)
        return type_of_times(kind, tick)

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
