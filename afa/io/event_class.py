"""The class of the events in a table: a field for each column that a pattern can read, one for their times."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from afa.errors import AfaError
from afa.schema import DECIMALS, LEFT_OUT, Date, Instant, Time
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


def events_of(
    given: Any, name: str = "Event", time: str | None = None, tick: str | None = None, without: Collection[str] = ()
) -> TableEvents:
    """Return the events of a class, an Arrow schema, or a table of any library.

    A column without a missing value is a field of its scalar; any other one, and each nullable field of a schema, may be None. The
    only column of timestamps or dates is the time (`afa.Instant`), where there is no column ``le``. Others are an `afa.Time` or an
    `afa.Date`, unless LE is ints and nothing says a ``tick``; a DECIMAL is a float. What is no scalar is left out, as are the
    columns that it is ``without``.

    ``time`` names, without case, the column of times or ints that is the time.

    O(rows) for columns that are no arrays.

    >>> import pyarrow as pa
    >>> events_of({"card": ["a", "b"], "amount": [5, None]}).cls.__annotations__
    {'card': <class 'str'>, 'amount': int | None}
    >>> events_of(pa.schema([pa.field("amount", pa.int64(), nullable=False), ("at", pa.timestamp("ms"))])).tick
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
    ticks = tick is not None or is_time_type(kinds.get(time or "le", pa.date32()))  # by LE's, if not by tick=
    made = event_class(kinds, name, time, full, (*BESIDE, *without), ticks)
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
    ticks: bool = True,
) -> type:
    """Return an event class with a field for each column that a query can read; those of ``full`` are never None.

    Columns ``beside`` are left out. ``ticks``: whether it is known what a tick is, by which other columns of times are ints.
    """
    fields: list[tuple[str, Any]] = []
    left_out = dict[str, str]()
    for column, kind in kinds.items():
        if column in beside:
            continue
        if column == time and is_field(column):
            fields.append((column, Instant))
        elif said := _no_field(column, kind, ticks):
            left_out[column] = said
        else:
            fields.append((column, _type_of(kind) if column in full else _type_of(kind) | None))
    make: Any = NamedTuple  # its fields are known at run time only
    made = make(name, fields)
    setattr(made, LEFT_OUT, left_out)
    decimals = {name: kind for name, _ in fields if pa.types.is_decimal(kind := _plain(kinds[name]))}
    setattr(made, DECIMALS, {name: (kind.precision, max(kind.scale, 0)) for name, kind in decimals.items()})
    return made  # type: ignore[no-any-return]


def _no_field(column: str, kind: pa.DataType, ticks: bool) -> str | None:
    """Return why a column is no field; None: it is one."""
    if not is_field(column):
        return f"rename column {column!r}: it is no name of a field"
    if is_time_type(kind) and not ticks:
        return f"column {column!r} is {kind}, and nothing says what one int of a time counts: say tick=, 'ms' for example"
    if _type_of(kind) is None:
        return f"column {column!r} is {kind}, which no query reads: a field is an int, a float, a bool, a text or a time"
    return None


def _type_of(kind: pa.DataType) -> Any:
    """Return the type of a field that holds the values of an Arrow type; None: there is none."""
    kind = _plain(kind)
    if is_time_type(kind):
        return Date if pa.types.is_date(kind) else Time
    return float if pa.types.is_decimal(kind) else scalar_of(kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_beyond_fields(kind: pa.DataType) -> bool:
    """Return whether Arrow tells values of a type apart, but a field does not hold each of them as it is: a DECIMAL, a time."""
    if (scalar_of(kind) is not None and not pa.types.is_uint64(kind)) or pa.types.is_interval(kind):  # a month may be 30 days
        return False
    try:
        pc.dictionary_encode(pa.array([], kind))
    except pa.ArrowException:
        return False
    return True


def with_ints(schema: pa.Schema, names: Iterable[str]) -> pa.Schema:
    """Return a schema with columns more, of ints, some of which may be missing."""
    return pa.schema([*schema, *(pa.field(name, pa.int64()) for name in names)])


def times_among(kinds: Mapping[str, pa.DataType]) -> list[str]:
    """Return the columns of timestamps or dates."""
    return [column for column, kind in kinds.items() if is_time_type(kind)]


def kinds_among(schema: pa.Schema) -> tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]:
    """Return the columns, those of times, those whose values no field holds as they are, and those of DECIMAL among them.

    All by their names in small letters.
    """
    kinds = {field.name.lower(): field.type for field in schema}
    decimals = frozenset(name for name, kind in kinds.items() if pa.types.is_decimal(kind))
    unread = frozenset(name for name, kind in kinds.items() if _type_of(kind) is None)
    return frozenset(kinds), frozenset(times_among(kinds)), unread | decimals, decimals


def scale_in_units(schema: pa.Schema, column: str) -> int | None:
    """Return the scale of a DECIMAL whose values int64 holds in units of the last digit; None: it is no such column."""
    kind = schema.field(column).type if column in schema.names else pa.null()
    return kind.scale if pa.types.is_decimal(kind) and kind.precision <= 18 and kind.scale >= 0 else None


def is_as_in(schema: pa.Schema, column: str, first: str) -> bool:
    """Return whether a field shows the values of a column as they came, where LE is those of the first one."""
    kind, other = schema.field(column).type, schema.field(first).type if first in schema.names else None
    return kind == other if is_time_type(kind) else scalar_of(kind) is not None and not pa.types.is_decimal(kind)


def finest_unit(schema: pa.Schema, first: str) -> str | None:
    """Return a unit that holds all times beside an order by a column of no times; None: it is one of times, or there are none."""
    kinds = {field.name: field.type for field in schema if is_time_type(field.type)}
    units = {kind.unit if pa.types.is_timestamp(kind) else "ms" for kind in kinds.values()}
    return None if first in kinds or not units else max(units, key=("s", "ms", "us", "ns").index)


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
