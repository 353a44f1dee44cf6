"""The matches of a frame as a frame of its kind."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from afa.frames.asked import Asked
from afa.frames.decoded import Frame
from afa.frames.frame_reading import Reading
from afa.operator.member_columns import MEMBERS, in_arrow
from afa.operator.table_columns import as_arrow, keys_array
from afa.schema import ODD
from punctuation.door import arrow_type
from punctuation.time import FOREVER

Columns = dict[str, Any]
"""Arrays, each with the name of its column."""


def joined(tables: Sequence[Columns], asked: Asked) -> Columns:
    """Return what operators gave as the matches in force at the end, by LE and RE; ``diff`` is gone."""
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    rows = _in_force(columns, {"diff"} if asked.members is None else {"diff", MEMBERS})
    le, re = columns["le"], columns["re"]
    if rows is not None:
        le, re = le[rows], re[rows]
    if not (le[1:] > le[:-1]).all():
        order = np.lexsort((re, le))
        rows = order if rows is None else rows[order]
    return {name: column if rows is None else column[rows] for name, column in columns.items() if name != "diff"}


def _in_force(columns: Columns, without: set[str]) -> Any:
    """Return the places of matches that came and did not go; None: none went. ``without``: columns that are no part of a match."""
    gone = np.flatnonzero(columns["diff"] < 0)
    if not len(gone):
        return None
    names = [name for name in columns if name not in without]
    left = Counter(_rows(columns, names, gone))
    kept = columns["diff"] > 0
    come = np.flatnonzero(kept & np.isin(columns["le"], columns["le"][gone]))
    for place, row in zip(come.tolist(), _rows(columns, names, come)):
        if left[row]:
            left[row] -= 1
            kept[place] = False
    return np.flatnonzero(kept)


def _rows(columns: Columns, names: Sequence[str], places: Any) -> list[Any]:
    """Return rows as values that are equal where the rows are: NaN to itself."""
    parts = [columns[name][places].tolist() for name in names]
    return [tuple("NaN" if item != item else item for item in row) for row in zip(*parts)]


def written(columns: Columns, frame: Frame, asked: Asked, reading: Reading) -> Any:
    """Return matches as a frame of the kind that came in: the key, what matches show, ``le``, ``re``.

    Columns of other names stay as they are.
    """
    kind, shown = frame.table.kind, {field.name: field for field in asked.shown.fields}
    times = frame.times(reading.time)
    made: Columns = {}
    for name, column in columns.items():
        if name == MEMBERS and asked.members is not None:
            made[name] = _members(column, asked, times, frame.table.in_arrow)
        elif times is not None and name in ("le", "re", *asked.shown.times):
            made[name] = times.of_ticks(_ticks(column), asked.tick or "", name)
        elif name in asked.keys:
            made[name] = _keys(column, frame.raw(name, "key"), name, kind)
        elif name in shown and frame.table.in_arrow:
            of = shown[name].type
            made[name] = as_arrow(column, arrow_type(of) if of else None, name)
        else:
            made[name] = column
    return framed(made, frame)


def _members(column: Any, asked: Asked, times: Any, arrow: bool) -> Any:
    """Return members: in Arrow as lists, else as they are; times in the type of the column of times."""
    members = asked.members
    assert members is not None

    def made(flat: Any, name: str) -> Any:
        return times.of_ticks(np.array(flat, np.int64), asked.tick or "", name)

    if arrow:
        return in_arrow(column, members, (), None if times is None else made)
    if times is None or not members.times:
        return column
    found = np.empty(len(column), object)
    for i, row in enumerate(column):
        named = row if isinstance(row, dict) else {"": row}
        lists = {name: tuple(made(list(each), MEMBERS)) for name, each in named.items()}
        found[i] = lists if isinstance(row, dict) else lists[""]
    return found


def _ticks(column: Any) -> Any:
    """Return times as int64, FOREVER for what is missing."""
    return column if column.dtype == np.int64 else np.array([FOREVER if tick is None else tick for tick in column], np.int64)


def framed(columns: Columns, frame: Frame) -> Any:
    """Return columns as a frame of the kind that came in."""
    kind, given = frame.table.kind, frame.given
    if kind == "dict":
        return columns
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(columns)
    matches = pa.table(list(columns.values()), names=list(columns))
    if type(given).__module__.partition(".")[0] in ("duckdb", "_duckdb") and hasattr(given, "query"):
        return given.query("given", "SELECT * FROM matches").set_alias("matches")  # of the same connection
    return frame.table.back(matches)


def _keys(column: Any, given: Any, name: str, kind: str) -> Any:
    """Return keys in the type of the column that they came from."""
    if kind == "pandas":
        import pandas as pd

        with contextlib.suppress(*ODD):
            return pd.array(list(column), dtype=given.dtype)
    if kind == "dict":
        return keys_array(list(column), given)
    of = given.type.value_type if pa.types.is_dictionary(given.type) else given.type
    return as_arrow(list(column), of, name)
