"""Insertions of a table whose events an id names: kept as columns, a change is made of a row when one is asked for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.io.event_batch import EventBatch, batch_of
from afa.model.keys import take_key
from afa.state.plain import Unfit, keys_in
from afa.state.states import Column
from punctuation.door import Table


class RowPlace(NamedTuple):
    rows: InsertedRows
    i: int


class InsertedRows:
    """The rows of a table of insertions, and the id of each; ``keys``: the place of each row's key, and the keys."""

    def __init__(self, batch: EventBatch, ids: list[Hashable], keys: tuple[Any, list[Any]] | None) -> None:
        self.ids, self._fields, self._keys = ids, batch.fields, keys
        self._le, self._re = batch.times["le"], batch.times.get("re")
        self._order = np.argsort(self._le, kind="stable")
        self._sorted = self._le[self._order]
        self.done = 0  # how many, in the order of their LEs, are forgotten

    def below(self, t: int) -> int:
        return int(np.searchsorted(self._sorted, t))

    def before(self, t: int) -> list[Hashable]:
        """Return the ids of rows below an instant that are not forgotten."""
        return [self.ids[i] for i in self._order[self.done : self.below(t)].tolist()]

    def change(self, core: Any, i: int) -> Change:
        """Return a row as a change in its form."""
        schema = core.taken
        payload = schema.take(schema.cls(*(_value(self._fields[field.name], field.type, i) for field in schema.fields)))
        key = None if self._keys is None else take_key(self._keys[1][self._keys[0][i]])
        re = None if self._re is None else int(self._re[i])
        found: Change = core.timed(Change(payload, int(self._le[i]), re), payload, key)
        return found


def rows_in(core: Any, table: Table, place: int) -> InsertedRows | None:
    """Return a table as rows, if it holds insertions only, of a plain form; ``place``: that of the id among the event's fields."""
    keys, field = core.keys, core.taken.fields[place]
    if "kind" in table.names or field.type not in (int, str) or field.name == core.taken.instant:
        return None
    try:
        batch = batch_of(table, core.taken, keys)
        of_rows = None if keys is None else keys_in(batch.keys, keys.single, batch.n)
    except Unfit:
        return None
    (values, present, texts), diff = batch.fields[field.name], batch.times.get("diff")
    if present is not None or (diff is not None and (diff != 1).any()):
        return None
    return InsertedRows(batch, values.tolist() if texts is None else [texts[i] for i in values.tolist()], of_rows)


def _value(column: Column, kind: Any, i: int) -> Any:
    values, present, texts = column
    if present is not None and not present[i]:
        return None
    value = values[i].item()
    return texts[value] if texts is not None else bool(value) if kind is bool else value
