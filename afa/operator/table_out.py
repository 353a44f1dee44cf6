"""Write output as tables of the same kind as the input."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from afa.errors import ChangeError
from afa.model.automaton import Automaton
from afa.model.keys import Keys
from afa.schema import ODD, Field
from punctuation.door import Table, arrow_type, type_of

TIMES = ("le", "re", "diff")
MATCH, PUNCTUATION = 0, 2
_DTYPES: Mapping[type | None, Any] = {int: np.int64, float: np.float64, bool: np.bool_}


def check_output(automaton: Automaton, keys: Keys | None, like: Table) -> None:
    """Refuse, before anything is applied, a batch whose output could not be written in its shape."""
    schema = automaton.match_schema
    names = [*(keys.labels if keys else ()), *(field.name for field in schema.fields), *TIMES]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ChangeError(
            f"expected columns of different names in the output but got {twice[0]!r} twice: rename the field of {schema.describe()}"
        )
    if like.in_arrow and not schema.scalar:
        raise ChangeError(f"expected scalar fields for an Arrow output but got {schema.describe()}: push columns instead")


def assemble(
    columns: Sequence[Any], promised: int | None, like: Table, automaton: Automaton, keys: Keys | None, mixed: bool
) -> Any:
    """Return a table like the input, of columns in this order: the key's, the register's fields, ``le``, ``re``, ``diff``.

    ``mixed``: with a column ``kind``, and a row for the punctuation ``promised``.
    """
    schema = automaton.match_schema
    labels = list(keys.labels) if keys else []
    names = [*labels, *(field.name for field in schema.fields), *TIMES]
    listed = list(columns)
    fields = [*_key_fields(automaton, labels), *schema.fields, *(Field(name, int, False) for name in TIMES)]
    if mixed:
        names, fields = [*names, "kind"], [*fields, Field("kind", int, False)]
        listed = [*listed, np.full(len(listed[-1]), MATCH)]
        if promised is not None:
            listed = [_with(column, _filling(field, promised, like)) for column, field in zip(listed, fields)]
    given = {name: like.column(name) for name in (keys.columns if keys else ())}
    if like.in_arrow:
        import pyarrow as pa

        arrays = [
            as_arrow(column, arrow_type(field.type), name)
            if field.type
            else _arrow_keys(column, getattr(given.get(name), "type", None), name)
            for name, column, field in zip(names, listed, fields)
        ]
        return like.back(pa.Table.from_arrays(arrays, names=names))
    arrays_of = {
        name: _keys_array(column, given[name]) if name in given else _array(column, _dtype(field))
        for name, column, field in zip(names, listed, fields)
    }
    if like.kind == "pandas":
        import pandas as pd

        return pd.DataFrame(arrays_of)
    return arrays_of


def _filling(field: Field, promised: int, like: Table) -> Any:
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


def _with(column: Any, item: Any) -> Any:
    return np.append(column, np.array([item], column.dtype)) if isinstance(column, np.ndarray) else [*column, item]


def _key_fields(automaton: Automaton, labels: list[str]) -> list[Field]:
    known = {field.name: field for field in automaton.event_schema.fields} if automaton.event_schema else {}
    return [known.get(label, Field(label, None, True)) for label in labels]


def _dtype(field: Field) -> Any:
    return object if field.optional else _DTYPES.get(field.type, object)


def _arrow_keys(column: list[Any], given: Any, name: str) -> Any:
    """Return keys as Arrow values of the kind that came in, at its full width: a key may have come with an earlier, wider batch.

    Text where a function makes the keys, or where one does not fit.
    """
    import pyarrow as pa

    kinds = pa.types
    value = given.value_type if given is not None and kinds.is_dictionary(given) else given
    if value is not None and not kinds.is_null(value):
        wide = pa.int64() if kinds.is_integer(value) else pa.float64() if kinds.is_floating(value) else value
        with contextlib.suppress(pa.ArrowException, *ODD):
            return pa.array(column, wide)
    return as_arrow([str(key) for key in column], pa.string(), name)


def as_arrow(column: Any, kind: Any, name: str) -> Any:
    """Return a column as an Arrow one.

    Raises
    ------
    ChangeError
        The column can't be written so: it holds text that is no UTF-8, a lone surrogate for example.
    """
    import pyarrow as pa

    try:
        return pa.array(column, kind)
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected values that Arrow holds in the output's column {name!r} of {kind} but got {error}") from error


def _keys_array(column: list[Any], given: Any) -> Any:
    """Return keys as an array of the kind that came in, at its full width; as objects where one does not fit."""
    dtype = getattr(given, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype) and all(isinstance(key, str) for key in column):
        import pandas as pd  # its type of strings

        with contextlib.suppress(TypeError, ValueError):
            return pd.array(column, dtype=dtype)
    kinds = {"i": int, "u": int, "f": float, "b": bool}
    kind = kinds.get(getattr(dtype, "kind", "O"))
    if kind is not None and set(map(type, column)) <= {kind}:
        with contextlib.suppress(OverflowError):
            return _array(column, _DTYPES[kind])
    return _array(column, object)


def _array(column: Any, dtype: Any) -> Any:
    if isinstance(column, np.ndarray) and column.dtype == dtype:
        return column
    if dtype is not object:
        return np.array(column, dtype=dtype)
    array = np.empty(len(column), dtype=dtype)
    for i, item in enumerate(column):
        array[i] = item
    return array
