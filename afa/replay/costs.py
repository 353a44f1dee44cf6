"""What a scan costs, what a replay costs, and what is left after a scan: by the shares of rows that witnesses have.

Candidates are thought to come independently of each other (as Sec. 3.4.3 of the thesis does), so that a stretch in which n rows of
a key lie has one of a kind with probability 1 - exp(-share * n).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.replay.key_spans import Spans, touching
from afa.replay.scanning import Scan
from afa.replay.shares import Shares
from afa.replay.witness.witnesses import Witness

VALUE, ROW, RUN, WHOLE, ALONE, STEP, CANDIDATE, CALL, SPAN = 9e-9, 12e-9, 150e-9, 120e-9, 20e-9, 30e-9, 250e-9, 2.5e-4, 3e-6
"""Seconds: a value decoded and compared; a row looked up in spans; a row through an operator by span, by its own key, and without a
key; a row put into the steps of its key; a candidate; a row group read; a span. Only their ratios count.
(On 5 M rows without a key a full run takes 50 ns a row, two columns decoded among it, and a scan by steps 120; on 33 M rows of six
keys a full run takes 250.)"""


class Left(NamedTuple):
    """What is left to do: rows for the operator, rows of row groups that are read for them, how many row groups and spans."""

    rows: float
    read: float
    groups: float
    spans: float


class Costs:
    """Estimates of a question: by the rows and times of row groups, the columns that the operator takes, the longest lifetime."""

    def __init__(
        self, rows: Any, least: Any, latest: Any, witnesses: Sequence[Witness], shares: Shares, columns: int, window: int
    ) -> None:
        self._rows, self._least, self._latest = rows, least, latest
        self._order = np.argsort(least, kind="stable")
        self._columns, self._window = columns, float(window)
        self._share = [np.maximum(shares.of_any(witness.boxes), 1e-12) for witness in witnesses]
        total = max(float(rows.sum()), 1.0)
        self._of_all = [float((share * rows).sum()) / total for share in self._share]
        self._keys, self._keyed = shares.keys[:32], len(shares.keys) > 1
        self._lasts = np.maximum(latest.astype(float) - least, 1.0)
        self._ends = [witness.first or witness.last for witness in witnesses]

    @property
    def total(self) -> float:
        """What a full run costs."""
        whole = WHOLE if self._keyed else ALONE
        return float(self._rows.sum()) * (self._columns * VALUE + whole) + len(self._rows) * CALL

    def of_replay(self, left: Left) -> float:
        """Return the cost of a replay of the rest."""
        return left.read * (self._columns * VALUE + ROW) + left.rows * RUN + left.groups * CALL + left.spans * SPAN

    def of_scan(self, scan: Scan, read: float, groups: float) -> float:
        """Return the cost of a scan of columns of so many rows, in so many row groups."""
        each = len(scan.columns) * VALUE
        if any(len(block.places) > 1 for block in scan.blocks):  # times and keys are read, too
            each += (1 + self._keyed) * VALUE + STEP
        each += CANDIDATE * sum(self._where_it_is(density) for density in self.density(scan))
        return read * each + groups * CALL

    def _where_it_is(self, density: Any) -> float:
        """Return the mean density around a row of a kind: it may lie in few row groups, where every row is one."""
        many = density * self._rows
        return float((density * many).sum() / max(many.sum(), 1e-12))

    def share(self, place: int) -> float:
        """Return the share of all rows that a witness has."""
        return self._of_all[place]

    def density(self, scan: Scan) -> list[Any]:
        """Return, for each block of a scan, the share of rows of each row group at which one begins."""
        found = []
        for block in scan.blocks:
            share = np.ones(len(self._rows))
            for place in block.places:
                share = share * self._share[place]
            found.append(share)
        return found

    def after(self, scans: Sequence[Scan], alive: Any) -> Left:
        """Return the work in row groups behind some scans."""
        densities = [density[alive] for scan in scans for density in self.density(scan)]
        ends = any(self._ends[place] for scan in scans for block in scan.blocks for place in block.places)
        extent = self._window if ends else 2 * self._window
        rows, lasts = self._rows[alive], self._lasts[alive]
        left = read = spans = 0.0
        touched = np.zeros(len(rows))
        for part in self._keys:
            of_key = rows * part
            near = np.minimum(of_key * extent / lasts, of_key.sum())
            rarest = np.minimum.reduce(densities)
            dense = rarest.copy()
            for density in densities:
                dense = np.where(density > rarest, dense * -np.expm1(-density * near), dense)
            left += float((of_key * -np.expm1(-dense * np.maximum(near, 1))).sum())
            touched += dense * (of_key + near)
            spans += float((of_key * dense * np.exp(-np.minimum(dense * near, 700))).sum())
        read = float((rows * -np.expm1(-touched)).sum())
        return Left(min(left, read), read, float((-np.expm1(-touched)).sum()), spans)

    def left(self, spans: Spans | None, alive: Any, many_keys: int) -> tuple[Left, Any]:
        """Return the work in spans, and the rows that each is likely to have; before any scan (None): that in row groups."""
        if spans is None:
            read = float(self._rows[alive].sum())
            return Left(read, read, float(alive.sum()), 1.0), None
        hit = touching(spans, self._least, self._latest)
        gone = np.append(0, np.cumsum(self._rows[self._order]))
        times = np.append(self._least[self._order], self._latest.max() + 1).astype(float)
        before = np.interp(np.array([spans.low, spans.high], float), times, gone)
        part = self._keys[: max(many_keys, 1)].mean() if len(self._keys) else 1.0
        each = np.maximum((before[1] - before[0]) * part, 1.0)
        read = float(self._rows[hit].sum())
        return Left(min(float(each.sum()), read), read, float(hit.sum()), float(len(spans))), each

    def within(self, spans: Spans, each: Any, scan: Scan) -> Left:
        """Return the work in spans behind one more scan."""
        home = self._order[np.maximum(np.searchsorted(self._least[self._order], spans.low, "right") - 1, 0)]
        stay = np.ones(len(spans))
        for density in self.density(scan):
            stay = stay * -np.expm1(-density[home] * each)
        missed = np.zeros(len(self._rows))
        np.add.at(missed, home, np.log1p(-np.minimum(stay, 1 - 1e-9)))
        here = -np.expm1(missed)
        read = float((self._rows * here).sum())
        return Left(min(float((each * stay).sum()), read), read, float(here.sum()), float(stay.sum()))
