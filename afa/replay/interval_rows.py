"""The rows of spans, by span: which rows of a row group lie in a span of their key, and in the columns that an operator takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from afa.frames.found import Columns
from afa.frames.frame_reading import FrameReading
from afa.frames.slicing import columns_of
from afa.io.frame import Frame
from afa.replay.key_spans import Spans, held, ranges_of
from afa.replay.question import Question, in_groups
from afa.replay.seen_keys import SeenKeys
from afa.state.plain import stable_order


class RowsOfSpans:
    """Reads the rows that lie in spans; ``keys``: what their keys are, no other key is looked at."""

    def __init__(self, asking: Question, spans: Spans, keys: SeenKeys) -> None:
        self._asking, self._spans, self._keys = asking, spans, keys
        self._times = spans.joined

    def of_groups(self, groups: Sequence[int]) -> Columns | None:
        """Return the rows of some row groups that lie in spans, by span, then by time; None: there are none."""

        def found(table: pa.Table) -> Columns | None:
            rows, span = self._places(Frame(table))
            if not len(rows):
                return None
            return {**operator_columns(self._asking, Frame(table.take(pa.array(rows)))), self._asking.span: span}

        return in_groups(self._asking.stored, groups, found, self._asking.names)  # type: ignore[no-any-return]

    def _places(self, frame: Frame) -> tuple[Any, Any]:
        """Return which rows lie in a span, and the number of it: by span, then by time."""
        le, spans = frame.ticks(self._asking.reading.time, self._asking.plan.tick, "time"), self._spans
        rows = self._in_time(le)
        key = self._keys.numbers_of(frame, rows, le, new=False)
        if not (key >= 0).all():
            rows, key = rows[key >= 0], key[key >= 0]
        times = le[rows]
        if not bool((times[1:] >= times[:-1]).all()):
            order = np.argsort(times, kind="stable")
            rows, times, key = rows[order], times[order], key[order]
        order = stable_order(key)
        # a row's place: by key, then by its place in time; a span's ends: by key, then by how many rows are before them
        n = len(rows) + 1
        places = key[order] * n + order
        low, high = (np.searchsorted(places, spans.key * n + np.searchsorted(times, ends)) for ends in (spans.low, spans.high))
        return rows[order[ranges_of(low, high)]], np.repeat(np.arange(len(spans)), high - low)

    def _in_time(self, le: Any) -> Any:
        """Return the rows that lie in the time of any span."""
        times = self._times
        if bool((le[1:] >= le[:-1]).all()):
            low, high = np.searchsorted(le, times.low), np.searchsorted(le, times.high)
            return ranges_of(low, high)
        return np.flatnonzero(held(times, le))


def operator_columns(asking: Question, frame: Frame, reading: FrameReading | None = None) -> Columns:
    """Return the columns that an operator takes which has the number of the span as its key, or, if none has, the key's own."""
    columns = columns_of(frame, asking.plan, reading or asking.reading)
    names = {field.name for field in asking.plan.fields} | {"le", "re", "diff"}
    return {name: column for name, column in columns.items() if name in names or asking.by_span is None}


def no_rows(asking: Question) -> Columns:
    """Return no rows, in the columns that an operator takes."""
    return {**operator_columns(asking, asking.head), asking.span: np.zeros(0, np.int64)}
