"""Insertions of a table whose events an id names: kept as columns, a change is made of a row when one is asked for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.model.keys import take_key
from afa.schema import Field
from afa.state.plain import Unfit, distinct, ints, number_array
from punctuation.door import Table

_LE, _RE, _DIFF = Field("le", int, False), Field("re", int, True), Field("diff", int, False)


class RowPlace(NamedTuple):
    """A row of a table."""

    rows: InsertedRows
    i: int


class InsertedRows:
    """The rows of a table of insertions: the event's fields, those of the key, ``le``, perhaps ``re``; and the id of each."""

    def __init__(self, columns: dict[str, Any], ids: list[Hashable], le: Any) -> None:
        self.columns, self.ids, self._le = columns, ids, le
        self._order = np.argsort(le, kind="stable")
        self._sorted = le[self._order]
        self.done = 0  # how many, in the order of their LEs, are forgotten

    @property
    def first(self) -> int:
        """The smallest LE."""
        return int(self._sorted[0])

    def places(self) -> Iterator[RowPlace]:
        """Yield a place for each row."""
        return (RowPlace(self, i) for i in range(len(self.ids)))

    def below(self, t: int) -> int:
        """Return how many LEs lie below an instant."""
        return int(np.searchsorted(self._sorted, t))

    def before(self, t: int) -> list[Hashable]:
        """Return the ids of rows below an instant that are not forgotten."""
        return [self.ids[i] for i in self._order[self.done : self.below(t)].tolist()]

    def change(self, core: Any, i: int) -> Change:
        """Return a row as a change in its form."""
        schema, keys, le = core.taken, core.keys, int(self._le[i])
        given = {name: _item(column, i) for name, column in self.columns.items()}
        payload = schema.take(schema.dated(schema.cls(*(given.get(field.name) for field in schema.fields)), le))
        key = None
        if keys is not None:
            parts = tuple(given[name] if name in keys.columns else getattr(payload, name) for name in keys.names)
            key = take_key(parts[0] if keys.single else parts)
        found: Change = core.timed(Change(payload, le, given.get("re")), payload, key)
        return found


def rows_in(core: Any, table: Table, place: int) -> InsertedRows | None:
    """Return a table as rows, if it holds insertions only, of a plain form; ``place``: that of the id among the event's fields."""
    schema, keys, names = core.taken, core.keys, table.names
    needed = [field for field in schema.fields if field.name in names or field.name != schema.instant]
    if schema.fields[place] not in needed or schema.fields[place].type not in (int, str):
        return None
    needed += [Field(name, None, True) for name in (keys.columns if keys else ())]
    needed += [_LE, *(field for field in (_RE, _DIFF) if field.name in names)]
    plain = (
        len(set(names)) == len(names)
        and {field.name for field in needed} <= set(names)
        and len({f.name for f in needed}) == len(needed)
    )
    if not plain or "kind" in names or (keys is not None and keys.function is not None):
        return None
    columns = dict(zip((field.name for field in needed), table.take(needed)))
    if any(isinstance(column, np.ndarray) and column.dtype.kind in "Mm" for column in columns.values()):
        return None  # `_item` would make ints of its nanoseconds, which are no keys of these rows
    try:
        le, diff = ints([columns["le"], columns.pop("diff", None)])
        column = columns[schema.fields[place].name]
        if schema.fields[place].type is int:
            ids = number_array(column, int).tolist()
        else:
            indices, texts = distinct(column)
            ids = [texts[i] for i in indices.tolist()]
    except Unfit:
        return None
    lengths = {len(each) for each in columns.values()}
    return InsertedRows(columns, ids, le) if lengths == {len(ids)} and (diff is None or (diff == 1).all()) else None


def _item(column: Any, i: int) -> Any:
    found = column[i] if not hasattr(column, "iloc") else column.iloc[i]
    return found.as_py() if hasattr(found, "as_py") else found.item() if isinstance(found, np.generic) else found
