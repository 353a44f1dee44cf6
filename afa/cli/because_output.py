"""The column ``because`` of ``afa run --reasons``: of one type from the first change to the last, its LE as times leave."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from afa.cli.output_times import with_times
from afa.io.answer import as_arrow
from afa.reasons.because_column import BECAUSE, because_type
from punctuation.time import FOREVER


class BecauseColumn:
    """The reasons of an operator's matches; where none are asked, none are written.

    Parameters
    ----------
    there, asked : bool
        Whether tables come with the column, and leave with it.
    kind : Arrow type or None
        In which times leave; None: as ints.
    tick : str
    """

    def __init__(self, there: bool, asked: bool, kind: pa.DataType | None, tick: str) -> None:
        self._there, self._asked, self._kind, self._tick = there, asked, kind, tick

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of what is written."""
        return schema.append(pa.field(BECAUSE, because_type(self._kind))) if self._asked else schema

    def taken(self, changes: Any) -> tuple[Any, Any]:
        """Return changes without the column, and the column; None: there is none."""
        if not self._there:
            return changes, None
        if isinstance(changes, pa.Table):
            return changes.drop_columns([BECAUSE]), changes[BECAUSE].combine_chunks()
        left = {name: column for name, column in changes.items() if name != BECAUSE}
        return left, as_arrow(list(changes[BECAUSE]), because_type(), BECAUSE)

    def put(self, changes: pa.Table, column: Any) -> pa.Table:
        """Return changes with the column, in its one type."""
        if column is None or not self._asked:
            return changes
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        names = [field.name for field in column.type]
        parts = [column.field(name) for name in names]
        le = pa.table({"le": parts[2].fill_null(FOREVER)})
        parts[2] = with_times(le, ["le"], self._kind, self._tick)["le"].combine_chunks()
        return changes.append_column(BECAUSE, pa.StructArray.from_arrays(parts, names))
