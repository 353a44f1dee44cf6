"""What leaves as a table: named columns, written as a table of the kind that came in.

    Answer(columns, fields, keys, times)  -> `Answer.to`: a dict of numpy arrays, a pandas or a polars frame, an Arrow table

Keys leave as they came, times in the type in which times came, all else by the types of the fields.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from afa.errors import ChangeError
from afa.io.table_times import TimeType
from afa.model.keys import Keys
from afa.schema import ODD, Field
from afa.state.key_columns import KeyColumn, KeyColumns
from afa.state.plain import WORDS
from punctuation.door import Table, arrow_type, is_arrow, is_pandas, type_of

MATCH, PUNCTUATION = 0, 2
_KINDS = {"i": int, "u": int, "f": float, "b": bool}
_DTYPES: Mapping[type | None, Any] = {int: np.int64, float: np.float64, bool: np.bool_}
PLAIN = (np.ndarray, list, KeyColumn)
"""Columns that are not Arrow's: to ask a column for its module costs three times as much."""
NOTHING: Mapping[str, Any] = {}


class Answer(NamedTuple):
    """The output as columns.

    >>> from punctuation.door import table_of
    >>> answer = Answer([["a"], np.array([7])], [Field("name", str, False), Field("le", int, False)])
    >>> answer.to(table_of({"le": [1]}))
    {'name': array(['a'], dtype=object), 'le': array([7])}
    """

    # arrays, lists, `KeyColumn`; times are ticks. Arrow arrays leave as they are, where the output is Arrow's.
    columns: Sequence[Any]
    fields: Sequence[Field]  # of each column its name and its type; None: any, which Arrow chooses
    # the columns of the key, each with that of the input in whose type it leaves; at its full width, as a key may have come with an
    # earlier, wider batch. None: there is no such column, and keys are text where the output is Arrow's.
    keys: Mapping[str, Any] = NOTHING
    times: Mapping[str, TimeType] = NOTHING  # the types in which columns of times leave: `afa.io.table_times.leaving`
    whole: bool = False  # whether the input holds all keys, which then leave in the type of its columns, however narrow

    def to(self, like: Table) -> Any:
        """Return it as a table of the kind of another.

        Raises `ChangeError`: two columns have one name; Arrow does not hold a value, or the type of times does not hold a time.
        """
        columns, fields, keys, times, whole = self
        written: Any = _in_arrow if like.in_arrow else _in_pandas if like.kind == "pandas" else _as_array
        made: dict[str, Any] = {}
        for column, field in zip(columns, fields):
            name = field.name
            if name in made:
                raise ChangeError(f"expected columns of different names in the output but got {name!r} twice: rename one of them")
            if name in times:
                made[name] = times[name].column(_listed(column), name)
            elif has_decimals(keys.get(name)):
                items = [Decimal(repr(float(item))) if isinstance(item, float) else item for item in _listed(column)]
                made[name] = written(items, field._replace(type=None), True, keys[name], True)
            else:
                made[name] = written(column, field, name in keys, keys.get(name), whole)
        return like.made(made)


def has_decimals(given: Any) -> bool:
    """Return whether a column has DECIMALs, by its type, or by the first of its objects."""
    kind = type_of(given)
    if isinstance(given, list) or (isinstance(kind, np.dtype) and kind.kind == "O"):
        missing = ("NoneType", "NAType", "float")
        return next((type(item) for item in given if type(item).__name__ not in missing), None) is Decimal
    return "decimal" in str(kind)


def _in_arrow(column: Any, field: Field, is_key: bool, given: Any, whole: bool) -> Any:
    if type(column) is np.ndarray and column.dtype is WORDS.get(field.type) and given is None and column.flags.c_contiguous:
        import pyarrow as pa

        kind, words = arrow_type(field.type), pa.py_buffer(column)
        return pa.Array.from_buffers(kind, len(column), [None, words])  # in half the time of `pa.array`
    if not isinstance(column, PLAIN) and is_arrow(column):
        return column
    if field.type is not None and not (whole and given is not None):
        return as_arrow(column, arrow_type(field.type), field.name)
    return _arrow_keys(column, getattr(given, "type", None), field.name, whole) if is_key else as_arrow(column, None, field.name)


def _in_pandas(column: Any, field: Field, is_key: bool, given: Any, whole: bool) -> Any:
    if is_pandas(given):
        if not isinstance(column, PLAIN) and is_arrow(column):
            return column.to_pandas(integer_object_nulls=True).astype(given.dtype)
        if whole:
            import pandas as pd

            with contextlib.suppress(*ODD):
                return pd.array(list(column), dtype=given.dtype)
    return _as_array(column, field, is_key, given, whole)


def _as_array(column: Any, field: Field, is_key: bool, given: Any, whole: bool) -> Any:
    if not isinstance(column, PLAIN) and is_arrow(column):
        return _out_of_arrow(column)
    return array(column, field) if given is None else keys_array(column, given)


def _out_of_arrow(column: Any) -> Any:
    """Return an Arrow column as an array; ints as objects if some are missing."""
    import pyarrow as pa

    if column.null_count and pa.types.is_integer(column.type):
        return np.array(column.to_pylist(), object)
    return column.to_numpy(zero_copy_only=False)


def filling(field: Field, promised: int, like: Table) -> Any:
    """Return the value of a punctuation's row in a column: an empty one, of the column's own type."""
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
    if not isinstance(column, np.ndarray):
        return column.then(item) if isinstance(column, KeyColumn) else [*column, item]
    made = np.empty(len(column) + 1, column.dtype)  # a third of the time of `np.concatenate`
    made[:-1], made[-1] = column, item
    return made


def _arrow_keys(column: Any, given: Any, name: str, whole: bool) -> Any:
    """Return keys as Arrow values of the type that came in, or at its full width.

    Text where a function makes the keys, or where one does not fit.
    """
    import pyarrow as pa

    kinds = pa.types
    value = given.value_type if given is not None and kinds.is_dictionary(given) else given
    if value is not None and (whole or not kinds.is_null(value)):
        widest = pa.int64() if kinds.is_integer(value) else pa.float64() if kinds.is_floating(value) else value
        wide = value if whole else widest
        if isinstance(column, KeyColumn) and (found := column.in_arrow(wide)) is not None:
            return found
        column = _listed(column)
        with contextlib.suppress(pa.ArrowException, *ODD):
            return pa.array(column, wide)
    return as_arrow([None if key is None else str(key) for key in _listed(column)], pa.string(), name)


def as_arrow(column: Any, kind: Any, name: str) -> Any:
    """Return a column as an Arrow one.

    Raises `ChangeError`: the column can't be written so: it holds text that is no UTF-8, a lone surrogate for example.
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
    if kind is not None and set(map(type, column)) <= ({int, float} if kind is float else {kind}):  # an int field read its floats
        with contextlib.suppress(OverflowError):
            return np.array(column, _DTYPES[kind])
    return objects_of(column)


def array(column: Any, field: Field) -> Any:
    """Return a column as an array of its field's type; as objects where a value is missing, or the type is no number."""
    dtype = _DTYPES.get(field.type)
    if isinstance(column, KeyColumn):
        if dtype is not None and column.kind is field.type and (column.present is None or column.present.all()):
            return column.values
        dtype = None if field.optional else dtype
        column = column.objects() if dtype is None else column.tolist()
    if dtype is None or (field.optional and any(item is None for item in column)):
        return objects_of(column)
    return column if isinstance(column, np.ndarray) and column.dtype == dtype else np.array(column, dtype)


def _listed(column: Any) -> Any:
    return column.tolist() if isinstance(column, KeyColumn) else column


def objects_of(column: Any) -> Any:
    """Return values as an array of objects; an array as it is."""
    if isinstance(column, np.ndarray):
        return column
    array = np.empty(len(column), object)
    for i, item in enumerate(column):
        array[i] = item
    return array
