"""WHERE in front of an operator: events of which a condition does not hold are to it as if they had never come.

The condition reads one event, so that a retraction goes the way of its insertion, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from afa.change import Change
from afa.conditions.condition import condition_of
from afa.errors import SnapshotError, blame
from afa.operator.tables import CallInput
from afa.rewrite.vectors import ColumnCondition
from afa.schema import Schema, any_payload
from afa.state.plain import field_columns
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.promise import Punctuation
from speculation import stage_state as saved
from speculation.before_after import Before
from speculation.event_columns import EventColumns
from speculation.stage import Stage


class RowFilter(Stage):
    """Let the events through of which a condition holds.

    Parameters
    ----------
    event : NamedTuple class
        Of the events.
    where : str or callable
        A condition over the event, as of a `Punctuation`. One that raises makes the call fail.
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

    takes_singles = True
    _numbers = ("left_out",)

    def __init__(self, event: type, where: str | Callable[[Any], Any], tick: str | None = None) -> None:
        super().__init__(tick)
        self._schema = Schema.of(event, "event")
        self.condition = condition_of(where, self._schema, self.tick)
        self._columns = ColumnCondition(self.condition, self._holds)
        self.left_out = 0

    def _holds(self, payload: Any) -> bool:
        try:
            return bool(self.condition.asked(payload))
        except Exception as error:
            blame(error, f"in WHERE {self.condition.text}, of {payload!r}")
            raise

    def passes(self, change: Change) -> bool:
        """Return whether a change is let through."""
        holds = self._holds(change.payload)
        self.left_out += not holds
        return holds

    def takes_rows(self, table: Any) -> bool:
        return True

    def pass_rows(self, table: Any) -> Any:
        """Returns those rows of a table that are let through; None: there are none."""
        n = len(table)
        found = self.holding([table.column(field.name) for field in self._schema.fields], n)
        self.left_out += n - int(found.sum())
        return table if found.all() else table.filter(found) if found.any() else None

    def holding(self, columns: list[Any], n: int) -> Any:
        """Returns of which of ``n`` rows the condition holds; ``columns``: those of the fields."""
        fields = self._schema.fields
        known = dict(zip((field.name for field in fields), field_columns(columns, fields, n)))
        return np.broadcast_to(np.asarray(self._columns.truths(known, n), np.bool_), n)

    def punctuate(self, t: int) -> list[Change]:
        return []

    def some(self, item: Punctuation) -> Punctuation:
        return item

    def numbers(self) -> list[Any]:
        return [self.condition.text, self.left_out]


class FilteredInput(Before):
    """A `RowFilter` of a query at the input of its operator."""

    stages = ("RowFilter",)
    by_itself = False

    def _table_reaches(self, table: Table, come: CallInput) -> Iterator[Any]:
        """In front of another stage those rows of a table that are let through are a table, too."""
        columns = EventColumns(self._core, self._core.taken) if self._before_a_front else None
        rows = None if columns is None else columns.of(table)
        if columns is None or rows is None or columns.may_break(rows):
            yield from super()._table_reaches(table, come)
        elif len(rows):
            self._core.progress.see(int(rows.column("le").to_numpy().max()))
            left = self.stage.pass_rows(rows if "re" in table.names else rows.drop_columns(["re"]))
            if left is not None:
                yield Table("arrow", left, left)

    @classmethod
    def loaded(cls, part: saved.SavedStage, operator: Any, like: Any = None) -> FilteredInput:
        """Put the filter of a query at its operator; the one that is saved must be the same."""
        said, count = part.numbers if len(part.numbers) == 2 else (None, None)
        waits = part.rows is not None or saved.changes(part.waiting, any_payload)
        if said != like.condition.text or type(count) is not int or waits:
            raise SnapshotError(f"expected a snapshot of a query with WHERE {like.condition.text} but got one of {said!r}")
        wanted("how many changes were left out", count >= 0, count)
        like.left_out = count
        return cls(like, operator)
