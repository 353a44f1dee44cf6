"""Columns of the output, in the kind of the input: Arrow arrays, numpy arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from afa.errors import ChangeError
from afa.model.keys import Keys
from afa.schema import ODD, Field
from afa.state.key_columns import KeyColumn, KeyColumns
from punctuation.door import Table, arrow_type, type_of

MATCH, PUNCTUATION = 0, 2
_KINDS = {"i": int, "u": int, "f": float, "b": bool}
_DTYPES: Mapping[type | None, Any] = {int: np.int64, float: np.float64, bool: np.bool_}


def arrow_table(columns: Sequence[Any], fields: Sequence[Field], given: Mapping[str, Any], timed: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    arrays = [
        timed[name]
        if name in timed
        else as_arrow(column, arrow_type(kind), name)
        if kind
        else _arrow_keys(column, getattr(given.get(name), "type", None), name)
        for column, (name, kind, _) in zip(columns, fields)
    ]
    return pa.Table.from_arrays(arrays, names=[field.name for field in fields])


def filling(field: Field, promised: int, like: Table) -> Any:
    """Return what a punctuation's row holds in a column: nothing, in the column's own type."""
    if field.type is None and field.name in like.names:  # a key's column
        column = like.column(field.name)
        kind = str(type_of(column) or "")
        return 0 if "int" in kind else 0.0 if "float" in kind or "double" in kind else False if "bool" in kind else ""
    if field.name in ("le", "kind"):
        return promised if field.name == "le" else PUNCTUATION
    if field.optional:
        return None
    zeros: dict[type | None, Any] = {int: 0, float: 0.0, bool: False}
    return promised if field.name == "re" else zeros.get(field.type, "")


def key_parts(keys: Sequence[Any], how: Keys) -> list[Any]:
    """Return keys as the columns of an output table: each a `KeyColumn`, or a list."""
    labels = len(how.labels)
    if isinstance(keys, KeyColumns) and keys.width == (0 if how.bare else labels):
        return keys.columns
    if how.bare:
        return [list(keys)]
    return [list(part) for part in zip(*map(how.parts, keys))] or [[] for _ in range(labels)]


def appended(column: Any, item: Any) -> Any:
    if isinstance(column, KeyColumn):
        return column.then(item)
    return np.concatenate((column, np.array([item], column.dtype))) if isinstance(column, np.ndarray) else [*column, item]


def _arrow_keys(column: Any, given: Any, name: str) -> Any:
    """Return keys as Arrow values of the kind that came in, at its full width: a key may have come with an earlier, wider batch.

    Text where a function makes the keys, or where one does not fit.
    """
    import pyarrow as pa

    kinds = pa.types
    value = given.value_type if given is not None and kinds.is_dictionary(given) else given
    if value is not None and not kinds.is_null(value):
        wide = pa.int64() if kinds.is_integer(value) else pa.float64() if kinds.is_floating(value) else value
        if isinstance(column, KeyColumn) and (found := column.in_arrow(wide)) is not None:
            return found
        column = _listed(column)
        with contextlib.suppress(pa.ArrowException, *ODD):
            return pa.array(column, wide)
    return as_arrow([str(key) for key in _listed(column)], pa.string(), name)


def as_arrow(column: Any, kind: Any, name: str) -> Any:
    """Return a column as an Arrow one.

    Raises
    ------
    ChangeError
        The column can't be written so: it holds text that is no UTF-8, a lone surrogate for example.
    """
    import pyarrow as pa

    if isinstance(column, KeyColumn) and (found := column.in_arrow(kind)) is not None:
        return found
    try:
        return pa.array(_listed(column), kind)
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected values that Arrow holds in the output's column {name!r} of {kind} but got {error}") from error


def keys_array(column: Any, given: Any) -> Any:
    """Return keys as an array of the kind that came in, at its full width; as objects where one does not fit."""
    dtype = getattr(given, "dtype", None)
    if isinstance(column, KeyColumn):
        if column.kind is not None and column.kind is _KINDS.get(getattr(dtype, "kind", "O")) and column.present is None:
            return column.values
        column = column.objects()
    if dtype is not None and not isinstance(dtype, np.dtype) and all(isinstance(key, str) for key in column):
        import pandas as pd  # its type of strings

        with contextlib.suppress(TypeError, ValueError):
            return pd.array(column, dtype=dtype)
    kind = _KINDS.get(getattr(dtype, "kind", "O"))
    if kind is not None and set(map(type, column)) <= {kind}:
        with contextlib.suppress(OverflowError):
            return np.array(column, _DTYPES[kind])
    return _objects(column)


def array(column: Any, field: Field) -> Any:
    """Return a column as an array of its field's type; as objects where a value is missing, or the type is no number."""
    dtype = _DTYPES.get(field.type)
    if isinstance(column, KeyColumn):
        if dtype is not None and column.kind is field.type and (column.present is None or column.present.all()):
            return column.values
        dtype = None if field.optional else dtype
        column = column.objects() if dtype is None else column.tolist()
    if dtype is None or (field.optional and any(item is None for item in column)):
        return _objects(column)
    return column if isinstance(column, np.ndarray) and column.dtype == dtype else np.array(column, dtype)


def _listed(column: Any) -> Any:
    return column.tolist() if isinstance(column, KeyColumn) else column


def _objects(column: Any) -> Any:
    if isinstance(column, np.ndarray) and column.dtype == object:
        return column
    array = np.empty(len(column), object)
    for i, item in enumerate(column):
        array[i] = item
    return array
