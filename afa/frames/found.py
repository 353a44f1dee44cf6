"""The matches of a frame as a frame of its kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from afa.frames.asked import OperatorPlan
from afa.frames.frame_reading import FrameReading
from afa.frames.result_order import by_times, settled
from afa.io.answer import Answer
from afa.io.event_batch import TIMES
from afa.io.frame import Frame
from afa.io.listed_columns import listed, picked
from afa.io.table_times import TimeType, leaving
from afa.operator.members import MEMBERS, in_arrow
from afa.schema import Field

Columns = dict[str, Any]
"""Arrays, each with the name of its column."""


def joined(tables: Sequence[Columns], asked: OperatorPlan) -> Columns:
    """Return the matches in force at the end, in order, out of the operators' tables; each once, or as often as it came."""
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    rows = _in_force(columns, {"diff"} if asked.members is None else {"diff", MEMBERS})
    if rows is not None:
        columns = {name: column[rows] for name, column in columns.items()}
    times = columns["le"], columns["re"]
    rows = settled(by_times(*times), times, [column for name, column in columns.items() if name not in (*TIMES, MEMBERS)])
    return {name: column if rows is None else column[rows] for name, column in columns.items() if name != "diff"}


def _in_force(columns: Columns, without: set[str]) -> Any:
    """Return the places of matches that came and did not go; None: none went. ``without``: columns that are no part of a match."""
    diff = columns["diff"]
    gone = np.flatnonzero(diff < 0)
    if not len(gone):
        return None if (diff == 1).all() else np.repeat(np.arange(len(diff)), diff)
    names = [name for name in columns if name not in without]
    left = Counter[Any]()
    for place, row in zip(gone.tolist(), rows_at(columns, names, gone)):
        left[row] -= diff[place]
    kept = np.maximum(diff, 0)
    come = np.flatnonzero((diff > 0) & np.isin(columns["le"], columns["le"][gone]))
    for place, row in zip(come.tolist(), rows_at(columns, names, come)):
        taken = min(kept[place], left[row])
        left[row] -= taken
        kept[place] -= taken
    return np.repeat(np.arange(len(diff)), kept)


def rows_at(columns: Columns, names: Sequence[str], places: Any) -> list[tuple[Any, ...]]:
    """Return rows as values that are equal where the rows are: NaN to itself."""
    return list(zip(*(["NaN" if item != item else item for item in listed(picked(columns[name], places))] for name in names)))


def written(columns: Columns, frame: Frame, asked: OperatorPlan, reading: FrameReading) -> Any:
    """Return matches as a frame of the kind that came in: the key, what matches show, ``le``, ``re``.

    Columns of other names stay as they are.
    """
    of, tick = frame.times(reading.time), asked.tick
    times = None if of is None or tick is None else TimeType(of, tick)
    if asked.members is not None:
        members = columns[MEMBERS]
        if frame.table.in_arrow:
            members = in_arrow(members, asked.members, (), times)
        elif times is not None and asked.members.times:
            members = _members(members, times)
        columns = {**columns, MEMBERS: members}
    typed = {field.name: field for field in asked.shown.fields} | asked.made
    fields = [typed.get(name, Field(name, None, True)) for name in columns]
    keys = {name: frame.raw(name, "key") for name in asked.keys if name in frame.names and name not in asked.made}
    leave = leaving(times, frame.table.kind, asked.shown, asked.events, asked.keys)
    return framed(Answer(list(columns.values()), fields, keys, leave, whole=True), frame)


def _members(column: Any, times: TimeType) -> Any:
    """Return members whose ticks are times."""
    found = np.empty(len(column), object)
    for i, row in enumerate(column):
        named = row if isinstance(row, dict) else {"": row}
        lists = {name: tuple(times.column(list(each), MEMBERS)) for name, each in named.items()}
        found[i] = lists if isinstance(row, dict) else lists[""]
    return found


def framed(answer: Answer, frame: Frame) -> Any:
    """Return columns as a frame of the kind that came in."""
    matches, given = answer.to(frame.table), frame.given
    if type(given).__module__.partition(".")[0] in ("duckdb", "_duckdb") and hasattr(given, "query"):
        return given.query("given", "SELECT * FROM matches").set_alias("matches")  # of the same connection
    return matches
