"""The class of the events in a table: a field for each column that a pattern can read, one for their times."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from afa.errors import AfaError
from afa.schema import Instant
from punctuation.door import Table, scalar_of, table_of
from punctuation.timestamps import is_time_type

TIMES = ("at", "time", "instant", "le_")
"""What the times are called, where their column is called le: no field is."""
BESIDE = ("le", "re", "diff")
"""Columns beside the fields of events."""


class TableEvents(NamedTuple):
    """The events of a table: their class, and what one int of its times counts, where these are timestamps."""

    cls: type
    tick: str | None


def events_of(given: Any, name: str = "Event", time: str | None = None) -> TableEvents:
    """Return the events of a class, an Arrow schema, or a table of any library.

    A column without a missing value is a field of its scalar; any other one, and each nullable field of a schema, may be None. The
    only column of timestamps is the time (`afa.Instant`), where there is no column ``le``; others, and what is no scalar, are left
    out.

    ``time`` names, without case, the column of times or ints that is the time.

    O(rows) for columns that are no arrays.

    >>> import pyarrow as pa
    >>> events_of({"card": ["a", "b"], "amount": [5, None]}).cls.__annotations__
    {'card': <class 'str'>, 'amount': int | None}
    >>> events_of(pa.schema([pa.field("amount", pa.int64(), nullable=False), ("at", pa.timestamp("ms"))]))[1]
    'ms'
    """
    if isinstance(given, type):
        return TableEvents(given, None)
    schema = given if isinstance(given, pa.Schema) else _schema(given)
    kinds = dict(zip(schema.names, schema.types))
    times = times_among(kinds)
    said = [column for column in kinds if time is not None and column.lower() == time.lower()]
    if len(said) == 1 and said[0] != "le" and (said[0] in times or pa.types.is_integer(kinds[said[0]])):
        time = said[0]
    else:
        time = times[0] if len(times) == 1 and "le" not in kinds else None
    full = {field.name for field in schema if not field.nullable}
    made = event_class(kinds, name, time, full)
    if not made._fields:  # type: ignore[attr-defined]
        raise AfaError(f"expected columns of int, float, bool or str but got {', '.join(map(str, schema)) or 'none'}")
    if time is None or pa.types.is_integer(kinds[time]):
        return TableEvents(made, None)
    return TableEvents(made, kinds[time].unit if pa.types.is_timestamp(kinds[time]) else "ms")


def event_class(
    kinds: Mapping[str, pa.DataType],
    name: str,
    time: str | None,
    full: Collection[str | None],
    beside: Collection[str | None] = BESIDE,
) -> type:
    """Return an event class with a field for each column that a query can read; those of ``full`` are never None."""
    fields: list[tuple[str, Any]] = []
    for column, kind in kinds.items():
        scalar = scalar_of(kind)
        if column in beside or not is_field(column):
            continue
        if column == time:
            fields.append((column, Instant))
        elif scalar is not None:
            fields.append((column, scalar if column in full else scalar | None))
    make: Any = NamedTuple  # its fields are known at run time only
    return make(name, fields)  # type: ignore[no-any-return]


def times_among(kinds: Mapping[str, pa.DataType]) -> list[str]:
    """Return the columns of timestamps or dates."""
    return [column for column, kind in kinds.items() if is_time_type(kind)]


def is_field(column: str) -> bool:
    """Return whether a column has the name of a field."""
    return column.isidentifier() and not keyword.iskeyword(column) and not column.startswith("_")


def _schema(given: Any) -> pa.Schema:
    """Return the columns of a table, not nullable where no value is missing."""
    table = table_of(given)
    if table is None:
        raise AfaError(f"expected event=<a NamedTuple class, a table or an Arrow schema> but got event={given!r}")
    there = [name for name in table.names if name not in table.foreign]
    columns = [(name, _arrow(table, name)) for name in there]
    return pa.schema([pa.field(name, column.type, nullable=column.null_count > 0) for name, column in columns])


def _arrow(table: Table, name: str) -> Any:
    """Return a column as an Arrow array; of Python's objects NaN and None are missing."""
    column = table.column(name)
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    try:
        return pa.array(column, from_pandas=getattr(getattr(column, "dtype", None), "kind", "O") == "O")
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.nulls(len(column))  # of no type: no field
