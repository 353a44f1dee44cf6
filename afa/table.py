"""Batches as columns: Arrow tables, pandas frames and dicts of columns, in and out alike."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from afa.arc import Arc
from afa.automaton import Automaton
from afa.change import Change
from afa.core import Core
from afa.errors import ChangeError
from afa.keys import Keys, take_key
from afa.schema import Field

TIMES = ("le", "re", "diff")
_DTYPES: Mapping[type | None, Any] = {int: np.int64, float: np.float64, bool: np.bool_}


def push_many(core: Core, batch: Any, keys: Keys | None, net: bool) -> Any:
    """`Operator.push_many` and `Keyed.push_many`."""
    if isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields"):
        like = next((item for item in batch if _kind(item)), None)
        items = [item for part in batch for item in (_rows(core, part, keys) if _kind(part) else [_item(part, keys)])]
        if like is not None:
            _check_output(core.automaton, keys, like)
        out = core.run(items, net)
        return out if like is None else _grouped(out, core, like, keys, net)
    kind = _kind(batch)
    if kind is None:
        raise ChangeError(f"expected an Arrow table, a pandas frame, a dict of columns or a list but got {type(batch)!r}")
    _check_output(core.automaton, keys, batch)
    out = core.run(_rows(core, batch, keys), net)
    return write([change for change in out if isinstance(change, Change)], batch, core.automaton, keys)


def _item(item: Any, keys: Keys | None) -> tuple[str, Any, Hashable]:
    if isinstance(item, Change) and isinstance(item.payload, Arc):
        return "arc", item, None
    key = take_key(keys.of_change(item)) if keys and isinstance(item, Change) else None
    return "event", item, key


def _grouped(out: Iterable[Any], core: Core, like: Any, keys: Keys | None, net: bool) -> list[Any]:
    """Changes that follow on each other as one table; a net output always begins with one, empty or not."""
    result: list[Any] = []
    changes: list[Change] = []
    for item in [*out, None]:
        if isinstance(item, Change):
            changes.append(item)
            continue
        if changes or (not result and (net or item is None)):
            result.append(write(changes, like, core.automaton, keys))
            changes = []
        if item is not None:
            result.append(item)
    return result


# -- in ----------------------------------------------------------------------------------------------------------------------


def _kind(batch: Any) -> str | None:
    if isinstance(batch, Mapping):
        return "dict"
    module = type(batch).__module__.partition(".")[0]
    if module == "pyarrow" and hasattr(batch, "schema") and hasattr(batch, "to_pydict"):
        return "arrow"
    return "pandas" if module == "pandas" and hasattr(batch, "columns") else None


def _rows(core: Core, batch: Any, keys: Keys | None) -> list[tuple[str, Change, Hashable]]:
    """The rows of a table as event changes, in order."""
    schema = core.automaton.event_schema
    names = ["payload"] if schema is None else [field.name for field in schema.fields]
    clash = [name for name in names if name in TIMES]
    if clash:
        raise ChangeError(f"expected an event schema without a field {clash[0]!r}: in a table that is a column of its own")
    wanted = [*names, "le", *(keys.columns if keys else ())]
    columns = _columns(batch, wanted, {f.name: f for f in schema.fields} if schema else {})
    le = columns["le"]
    n = len(le)
    uneven = [name for name, column in columns.items() if len(column) != n]
    if uneven:
        raise ChangeError(f"expected columns of one length but got {len(columns[uneven[0]])} in {uneven[0]!r}, {n} in 'le'")
    if schema is None:
        payloads = list(columns["payload"])
    else:
        payloads = [schema.cls._make(row) for row in zip(*(columns[name] for name in names))]  # type: ignore[attr-defined]
        payloads = payloads if names else [schema.cls()] * n
    of_rows = [take_key(key) for key in keys.of_rows(columns, payloads)] if keys else [None] * n
    res, diffs = columns.get("re", [None] * n), columns.get("diff", [1] * n)
    return [
        ("event", Change(payload, start, end, diff), key)
        for payload, start, end, diff, key in zip(payloads, le, res, diffs, of_rows)
    ]


def _columns(batch: Any, wanted: list[str], fields: Mapping[str, Field]) -> dict[str, list[Any]]:
    there = [str(name) for name in (batch.schema.names if _is_arrow(batch) else list(batch))]
    for name in [*wanted, *TIMES]:
        if there.count(name) > 1:
            raise ChangeError(f"expected one column {name!r} but got {there.count(name)} among the columns {', '.join(there)}")
    for name in wanted:
        if name not in there:
            raise ChangeError(f"expected a column {name!r} but got the columns {', '.join(there) or 'none'}")
    columns = {}
    for name in [*wanted, *(name for name in ("re", "diff") if name in there)]:
        column = batch.column(name) if _is_arrow(batch) else batch[name]
        if name in TIMES and getattr(getattr(column, "dtype", None), "kind", "") in ("M", "m"):
            raise ChangeError(f"expected int ticks in column {name!r} but got a column of {column.dtype}")
        field = Field(name, int, name == "re") if name in TIMES else fields.get(name)
        pandas = _kind(batch) == "pandas" and name != "payload"
        columns[name] = _from_pandas(column, field) if pandas else _listed(column, name)
        if name in TIMES:
            _check_times(name, column, columns[name])
    return columns


def _is_arrow(batch: Any) -> bool:
    return _kind(batch) == "arrow"


def _listed(column: Any, name: str) -> list[Any]:
    for method in ("to_pylist", "tolist"):
        if hasattr(column, method):
            column = getattr(column, method)()
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise ChangeError(f"expected a column of values but got {name}={column!r}")
    return list(column)


def _from_pandas(column: Any, field: Field | None) -> list[Any]:
    """A pandas column with None for what is missing, and ints again where pandas made them floats to say that some are."""
    items: list[Any] = column.astype(object).tolist()
    if field is not None and not field.optional and column.dtype.kind == "f":
        return items  # a NaN in a float field is a NaN
    items = [None if missing else item for item, missing in zip(items, column.isna().tolist())]
    if field is not None and field.type is int and column.dtype.kind == "f":
        items = [int(i) if type(i) is float and i.is_integer() and abs(i) <= 2**53 else i for i in items]
    return items


def _check_times(name: str, column: Any, items: list[Any]) -> None:
    """Times are ticks: say so once for a column of dates, floats or strings, and where a null stands."""
    for i, item in enumerate(items):
        if type(item) is int or (item is None and name == "re"):
            continue
        if isinstance(item, bool) or not hasattr(type(item), "__index__"):
            kind = getattr(column, "type", None) or getattr(column, "dtype", None) or type(item).__name__
            raise ChangeError(f"expected int ticks in column {name!r} but got {item!r} in row {i} (column of {kind})")


# -- out ---------------------------------------------------------------------------------------------------------------------


def _check_output(automaton: Automaton, keys: Keys | None, like: Any) -> None:
    """Refuse, before anything is applied, a batch whose output could not be written in its shape."""
    schema = automaton.register_schema
    names = [*(keys.labels if keys else ()), *(field.name for field in schema.fields), *TIMES]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ChangeError(
            f"expected columns of different names in the output but got {twice[0]!r} twice: rename the field of {schema.describe()}"
        )
    if _is_arrow(like) and not schema.scalar:
        raise ChangeError(f"expected scalar fields for an Arrow output but got {schema.describe()}: push columns instead")


def write(changes: list[Change], like: Any, automaton: Automaton, keys: Keys | None) -> Any:
    """Output changes as a table like the input: the key's columns, the register's fields, ``le``, ``re``, ``diff``."""
    schema = automaton.register_schema
    labels = list(keys.labels) if keys else []
    names = [*labels, *(field.name for field in schema.fields), *TIMES]
    rows = [(*(keys.parts(change.key) if keys else ()), *change.payload, change.le, change.re, change.diff) for change in changes]
    listed = [list(column) for column in zip(*rows)] if rows else [[] for _ in names]
    key_fields = _key_fields(automaton, labels)
    fields = [*key_fields, *schema.fields, *(Field(name, int, False) for name in TIMES)]
    given = {name: like[name] for name in (keys.columns if keys else ())}
    if _is_arrow(like):
        import pyarrow as pa

        types: dict[type | None, Any] = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
        arrays = [
            pa.array(column, types[field.type]) if field.type else _arrow_keys(column, getattr(given.get(name), "type", None))
            for name, column, field in zip(names, listed, fields)
        ]
        return pa.Table.from_arrays(arrays, names=names)
    columns = {
        name: _keys_array(column, given[name]) if name in given else _array(column, _dtype(field))
        for name, column, field in zip(names, listed, fields)
    }
    if _kind(like) == "pandas":
        import pandas as pd

        return pd.DataFrame(columns)
    return columns


def _key_fields(automaton: Automaton, labels: list[str]) -> list[Field]:
    known = {field.name: field for field in automaton.event_schema.fields} if automaton.event_schema else {}
    return [known.get(label, Field(label, None, True)) for label in labels]


def _dtype(field: Field) -> Any:
    return object if field.optional else _DTYPES.get(field.type, object)


def _arrow_keys(column: list[Any], given: Any) -> Any:
    """Keys as Arrow values of the kind that came in, at its full width: a key may have come with an earlier, wider batch.

    Text where a function makes the keys, or where one does not fit. It never raises: the call is already carried out.
    """
    import pyarrow as pa

    kinds = pa.types
    value = given.value_type if given is not None and kinds.is_dictionary(given) else given
    if value is not None and not kinds.is_null(value):
        wide = pa.int64() if kinds.is_integer(value) else pa.float64() if kinds.is_floating(value) else value
        try:
            return pa.array(column, wide)
        except (pa.ArrowException, OverflowError):
            pass
    return pa.array([str(key) for key in column], pa.string())


def _keys_array(column: list[Any], given: Any) -> Any:
    """Keys as an array of the kind that came in, at its full width; as objects where one does not fit."""
    dtype = getattr(given, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype) and all(isinstance(key, str) for key in column):
        import pandas as pd  # its type of strings

        with contextlib.suppress(TypeError, ValueError):
            return pd.array(column, dtype=dtype)
    kinds = {"i": int, "u": int, "f": float, "b": bool}
    kind = kinds.get(getattr(dtype, "kind", "O"))
    fits = kind is not None and all(type(key) is kind for key in column)
    return _array(column, _DTYPES[kind] if fits else object)


def _array(column: list[Any], dtype: Any) -> Any:
    array = np.empty(len(column), dtype=dtype)
    for i, item in enumerate(column):
        array[i] = item
    return array
