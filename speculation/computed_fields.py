"""Fields that are computed of each event as it comes, in front of an operator: users push their own events.

Each is an expression over one event, so that a retraction goes the way of its insertion, and nothing waits or is held.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from afa.change import Change
from afa.errors import Int64Error, SnapshotError, blame
from afa.expression.evaluation import callable_of
from afa.expression.kinds import CONDITION
from afa.expression.nodes import Const, Expr, FieldRead, walk
from afa.expression.text import text_of_expr
from afa.io.listed_columns import column_of, listed
from afa.model.keys import take_key
from afa.operator.tables import CallInput
from afa.schema import Field, Schema, any_payload
from afa.state.plain import Unfit, keys_in
from punctuation.door import Table
from punctuation.time import BEGINNING, FOREVER
from speculation import stage_state as saved
from speculation.around import Front
from speculation.event_columns import EventColumns
from speculation.stage import Stage


class ComputedFields(Stage):
    """Add fields to each event.

    Parameters
    ----------
    filled : NamedTuple class
        Of the events that the operator gets: the fields of those that come, and behind them those that are computed.
    event : NamedTuple class
        Of the events that come.
    values : sequence of (str, Expr)
        The fields that are computed, each as an expression over an event that comes. One that raises makes the call fail.
    where : Expr, optional
        Of which events they are computed. The others, which a filter leaves out, get None or the zero of the type.
    tick : str, optional
        What one int of LE counts.
    """

    def __init__(
        self, filled: type, event: type, values: Sequence[tuple[str, Expr]], where: Expr | None = None, tick: str | None = None
    ) -> None:
        super().__init__(tick)
        self.event_schema, self.filled = Schema.of(event, "event"), Schema.of(filled, "event")
        self.fields, self.form = self.filled.fields[len(self.event_schema.fields) :], (filled, tuple(values), where)
        self.values = [
            ComputedValue(self.event_schema, self.filled, field, expr, where)
            for field, (_, expr) in zip(self.fields, values, strict=True)
        ]

    def of_event(self, payload: Any) -> Any:
        """Return an event, of its class and in its form, as the operator gets it."""
        return self.filled.cls(*payload, *(value.of(payload) for value in self.values))

    def of_columns(self, column: Callable[[str], Any]) -> dict[Field, tuple[list[Any], Any]]:
        """Return the values of fields, each once, and their places by row; ``column`` gives one of the events."""
        return {value.field: value.of_columns([column(field.name) for field in value.read]) for value in self.values}

    def numbers(self) -> list[Any]:
        return [f"{value.field.name}: {value.text}" for value in self.values]


class ComputedValue:
    """One field that is computed; ``read``: the fields of which it is."""

    def __init__(self, events: Schema, filled: Schema, field: Any, expr: Expr, where: Expr | None) -> None:
        self.field, self.text = field, text_of_expr(expr)
        asked = Const(True) if where is None else where
        read = {node.name for each in (expr, asked) for node in walk(each) if isinstance(node, FieldRead)}
        self.read = [each for each in events.fields if each.name in read] or [events.fields[0]]  # of a constant: how many rows
        self._events, self._filled, self._function = events, filled, callable_of(expr, CONDITION, events)
        self._asked = callable_of(asked, CONDITION, events)

    def of(self, payload: Any) -> Any:
        """Return the value of an event."""
        try:
            if not self._asked(payload, None):
                return None if self.field.optional else self.field.type()
            found = self._function(payload, None)
            if type(found) is int and not BEGINNING <= found <= FOREVER:
                raise Int64Error(f"expected an int64 but got {found} (int64 overflow)")
            return found if found is None and self.field.optional else self._filled.take_field(self.field, found)
        except Exception as error:
            blame(error, f"in {self.field.name}, {self.text}, of {payload!r}")
            raise

    def of_columns(self, columns: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the values of rows, one of all that agree in what is read, and their places by row."""
        n = len(columns[0])
        try:
            places, rows = keys_in(columns, False, n)
        except Unfit:  # text that Arrow can't hold
            places, rows = np.arange(n), [*zip(*map(listed, columns))]
        return [self.of_row(*row) for row in rows], places

    def of_row(self, *row: Any) -> Any:
        """Return the value of an event of which ``row`` has the fields that are read."""
        given = zip(self.read, row)
        return self.of(SimpleNamespace(**{f.name: x if x is None else self._events.take_field(f, x) for f, x in given}))


class ComputedInput(Front):
    """`ComputedFields` at the input of an operator whose events have these fields."""

    stages = ("ComputedFields",)
    by_itself = False

    def _hold(self, stage: Any) -> None:
        super()._hold(stage)
        core = self._core
        core.take_as(stage.event_schema)
        self._events = core.taken
        core.filled = stage.of_event
        self._coming = EventColumns(core, core.taken)

    def timed(self, change: Change, payload: Any, key: Hashable) -> Change:
        return super().timed(change, self.stage.of_event(payload), key)._replace(payload=payload)

    def _table_reaches(self, table: Table, come: CallInput) -> Iterator[Any]:
        rows = self._coming.of(table)
        if rows is None or self._coming.may_break(rows) or self._before_a_front:
            yield from super()._table_reaches(table, come)
        elif len(rows):
            core, like = self._core, Table("arrow", rows, rows)
            for field, (values, places) in self.stage.of_columns(rows.column).items():
                rows = rows.append_column(field.name, column_of(values, places, field.type, like))
            yield EventColumns(core).step(rows)
            core.progress.see(int(rows.column("le").to_numpy().max()))

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        if port == "event" and isinstance(item, Change):
            core, schema = self._core, self._core.taken
            assert schema is not None
            event = self.stage.of_event(schema.take(schema.dated(item.payload, item.le)))
            if key is None and core.keys is not None and not core.keys.columns:
                key = take_key(core.keys.of(event))
            item = super().timed(item, event, key)
        yield port, item, key

    @classmethod
    def loaded(cls, part: saved.SavedStage, operator: Any, like: Any = None) -> ComputedInput:
        """Put the stage of a query at its operator; the one that is saved must be the same."""
        if part.numbers != like.numbers() or part.rows is not None or saved.changes(part.waiting, any_payload):
            wanted = ", ".join(like.numbers())
            raise SnapshotError(f"expected a snapshot of a query whose rows have {wanted} but got one of {part.numbers!r}")
        return cls(like, operator)
