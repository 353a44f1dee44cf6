"""A frame with the columns that a query in SQL computes of each row: its keys, and what orders its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from afa.frames.frame_reading import FrameReading, finest_times
from afa.io.frame import Frame, unit_of_times
from afa.io.listed_columns import column_of
from afa.language.query import Query
from afa.schema import Schema
from punctuation.time import FOREVER
from speculation.computed_fields import ComputedFields


def with_computed(query: Query, given: Any, time: str | None, tick: str | None) -> tuple[Query, Any]:
    """Return a query, and a frame, with the columns that the query computes of each row.

    ``time``, ``tick``: as said beside the frame. O(rows), once for all rows that agree in the columns that an expression reads.
    """
    made = query.tree.computed
    if made is None:
        return query, given
    frame, events, filled = Frame.opened(given), Schema.of(made.event, "event"), Schema.of(query.tree.event, "event")
    query, fields = Query(replace(query.tree, computed=None)), {field.name: field for field in events.fields}
    if query.tree.rank is None:
        time = FrameReading.of(frame, query, time, None, None, "latest").time
    else:
        time = finest_times(frame, events)
    tick = tick or query.tick or (time and unit_of_times(frame.times(time), time))
    times = frame.times(time) if time and tick else None

    def column(name: str) -> Any:
        own = time if name == events.instant else None
        return frame.field(fields[name], events, tick) if own is None else frame.ticks(own, tick, "time")

    columns: dict[str, Any] = {name: frame.raw(name, "column") for name in frame.names if name not in frame.table.foreign}
    for field, (values, places) in ComputedFields(filled.cls, *made).of_columns(column).items():
        if field.name in filled.times and times is not None and tick is not None:
            ticks = np.array([FOREVER if value is None else value for value in values], np.int64)
            columns[field.name] = times.of_ticks(ticks[places], tick, field.name)
        else:
            columns[field.name] = column_of(values, places, field.type, frame.table)
    return query, frame.table.made(columns)
