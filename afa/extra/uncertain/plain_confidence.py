"""The confidences of many signatures at once, where each component is one event: the tables of `chain_confidence`, shared.

    covered      the instants that some event of a component has, one behind another: rows and columns are these, and no others
    free[s, t]   the product over all events x of the component of 1 - P(s < x < t): without the event itself by a division,
                 by P(x <= s) + P(x >= t), which is not below its own p(t)
    behind[s, t] free[s, t] * (p(t) / its own factor): a table for each event, with a row for each s before it
    mass         mass'[t] = sum of mass[s] * behind[s, t]; of the last component only the sum over t is needed

Each number is made from the same numbers in the same order whatever else is in the tables: so a confidence does not depend, to its
last digit, on what else comes in a call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from afa.extra.uncertain.instant_tables import Events, Kinds, added_up, expanded, numbered

AT_ONCE = 1 << 9
"""How many rows are worked on at once: they stay in the processor's cache."""


class Covered:
    """The instants that events have, as places 0, 1, .. one behind another."""

    def __init__(self, events: Events) -> None:
        low, reach = events.low, np.maximum.accumulate(events.high)
        new = np.ones(len(low), np.bool_)
        new[1:] = low[1:] > reach[:-1] + 1
        starts = np.flatnonzero(new)
        first, last = low[starts], reach[np.append(starts[1:], len(low)) - 1] if len(low) else low
        before = np.cumsum(last - first + 1) - (last - first + 1)
        _, self.times = expanded(first, last + 1)
        self.place = low + (before - first)[np.cumsum(new) - 1]
        """Of each event the place of its first instant."""

    def behind(self, t: Any) -> Any:
        """Returns the place of the first instant behind each time."""
        return np.searchsorted(self.times, t, side="right")


class Behind(NamedTuple):
    """For each event of a component, and each covered time s before it, its instants t: ``p(t) * P(no competitor in between)``."""

    table: Any  # shape (rows, width), rows of 0 between events; of the last component (rows,): the sums over t
    first: Any  # int64, shape (events,): where the rows of an event begin
    start: Any  # the covered places that they are for
    stop: Any

    def row(self, event: Any, place: Any, times: int) -> Any:
        """Returns where the rows of events for ``times`` covered places, from a place on, begin."""
        start = self.start[event]
        return self.first[event] + np.clip(place - start, -times, self.stop[event] - start)


class NextComponent:
    """A component behind another one, with all its events.

    ``covered``: the instants of the component before; ``latest``: under skip till next for each of them the latest time of the next
    event, else None.
    """

    def __init__(self, kinds: Kinds, events: Events, covered: Covered, latest: Any) -> None:
        self._kinds, self._events, self._covered, self._latest = kinds, events, covered, latest

    def behind(self, wanted: Any, start: Any, stop: Any, width: int, times: int, last: bool) -> Behind:
        """Returns the tables of events at the places ``wanted``, each for the covered times before it from ``start`` to ``stop``.

        ``width``: the most instants that one of them has; ``times``: how wide the mass of lists before is; ``last``: only sums
        are wanted.
        """
        stop = np.maximum(start, stop)
        counts = stop - start
        lines = times + np.cumsum(counts + times) - (counts + times)
        firsts, begins, ends = (np.zeros(len(self._events.low), np.int64) for _ in range(3))
        firsts[wanted], begins[wanted], ends[wanted] = lines, start, stop
        size = times + int((counts + times).sum())
        table = np.zeros(size) if last else np.zeros((size, width))
        of, place = expanded(start, stop)
        if not len(of):
            return Behind(table, firsts, begins, ends)
        line, event = (lines - start)[of] + place, wanted[of]
        kind, low = self._events.kind[event], self._events.low[event]
        before = np.clip(self._covered.times[place] - low, -1, width - 1) + 1
        if self._latest is None:
            codes, ratios = numbered(kind * (width + 1) + before), self._kinds.mass(width)
            own = ratios[codes.values // (width + 1)] * (np.arange(width) >= (codes.values % (width + 1))[:, None])
            free = None
        else:
            codes = numbered(kind * (width + 1) + before)
            own = self._ratios(codes.values // (width + 1), codes.values % (width + 1) - 1, width)
            free = self._free(place, width)
        for chunk in range(0, len(of), AT_ONCE):
            rows = slice(chunk, chunk + AT_ONCE)
            made = np.take(own, codes.number[rows], axis=0)
            if free is not None:
                made *= free.at(place[rows], event[rows])
            table[line[rows]] = added_up(made) if last else made
        return Behind(table, firsts, begins, ends)

    def _ratios(self, kind: Any, before: Any, width: int) -> Any:
        """Returns p(t) divided by P(not strictly between s and t), for kinds and how far s lies behind the first instant, or -1."""
        below, begin = self._kinds.flat("below")
        above, zero = self._kinds.flat("above", width)
        length = self._kinds.lengths[kind]
        own = sliding_window_view(above, width)[zero[kind]] + below[begin[kind] + np.minimum(before + 1, length)][:, None]
        adjacent = np.flatnonzero((before >= 0) & (before < np.minimum(length, width) - 1))
        own[adjacent, before[adjacent] + 1] = 1.0  # nothing lies between two instants
        mass = self._kinds.mass(width)[kind]
        return np.divide(mass, own, out=np.zeros_like(own), where=mass > 0)

    def _free(self, place: Any, width: int) -> _Free:
        """Returns the products over all events of the component, for the covered times that are wanted."""
        there = np.zeros(len(self._covered.times), np.bool_)
        there[place] = True
        return _Free(self._kinds, self._events, self._covered.times, np.flatnonzero(there), self._latest, width)


class _Free:
    """For each time s that is wanted a row over the covered times of a component behind it: P(none of its events in between)."""

    def __init__(self, kinds: Kinds, events: Events, times: Any, wanted: Any, latest: Any, width: int) -> None:
        self._row = np.zeros(len(times), np.int64)
        self._row[wanted] = np.arange(len(wanted))
        self._own = own = Covered(events)
        self._width, self._events = width, events
        s, until = times[wanted], latest[wanted]
        self._from = own.behind(s)
        length = own.behind(until) - self._from
        self._depth = depth = int(length.max(initial=1))
        self._size = depth + width
        spread = int((events.high - events.low).max(initial=0))
        of, event = expanded(np.searchsorted(events.low, s + 1 - spread), np.searchsorted(events.low, until))
        matters = events.high[event] > s[of]
        of, event = of[matters], event[matters]
        before = np.clip(s[of] - events.low[event], -1, None) + 1
        offset = np.clip(self._from[of] - own.place[event] + depth, 0, None)
        most, reach = int(before.max(initial=0)) + 1, int(offset.max(initial=0)) + 1
        codes = numbered((events.kind[event] * most + before) * reach + offset)
        kind, before = codes.values // reach // most, codes.values // reach % most - 1
        factors = self._factors(kinds, kind, before, codes.values % reach - depth, depth)
        factors = np.append(factors, np.ones((1, depth)), axis=0)
        starts = np.append(0, np.cumsum(np.bincount(of, minlength=len(s))))
        nth = np.arange(len(of)) - starts[of]
        table = np.zeros(len(s) * self._size + width)  # in front of each row, and behind it, there is room for an event
        lines = table[width:].reshape(len(s), self._size)
        k = np.arange(depth)
        for chunk in range(0, len(s), AT_ONCE):
            rows = slice(chunk, min(chunk + AT_ONCE, len(s)))
            begin, end = starts[rows.start], starts[rows.stop]
            codes_of = np.full((int(nth[begin:end].max(initial=-1)) + 1, rows.stop - chunk), len(factors) - 1)
            codes_of[nth[begin:end], of[begin:end] - chunk] = codes.number[begin:end]
            here = (k < length[rows, None]).astype(np.float64)
            factor = np.empty_like(here)
            for each in codes_of:
                np.take(factors, each, axis=0, out=factor, mode="clip")
                here *= factor
            lines[rows, :depth] = here
        self._slices = sliding_window_view(table, width)

    @staticmethod
    def _factors(kinds: Kinds, kind: Any, before: Any, offset: Any, depth: int) -> Any:
        """Returns P(not strictly between s and t) over ``depth`` covered times t, from a place on that may lie before the event."""
        below, begin = kinds.flat("below")
        above, zero = kinds.flat("above", depth)
        length = kinds.lengths[kind]
        factors = sliding_window_view(above, depth)[zero[kind] + np.minimum(offset, length)]
        factors = factors + below[begin[kind] + np.minimum(before + 1, length)][:, None]
        factors[before >= 0, 0] = 1.0  # nothing lies between two instants
        return factors

    def at(self, place: Any, event: Any) -> Any:
        """Returns the products for times s, by their covered places, over the instants of events."""
        row = self._row[place]
        offset = np.clip(self._own.place[event] - self._from[row], -self._width, self._depth)
        return self._slices[row * self._size + self._width + offset]


def carried(mass: Any, of: Any, base: Any, event: Any, behind: Behind, times: int) -> Any:
    """Returns the mass of lists with one more event, or their confidence if it is the last.

    ``mass``, shape (lists, width): of the lists so far, over their last events' instants, at most ``times`` for each. Of each of
    the n longer lists: ``of``, the list that it begins with; ``base``, the covered place of the first instant of that one's last
    event; ``event``, the event behind it.
    """
    n, width = len(of), mass.shape[1]
    row = behind.row(event, base, width)
    if behind.table.ndim == 1:
        out, slices = np.empty(n), sliding_window_view(behind.table, width)
        for chunk in range(0, n, AT_ONCE):
            rows = slice(chunk, chunk + AT_ONCE)
            made = slices[row[rows]]
            made *= np.take(mass, of[rows], axis=0)
            out[rows] = added_up(made)
        return out
    out = np.zeros((n, behind.table.shape[1]))
    for chunk in range(0, n, AT_ONCE):
        rows = slice(chunk, chunk + AT_ONCE)
        total, begin, part = out[rows], row[rows], np.take(mass, of[rows], axis=0)
        made = np.empty_like(total)
        for k in range(times):
            np.take(behind.table, begin + k, axis=0, out=made, mode="clip")
            made *= part[:, k, None]
            total += made
    return out
