"""Columns for the engine of a rewritten automaton: as the inner engine has encoded them, beside the events' own fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from afa.change import Change
from afa.engine import Batch
from afa.rewrite.vectors import Picked
from afa.schema import Field, Schema
from afa.state.plain import field_columns, ints
from afa.state.states import Column, records
from punctuation.promise import Punctuation
from punctuation.reading import EVENT, PUNCTUATION


class Rows(Batch, Protocol):
    """What the inner engine's batches tell besides: rows in order of arrival."""

    @property
    def le(self) -> Any:
        """The LE of each row, an array."""

    @property
    def kind(self) -> Any:
        """The kind of each row (`punctuation.reading`), an array. None: all are events."""

    def item(self, row: int) -> Change | Punctuation:
        """Return a row that is no event."""

    def event(self, row: int, payload: Any) -> Change:
        """Return a row that is an event, with this payload."""

    def only(self, rows: Any, events: bool) -> Batch:
        """Return some rows (a slice, or their numbers), no changes of arcs; ``events``: none but events."""


class RewrittenBatch(NamedTuple):
    """A batch of columns.

    Parameters
    ----------
    rows : Rows
        As the inner engine has encoded it.
    made : dict of str to numpy.ndarray
        Columns of ``rows`` that are filled in once it is known by which arcs.
    columns : dict of str to Column
        The fields of the events as they came.
    schema : Schema
        Theirs.
    """

    rows: Rows
    made: dict[str, Any]
    columns: dict[str, Column]
    schema: Schema

    def promised(self, _: int) -> RewrittenBatch:
        """Return the same: it goes to the inner engine in parts, each of which knows its own rows only."""
        return self

    def columns_of(self, rows: Any) -> Mapping[str, Column]:
        """Return the columns of some rows."""
        return Picked(self.columns, rows)

    def promises(self, part: slice, before: int) -> tuple[Any, Any]:
        """Return of each row of a part what the events are promised there, and whether it is an event."""
        le = self.rows.le[part]
        if self.rows.kind is None:
            return np.full(len(le), before, np.int64), np.ones(len(le), np.bool_)
        kind = self.rows.kind[part]
        return np.maximum.accumulate(np.where(kind == PUNCTUATION, le, before).clip(before)), kind == EVENT

    def event(self, row: int) -> Change:
        """Return an event as it came."""
        here = self.columns_of(slice(row, row + 1))
        (payload,) = records([here[field.name] for field in self.schema.fields], self.schema, 1)
        return self.rows.event(row, payload)


def plain_columns(columns: Mapping[str, Any], times: Mapping[str, Any], schema: Schema) -> dict[str, Column]:
    """Return the columns of the events' fields. Raises `Unfit` where one is not plainly of its type."""
    n, names = len(ints([times["le"]])[0]), [field.name for field in schema.fields]
    found = field_columns([columns[name] for name in names], schema.fields, n)
    return {name: _in_form(column, field) for name, column, field in zip(names, found, schema.fields)}


def _in_form(column: Column, field: Field) -> Column:
    """Return a column with values in their field's type."""
    if field.type is float:
        return column._replace(values=column.values + 0.0)  # -0.0 becomes 0.0
    return column._replace(values=column.values.astype(np.bool_ if field.type is bool else np.int64, copy=False))
