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
from afa.replay.column_totals import BOUNDS, Totals, combined, nothing, ufunc_of
from afa.replay.key_spans import ranges_of

MOST = 100_000_000
"""How many windows there may be: three columns of so many take 2.4 GB."""
CHUNK = 1 << 20
"""So many slices are gathered before those of one id are added up for the first time."""


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
        return self.size // self.slide * self.step + (1 if self.rest else 0)

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
        last = ids // self.step
        begin = -((self.width - 1 - ids) // self.step)
        begin = begin if first is None else np.maximum(begin, first)
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
    """Slices from parts of a table, which may come in any order; those of one id are added up now and then."""

    def __init__(self, none: Slices) -> None:
        self._parts = [none]
        self._held, self._limit = 0, CHUNK

    def add(self, part: Slices) -> None:
        """Take slices; an id may come several times, and in any order."""
        self._parts.append(part)
        self._held += len(part.ids)
        if self._held > self._limit:
            self._held = len(self.slices().ids)
            self._limit = max(2 * self._held, CHUNK)
            check_many(self._held / 2)  # a window begins with one slice of two, or of each

    def slices(self) -> Slices:
        """Return each slice once, in order."""
        self._parts = [joined([part for part in self._parts if len(part.ids)] or self._parts)]
        return self._parts[0]


def joined(parts: list[Slices]) -> Slices:
    """Return each slice of some parts once, in order."""
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
    """Windows over slices: for each window the sum, the least or the largest of a value of its slices."""

    def __init__(self, ids: np.ndarray, cut: WindowCut, windows: np.ndarray) -> None:
        size = max(4 * CHUNK, cut.width)  # fewer would have axes mostly of their ends; more only take more memory at once
        parts = range(0, len(windows), size) if cut.width > 1 else ()  # else each slice is a window
        self._axes = [SliceAxis.of(ids, cut, windows[at : at + size]) for at in parts]

    def of(self, part: str, values: np.ndarray) -> np.ndarray:
        """Return one value for each window, out of those of a part of its slices' totals."""
        return np.concatenate([axis.over(part, values) for axis in self._axes]) if self._axes else values


class SliceAxis(NamedTuple):
    """Slices and some windows on an axis on which slices that are missing have room, too, so that each window has `width` places.

    There is no room between two runs of windows, so that the axis is at most a few times as long as there are windows. It is cut
    into stretches as long as a window, which is a suffix of one stretch and a prefix of the next one.
    """

    slices: slice  # those of these windows
    places: np.ndarray  # of slices
    begin: np.ndarray  # of windows
    shape: tuple[int, int]  # stretches, and how long each is

    @classmethod
    def of(cls, ids: np.ndarray, cut: WindowCut, windows: np.ndarray) -> SliceAxis:
        """Lay out windows, which are in order, and their slices."""
        begin = windows * cut.step
        heads = np.flatnonzero(np.diff(windows, prepend=windows[0] - 2) > 1)
        lengths = np.diff(heads, append=len(windows))
        ends = np.cumsum((lengths - 1) * cut.step + cut.width)
        ahead = begin[heads] - np.append(0, ends[:-1])
        slices = slice(*np.searchsorted(ids, [begin[0], begin[-1] + cut.width]).tolist())
        run = np.searchsorted(begin[heads], ids[slices], "right") - 1 if len(heads) > 1 else 0  # 5 ns a slice
        places = ids[slices] - ahead[run]
        return cls(slices, places, begin - np.repeat(ahead, lengths), (-(-int(ends[-1]) // cut.width), cut.width))

    def over(self, part: str, values: np.ndarray) -> np.ndarray:
        """Return one value for each of the windows."""
        ufunc = ufunc_of(part)
        none = nothing(values.dtype, part) if part in BOUNDS else 0
        each, behind = np.full(self.shape, none, values.dtype), np.empty(self.shape, values.dtype)
        before = np.full(each.size + 1, none, values.dtype)
        each.ravel()[self.places] = values[self.slices]
        with np.errstate(invalid="ignore", over="ignore"):
            ufunc.accumulate(each[:, ::-1], axis=1, out=behind[:, ::-1])
            ufunc.accumulate(each[:, :-1], axis=1, out=before[:-1].reshape(self.shape)[:, 1:])
            return np.asarray(ufunc(behind.ravel()[self.begin], before[self.begin + self.shape[1]]))
