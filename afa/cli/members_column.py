"""The column ``members`` of ``afa run --members``: of one type from the first change to the last."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from afa.cli.fault import CommandError
from afa.cli.output_times import with_times
from afa.operator.member_columns import MEMBERS, column_type, in_arrow

VALUES = "values"


class MembersColumn:
    """What is told of the events behind the matches of an operator; where nothing is, tables stay as they are.

    Parameters
    ----------
    operator
    kind : Arrow type or None
        In which times leave; None: as ints.
    tick : str
    """

    def __init__(self, operator: Any, kind: pa.DataType | None, tick: str) -> None:
        core = operator._core
        self._members = core.members
        if self._members is None:
            return
        self._kind, self._tick = kind if self._members.times else None, tick
        self._type = column_type(self._members, [event.arc for event in core.arcs.table.events])

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of what is written."""
        if self._members is None:
            return schema
        empty = self._timed(pa.array([], self._type))
        return schema.append(pa.field(MEMBERS, empty.type))

    def taken(self, changes: Any) -> tuple[Any, Any]:
        """Return changes without the column, and the column; None: there is none."""
        if self._members is None:
            return changes, None
        if isinstance(changes, pa.Table):
            return changes.drop_columns([MEMBERS]), changes[MEMBERS].combine_chunks()
        left = {name: column for name, column in changes.items() if name != MEMBERS}
        return left, in_arrow(changes[MEMBERS], self._members, (), None)

    def put(self, changes: pa.Table, column: Any) -> pa.Table:
        """Return changes with the column, in its one type, with times as they leave."""
        if column is None:
            return changes
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_struct(self._type):
            new = [field.name for field in column.type if field.name not in {known.name for known in self._type}]
            if any(pc.any(pc.greater(pc.list_value_length(column.field(name)), 0)).as_py() for name in new):
                raise CommandError(
                    f"expected arcs that take events for {', '.join(field.name for field in self._type)}, of which --members has a "
                    f"column, but got one for {new[0]!r}; let the pattern have an arc with this select="
                )
            names = [field.name for field in self._type]
            column = pa.StructArray.from_arrays([column.field(name) for name in names], names, mask=column.is_null())
        return changes.append_column(MEMBERS, self._timed(column))

    def _timed(self, column: Any) -> Any:
        """Return the column with ticks as times, where they leave so."""
        if self._kind is None:
            return column
        if pa.types.is_struct(column.type):
            names = [field.name for field in column.type]
            return pa.StructArray.from_arrays([self._timed(column.field(name)) for name in names], names, mask=column.is_null())
        flat = with_times(pa.table({VALUES: column.flatten()}), [VALUES], self._kind, self._tick)[VALUES]
        lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        ends = [0, *lengths.cumsum().tolist()]
        gone = column.is_null().to_pylist()
        offsets = pa.array([None if missing else end for end, missing in zip(ends, [*gone, False])], pa.int32())
        return pa.ListArray.from_arrays(offsets, flat.combine_chunks() if flat.num_chunks else pa.array([], flat.type))
