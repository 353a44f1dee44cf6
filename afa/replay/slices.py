"""Slices of time or of rows: where they begin and end, which windows consist of them, and windows out of slices.

    slide 4, size 6      windows   |-----------|             [0, 6)
                                           |-----------|     [4, 10)
                         slices    |---|---|---|---|---      cut at each beginning and at each end of a window

A window is a run of slices, of ids that follow each other: 2 to each slide, or 1 where the size is a multiple of it. Only slices
that hold rows are there. Source: the thesis, Sec. 3.3.3. Departs: windows come out of slices by prefixes and suffixes of stretches
as long as a window (van Herk 1992; Gil, Werman 1993), where the thesis keeps a tree: two steps a slice and one a window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from afa.errors import AfaError
from afa.replay.column_totals import Totals, combined, ufunc_of
from afa.replay.key_spans import ranges_of

MOST = 100_000_000
"""How many windows there may be: three columns of so many take 2.4 GB."""
CHUNK = 1 << 20
SHORT = 64
"""Stretches of more slices are summed up one by one, shorter ones side by side, in at most six steps."""


class WindowCut(NamedTuple):
    """Windows ``[origin + k * slide, origin + k * slide + size)``, and the slices that they consist of."""

    size: int
    slide: int
    origin: int = 0

    @property
    def rest(self) -> int:
        """How far behind the beginning of a window others end; 0: where others begin."""
        return self.size % self.slide

    @property
    def step(self) -> int:
        """How many slices there are to a slide."""
        return 2 if self.rest else 1

    @property
    def width(self) -> int:
        """How many slices a window consists of."""
        whole = self.size // self.slide
        return 2 * whole + 1 if self.rest else whole

    def check(self, low: int, high: int) -> None:
        """Refuse times so large that the windows around them begin or end beyond an int64."""
        around = self.size + self.slide + abs(self.origin)
        if low - around < -(2**63) or high + around >= 2**63:
            raise AfaError(
                f"expected times at least size + slide + |origin| = {around} ticks away from the ends of an int64 "
                f"but got times from {low} to {high}"
            )

    def ids(self, ticks: np.ndarray) -> np.ndarray:
        """Return the slice of each time. *Requires* `check`."""
        since = ticks - self.origin if self.origin else ticks
        slides = since // self.slide
        if not self.rest:
            return slides
        return np.asarray(2 * slides + (since - slides * self.slide >= self.rest))

    def begin(self, ids: np.ndarray) -> np.ndarray:
        """Return where slices begin."""
        if not self.rest:
            return ids * self.slide + self.origin
        return (ids >> 1) * self.slide + (ids & 1) * self.rest + self.origin

    def counts(self, ids: np.ndarray) -> np.ndarray:
        """Return which slices belong to a window: all but those in gaps between windows."""
        return np.asarray(ids & 1 == 0 if self.width == 1 and self.rest else np.ones(len(ids), np.bool_))

    def windows(self, ids: np.ndarray, first: int | None = None) -> np.ndarray:
        """Return the windows that hold some of these slices, which are in order; ``first``: the first window. At most `MOST`."""
        if not len(ids):
            return np.zeros(0, np.int64)
        last = ids // self.step
        begin = (
            -((self.width - 1 - ids) // self.step) if first is None else np.maximum(-((self.width - 1 - ids) // self.step), first)
        )
        begin[1:] = np.maximum(begin[1:], last[:-1] + 1)
        many = np.maximum(last - begin + 1, 0)
        check_many(float(many.sum(dtype=np.float64)))
        return np.asarray(ranges_of(begin, begin + many))


def check_many(windows: float) -> None:
    """Refuse more windows than `MOST`."""
    if windows > MOST:
        raise AfaError(
            f"expected at most {MOST:,} windows but got {windows:,.0f} or more; give a larger slide=, or fewer rows, "
            "in parts that are as long as many windows"
        )


class Slices(NamedTuple):
    """Slices that hold rows, by id; how many rows, and the totals of columns."""

    ids: np.ndarray
    rows: np.ndarray
    totals: Totals

    def take(self, some: np.ndarray) -> Slices:
        """Return some of them."""
        return Slices(self.ids[some], self.rows[some], {key: values[some] for key, values in self.totals.items()})


class Gathered:
    """Slices from parts of a table, which may come in any order; what comes of one slice is added up now and then."""

    def __init__(self) -> None:
        self._parts: list[Slices] = []
        self._held, self._limit = 0, CHUNK

    def add(self, part: Slices) -> None:
        """Take slices; an id may come several times, and in any order."""
        if not len(part.ids):
            return
        self._parts.append(part)
        self._held += len(part.ids)
        if self._held > self._limit:
            self._held = len(self.slices().ids)
            self._limit = max(2 * self._held, CHUNK)
            check_many(self._held / 2)  # a window begins with one slice of two, or of each

    def slices(self) -> Slices:
        """Return each slice once, in order."""
        if not self._parts:
            return Slices(np.zeros(0, np.int64), np.zeros(0, np.int64), {})
        self._parts = [joined(self._parts)]
        return self._parts[0]


def joined(parts: list[Slices]) -> Slices:
    """Return slices of which each comes once, in order. *Requires* at least one slice."""
    found = parts[0]
    if len(parts) > 1:
        ids, rows = (np.concatenate([part[i] for part in parts]) for i in range(2))
        keys = dict.fromkeys(key for part in parts for key in part.totals)
        totals = {key: np.concatenate([part.totals.get(key, part.rows) for part in parts]) for key in keys}
        found = Slices(ids, rows, totals)
    if (found.ids[1:] > found.ids[:-1]).all():
        return found
    if not (found.ids[1:] >= found.ids[:-1]).all():
        found = found.take(np.argsort(found.ids, kind="stable"))
    ids = found.ids
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    return Slices(ids[starts], np.add.reduceat(found.rows, starts), combined(found.totals, starts))


class OverSlices:
    """Windows over slices: for each window the sum, the least or the largest of a value of its slices.

    ``ids``: the slices, in order; each window holds one. O(slices + windows): ids are cut into stretches as long as a window, which
    lies in two of them at most, so that it is a suffix of the one and a prefix of the other.
    """

    def __init__(self, ids: np.ndarray, cut: WindowCut, windows: np.ndarray) -> None:
        self._ids, self._cut, self._windows = ids, cut, windows
        self._stretch = ids // cut.width
        self._dense = bool(int(ids[-1]) - int(ids[0]) + 1 == len(ids))

    def counts(self, values: np.ndarray) -> np.ndarray:
        """Return sums of ints. A total that wraps round on the way does no harm."""
        before = np.append(0, np.cumsum(values))
        found = np.empty(len(self._windows), np.int64)
        for at in self._chunks():
            first, last = self._places(at)
            found[at] = before[last + 1] - before[first]
        return found

    def of(self, part: str, values: np.ndarray) -> np.ndarray:
        """Return one value for each window, out of those of a part of its slices' totals."""
        if part not in ("sum", "min", "max"):
            return self.counts(values)
        with np.errstate(invalid="ignore", over="ignore"):
            return self._over(values, ufunc_of(part, values.dtype))

    def _chunks(self) -> list[slice]:
        return [slice(at, at + CHUNK) for at in range(0, len(self._windows), CHUNK)]

    def _places(self, at: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return where the first and the last slice of windows stand."""
        begin = self._windows[at] * self._cut.step
        if self._dense:
            first = np.maximum(begin - self._ids[0], 0)
            return first, np.minimum(begin + (self._cut.width - 1 - self._ids[0]), len(self._ids) - 1)
        return np.searchsorted(self._ids, begin), np.searchsorted(self._ids, begin + self._cut.width) - 1

    def _over(self, values: np.ndarray, ufunc: np.ufunc) -> np.ndarray:
        found = np.empty(len(self._windows), values.dtype)
        if self._cut.width == 1:
            for at in self._chunks():
                found[at] = values[self._places(at)[0]]
            return found
        before = prefixes(values, self._stretch, ufunc)
        behind = prefixes(values[::-1], self._stretch[::-1], ufunc)[::-1]
        for at in self._chunks():
            first, last = self._places(at)
            stretch = self._windows[at] * self._cut.step // self._cut.width
            left, right = self._stretch[first] == stretch, self._stretch[last] != stretch
            both = ufunc(behind[first], before[last])
            found[at] = np.where(left & right, both, np.where(left, behind[first], before[last]))
        return found


def prefixes(values: np.ndarray, stretch: np.ndarray, ufunc: np.ufunc) -> np.ndarray:
    """Return for each value what it and those before it in its stretch come to; values of a stretch stand side by side.

    >>> prefixes(np.array([1.0, 2.0, 4.0]), np.array([7, 7, 8]), np.add)
    array([1., 3., 4.])
    """
    starts = np.flatnonzero(np.concatenate([[True], stretch[1:] != stretch[:-1]]))
    lengths = np.diff(starts, append=len(values))
    found = values.copy()
    longest = int(lengths[lengths <= SHORT].max(initial=1))
    place = np.arange(len(values)) - np.repeat(starts, lengths) if longest > 1 else None
    step = 1
    while place is not None and step < longest:
        found[step:] = np.where(place[step:] >= step, ufunc(found[step:], found[:-step]), found[step:])
        step *= 2
    for start, length in zip(starts[lengths > SHORT].tolist(), lengths[lengths > SHORT].tolist()):
        ufunc.accumulate(values[start : start + length], out=found[start : start + length])
    return np.asarray(found)
