"""A view in front of an operator: WHERE, by which events are as if they had never come, and fields that are computed of the others.

Both read one event, so that a retraction goes the way of its insertion, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from afa.change import Change
from afa.conditions.condition import Condition, condition_of
from afa.errors import Int64Error, SnapshotError, blame
from afa.expression.evaluation import callable_of
from afa.expression.kinds import CONDITION
from afa.expression.nodes import Expr, FieldRead, walk
from afa.expression.text import text_of_expr
from afa.io.listed_columns import listed
from afa.operator.event_input import come as whole
from afa.operator.tables import CallInput
from afa.rewrite.vectors import ColumnCondition
from afa.schema import Field, Schema, any_payload
from afa.state.plain import Unfit, field_columns, keys_in
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.time import BEGINNING, FOREVER
from speculation import stage_state as saved
from speculation.around import Front
from speculation.before_after import Before
from speculation.event_columns import EventColumns, with_fields
from speculation.stage import Stage


class RowView(Stage):
    """Let the events through of which a condition holds, with fields more that are computed of each.

    Parameters
    ----------
    event : NamedTuple class
        Of the events that come.
    where : str or callable, optional
        A condition over the event, as of a `Punctuation`. One that raises makes the call fail, as does a value.
    filled : NamedTuple class, optional
        Of the events that the operator gets: the fields of those that come, and behind them those that are computed.
    values : sequence of (str, Expr)
        The fields that are computed, each as an expression over an event that comes. Events that are left out get any value.
    tick : str, optional
        What one int of LE counts, for durations in the condition.

    Attributes
    ----------
    left_out : int
        How many changes were not let through.

    Raises
    ------
    AfaError
        The condition can't be read, or names no field of the event.
    """

    _numbers = ("left_out",)

    def __init__(
        self,
        event: type,
        where: str | Callable[[Any], Any] | None = None,
        filled: type | None = None,
        values: Sequence[tuple[str, Expr]] = (),
        tick: str | None = None,
    ) -> None:
        super().__init__(tick)
        self.event_schema, self.filled = Schema.of(event, "event"), Schema.of(filled or event, "event")
        self.condition = None if where is None else condition_of(where, self.event_schema, self.tick)
        self._columns = None if self.condition is None else ColumnCondition(self.condition, self._holds)
        self.fields = self.filled.fields[len(self.event_schema.fields) :]
        of = zip(self.fields, values, strict=True)
        self.values = [ComputedValue(self.event_schema, self.filled, field, expr, self.condition) for field, (_, expr) in of]
        self.form = self.filled.cls, tuple(values), self.condition
        self.takes_singles = not self.values
        self.left_out = 0

    def _holds(self, payload: Any) -> bool:
        condition = self.condition
        assert condition is not None
        try:
            return bool(condition.asked(payload))
        except Exception as error:
            blame(error, f"in WHERE {condition.text}, of {payload!r}")
            raise

    def passes(self, change: Change) -> bool:
        """Return whether a change is let through."""
        holds = self.condition is None or self._holds(change.payload)
        self.left_out += not holds
        return holds

    def holding(self, columns: list[Any], n: int) -> Any:
        """Returns of which of ``n`` rows the condition holds; ``columns``: those of the fields."""
        if self._columns is None:
            return np.ones(n, np.bool_)
        fields = self.event_schema.fields
        known = dict(zip((field.name for field in fields), field_columns(columns, fields, n)))
        return np.broadcast_to(np.asarray(self._columns.truths(known, n), np.bool_), n)

    def of_event(self, payload: Any) -> Any:
        """Return an event, of its class and in its form, as the operator gets it."""
        return self.filled.cls(*payload, *(value.of(payload) for value in self.values)) if self.values else payload

    def of_columns(self, column: Callable[[str], Any]) -> dict[Field, tuple[list[Any], Any]]:
        """Return the values of fields, each once, and their places by row; ``column`` gives one of the events."""
        return {value.field: value.of_columns([column(field.name) for field in value.read]) for value in self.values}

    def pass_rows(self, table: Any) -> Any:
        """Returns those rows of a table that are let through, with what is computed of them; None: there are none."""
        n = len(table)
        found = self.holding([table.column(field.name) for field in self.event_schema.fields], n)
        self.left_out += n - int(found.sum())
        rows = table if found.all() else table.filter(found)
        return with_fields(rows, self.of_columns(rows.column)) if len(rows) else None

    @property
    def said(self) -> list[str]:
        """What is asked, and computed, of each event, as text."""
        where = [] if self.condition is None else [f"WHERE {self.condition.text}"]
        return [*where, *(f"{value.field.name}: {value.text}" for value in self.values)]

    def numbers(self) -> list[Any]:
        return [self.left_out, *self.said]


class ComputedValue:
    """One field that is computed; ``read``: the fields of which it is."""

    def __init__(self, events: Schema, filled: Schema, field: Any, expr: Expr, where: Condition | None) -> None:
        self.field, self.text, self._where = field, text_of_expr(expr), where
        read = {node.name for node in walk(expr) if isinstance(node, FieldRead)} | (where.fields if where else set())
        self.read = [each for each in events.fields if each.name in read] or [events.fields[0]]  # of a constant: how many rows
        self._events, self._filled, self._function = events, filled, callable_of(expr, CONDITION, events)

    def of(self, payload: Any) -> Any:
        """Return the value of an event."""
        try:
            if self._where is not None and not self._where.asked(payload):
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


class ViewInput(Before):
    """A `RowView` of a query at the input of its operator, whose events have the fields that it computes."""

    stages = ("RowView",)
    by_itself = False

    def _hold(self, stage: Any) -> None:
        super()._hold(stage)
        core = self._core
        if stage.values:
            core.take_as(stage.event_schema)
            self._events, core.filled = core.taken, stage.of_event
        self._coming = EventColumns(core, core.taken)

    def timed(self, change: Change, payload: Any, key: Hashable) -> Change:
        return super().timed(change, self.stage.of_event(payload), key)._replace(payload=payload)

    def _table_reaches(self, table: Table, come: CallInput) -> Iterator[Any]:
        """Yield those rows of a table that are let through as a table, too."""
        core, rows = self._core, self._coming.of(table)
        if rows is None or self._coming.may_break(rows):
            yield from Front._table_reaches(self, table, come)
        elif len(rows):
            left = self.stage.pass_rows(rows if "re" in table.names or not self._before_a_front else rows.drop_columns(["re"]))
            if left is not None:
                yield Table("arrow", left, left) if self._before_a_front else EventColumns(core).step(left)
            core.progress.see(int(rows.column("le").to_numpy().max()))

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        if port == "event" and isinstance(item, Change):
            item = whole(self._core, item, key) if self.stage.values else self.typed(item, key)
            if not self.stage.passes(item):
                self._core.progress.see(item.le)
                return
            key = item.key
        yield port, item, key

    @classmethod
    def loaded(cls, part: saved.SavedStage, operator: Any, like: Any = None) -> ViewInput:
        """Put the view of a query at its operator; the one that is saved must be the same."""
        count, *said = part.numbers or [None]
        if said != like.said or type(count) is not int or part.rows is not None or saved.changes(part.waiting, any_payload):
            raise SnapshotError(f"expected a snapshot of a query with {', '.join(like.said)} but got one with {said!r}")
        wanted("how many changes were left out", count >= 0, count)
        like.left_out = count
        return cls(like, operator)
