"""The door for tables: each table that comes in is opened here, once. Only this module distinguishes kinds of tables.

    dict of columns, pandas frame, Arrow table or record batch        as they are
    polars, DuckDB, anything else with ``__arrow_c_stream__``         read as an Arrow table

A `Table` returns the columns by name, and knows the kind of the input, so that the output can be of the same kind. `arrow_type` and
`scalar_of` say which Arrow type stands for which scalar, wherever a table is read or written.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args, get_origin

import numpy as np

from punctuation.base_errors import AfaError

if TYPE_CHECKING:
    import pyarrow as pa

EXACT = 2**53
"""Up to here each int is a float and the other way round."""
FOREIGN = ("Int128", "UInt128", "Object")
"""Types of polars for which Arrow has none: 128 bits; Python objects, of which it would be handed the addresses."""


class Table:
    """An opened table of any kind.

    The output that answers it is of its ``kind``, "dict", "arrow", "pandas" or "polars"; a stream is answered by an Arrow table.
    ``given`` is the input, or the Arrow table that a stream was read into: it can be read again. ``columns`` is a mapping of
    columns, a pandas frame, or an Arrow table or record batch. ``foreign`` has columns that Arrow can't hold, with their types;
    they are refused when they are asked for.

    >>> table = table_of({"x": [1, 2], "le": [5, 6]})
    >>> table.kind, table.names, table.column("x")
    ('dict', ['x', 'le'], [1, 2])
    >>> import pyarrow as pa
    >>> reader = pa.table({"x": [1, 2]}).to_reader()
    >>> table_of(reader).kind, table_of(["x"])
    ('arrow', None)
    """

    __slots__ = ("columns", "foreign", "given", "in_arrow", "kind", "names")

    def __init__(self, kind: str, given: Any, columns: Any, foreign: Mapping[str, str] | None = None) -> None:
        self.kind, self.given, self.columns, self.foreign = kind, given, columns, foreign or {}
        self.in_arrow = kind in ("arrow", "polars")
        """Whether the columns are Arrow's."""
        self.names: list[str] = [*map(str, columns.schema.names if self.in_arrow else columns), *self.foreign]

    def column(self, name: str) -> Any:
        """Returns a column as it came; one of a library that only speaks Arrow as an Arrow column.

        Refused where Arrow has no type for its values, or there are several columns of this name.
        """
        if name in self.foreign:
            raise _refused(name, self.foreign[name])
        if self.in_arrow:
            if self.names.count(name) > 1:
                raise AfaError(f"expected one column {name!r} but got {self.names.count(name)}: rename the others")
            return self.columns.column(name)
        column = self.columns[name]
        if self.kind == "dict" and not isinstance(column, (np.ndarray, list, tuple)) and _is_foreign(column):
            return _read_column(column, name)
        return column

    def take(self, wanted: Iterable[tuple[str, type | None, bool]]) -> list[Any]:
        """Returns columns, each as a numpy array, an Arrow array or a list.

        ``wanted`` are names, the type of the values, and whether some may be missing: what of pandas is no array stays as it came.
        """
        return [_formed(self.column(name), kind, optional) for name, kind, optional in wanted]

    def made(self, columns: Mapping[str, Any]) -> Any:
        """Return columns as a table of the input's kind: arrays; Arrow's, where the input is Arrow's."""
        if self.kind == "dict":
            return columns
        if self.kind == "pandas":
            import pandas as pd

            return pd.DataFrame(columns)
        import pyarrow as pa

        return self.back(pa.Table.from_arrays(list(columns.values()), names=list(columns)))

    def back(self, table: pa.Table) -> Any:
        """Return an Arrow table as one of the kind of an input whose columns are Arrow's."""
        if self.kind != "polars":
            return table
        import polars as pl

        return pl.from_arrow(table)


def is_row(item: Any) -> bool:
    """Return whether a dict holds one value under each name, so that it is a row and no table of columns.

    >>> is_row({"word": "a", "le": 7}), is_row({"word": ["a"], "le": [7]})
    (True, False)
    """
    return isinstance(item, Mapping) and bool(item) and not any(map(_is_column, item.values()))


def _is_column(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and (hasattr(type(value), "__len__") or hasattr(type(value), "__iter__"))


def is_table(item: Any) -> bool:
    """Return whether an item is a table of any kind; it is not read."""
    if isinstance(item, tuple):  # a change, a punctuation
        return False
    return isinstance(item, (Table, Mapping)) or _kind_of(item) is not None or _is_foreign(item)


def table_of(item: Any) -> Table | None:
    """Open a table of any kind; None if the item is no table. A stream is read to its end, or refused."""
    if isinstance(item, tuple):  # a change, a punctuation
        return None
    if isinstance(item, Table):
        return item
    if isinstance(item, Mapping):
        held = _held(item)
        return Table("dict", held, held)
    kind = _kind_of(item)
    if kind in ("arrow", "pandas"):
        return Table(kind, item, item)
    if not _is_foreign(item):
        return None
    if kind == "polars":
        foreign = {name: str(type_) for name, type_ in item.schema.items() if _is_beyond_arrow(type_)}
        return Table(kind, item, _read(item.drop(foreign) if foreign else item), foreign)
    table = _read(item)
    return Table("arrow", table, table)


def _held(columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return columns that can be read more than once, each value there or None: masked arrays and iterators as lists."""
    given = {name: column for name, column in columns.items() if type(column) is not np.ndarray}
    odd = {name: list(column) for name, column in given.items() if isinstance(column, Iterator)}
    odd |= {name: column.tolist() for name, column in given.items() if isinstance(column, np.ma.MaskedArray)}
    return {**columns, **odd} if odd else columns


def is_arrow(column: Any) -> bool:
    return type(column).__module__.startswith("pyarrow")


def is_pandas(column: Any) -> bool:
    return type(column).__module__.startswith("pandas")


def type_of(column: Any) -> Any:
    """Return the type that a column says it has; None: it says none."""
    return getattr(column, "type", None) or getattr(column, "dtype", None)


def _formed(column: Any, kind: type | None, optional: bool) -> Any:
    """Return a pandas column as a numpy or Arrow array, any other as it is. Where values may be missing, NaN says that one is."""
    if not is_pandas(column):
        return column
    plain, dtype = isinstance(column.dtype, np.dtype), column.dtype.kind
    if plain and dtype != "O" and not (optional and dtype == "f"):
        return column.to_numpy()
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        array = pa.array(column, from_pandas=True)
        if (
            plain and kind is int and dtype == "f" and (pc.max(pc.abs(array)).as_py() or 0) <= EXACT
        ):  # floats because some are missing
            array = array.cast(pa.int64())
        return array
    except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
        return column


def _kind_of(item: Any) -> str | None:
    """Return the kind of a table whose library is known."""
    module = type(item).__module__.partition(".")[0]
    if module == "pyarrow" and hasattr(item, "schema") and hasattr(item, "to_pydict"):
        return "arrow"
    if module in ("pandas", "polars") and hasattr(item, "columns") and (module == "pandas" or _is_foreign(item)):
        return module
    return None


def _is_foreign(item: Any) -> bool:
    """Return whether an object has the Arrow C stream interface."""
    column = is_pandas(item) or (is_arrow(item) and not hasattr(item, "schema"))
    return hasattr(item, "__arrow_c_stream__") and not column


def _read(stream: Any) -> pa.Table:
    import pyarrow as pa

    try:
        table = pa.table(stream)
    except Exception as error:  # of any library
        raise AfaError(f"expected record batches from the Arrow stream of a {type(stream)!r} but got: {error}") from error
    return pa.table([without_views(column) for column in table.columns], table.schema.names)


def _read_column(column: Any, name: str) -> pa.ChunkedArray:
    import pyarrow as pa

    if type(column).__module__.startswith("polars") and _is_beyond_arrow(column.dtype):
        raise _refused(name, str(type_of(column)))
    try:
        return without_views(pa.chunked_array(column))
    except Exception as error:  # of any library
        raise AfaError(f"expected a column that Arrow holds but got column {name!r} of a {type(column)!r}: {error}") from error


def _is_beyond_arrow(kind: Any) -> bool:
    """Return whether Arrow has no type for one of polars, or for what a list or a struct of it holds."""
    parts = [getattr(kind, "inner", None), *(field.dtype for field in getattr(kind, "fields", ()))]
    name = kind.__name__ if isinstance(kind, type) else type(kind).__name__
    return name in FOREIGN or any(_is_beyond_arrow(part) for part in parts if part is not None)


def _refused(name: str, kind: str) -> AfaError:
    return AfaError(
        f"expected a column that Arrow holds but got column {name!r} of {kind}; cast it, to Int64 or String for example"
    )


@functools.cache
def arrow_type(kind: Any) -> pa.DataType:
    """Return the Arrow type that stands for int, float, bool or str, or for list[int] and such."""
    import pyarrow as pa

    if get_origin(kind) is list:
        return pa.list_(arrow_type(*get_args(kind)))
    return {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}[kind]


def scalar_of(kind: pa.DataType) -> type | None:
    """Return which of int, float, bool and str the values of an Arrow type are; None: none of them."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return scalar_of(kind.value_type)
    if types.is_integer(kind):
        return int
    if types.is_floating(kind):
        return float
    if types.is_boolean(kind):
        return bool
    return str if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view" else None


def one_array(column: Any) -> Any:
    """Return an Arrow column as one array; one whose chunks have dictionaries of their own may take two steps."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):  # which copies even one chunk
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of string views as one of plain strings, which all of Arrow's functions take."""
    import pyarrow as pa

    kind, is_view = column.type, getattr(pa.types, "is_string_view", lambda _: False)
    if is_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_dictionary(kind) and is_view(kind.value_type):
        plain = [
            pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(pa.large_string()), ordered=kind.ordered)
            for part in column.chunks
        ]
        return pa.chunked_array(plain, pa.dictionary(kind.index_type, pa.large_string(), kind.ordered))
    return column
