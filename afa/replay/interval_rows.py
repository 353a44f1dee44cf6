"""The rows of spans, by span: which rows of a row group lie in a span of their key, and in the columns that an operator takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from afa.frames.frame_reading import FrameReading
from afa.frames.slicing import columns_of
from afa.io.frame import Frame
from afa.replay.key_spans import Spans, ranges_of, stable_order
from afa.replay.question import Question, in_groups
from afa.replay.seen_keys import SeenKeys

FEW = 1 << 15
"""Of so many rows all columns are read at once."""
MANY = 0.3
"""If so many of the rows are likely to lie in spans, all columns are read at once."""


class RowsOfSpans:
    """Reads the rows that lie in spans; ``keys``: what their keys are, no other key is looked at."""

    def __init__(self, asking: Question, spans: Spans, keys: SeenKeys) -> None:
        self._asking, self._spans, self._keys = asking, spans, keys
        self._times = spans.joined

    def of_groups(self, groups: Sequence[int], share: float) -> dict[str, Any] | None:
        """Return the rows of some row groups that lie in spans, by span, then by time; None: there are none.

        ``share``: how many of their rows are likely to. Of several groups all columns are read at once.
        """
        asking = self._asking
        about = asking.about_names
        at_once = share > MANY or len(groups) > 1 or asking.stored.rows[groups[0]] <= FEW
        names = asking.names if at_once else about

        def found(table: pa.Table) -> dict[str, Any] | None:
            rows, span = self._places(Frame(table))
            if not len(rows):
                return None
            if not at_once:
                rest = [name for name in asking.names if name not in about]
                more = asking.stored.read(groups[0], rest) if rest else table
                for name in rest:
                    table = table.append_column(name, more.column(name))
            return {**self.operator_columns(Frame(table.take(pa.array(rows)))), asking.span: span}

        return in_groups(asking.stored, groups, found, names)  # type: ignore[no-any-return]

    def operator_columns(self, frame: Frame, reading: FrameReading | None = None) -> dict[str, Any]:
        """Return the columns that an operator takes which has the number of the span as its key, or, if none has, the key's own."""
        asking = self._asking
        columns = columns_of(frame, asking.plan, reading or asking.reading)
        names = {field.name for field in asking.plan.fields} | {"le", "re", "diff"}
        return {name: column for name, column in columns.items() if name in names or asking.by_span is None}

    def none(self) -> dict[str, Any]:
        """Return no rows, in the columns that an operator takes."""
        return {**self.operator_columns(self._asking.head), self._asking.span: np.zeros(0, np.int64)}

    def _places(self, frame: Frame) -> tuple[Any, Any]:
        """Return which rows lie in a span, and the number of it: by span, then by time."""
        asking, spans = self._asking, self._spans
        le = frame.ticks(asking.reading.time, asking.plan.tick, "time")
        rows = self._in_time(le)
        if not len(rows):
            return rows, rows
        times = le if len(rows) == len(le) else le[rows]
        if 2 * len(rows) < len(le) and asking.key_names:
            frame = Frame(frame.given.select(asking.key_names).take(pa.array(rows)))
            key = self._keys.numbers_of(frame, np.arange(len(rows)), times, new=False)
        else:
            key = self._keys.numbers_of(frame, rows, times, new=False)
        known = key >= 0
        if not known.all():
            rows, times, key = rows[known], times[known], key[known]
        if not bool((times[1:] >= times[:-1]).all()):
            order = np.argsort(times, kind="stable")
            rows, times, key = rows[order], times[order], key[order]
        order = stable_order(key)
        # a row's place: by key, then by its place in time; a span's ends: by key, then by how many rows are before them
        n = len(rows) + 1
        places = key[order] * n + order
        low = np.searchsorted(places, spans.key * n + np.searchsorted(times, spans.low))
        high = np.searchsorted(places, spans.key * n + np.searchsorted(times, spans.high))
        many = high - low
        return rows[order[ranges_of(low, high)]], np.repeat(np.arange(len(spans)), many)

    def _in_time(self, le: Any) -> Any:
        """Return the rows that lie in the time of any span."""
        times = self._times
        if bool((le[1:] >= le[:-1]).all()):
            low, high = np.searchsorted(le, times.low), np.searchsorted(le, times.high)
            return ranges_of(low, high)
        at = np.searchsorted(times.low, le, "right") - 1
        return np.flatnonzero((at >= 0) & (le < times.high[np.maximum(at, 0)]))
