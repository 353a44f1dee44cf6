"""The changes of a run as Arrow tables of one schema, from the first to the last; their times as the input has them.

A key has its type in the input; what a match shows that is of any type is text. ``members`` and ``because`` stand behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from afa.cli.fault import CommandError
from afa.io.answer import Answer, as_arrow
from afa.io.table_times import TimeType
from afa.operator.member_columns import MEMBERS, column_type, in_arrow
from afa.reasons.because_column import BECAUSE, because_type
from afa.schema import Field, Schema
from punctuation.door import table_of

ENDS = ("le", "re")


class OutputTable:
    """The form of the output.

    Parameters
    ----------
    operator
    shown : Schema
        Of what matches show.
    keys : sequence of str
    events : pyarrow.Table
        The first batch of the input.
    times : TimeType or None
        In which times leave; None: as ints.
    reasons : bool
        Whether reasons are written.
    """

    def __init__(
        self, operator: Any, shown: Schema, keys: Sequence[str], events: pa.Table, times: TimeType | None, reasons: bool = False
    ) -> None:
        core = operator._core
        self._times, self._timed, self._members = times, {*ENDS, *shown.times}, core.members
        fields = [Field(name, None, True) for name in keys]
        fields += [field if field.type else field._replace(type=str) for field in shown.fields]
        self._fields = [*fields, *(Field(name, int, False) for name in (*ENDS, "diff"))]
        self._keys = {name: events.column(name) for name in keys}
        self._like: Any = table_of(events)
        self._nested = {}
        if self._members is not None:
            self._nested[MEMBERS] = column_type(self._members, [event.arc for event in core.arcs.table.events])
        if reasons:
            self._nested[BECAUSE] = because_type()
        self._plain = self._answer({field.name: [] for field in self._fields}).schema
        none = self._with_nested(self._plain.empty_table(), {name: pa.array([], kind) for name, kind in self._nested.items()})
        self.schema: pa.Schema = self.with_times(none).schema
        """Of the tables with times."""

    def of(self, changes: Any) -> pa.Table:
        """Return changes, an Arrow table or a dict of columns, in the one schema; times as ticks.

        Raises
        ------
        CommandError
            Members have come of a component that has no column.
        """
        if isinstance(changes, pa.Table):
            nested = {name: changes[name].combine_chunks() for name in self._nested}
            return self._with_nested(changes.select(self._plain.names).cast(self._plain), nested)
        nested = {
            name: in_arrow(changes[name], self._members, (), None) if name == MEMBERS else as_arrow(list(changes[name]), kind, name)
            for name, kind in self._nested.items()
        }
        return self._with_nested(self._answer(changes), nested)

    def with_times(self, table: pa.Table) -> pa.Table:
        """Return a table of the one schema with times as they leave; FOREVER is null."""
        times = self._times
        for i, name in enumerate(table.column_names if times is not None else ()):
            column = table.column(i)
            if name in self._timed:
                column = times.column(column, name)  # type: ignore[union-attr]
            elif name == MEMBERS and self._members.times:
                column = self._timed_members(column.combine_chunks())
            elif name == BECAUSE:
                names = [field.name for field in column.type]
                parts = dict(zip(names, column.combine_chunks().flatten()))
                parts["le"] = times.column(parts["le"], "le")  # type: ignore[union-attr]
                column = pa.StructArray.from_arrays(list(parts.values()), names)
            else:
                continue
            table = table.set_column(i, name, column)
        return table

    def _answer(self, columns: Mapping[str, Any]) -> Any:
        listed = [columns[field.name] for field in self._fields]
        texts = [
            [None if item is None else str(item) for item in column] if field.type is str else column
            for column, field in zip(listed, self._fields)
        ]
        return Answer(texts, self._fields, self._keys, whole=True).to(self._like)

    def _with_nested(self, table: pa.Table, nested: Mapping[str, Any]) -> pa.Table:
        for name, column in nested.items():
            table = table.append_column(name, self._of_components(column) if name == MEMBERS else column)
        return table

    def _of_components(self, column: Any) -> Any:
        """Return members in their one type."""
        kind = self._nested[MEMBERS]
        if not pa.types.is_struct(kind):
            return column
        names = [field.name for field in kind]
        new = [field.name for field in column.type if field.name not in names]
        if any(pc.any(pc.greater(pc.list_value_length(column.field(name)), 0)).as_py() for name in new):
            raise CommandError(
                f"expected arcs that take events for {', '.join(names)}, of which --members has a "
                f"column, but got one for {new[0]!r}; let the pattern have an arc with this select="
            )
        return pa.StructArray.from_arrays([column.field(name) for name in names], names, mask=column.is_null())

    def _timed_members(self, column: Any) -> Any:
        """Return members whose ticks are times."""
        if pa.types.is_struct(column.type):
            names = [field.name for field in column.type]
            parts = [self._timed_members(column.field(name)) for name in names]
            return pa.StructArray.from_arrays(parts, names, mask=column.is_null())
        flat = self._times.column(column.flatten(), MEMBERS)  # type: ignore[union-attr]
        lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        gone = column.is_null().to_pylist()
        ends = [0, *lengths.cumsum().tolist()]
        return pa.ListArray.from_arrays(
            pa.array([None if missing else end for end, missing in zip(ends, [*gone, False])], pa.int32()), flat
        )
