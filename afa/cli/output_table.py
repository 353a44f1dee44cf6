"""The changes of a run as Arrow tables of one schema, from the first to the last; their times as the input has them.

A key has its type in the input; what a match shows that is of any type is text. ``members`` and ``because`` stand behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from afa.cli.fault import CommandError
from afa.explain.reasons.because import BECAUSE, because_type
from afa.io.answer import Answer, as_arrow
from afa.io.table_times import TimeType, leaving
from afa.operator.members import MEMBERS, column_type, in_arrow
from afa.schema import Field, Schema
from punctuation.door import Table, table_of
from punctuation.timestamps import Timed, ticks_in


class OutputTable:
    """The form of the output; ``events`` is the first batch of the input; without ``times`` they leave as ints."""

    def __init__(
        self, operator: Any, shown: Schema, keys: Sequence[str], events: pa.Table, times: TimeType | None, reasons: bool = False
    ) -> None:
        core, none = operator._core, events.slice(0, 0)
        self._times, self._members = times, core.members
        made = {} if core.automaton.event_schema is None else {field.name: field for field in core.automaton.event_schema.fields}
        fields = [Field(name, None, True) if name in none.column_names else made[name] for name in keys]
        fields += [field if field.type else field._replace(type=str) for field in shown.fields]
        self._fields = [*fields, *(Field(name, int, False) for name in ("le", "re", "diff"))]
        self._keys = {name: none.column(name) if name in none.column_names else None for name in keys}
        self._like = Table("arrow", none, none)
        given: Any = table_of(none if shown.typed else none.to_pydict())  # fields of any type leave as columns of objects
        # no rows of the input: in a list before others it says that the operator's output is such tables
        self.none: Table = given if times is None else Timed(given, {}, times.times)
        leave = leaving(times, "arrow", shown, core.automaton.event_schema, keys)
        empty = Answer([[]] * len(self._fields), self._fields, self._keys, leave, whole=True)
        self.schema: pa.Schema = empty.to(self._like).schema
        if self._members is not None:
            kind = column_type(self._members, [event.arc for event in core.arcs.table.events], times)
            self.schema = self.schema.append(pa.field(MEMBERS, kind))
        if reasons:
            self.schema = self.schema.append(pa.field(BECAUSE, because_type(None if times is None else times.times.type)))

    def in_schema(self, changes: Any) -> pa.Table:
        """Return changes of the operator, an Arrow table or a dict of columns, in the one schema."""
        if not isinstance(changes, pa.Table):
            changes = self._in_arrow(changes)
        if MEMBERS in self.schema.names:
            changes = changes.set_column(changes.column_names.index(MEMBERS), MEMBERS, self._of_components(changes[MEMBERS]))
        return changes.select(self.schema.names).cast(self.schema)

    def les(self, changes: pa.Table) -> Any:
        """Return the LEs of a table of the one schema, as ticks."""
        le, times = changes["le"], self._times
        return le.to_numpy() if times is None else ticks_in(le, times.times, times.tick, "le")

    def _in_arrow(self, changes: Mapping[str, Any]) -> pa.Table:
        """Return columns of objects as an Arrow table, with text for what may be anything."""
        columns = [changes[field.name] for field in self._fields]
        texts = [
            [None if item is None else str(item) for item in column] if field.type is str else column
            for column, field in zip(columns, self._fields)
        ]
        table: pa.Table = Answer(texts, self._fields, self._keys, whole=True).to(self._like)
        if MEMBERS in self.schema.names:
            table = table.append_column(MEMBERS, in_arrow(changes[MEMBERS], self._members, (), self._times))
        if BECAUSE in self.schema.names:
            kind = self.schema.field(BECAUSE).type
            table = table.append_column(BECAUSE, as_arrow(list(changes[BECAUSE]), kind, BECAUSE))
        return table

    def _of_components(self, column: Any) -> Any:
        """Return members with the components of the one schema."""
        kind = self.schema.field(MEMBERS).type
        if not pa.types.is_struct(kind):
            return column
        column, names = column.combine_chunks(), [field.name for field in kind]
        new = [field.name for field in column.type if field.name not in names]
        if any(pc.any(pc.greater(pc.list_value_length(column.field(name)), 0)).as_py() for name in new):
            raise CommandError(
                f"expected arcs that take events for {', '.join(names)}, of which --members has a "
                f"column, but got one for {new[0]!r}; let the pattern have an arc with this select="
            )
        return pa.StructArray.from_arrays([column.field(name) for name in names], names, mask=column.is_null())
