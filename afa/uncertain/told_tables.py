"""Matches with confidences as payloads of a class, and as tables of the kind that came in."""

from __future__ import annotations

import typing
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from afa.errors import AfaError
from afa.model.keys import Keys
from afa.operator.table_columns import array, arrow_table, keys_array
from afa.operator.table_times import times_as_came
from afa.schema import Field, Schema
from punctuation.door import Table

ADDED = {"confidence": float, "first": int, "last": int}


def match_class(shown: Schema) -> Any:
    """Return the class of matches with a confidence: what matches show, then ``confidence``, ``first`` and ``last``."""
    hints = typing.get_type_hints(shown.cls, include_extras=True)
    taken = [name for name in ADDED if name in hints]
    if taken:
        raise AfaError(f"expected a register without the field {taken[0]!r}, which matches with a confidence have")
    name = shown.cls.__name__ if hints else "Match"
    return NamedTuple(name, [*hints.items(), *ADDED.items()])


def table_of_matches(difference: Any, shown: Schema, keys: Keys | None, like: Table, core: Any, found: Any) -> Any:
    """Return what goes and what comes as a table of the kind that came in, in order: what goes first, by LE and RE."""
    rows = [
        (diff, told.le, told.re, name, told) for diff, part in ((-1, difference.gone), (1, difference.come)) for name, told in part
    ]
    rows.sort(key=lambda row: row[:3])
    if any(one[:3] == other[:3] for one, other in pairwise(rows)):
        rows.sort(key=lambda row: (*row[:3], repr(row[3])))
    n = len(shown.fields) - len(ADDED)
    fields = [*shown.fields, *(Field(name, int, False) for name in ("le", "re", "diff"))]
    columns: list[Any] = [[row[3][1][i] for row in rows] for i in range(n)]
    columns += [[found.share(row[4]) for row in rows], [row[4].first for row in rows], [row[4].last for row in rows]]
    columns += [[row[1] for row in rows], [row[2] for row in rows], [row[0] for row in rows]]
    columns[n:] = [np.array(column, np.float64 if i == 0 else np.int64) for i, column in enumerate(columns[n:])]
    columns[:n] = [_typed(column, field) for column, field in zip(columns, fields)]
    given: dict[str, Any] = {}
    if keys is not None:
        columns = [*([row[3][0][i] for row in rows] for i in range(len(keys.names))), *columns]
        fields = [*(Field(name, None, True) for name in keys.names), *fields]
        given = {name: like.column(name) for name in keys.names}
    made, timed = times_as_came(like, core), {}
    if made is not None:
        named = zip(fields, columns)
        timed = {field.name: made(column, field.name) for field, column in named if field.name in ("first", "last", "le", "re")}
    if like.in_arrow:
        return like.back(arrow_table(columns, fields, given, timed))
    arrays = {
        field.name: keys_array(column, given[field.name]) if field.name in given else array(column, field)
        for column, field in zip(columns, fields)
    } | timed
    if like.kind == "pandas":
        import pandas as pd

        return pd.DataFrame(arrays)
    return arrays


def _typed(column: list[Any], field: Field) -> Any:
    kind = {int: np.int64, float: np.float64, bool: np.bool_}.get(field.type)  # type: ignore[arg-type]
    return column if kind is None or field.optional else np.array(column, kind)
