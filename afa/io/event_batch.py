"""The events of a table as columns: the way in of all that does not give a table to an engine as it is.

A table that does not plainly hold events raises `Unfit`: its rows go one by one, which says what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from afa.model.keys import Keys
from afa.schema import Field, Schema
from afa.state.plain import Unfit, field_columns, ints, keys_in
from afa.state.states import Column
from punctuation.door import Table

TIMES = ("le", "re", "diff")


class EventBatch(NamedTuple):
    n: int
    times: dict[str, Any]  # the columns of times, and ``diff`` if the table has one
    fields: dict[str, Column]
    keys: Sequence[Any]  # those of the key, as they came

    def key_numbers(self, single: bool, numbers: Callable[[list[Any]], Any]) -> Any:
        """Return the number of each event's key, a value or, unless ``single``, a tuple; ``numbers`` gives those of the keys."""
        places, found = keys_in(self.keys, single, self.n)
        return numbers(found)[places]


def batch_of(table: Table, schema: Schema, keys: Keys | None, events: Any = slice(None)) -> EventBatch:
    """Return the events of a table with ``le``, perhaps ``re`` and ``diff``; the field for their LE is filled in.

    ``events``: which rows are events; the others may hold anything.

    >>> from typing import NamedTuple
    >>> from punctuation.door import table_of
    >>> class Tick(NamedTuple):
    ...     price: float
    >>> batch = batch_of(table_of({"price": [1.5, 2.5], "le": [7, 8]}), Schema.of(Tick, "event"), None)
    >>> batch.n, batch.times["le"].tolist(), batch.fields["price"].values.tolist()
    (2, [7, 8], [1.5, 2.5])
    """
    instant = schema.instant
    fields = [field for field in schema.fields if field.name != instant or field.name in table.names]
    if not {field.name for field in schema.fields}.isdisjoint(TIMES) or (keys is not None and keys.function is not None):
        raise Unfit
    found = columns_in(table, fields, () if keys is None else keys.names, ("le",), ("re", "diff"))
    le = found.times["le"]
    if instant is not None and (found.fields.setdefault(instant, Column(le)).values != le)[events].any():
        raise Unfit
    return found


def columns_in(
    table: Table, fields: Sequence[Field], keys: Sequence[str], times: Sequence[str], more: Sequence[str] = ("diff",)
) -> EventBatch:
    """Return the events of a table, whose times are ticks; ``more``: columns of ints that it may have, too."""
    there = table.names
    needed = {*(field.name for field in fields), *keys, *times}
    if any(there.count(name) != 1 for name in needed) or any(there.count(name) > 1 for name in more):
        raise Unfit
    names = [*times, *(name for name in more if name in there)]
    found = dict(zip(names, ints(table.take((name, int, False) for name in names))))
    n = len(found[times[0]])
    given = dict(zip((field.name for field in fields), table.take(fields)))
    columns = dict(zip(given, field_columns(given.values(), fields, n)))
    rest = [name for name in keys if name not in given]
    given |= zip(rest, table.take((name, None, True) for name in rest))
    return EventBatch(n, found, columns, [given[name] for name in keys])
