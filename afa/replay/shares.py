"""How many rows are in a box: from the bounds of each row group, corrected by a sample of rows.

The bounds say how much of a row group's values the box takes if they are spread evenly; the sample says how far that is wrong. For
planning only: no result depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from afa.errors import AfaError
from afa.expression.intervals import Range
from afa.frames.decoded import Frame
from afa.frames.slicing import numbered
from afa.replay.holding import rows_in
from afa.replay.question import Question
from afa.replay.witness.boxes import Box

ROWS, GROUPS = 1 << 15, 6
"""How many rows of a row group are looked at, and of how many row groups at first."""
MORE = 4
"""In how many row groups more, where a box may hold in none of the first ones."""
KEYS = 32
"""How many keys are told apart; all others are thought to be alike."""


class Shares:
    """Estimates of a stored table.

    Parameters
    ----------
    asking : Question
    boxes : iterable of Box
        What is asked for.
    look : bool
        Whether a sample of rows is read; else all values are thought to be spread evenly.
    """

    def __init__(self, asking: Question, boxes: Iterable[Box], look: bool = True) -> None:
        self._asking = asking
        self._boxes = list(dict.fromkeys(box for box in boxes if not box.everything))
        self._rows = asking.stored.rows
        self._may = {box: asking.extents.may_hold([box]) for box in self._boxes}
        self._even = {box: np.where(self._may[box], self._evenly(box), 0.0) for box in self._boxes}
        self._hits = dict.fromkeys(self._boxes, 0.0)
        self._expected = dict.fromkeys(self._boxes, 0.0)
        self._seen = dict.fromkeys(self._boxes, 0)
        self.keys: Any = np.ones(1)
        """The shares of rows that keys have, the largest ones first; they sum up to 1, with all others as even ones."""
        if look and len(asking.stored):
            self._look()

    def of(self, box: Box) -> Any:
        """Return, for each row group, the share of its rows that are in a box."""
        if box.everything:
            return np.ones(len(self._rows))
        if not self._seen[box]:
            return self._even[box]
        right = max(self._hits[box], 0.5) / max(self._expected[box], 1e-12)
        return np.minimum(self._even[box] * right, 1.0)

    def of_any(self, boxes: Iterable[Box]) -> Any:
        """Return, for each row group, the share of its rows that are in one of the boxes."""
        return np.minimum(sum(self.of(box) for box in boxes), 1.0)

    def whole(self, box: Box) -> float:
        """Return the share of all rows that are in a box."""
        total = self._rows.sum()
        return float((self.of(box) * self._rows).sum() / total) if total else 0.0

    def _evenly(self, box: Box) -> Any:
        """Return the share in each row group if values were spread evenly between its bounds."""
        extents, share = self._asking.extents, np.ones(len(self._rows))
        if box.since > -(2**63) or box.until < 2**63 - 1:
            span = np.maximum(extents.latest.astype(float) - extents.least + 1, 1)
            share *= np.clip((np.minimum(extents.latest + 1.0, box.until) - np.maximum(extents.least, box.since)) / span, 0, 1)
        for name, allowed in box.fields:
            share *= self._evenly_within(name, allowed)
        return share

    def _evenly_within(self, name: str, allowed: Range) -> Any:
        bounds = self._asking.extents.numbers(name)
        if bounds is None:
            return np.full(len(self._rows), 0.3)
        low, high = bounds
        span = high - low
        if allowed.values is not None:
            return np.minimum(len(allowed.values) / (span + 1), 1.0)
        least, most = np.maximum(low, allowed.low), np.minimum(high, allowed.high)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(span > 0, np.clip((most - least) / span, 1e-9, 1), 1.0)

    # -- the sample ----------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        asking, many = self._asking, len(self._rows)
        places = np.unique(np.linspace(0, many - 1, min(GROUPS, many) + 2).astype(int)[1:-1] if many > GROUPS else np.arange(many))
        names = [name for box in self._boxes for name, _ in box.fields if name != asking.plan.events.instant]
        columns = list(dict.fromkeys([*names, asking.reading.time, *asking.key_names]))
        counts: list[Any] = []
        for group in places.tolist():
            self._count(group, columns, counts)
        missed = [box for box in self._boxes if not self._seen[box] and self._may[box].any()]
        for box in missed[:MORE]:
            if not self._seen[box]:
                self._count(int(np.flatnonzero(self._may[box])[self._may[box].sum() // 2]), columns, counts)
        if asking.plan.keys and counts:
            self.keys = np.sort(np.mean([np.pad(c, (0, max(map(len, counts)) - len(c))) for c in counts], axis=0))[::-1]
            self.keys = self.keys / self.keys.sum()

    def _count(self, group: int, columns: list[str], counts: list[Any]) -> None:
        asking, plan = self._asking, self._asking.plan
        frame = Frame(asking.stored.sample(group, columns, ROWS))
        rows = frame.given.num_rows
        fields = {field.name: field for field in plan.events.fields}
        try:
            le = frame.ticks(asking.reading.time, plan.tick, "time")
            found = {name: frame.field(fields[name], plan.events, plan.tick) for name in columns if name in fields}
            for box in self._boxes:
                if self._may[box][group]:
                    self._hits[box] += float(rows_in([box], found, le, plan.events).sum())
                    self._expected[box] += float(self._even[box][group] * rows)
                    self._seen[box] += rows
            if asking.key_names:
                keys = [found[name] if name in found else frame.key(name) for name in asking.key_names]
                codes, _ = numbered(keys)
                counts.append(np.sort(np.bincount(codes))[::-1] / rows)
        except AfaError:
            return  # a row that does not fit: the run will say so, if it comes to it
