"""How many rows are in a box: from the bounds of each row group, corrected by a sample of rows.

The bounds say how much of a row group's values the box takes if they are spread evenly; the sample says how far that is wrong. For
planning only: no result depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.errors import AfaError
from afa.expression.intervals import ValueRange
from afa.frames.slicing import numbered
from afa.io.frame import Frame
from afa.replay.holding import compared, rows_in
from afa.replay.question import Question
from afa.replay.witness.boxes import Box

ROWS, GROUPS = 1 << 15, 6
"""How many rows of a row group are looked at, and of how many row groups at first."""
MORE = 4
"""In how many row groups more, where a box may hold in none of the first ones."""
KEYS = 32
"""How many keys are told apart; all others are thought to be alike."""


class Shares:
    """Estimates of a stored table; ``look``: whether a sample of rows is read, else all values are thought to be spread evenly."""

    def __init__(self, asking: Question, boxes: Iterable[Box], look: bool = True) -> None:
        self._asking = asking
        self._rows = asking.stored.rows
        self._samples: list[_Sample] = []
        self._known: dict[Box, Any] = {}
        self.keys: Any = np.ones(1)
        """The shares of rows that keys have, the largest ones first; they sum up to 1, with all others as even ones."""
        if look and len(asking.stored):
            self._look([box for box in boxes if not box.everything])

    def share_of(self, box: Box) -> Any:
        """Return, for each row group, the share of its rows that are in a box."""
        if box.everything:
            return np.ones(len(self._rows))
        if box not in self._known:
            even = np.where(self._asking.extents.may_hold([box]), self._evenly(box), 0.0)
            hits = expected = 0.0
            for sample in self._samples:
                if 0 < even[sample.group] < 1:
                    hits += float(rows_in([box], sample.columns, sample.le, self._asking.plan.events).sum())
                    expected += float(even[sample.group]) * len(sample.le)
            if expected:
                even = np.where(even < 1, np.minimum(even * max(hits, 0.5) / expected, 1.0), 1.0)
            self._known[box] = even
        return self._known[box]

    def of_any(self, boxes: Iterable[Box]) -> Any:
        """Return, for each row group, the share of its rows that are in one of the boxes."""
        return np.minimum(sum(self.share_of(box) for box in boxes), 1.0)

    def whole(self, box: Box) -> float:
        """Return the share of all rows that are in a box."""
        total = self._rows.sum()
        return float((self.share_of(box) * self._rows).sum() / total) if total else 0.0

    def _evenly(self, box: Box) -> Any:
        """Return the share in each row group if values were spread evenly between its bounds."""
        extents, share = self._asking.extents, np.ones(len(self._rows))
        if box.timed:
            span = np.maximum(extents.latest.astype(float) - extents.least + 1, 1)
            share *= np.clip((np.minimum(extents.latest + 1.0, box.until) - np.maximum(extents.least, box.since)) / span, 0, 1)
        for name, allowed in box.fields:
            share *= self._evenly_within(name, allowed)
        return share

    def _evenly_within(self, name: str, allowed: ValueRange) -> Any:
        bounds = self._asking.extents.float_bounds(name)
        if bounds is None:
            return np.full(len(self._rows), 0.3)
        low, high = bounds
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            span = high - low  # no number, or too large, between infinities
            if allowed.values is not None:
                even = np.minimum(len(allowed.values) / (span + 1), 1.0)
            else:
                least, most = np.maximum(low, allowed.low), np.minimum(high, allowed.high)
                even = np.where(span > 0, np.clip((most - least) / span, 1e-9, 1), 1.0)
        return np.where(np.isfinite(span), even, 0.3)

    # -- the sample ----------------------------------------------------------------------------------------------------------

    def _look(self, boxes: Sequence[Box]) -> None:
        asking, many = self._asking, len(self._rows)
        places = np.unique(np.linspace(0, many - 1, min(GROUPS, many) + 2).astype(int)[1:-1] if many > GROUPS else np.arange(many))
        names = [name for box in boxes for name, _ in box.fields if name != asking.plan.events.instant]
        columns = list(dict.fromkeys([*names, asking.reading.time, *asking.key_names]))
        for group in places.tolist():
            self._sample(group, columns)
        for box in list(dict.fromkeys(boxes))[: MORE * 4]:
            even = np.where(asking.extents.may_hold([box]), self._evenly(box), 0.0)
            enough = even >= even.max() / 2  # where there are many, not where few are at the edge of a range
            if even.any() and not any(enough[sample.group] for sample in self._samples) and len(self._samples) < GROUPS + MORE:
                self._sample(int(np.flatnonzero(enough)[enough.sum() // 2]), columns)
        counts = [sample.keys for sample in self._samples if sample.keys is not None]
        if counts:
            longest = max(map(len, counts))
            self.keys = np.sort(np.mean([np.pad(each, (0, longest - len(each))) for each in counts], axis=0))[::-1]
            self.keys = self.keys / self.keys.sum()

    def _sample(self, group: int, columns: list[str]) -> None:
        asking, plan = self._asking, self._asking.plan
        frame = Frame(asking.stored.sample(group, columns, ROWS))
        keys = None
        fields = {field.name for field in plan.events.fields}
        try:
            le = frame.ticks(asking.reading.time, plan.tick, "time")
            found = {name: compared(frame, name, plan.events, plan.tick) for name in columns if name in fields}
            if asking.key_names:
                codes, _ = numbered([found[name] if name in found else frame.key(name) for name in asking.key_names])
                keys = np.sort(np.bincount(codes))[::-1] / len(le)
        except AfaError:
            return  # a row that does not fit: the run will say so, if it comes to it
        self._samples.append(_Sample(group, found, le, keys))


class _Sample(NamedTuple):
    """The first rows of a row group: their columns, LEs, and the shares of rows that its keys have."""

    group: int
    columns: dict[str, Any]
    le: Any
    keys: Any
