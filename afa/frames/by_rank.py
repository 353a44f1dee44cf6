"""A frame whose rows are ordered by what is no time, as ORDER BY of SQL may say: their rank takes the place of LE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from afa.errors import AfaError
from afa.frames.asked import asked
from afa.frames.found import rows_at, written
from afa.frames.frame_reading import FrameReading
from afa.frames.lanes import matches_of
from afa.frames.slicing import fields_of, ranks_of
from afa.io.frame import Frame, unit_of_times
from afa.io.listed_columns import picked
from afa.operator.options import Options
from afa.schema import Schema
from punctuation.durations import NANOSECONDS


def found_by_rank(
    pattern: Any, ranked: Any, frame: Frame, options: Options, threads: int | None, beside: Mapping[str, Any], diff: str | None
) -> Any:
    """Return the matches in a frame whose rows are in the order of ``pattern``'s list; ``ranked``: the query over ranks as LEs.

    ``beside``: what is said beside and means nothing without times. Columns ``le`` and ``re`` are left out.
    """
    for name, value in beside.items():
        if value is not None and (name, value) != ("end", "latest"):
            raise AfaError(f"{name}={value!r} can't be combined with ORDER BY {pattern.tree.rank} because rows have no time there")
    events = Schema.of(pattern.tree.event, "event")
    units = {name: unit for name in events.times if (unit := unit_of_times(frame.times(name), name)) is not None}
    finest = min(units, key=lambda name: NANOSECONDS[units[name]], default=None)  # which holds the times of all
    tick = options.tick or pattern.tick or (finest and units[finest])
    plan = asked(ranked, options.but(tick=tick))
    columns = fields_of(frame, plan)
    columns["le"] = ranks_of(columns, plan.events, pattern.tree.rank)
    if diff is not None:
        columns["diff"] = frame.counts(diff)
    found = matches_of(columns, plan, threads, "latest")
    plan = plan._replace(shown=plan.shown._replace(times=pattern.shown.times))
    without = {name: column for name, column in found.items() if name not in ("le", "re")}
    if pattern.tree.distinct:  # no lifetime tells them apart
        first: dict[Any, int] = {}
        for place, row in enumerate(rows_at(without, list(without), np.arange(len(found["le"])))):
            first.setdefault(row, place)
        without = {name: picked(column, np.array([*first.values()], np.int64)) for name, column in without.items()}
    return written(without, frame, plan, FrameReading(finest or frame.names[0], None, diff))
