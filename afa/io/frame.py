"""A frame whose columns are decoded once, however many patterns ask: numbers as arrays, texts coded, times as ticks."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from afa.errors import AfaError, ChangeError
from afa.io.answer import objects_of
from afa.io.listed_columns import listed, missing
from afa.schema import Field, Schema
from afa.state.plain import Unfit, distinct, field_columns
from punctuation.door import Table, is_arrow, is_pandas, table_of, type_of
from punctuation.durations import NANOSECONDS
from punctuation.reading import ticks_of
from punctuation.timestamps import Times, ticks_in, times_of

FORMS = "pandas, polars, Arrow, DuckDB, a dict of columns"


class Frame:
    """An opened frame: of pandas, polars, Arrow or DuckDB, a dict of columns, or a stream of Arrow's, which is read to its end."""

    def __init__(self, given: Any) -> None:
        lazy = hasattr(given, "collect")  # polars warns where its columns are asked for
        table = None if lazy else table_of(_with_index(given))
        if table is None:
            spark = type(given).__module__.startswith("pyspark")
            hint = "; afa.spark.match takes it" if spark else "; collect it first" if lazy else ""
            raise ChangeError(f"expected a frame ({FORMS}) or the path of a Parquet file but got a {type(given)!r}{hint}")
        self.history: Any = None  # the rows in lanes, where the frame is held for many patterns
        self.table: Table = table
        self.given = given
        self.names: list[str] = table.names
        self._known: dict[Any, Any] = {}

    @classmethod
    def opened(cls, given: Any) -> Frame:
        """Return a frame; one that is opened as it is."""
        return given if isinstance(given, Frame) else cls(given)

    def keyed(self, pattern: Any, options: Any) -> Any:
        """Return the options of a pattern over this frame."""
        return options

    def raw(self, name: str, what: str) -> Any:
        """Return a column as it came; ``what``: what it is for, which a message tells."""
        if self.names.count(name) != 1:
            raise missing(name, self.names, what)
        return self.table.column(name)

    def times(self, name: str) -> Times | None:
        """Return the type of a column of timestamps or dates; None: it has ints."""
        return self.once(("times", name), lambda: times_of(self.raw(name, "time")))  # type: ignore[no-any-return]

    @property
    def columns_of_times(self) -> list[str]:
        """The columns of timestamps or dates whose names come once."""
        return [name for name in dict.fromkeys(self.names) if self.names.count(name) == 1 and self.times(name) is not None]

    def ticks(self, name: str, tick: str | None, what: str, optional: bool = False) -> Any:
        """Return a column of times as ticks, an array of int64; where some may be missing, and are, Arrow's int64."""
        return self.once(("ticks", name, tick, what), lambda: self._ticks(name, tick, what, optional))

    def field(self, field: Field, events: Schema, tick: str | None) -> Any:
        """Return a column of an event's field: an array, or one of Arrow. Refuse a value that the field can't hold."""
        what = f"field {field.name} of {events.cls.__name__}"
        self.raw(field.name, what)
        if field.type is int and self.times(field.name) is not None:
            return self.ticks(field.name, tick, what, field.optional)
        return self.once(("field", field), lambda: field_column(self.table.take([field])[0], field, events))

    def key(self, name: str) -> Any:
        """Return a column of a key that is no field of the event, as places in a list of its values."""
        return self.once(("key", name), lambda: self._key(name))

    def counts(self, name: str) -> Any:
        """Return a column that says how many copies of an event come or, below 0, go."""
        column = self.raw(name, "diff")
        check_whole(column, name, "diff")
        try:
            return ticks_of(self.table, name)
        except AfaError as error:
            raise ChangeError(f"{error}; expected 1 for an insertion, -1 for a retraction") from None

    def once(self, what: Any, make: Callable[[], Any]) -> Any:
        """Return what a name stands for, which is made once."""
        if what not in self._known:
            self._known[what] = make()
        return self._known[what]

    def _ticks(self, name: str, tick: str | None, what: str, optional: bool) -> Any:
        column, times = self.raw(name, what), self.times(name)
        if not optional:
            check_whole(column, name, what)
        if times is not None and tick is None:
            raise ChangeError(f"expected ints in column {name!r} ({what}), as those of LE, but got {times.said}; or say tick=")
        if times is not None and tick is not None:
            return ticks_in(column, times, tick, name)
        if optional and first_missing(column) is not None:
            return field_column(column, Field(name, int, True))
        try:
            return ticks_of(self.table, name)
        except AfaError as error:
            kind = type_of(column)
            hint = "" if kind is None else f" (column of {kind})"
            raise ChangeError(f"{error}{hint}; expected ints or timestamps as {what}; pandas.to_datetime reads text") from None

    def _key(self, name: str) -> Any:
        self.raw(name, "key")
        column = self.table.take([(name, None, True)])[0]
        try:
            places, values = distinct(column, nulls=True)
            kind = column.type if is_arrow(column) else None
            kind = kind.value_type if kind is not None and pa.types.is_dictionary(kind) else kind
            return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(values, kind))
        except (Unfit, pa.ArrowException, TypeError, ValueError):
            return objects_of(listed(column, name))


def check_whole(column: Any, name: str, what: str) -> None:
    row = first_missing(column)
    if row is not None:
        raise ChangeError(f"expected a value in every row of column {name!r} ({what}) but got none in row {row}; drop such rows")


def first_missing(column: Any) -> int | None:
    """Return the first row without a value, if there is one."""
    nulls: Any
    if is_arrow(column):
        nulls = column.is_null() if column.null_count else []
    elif is_pandas(column):
        nulls = column.isna()
    elif isinstance(column, np.ndarray) and column.dtype != object:
        nulls = np.isnat(column) if column.dtype.kind in "mM" else []
    else:
        nulls = [item is None for item in column]
    rows = np.flatnonzero(np.asarray(nulls))
    return int(rows[0]) if len(rows) else None


def field_column(column: Any, field: Field, events: Schema | None = None) -> Any:
    """Return a column of a field's type that an engine takes as it is, wherever there is one."""
    if field.type is None:
        return objects_of(listed(column, field.name))
    try:
        (found,) = field_columns([column], [field], len(column))
    except Unfit:
        items = listed(column, field.name)
        items = items if events is None else _fitting(items, field, events)
        try:
            (found,) = field_columns([items], [field], len(items))
        except Unfit:  # text that Arrow can't hold
            return objects_of(items)
    if found.texts is not None:
        places = pa.array(found.values, pa.int32(), mask=None if found.present is None else ~found.present)
        return pa.DictionaryArray.from_arrays(places, pa.array(found.texts, pa.string()))
    values = found.values.astype(np.bool_) if field.type is bool else found.values
    return values if found.present is None else pa.array(values, mask=~found.present)


def _fitting(items: list[Any], field: Field, events: Schema) -> list[Any]:
    """Return values in the form of their field; refuse the first that does not fit."""
    make: Any = namedtuple
    alone = make(events.cls.__name__, (field.name,))
    schema = Schema(alone, (field,))
    found = []
    for row, item in enumerate(items):
        try:
            found.append(schema.take(alone(item))[0])
        except AfaError as error:
            raise type(error)(f"{error}, in row {row} of column {field.name!r}") from None
    return found


def unit_of_times(times: Times | None, name: str) -> str | None:
    """Return the tick that counts in the unit of a column of times; None: it has ints."""
    if times is None:
        return None
    found = next((short for short, nanoseconds in NANOSECONDS.items() if nanoseconds == times.unit), None)
    if found is None:
        raise ChangeError(f'expected times in a unit of time, or tick=, but got column {name!r} of {times.said}; say tick="ns"')
    return found


def _with_index(frame: Any) -> Any:
    """Return a frame of pandas with the names of its index, and with an index of times, as columns; any other as it is."""
    index: Any = getattr(frame, "index", None)
    if not is_pandas(frame) or not hasattr(frame, "reset_index") or not hasattr(frame, "columns"):
        return frame
    names = [name for name in index.names if name is not None and name not in frame.columns]
    if names and len(names) == len(index.names):
        return frame.reset_index()
    return frame.reset_index(names="index") if times_of(index.to_series()) is not None and "index" not in frame.columns else frame


def is_stored(frame: Any) -> bool:
    """Return whether a frame is given as files: a path, a list of paths, or a `pyarrow.dataset`."""
    paths = frame if isinstance(frame, (list, tuple)) and frame else [frame]
    return all(isinstance(path, (str, Path)) for path in paths) or type(frame).__module__ == "pyarrow._dataset"
