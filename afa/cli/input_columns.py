"""Choose the columns of the input that the operator takes, and name the row of a value that does not fit.

Values that fit go on to the door of all tables (`punctuation.door`). What the command line adds stands here: names of columns,
times as ticks, and numbers of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from afa.cli.fault import CommandError
from afa.errors import did_you_mean
from afa.schema import Schema
from punctuation.door import arrow_type, scalar_of, without_views

TICKS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
TIME, KEY, ANY = "int or timestamp", "key", "any"
TYPES = {kind.__name__: arrow_type(kind) for kind in (int, float, bool, str)}


FLAGS = {"le": "--time", "re": "--until", "diff": "--diff"}
"""Which option names a column."""


class Column(NamedTuple):
    """One column that is read: its name in the input and in the operator's table, what it may hold, what it is for."""

    source: str
    target: str
    kind: str
    optional: bool
    role: str


class Place(NamedTuple):
    """Where in the input a batch stands: for messages."""

    file: str
    row: int

    def whole(self, column: Column, text: str) -> CommandError:
        """Return a fault of the column as such."""
        return CommandError(f"{self.file}: column {column.source!r}: {text}")

    def fault(self, column: Column, i: int, text: str) -> CommandError:
        """Return a fault in row ``i`` of the batch."""
        return CommandError(f"{self.file}: row {self.row + i}, column {column.source!r}: {text}")


def choose(
    file: str, names: Sequence[str] | None, sparse: bool, schema: Schema, named: dict[str, str | None], keys: Sequence[str]
) -> list[Column]:
    """Return the columns to read: the event's fields, the key, ``le``, and ``re`` and ``diff`` where named or there.

    Parameters
    ----------
    names : sequence of str or None
        The columns of the input; None where it has no rows to tell.
    sparse : bool
        Whether a row may leave out a field that may be None.
    named : dict
        The columns that the user has named for ``le``, ``re`` and ``diff``.

    Raises
    ------
    CommandError
        The input has no such column, or has it twice.
    """
    fields = [field for field in schema.fields if field.name != schema.instant]
    if not named["le"] and schema.instant in (names or ()) and "le" not in (names or ()):
        named = {**named, "le": schema.instant}
    kinds = {field.name: field.type.__name__ if field.type else ANY for field in fields}
    chosen = [
        Column(
            f.name, f.name, kinds[f.name], f.optional, "the key" if f.name in keys else f"field {f.name} of {schema.cls.__name__}"
        )
        for f in fields
    ]
    chosen += [Column(key, key, KEY, True, "--key") for key in dict.fromkeys(keys) if key not in kinds]
    for target, kind in (("le", TIME), ("re", TIME), ("diff", "int")):
        if target == "le" or named[target] or (target in (names or ()) and target not in kinds):
            chosen.append(Column(named[target] or target, target, kind, target == "re", FLAGS[target]))
    for column in chosen if names is not None else ():
        if not (sparse and column.target in kinds and column.optional):
            _there(file, names or (), column)
    taken = [column.target for column in chosen]
    for target in taken:
        if taken.count(target) > 1:
            raise CommandError(f"expected field and key names other than le, re and diff but got {target!r} in {schema.describe()}")
    return chosen


def _there(file: str, names: Sequence[str], column: Column) -> None:
    count = names.count(column.source)
    if count > 1:
        raise CommandError(f"{file}: expected one column {column.source!r} ({column.role}) but got {count}")
    if count == 0:
        hint = did_you_mean(column.source, names)
        if column.role == "--time" and column.source == "le":
            hint = "; say which column holds the timestamps with --time"
        raise CommandError(f"{file}: no column {column.source!r} ({column.role}) among {', '.join(names)}{hint}")


def convert(table: pa.Table, columns: Iterable[Column], tick: str | None, place: Place) -> pa.Table:
    """Return a batch as the operator takes it: its columns under the operator's names, times in ticks.

    Keys that are texts may stay as places in a list of texts.

    Raises
    ------
    CommandError
        A value is missing, has another type or does not fit; the first such row is named.
    """
    arrays = {}
    for column in columns:
        array = without_views(table.column(column.source)).combine_chunks()
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if array.null_count and not column.optional:
            hint = "" if column.kind == TIME or column.target == "diff" else f"; {column.kind} | None would allow it"
            hint = "; leave rows without a key out, or give them one" if column.role == "the key" else hint
            row = pc.index(array.is_null(), True).as_py()
            raise place.fault(column, row, f"expected {column.kind} ({column.role}) but got no value{hint}")
        coded = pa.types.is_dictionary(array.type)
        if not (coded and column.kind == KEY and pa.types.is_string(array.type.value_type)):
            array = array.dictionary_decode() if coded else array
            stamps = column.kind == "int" and (pa.types.is_timestamp(array.type) or pa.types.is_date(array.type))
            if stamps and tick is None:
                hint = "say what an integer counts with --tick, and times stand for integers"
                raise place.whole(column, f"expected int ({column.role}) but got {array.type}; {hint}")
            array = _ticks(array, column, tick or "ms", place) if stamps or column.kind == TIME else _typed(array, column, place)
        arrays[column.target] = array
    return pa.table(arrays)


def kind_of_times(table: pa.Table, columns: Iterable[Column], tick: str) -> pa.DataType:
    """Return the type of a batch's LEs; where they are text, that of timestamps of the tick."""
    array = without_views(next(table.column(column.source) for column in columns if column.target == "le"))
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    found = _timestamps(array.combine_chunks()) if scalar_of(kind) is str else None
    return kind if found is None else pa.timestamp(tick, found.type.tz)


def _typed(array: pa.Array, column: Column, place: Place) -> pa.Array:
    if pa.types.is_null(array.type):
        return array.cast(TYPES.get(column.kind, pa.string()))
    if column.kind == ANY:
        return array
    scalar = float if pa.types.is_decimal(array.type) else scalar_of(array.type)
    found = scalar.__name__ if scalar else None
    if column.kind == KEY:
        if found is None and not pa.types.is_temporal(array.type):
            raise place.whole(column, f"expected int, float, bool, str or a time as a key but got {array.type}")
    elif found != column.kind and not (found == "int" and column.kind == "float"):
        raise place.whole(column, f"expected {column.kind} ({column.role}) but got {array.type}")
    wanted = TYPES[(found or "str") if column.kind == KEY else column.kind]
    return _cast(array, lambda part: part.cast(wanted), column, place, f"expected {found or 'time'} that fits {wanted}")


def _ticks(array: pa.Array, column: Column, tick: str, place: Place) -> pa.Array:
    """Integers as they are; timestamps and dates as ticks since 1970 (without a zone: as if UTC)."""
    of = pa.types
    if of.is_integer(array.type) or of.is_null(array.type):
        return _cast(array, lambda part: part.cast(pa.int64()), column, place, "expected an int64 (ticks)")
    if scalar_of(array.type) is str:
        array = _parsed(array, column, place)
    if not (of.is_timestamp(array.type) or of.is_date(array.type)):
        raise place.whole(column, f"expected integers or timestamps ({column.role}) but got {array.type}")
    unit = pa.timestamp(tick, getattr(array.type, "tz", None))
    hint = "" if tick == "ns" else "; try a finer --tick"
    wrong = f"expected a whole number of {TICKS[tick]} (int64)"
    return _cast(array, lambda part: part.cast(unit), column, place, wrong, hint).cast(pa.int64())


def _parsed(array: pa.Array, column: Column, place: Place) -> pa.Array:
    """Text as timestamps, all of them with a zone or none."""
    parsed = _timestamps(array)
    if parsed is not None:
        return parsed
    before = None
    for i, value in enumerate(array.to_pylist()):
        if value is None or value.removeprefix("-").isdecimal():  # a column of ints with one slip: name the slip
            continue
        one = _timestamps(array.slice(i, 1))
        zone = None if one is None else "with" if one.type.tz else "without"
        if zone is None or before not in (None, zone):
            wanted = "an int or a timestamp (ISO 8601)" if zone is None else f"a timestamp {before} a zone, as in the rows before,"
            raise place.fault(column, i, f"expected {wanted} but got {value!r}")
        before = zone
    raise place.whole(column, f"expected integers or timestamps ({column.role}) but got text: {array[0].as_py()!r}")


def _timestamps(array: pa.Array) -> pa.Array | None:
    """Text as timestamps without a zone or with one; None: neither fits all of it."""
    for zone in (None, "UTC"):
        try:
            return array.cast(pa.timestamp("ns", zone))
        except pa.ArrowInvalid:
            continue
    return None


def _cast(
    array: pa.Array, cast: Callable[[pa.Array], pa.Array], column: Column, place: Place, wrong: str, hint: str = ""
) -> pa.Array:
    """Cast, or name the first row that can't be."""
    try:
        return cast(array)
    except pa.ArrowInvalid:
        for i in range(len(array)):
            try:
                cast(array.slice(i, 1))
            except pa.ArrowInvalid:
                raise place.fault(column, i, f"{wrong} but got {_shown(array[i])}{hint}") from None
        raise


def _shown(scalar: Any) -> str:
    try:
        return repr(scalar.as_py()) if pa.types.is_string(scalar.type) else str(scalar)
    except (OverflowError, ValueError):  # a timestamp beyond Python's
        return f"{scalar.value} ({scalar.type})"
