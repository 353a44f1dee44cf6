"""Columns of a table as lists, value by value: for rows that go one by one, and to find out what is wrong with a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from afa.errors import ChangeError, did_you_mean
from afa.io.event_batch import TIMES
from afa.schema import ODD, Field
from punctuation.door import EXACT, Table, is_pandas, type_of
from punctuation.timestamps import WITHOUT_TICK, is_time, times_of


def missing(name: str, names: Sequence[str], what: str = "") -> ChangeError:
    """Return the error for a column that is not there, or is there twice; ``what``: what it is for."""
    role, there = f" ({what})" if what else "", f"the columns {', '.join(names) or 'none'}"
    if names.count(name) > 1:
        return ChangeError(f"expected one column {name!r}{role} but got {names.count(name)} among {there}")
    return ChangeError(f"expected a column {name!r}{role} but got {there}{did_you_mean(name, names)}")


def listed_columns(
    table: Table,
    wanted: Sequence[str],
    fields: Mapping[str, Field],
    tick: str | None,
    times: Sequence[str] = TIMES,
    unsaid: bool = False,
    places: Sequence[int] | None = None,
) -> dict[str, list[Any]]:
    """Return columns as lists, all of one length; ``wanted``: those that must be there, ``fields``: what is known of some.

    ``times``: the columns that hold ticks, the first one in each row; those that are not wanted may be there. ``unsaid``: whether
    ints may be missing, as of a retraction only the id may be known. ``places``: which rows count; None: all.
    """
    there = table.names
    wrong = [name for name in [*wanted, *times] if there.count(name) > 1] or [name for name in wanted if name not in there]
    if wrong:
        raise missing(wrong[0], there)
    given, columns = {}, {}
    for name in dict.fromkeys([*wanted, *(name for name in times if name in there)]):
        given[name] = column = table.column(name)
        if name in times and getattr(getattr(column, "dtype", None), "kind", "") in ("M", "m"):
            hint = WITHOUT_TICK if tick is None and name != "diff" and times_of(column) else ""
            raise ChangeError(f"expected int ticks in column {name!r} but got a column of {column.dtype}{hint}")
        field = Field(name, int, name == "re") if name in times else fields.get(name)
        if unsaid and field is not None and field.type is int and name != "diff":
            field = field._replace(optional=True)
        columns[name] = listed(column, name, field) if name != "payload" else _values(column, name)
    check_lengths(columns, times[0])
    if places is not None:
        columns = {name: [column[i] for i in places] for name, column in columns.items()}
    for name in times:
        if name in columns:
            _check_times(name, given[name], columns[name], places, tick, unsaid)
    return columns


def check_lengths(columns: Mapping[str, list[Any]], first: str = "le") -> None:
    n = len(columns[first])
    uneven = [name for name, column in columns.items() if len(column) != n]
    if uneven:
        raise ChangeError(f"expected columns of one length but got {len(columns[uneven[0]])} in {uneven[0]!r}, {n} in {first!r}")


def listed(column: Any, name: str = "", field: Field | None = None) -> list[Any]:
    """Return a column as a list of Python's values, None where one is missing.

    Of pandas the missing ones of a float ``field`` that must be there are NaN, and floats of an int field are ints again.
    """
    if not is_pandas(column):
        return _values(column, name)
    viewed = str(column.dtype).startswith("string_view")  # of which pandas makes no objects
    items: list[Any] = column.array.__arrow_array__().to_pylist() if viewed else column.astype(object).tolist()
    if field is not None and not field.optional and column.dtype.kind == "f":
        return items  # a NaN in a float field is a NaN
    items = [None if gone else item for item, gone in zip(items, column.isna().tolist())]
    if field is not None and field.type is int and column.dtype.kind == "f" and isinstance(column.dtype, np.dtype):
        items = [int(i) if type(i) is float and i.is_integer() and abs(i) <= EXACT else i for i in items]
    return items


def picked(column: Any, places: Any) -> Any:
    """Return some values of a column, an array, Arrow's or a list, as such a column."""
    if isinstance(column, list):
        return [column[i] for i in places.tolist()]
    return column[places] if isinstance(column, np.ndarray) else column.take(places)


def part_of(table: Table, places: Any, without: str = "") -> Table:
    """Return some rows of a table, perhaps without a column; rows that follow on each other in Arrow as a view."""
    names = [name for name in table.names if name != without]
    if table.in_arrow:
        import pyarrow as pa

        rows = pa.table({name: table.column(name) for name in names})
        ahead = len(places) and places[-1] - places[0] == len(places) - 1
        rows = rows.slice(int(places[0]), len(places)) if ahead else rows.take(places)
        return Table("arrow", rows, rows)
    if table.kind == "pandas":
        return Table("pandas", None, table.columns.iloc[places][names])
    return Table("dict", None, {name: picked(table.column(name), places) for name in names})


def _values(column: Any, name: str) -> list[Any]:
    kind = type_of(column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "Mm":
        column = _of_instants(column)
    for method in ("to_pylist", "tolist"):
        if hasattr(column, method):
            try:
                column = getattr(column, method)()
            except ODD as error:
                raise ChangeError(f"expected values that Python holds in column {name!r} of {kind} but got {error}") from error
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise ChangeError(f"expected a column of values but got {name}={column!r}")
    return list(column)


def _of_instants(column: Any) -> Any:
    """Return a column of numpy's instants or spans in a form whose values are no ints."""
    import pyarrow as pa

    try:
        return pa.array(column)
    except (pa.ArrowException, *ODD):  # a unit that Arrow lacks
        return list(column)


def _check_times(name: str, column: Any, items: list[Any], places: Sequence[int] | None, tick: str | None, unsaid: bool) -> None:
    """Refuse times that are no ticks, once for a column of dates, floats or strings, and where a null stands."""
    for i, item in zip(range(len(items)) if places is None else places, items):
        if type(item) is int or (item is None and (name == "re" or (unsaid and name == "le"))):
            continue
        if isinstance(item, bool) or not hasattr(type(item), "__index__"):
            kind = type_of(column) or type(item).__name__
            hint = WITHOUT_TICK if tick is None and name != "diff" and is_time(item) else ""
            raise ChangeError(f"expected int ticks in column {name!r} but got {item!r} in row {i} (column of {kind}){hint}")
