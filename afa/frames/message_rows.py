"""A frame whose rows are messages (``id=``): of all of them those whose events are in force, taken in the order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from afa.errors import ChangeError
from afa.frames.frame_reading import FrameReading
from afa.io.frame import Frame
from afa.io.listed_columns import missing, part_of
from afa.model.option_values import names_of
from afa.operator.options import Options
from afa.operator.patterns import pattern_of
from afa.schema import Schema
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.time import FOREVER
from speculation import Ids

ROW = "\0row"
"""The name of a column that says in which row of the frame a message stands."""


def events_of(frame: Frame, pattern: Any, options: Options, reading: FrameReading) -> Any:
    """Return the rows of a frame whose events are in force, in a frame of its kind. Raises `LateEventError` for a fault."""
    ids, version = names_of(options.id, "id"), options.version
    known = pattern_of(pattern)
    fields = [] if known.event is None else [field.name for field in Schema.of(known.event, "event").fields]
    key = known.key if options.key is None else options.key
    names = dict.fromkeys([*fields, *(names_of(key, "key") if not callable(key) else ()), reading.time, reading.until])
    content = [name for name in names if name in frame.names and name != reading.diff]
    for name in (*ids, *([] if version is None else [version]), *([] if reading.diff is None else [reading.diff])):
        if frame.names.count(name) != 1:
            raise missing(name, frame.names, "a message")
    of_version = [] if version is None else [version]
    columns = {_own(name): _arrow(frame.raw(name, "a message")) for name in (*ids, *content, *of_version)}
    n = len(columns[_own(ids[0])])
    if not n:  # whose columns need not say a type
        return rows_at(frame.table, np.arange(0))
    rows: dict[str, Any] = {**columns, "le": np.zeros(n, np.int64), ROW: np.arange(n)}
    if reading.diff is not None:
        rows["diff"] = frame.raw(reading.diff, "diff")
    stage = Ids([*map(_own, ids)], on_repeat=options.on_repeat, version=None if version is None else _own(version))
    stage.compared = [_own(name) for name in content if name != version or version in fields]
    out = stage.push_many(pa.table(rows))
    stage.push(Punctuation(FOREVER))  # which tells of retractions without an event
    places, signs = np.asarray(out.column(ROW)), np.asarray(out.column("diff"))
    there = np.zeros(n, np.int64)
    np.add.at(there, places, signs)
    return rows_at(frame.table, np.flatnonzero(there))


def _own(name: str) -> str:
    """Return the name of a column among messages, where these two are the messages' own."""
    return f"{name} of the row" if name in ("le", "diff") else name


def rows_at(table: Table, places: Any) -> Any:
    """Return some rows of a table in a table of its kind."""
    found = part_of(table, places).columns
    if table.kind == "pandas":
        gone = [name for name, column in found.items() if column.dtype == np.float64 and table.columns[name].isna().any()]
        whole = [name for name in gone if (found[name] % 1 == 0).all() and (found[name].abs() <= 2**53).all()]
        return found.astype(dict.fromkeys(whole, np.int64))  # floats, as of retractions they are missing
    return table.back(found) if table.in_arrow else found


def _arrow(column: Any) -> Any:
    """Return a column of any kind as one of Arrow."""
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ChangeError(f"expected columns of messages that Arrow holds but got another: {error}") from error
