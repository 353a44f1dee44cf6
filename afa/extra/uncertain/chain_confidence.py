"""The confidence of a signature: dynamic programming over the time of the last event, component by component.

    mass[r, t]     the probability that all events so far are in order and the last of them is at ``t``
    any            mass'[t] = p(t) * sum of mass[s] over s < t
    next           mass'[t] = p(t) * sum of mass[s] * product over competitors x of (1 - P(s < x < t)) over s < t
    a closure      mass'[m] = sum of mass[s] * P(all its events lie behind s, and the latest at m): ties among them are allowed

Where the window can't bind there is one row r; else a row for each time of the first event, which ends a window later: O(l U) and
O(l U^2) for l events of U instants, under skip till next O(l U^2) for each competitor and O(l U^3). The papers go through all U^l
points. What is impossible has a mass of exactly 0, and an event that can't matter to a signature does not move its last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.extra.uncertain.event_instants import Instants

MOST = 1 << 21
"""The most numbers of a table that is held at once."""


class Link(NamedTuple):
    """A component of a chain: one event, or those of an interchangeable closure, in their order."""

    events: Sequence[Instants]
    competitors: Sequence[Instants] | None = None  # those that must not lie in between; None: skip till any
    closure: bool = False

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last time at which the latest event may be."""
        return max(each.low for each in self.events), max(each.high for each in self.events)


class Mass(NamedTuple):
    """How probable each time of the last event is."""

    low: int  # the time of the first column
    mass: Any  # array, shape (rows, times)
    ends: Any = None  # array, shape (rows, 1): the last time within the window of each row

    @property
    def total(self) -> float:
        """The probability of what is in order so far."""
        return float(self.mass.sum())

    @property
    def latest(self) -> int:
        """The latest possible time of the last event."""
        return self.low + int(np.flatnonzero(self.mass.any(axis=0))[-1])


def begin(link: Link, window: int | None = None, first: tuple[int, int] | None = None, span: tuple[int, int] | None = None) -> Mass:
    """Returns the mass of the first component; ``window``: with a row for each time of the ``first`` event."""
    low, high = span or link.span
    if window is None:
        if link.closure:
            return Mass(low, _latest_of(link.events, np.array([[_before(link)]]), low, high))
        return Mass(low, link.events[0].within(low, high)[None, :])
    t = np.arange(low, high + 1)
    rows = np.arange((first or (low, high))[0], (first or (low, high))[1] + 1)[:, None]
    mass = _both(link.events, rows, t[None, :]) if link.closure else np.where(rows == t, link.events[0].within(low, high), 0.0)
    return Mass(low, np.where(t < rows + window, mass, 0.0), rows + (window - 1))


def extend(before: Mass, link: Link, span: tuple[int, int] | None = None) -> Mass:
    """Returns the mass with one more component behind."""
    low, high = span or link.span
    t = np.arange(low, high + 1)
    if link.closure:
        mass = through(before, t, lambda s: _latest_of(link.events, s, low, high))
    elif link.competitors:
        mass = through(before, t, lambda s: _free(link.competitors or (), s, t[None, :]))
    else:
        sums = np.concatenate([np.zeros((len(before.mass), 1)), np.cumsum(before.mass, axis=1)], axis=1)
        mass = sums[:, np.clip(t - before.low, 0, before.mass.shape[1])]
    if not link.closure:
        mass = mass * link.events[0].within(low, high)
    if before.ends is not None:
        mass = np.where(t <= before.ends, mass, 0.0)
    return Mass(low, mass, before.ends)


def confidence(links: Sequence[Link], window: int, spans: Sequence[tuple[int, int]] | None = None, first: Any = None) -> float:
    """Returns the probability that the events are in order and within a window.

    ``spans`` are the times at which the latest event of each link may be, ``first`` those of the first event, as
    `afa.extra.uncertain.interval_propagation` finds them: they make tables smaller.

    >>> from afa.extra.uncertain.distributions import UNIFORM
    >>> a, b, c = (Link([Instants.of(*ends, UNIFORM)]) for ends in ((1, 5), (3, 7), (3, 5)))
    >>> round(confidence([a, b, c], 4) * 75, 9)
    5.0
    """
    spans = [link.span for link in links] if spans is None else spans
    firsts = links[0].events
    first = first or (min(each.low for each in firsts), min(each.high for each in firsts))
    least = min(each.low for each in firsts) if links[0].closure else first[0]  # of a closure the spans bound the latest only
    if spans[-1][1] - least < window:
        mass = begin(links[0], None, None, spans[0])
        for link, span in zip(links[1:], spans[1:]):
            mass = extend(mass, link, span)
        return mass.total
    rows = max(1, MOST // max(high - low + 1 for low, high in spans))
    total = 0.0
    for start in range(first[0], first[1] + 1, rows):
        mass = begin(links[0], window, (start, min(start + rows - 1, first[1])), spans[0])
        for link, span in zip(links[1:], spans[1:]):
            mass = extend(mass, link, span)
        total += mass.total
    return total


class GrowingClosure(NamedTuple):
    """An interchangeable closure that grows by one event: what `extend` makes anew of all its events."""

    before: Mass | None  # of what stands before it
    s: Any  # the times before it, as a column
    m: Any  # the times that its latest event may have, as a row
    none: Any  # array, shape (times before, times): the probability that all its events lie behind s and before m
    some: Any  # the probability that all lie behind s, and the latest at m

    @classmethod
    def of(cls, before: Mass | None, low: int, high: int) -> GrowingClosure:
        """Returns an empty one behind what stands before it, of events that lie between two times."""
        s = np.array([[low - 1]]) if before is None else before.low + np.arange(before.mass.shape[1])[:, None]
        m = np.arange(low, high + 1)[None, :]
        return cls(before, s, m, (s < m).astype(np.float64), np.zeros((len(s), m.shape[1])))

    def with_more(self, event: Instants) -> GrowingClosure:
        at, until = event.at(self.m), event.at_most(self.m - 1)
        below = np.maximum(until - event.at_most(self.s), 0.0)
        return self._replace(none=self.none * below, some=self.some * (below + at) + self.none * at)

    def mass(self, link: Link) -> Mass:
        """Returns the mass with it as the last component."""
        (low, high), start = link.span, int(self.m[0, 0])
        some = self.some[:, low - start : high - start + 1]
        if self.before is None:
            return Mass(low, some)
        return Mass(low, (self.before.mass[0, :, None] * some).sum(axis=0)[None, :])


def through(before: Mass, t: Any, table_of: Callable[[Any], Any]) -> Any:
    """Returns the mass behind a component, through a table of the times before and behind it, of a few times before at once."""
    rows, times = before.mass.shape
    step = max(1, MOST // len(t))
    mass = np.zeros((rows, len(t)))
    for start in range(0, times, step):
        table = table_of(np.arange(before.low + start, before.low + min(start + step, times))[:, None])
        if rows == 1:
            mass[0] += (before.mass[0, start : start + step, None] * table).sum(axis=0)
        else:
            for i, line in enumerate(table):
                mass += before.mass[:, start + i, None] * line
    return mass


def _free(competitors: Sequence[Instants], s: Any, t: Any) -> Any:
    """Returns the probability that no competitor lies strictly between s and t; 0 unless s < t."""
    table = (s < t).astype(np.float64)
    low, high = int(s.min()), int(t.max())
    for each in competitors:
        if each.high <= low or each.low >= high:
            continue
        inside = each.at_most(t - 1) - each.at_most(s) > 0
        table *= np.where(inside, each.at_most(s) + each.at_least(t), 1.0)
    return table


def _latest_of(events: Sequence[Instants], s: Any, low: int, high: int) -> Any:
    """Returns the probability that all events lie behind s, and the latest of them at m, for m from low to high."""
    m = np.arange(low, high + 1)[None, :]
    none, some = (s < m).astype(np.float64), np.zeros((len(s), m.shape[1]))
    for each in events:
        at = each.at(m)
        below = np.maximum(each.at_most(m - 1) - each.at_most(s), 0.0)
        some = some * (below + at) + none * at
        none = none * below
    return some


def _both(events: Sequence[Instants], rows: Any, m: Any) -> Any:
    """Returns the probability that the earliest event is at the time of the row, and the latest at m."""
    none, early, late, both = np.ones(np.broadcast(rows, m).shape), 0.0, 0.0, 0.0
    alone: Any = 1.0
    for each in events:
        first = each.at(rows)
        last = each.at(m)
        inside = np.maximum(each.at_most(m - 1) - each.at_most(rows), 0.0)
        both = both * (inside + first + last) + early * last + late * first
        early, late = early * (inside + first) + none * first, late * (inside + last) + none * last
        none, alone = none * inside, alone * first
    return np.where(rows < m, both, np.where(rows == m, alone, 0.0))


def _before(link: Link) -> int:
    return min(each.low for each in link.events) - 1
