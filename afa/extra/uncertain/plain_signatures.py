"""All matches behind many anchors at once, where each component is one event: lists that grow by a component, as columns.

low, high        of each list the range of its last event's time, over the worlds that have the list: exact, by
                 `afa.extra.uncertain.interval_propagation`, whose bounds move forward once and backward once where no window binds
latest(s)        skip till next: the latest time of an event behind s (NELT); least(t): the earliest time it may be behind
binds            signatures that the window may cut off: `afa.extra.uncertain.plain_signatures`
special          those with long events, or instants of no weight: one by one
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.extra.uncertain.chain_confidence import Link
from afa.extra.uncertain.instant_tables import Events, Kinds, added_up, expanded, wide
from afa.extra.uncertain.plain_confidence import Behind, Covered, NextComponent, carried
from afa.extra.uncertain.signatures import UncertainMatch, found_of

# Many signatures at once that the window may cut off: ranges to the fixed point, confidences by the time of the first event.
# ranges       what `afa.extra.uncertain.interval_propagation` does, for all at once, until nothing moves
# confidence   for each time of the first event the mass as in `afa.extra.uncertain.plain_confidence`, up to the end of its
#              window; of the last event the sum over its instants up to there
AT_ONCE = 1 << 13
"""How many pairs of a signature and a time of its first event are worked on at once."""
Limits = Sequence[tuple[Callable[[Any], Any], Callable[[Any], Any]]]
"""For each component: the latest time behind a time, the earliest one before a time (`_Bounds`)."""


def ranges(events: Sequence[Events], window: int, limits: Limits | None) -> tuple[Any, Any, Any]:
    """Returns the first and the last times of each event of signatures, shape (components, n), and which signatures some world has.

    ``events``: for each component those of the signatures; ``limits``: only under skip till next.
    """
    low, high = np.stack([each.low for each in events]), np.stack([each.high for each in events])
    size = len(events)
    there = np.full(low.shape[1], size <= window)
    moving = np.flatnonzero(there)
    while len(moving):
        a, b = low[:, moving], high[:, moving]
        was = a.copy(), b.copy()
        for number in range(1, size):
            a[number] = np.maximum(a[number], a[number - 1] + 1)
            if limits is not None:
                latest, least = limits[number]
                b[number] = np.minimum(b[number], latest(b[number - 1]))
                a[number - 1] = np.maximum(a[number - 1], least(a[number]))
        for number in range(size - 1, 0, -1):
            b[number - 1] = np.minimum(b[number - 1], b[number] - 1)
        b[-1] = np.minimum(b[-1], b[0] + window - 1)
        a[0] = np.maximum(a[0], a[-1] - window + 1)
        low[:, moving], high[:, moving] = a, b
        empty = (a > b).any(axis=0)
        there[moving[empty]] = False
        moving = moving[~empty & ((a != was[0]) | (b != was[1])).any(axis=0)]
    return low, high, there


def confidences(
    kinds: Kinds,
    events: Sequence[Events],
    places: Sequence[Any],
    window: int,
    tables: Sequence[tuple[Behind, Any]],
    low: Any,
    high: Any,
) -> Any:
    """Returns the confidences of signatures.

    ``events``: for each component those of the signatures, and ``places`` where they stand in it. ``tables``: for each component
    but the first its table, and the covered place of the first instant of the event before. ``low``, ``high``: the range of the
    first event's time.
    """
    n, first = len(places[0]), events[0]
    if not n:
        return np.zeros(0)
    mass = kinds.mass(wide(int((first.high - first.low + 1).max())))
    free = np.maximum(events[-1].high - window + 1, low)  # from then on the window cuts nothing off
    found = _uncut(mass[first.kind] * (np.arange(mass.shape[1]) >= (free - first.low)[:, None]), first, places, tables)
    high = np.minimum(high, free - 1)
    sums = np.cumsum(tables[-1][0].table, axis=1)
    step = max(1, AT_ONCE // mass.shape[1])
    for chunk in range(0, n, step):
        rows = slice(chunk, chunk + step)
        of, time = expanded(low[rows], high[rows] + 1)
        offset = time - first.low[rows][of]
        total = mass[first.kind[rows][of], offset][:, None]
        end = time + (window - 1)
        for number, (behind, base) in enumerate(tables, 1):
            event = places[number][rows][of]
            width = total.shape[1]
            at = base[rows][of] + offset if number == 1 else base[rows][of]
            left = end - events[number].low[rows][of]
            if number == len(tables):
                row = behind.row(event, at, width)[:, None] + np.arange(width)
                column = np.minimum(left, sums.shape[1] - 1)
                total = total * np.where(column[:, None] >= 0, sums[row, np.maximum(column, 0)[:, None]], 0.0)
                continue
            more = carried(total, np.arange(len(of)), at, event, behind, width)
            total = np.where(np.arange(more.shape[1]) <= left[:, None], more, 0.0)
        value = total[:, 0] if total.shape[1] == 1 else added_up(total)
        found[rows] += np.bincount(of, weights=value, minlength=len(found[rows]))
    return found


def _uncut(mass: Any, first: Events, places: Sequence[Any], tables: Sequence[tuple[Behind, Any]]) -> Any:
    """Returns the probability of signatures with a mass of their first events, where no window cuts them off."""
    times = int((first.high - first.low + 1).max())
    for number, (behind, base) in enumerate(tables, 1):
        behind = behind if number < len(tables) else behind._replace(table=added_up(behind.table))
        mass = carried(mass, np.arange(len(mass)), base, places[number], behind, times)
        times = mass.shape[-1]
    return mass


FAR = 1 << 62


class AnchoredMatches(NamedTuple):
    """Matches by columns; those that are found by anchor, then by the events of each component in their order."""

    places: Any  # int64, shape (components, n): where the events of each component stand; or their serial numbers
    confidence: Any  # this and the rest as of `UncertainMatch`
    first: Any
    last: Any
    le: Any
    latest: Any

    @classmethod
    def empty(cls, components: int) -> AnchoredMatches:
        none = np.zeros(0, np.int64)
        return cls(np.zeros((components, 0), np.int64), np.zeros(0), none, none, none, none)

    def at(self, chosen: Any) -> AnchoredMatches:
        return AnchoredMatches(self.places[:, chosen], *(each[chosen] for each in self[1:]))

    def with_more(self, more: AnchoredMatches) -> AnchoredMatches:
        return AnchoredMatches(np.concatenate([self.places, more.places], axis=1), *map(np.concatenate, zip(self[1:], more[1:])))


class _Bounds:
    """What the events of a component say of the one next: rising functions of a time."""

    def __init__(self, events: Events) -> None:
        self._low = events.low
        self._least_high = np.append(np.minimum.accumulate(events.high[::-1])[::-1], FAR)
        order = np.argsort(events.high, kind="stable")
        self._high = events.high[order]
        self._most_low = np.insert(np.maximum.accumulate(events.low[order]), 0, -FAR)

    def latest(self, s: Any) -> Any:
        """Returns the smallest upper end of events that begin behind each time."""
        return self._least_high[np.searchsorted(self._low, s, side="right")]

    def least(self, t: Any) -> Any:
        """Returns the largest lower end of events that end before each time."""
        return self._most_low[np.searchsorted(self._high, t)]


class _Lists(NamedTuple):
    """Lists of events up to a component: the number of the list before, the event, its range, its mass, whether it is special.

    ``binds``: whether the window may cut off some of its worlds; of full lists.
    """

    before: Any
    event: Any
    low: Any
    high: Any
    mass: Any
    special: Any
    binds: Any


class PlainSearch:
    """All matches of anchors, among all events that may be part of them or lie in between; ``following``: skip till next."""

    def __init__(self, kinds: Kinds, components: Sequence[Events], window: int, following: bool, threshold: float) -> None:
        self._kinds, self._components, self._window = kinds, components, min(window, FAR)
        self._following, self._threshold = following, threshold
        self._bounds = [_Bounds(events) for events in components]
        self.pruned = 0

    def matches(self, anchors: Any) -> AnchoredMatches:
        """Returns the matches of the anchors at some places, in ascending order."""
        events = self._components[0].at(anchors)
        special = self._kinds.special[events.kind]
        width = wide(int((events.high - events.low + 1)[~special].max(initial=1)))
        lists = [
            _Lists(
                None,
                anchors,
                events.low,
                events.high,
                self._kinds.mass(width)[events.kind],
                special,
                np.zeros(len(anchors), np.bool_),
            )
        ]
        first = np.arange(len(anchors))
        for number in range(1, len(self._components)):
            grown = self._grown(lists[-1], number, first, events)
            first = first[grown.before]
            lists.append(grown)
        return self._told(lists)

    def _grown(self, lists: _Lists, number: int, first: Any, anchors: Events) -> _Lists:
        """Returns lists with an event of one more component; ``first``: the anchor of each list."""
        events, last = self._components[number], number == len(self._components) - 1
        spread = int((events.high - events.low).max(initial=0))
        end = anchors.high[first] + (self._window - 1)
        stop = all_stop = np.searchsorted(events.low, end, side="right")
        latest = None
        if self._following:
            latest = self._bounds[number].latest(lists.high)
            stop = np.searchsorted(events.low, np.minimum(latest, end), side="right")
            self.pruned += int((all_stop - stop).sum())
        before, event = expanded(np.searchsorted(events.low, lists.low + 1 - spread), stop)
        there = events.high[event] > lists.low[before]
        before, event = before[there], event[there]
        low = np.maximum(events.low[event], lists.low[before] + 1)
        high = np.minimum(events.high[event], end[before])
        if latest is not None:
            high = np.minimum(high, latest[before])
        special = lists.special[before] | self._kinds.special[events.kind[event]]
        binds = events.high[event] - anchors.low[first[before]] >= self._window if last else np.zeros(len(event), np.bool_)
        mass = self._mass(lists, number, before, event, special | binds, last)
        kept = low <= high
        if self._threshold and not last:
            kept &= special | (added_up(mass) > self._threshold)
        grown = _Lists(before, event, low, high, mass, special, binds)
        return grown if kept.all() else _Lists(*(each[kept] for each in grown))

    def _mass(self, lists: _Lists, number: int, before: Any, event: Any, left: Any, last: bool) -> Any:
        """Returns the mass of longer lists, but of those that are ``left`` out."""
        which = np.flatnonzero(~left)
        of, to = before[which], event[which]
        behind, base, times = self._tables(number, lists.event[of], to, lists.mass.shape[1], last)
        found = carried(lists.mass, of, base, to, behind, times)
        if len(which) == len(before):
            return found
        out = np.zeros((len(before), *found.shape[1:]))
        out[which] = found
        return out

    def _tables(self, number: int, one: Any, to: Any, times: int, last: bool) -> tuple[Behind, Any, int]:
        """Returns the table of events behind other ones, where in it each pair begins, and how many instants one before has."""
        events, previous = self._components[number], self._components[number - 1]
        plain = np.zeros(len(previous.low), np.bool_)
        plain[one] = True
        places = np.flatnonzero(plain)
        chosen = previous.at(places)
        covered = Covered(chosen)
        number_of = np.zeros(len(previous.low), np.int64)
        number_of[places] = np.arange(len(places))
        of_list = number_of[one]
        base = covered.place[of_list] if len(one) else one
        start, stop = np.full(len(events.low), FAR), np.zeros(len(events.low), np.int64)
        np.minimum.at(start, to, base)
        np.maximum.at(stop, to, base + (chosen.high - chosen.low + 1)[of_list])
        wanted = np.flatnonzero(stop)
        low, high = events.low[wanted], events.high[wanted]
        start, stop = start[wanted], np.minimum(stop[wanted], covered.behind(high - 1))
        latest = None
        if self._following:
            start = np.maximum(start, covered.behind(self._bounds[number].least(low) - 1))
            latest = self._bounds[number].latest(covered.times)
        width = wide(int((high - low + 1).max(initial=1)))
        behind = NextComponent(self._kinds, events, covered, latest).behind(wanted, start, stop, width, times, last)
        return behind, base, int((chosen.high - chosen.low + 1).max(initial=0))

    def _told(self, lists: Sequence[_Lists]) -> AnchoredMatches:
        """Returns the matches of full lists: ranges go backward, special ones are looked at."""
        n = len(lists[-1].event)
        at = np.arange(n)
        low, last = lists[-1].low, lists[-1].high
        le = latest = self._components[-1].high[lists[-1].event]
        places = [lists[-1].event]
        for number in range(len(lists) - 1, 0, -1):
            at = lists[number].before[at]
            before = lists[number - 1]
            least = self._bounds[number].least(low) if self._following else -FAR
            low = np.maximum(before.low[at], least)
            places.insert(0, before.event[at])
            latest = np.minimum(self._components[number - 1].high[places[0]], latest - 1)
        found = lists[-1].mass if len(lists) > 1 else np.ones(n)
        first = low
        special, binds = np.flatnonzero(lists[-1].special), np.flatnonzero(lists[-1].binds & ~lists[-1].special)
        if len(special) or len(binds):
            found, first, last, le, latest = (each.copy() for each in (found, first, last, le, latest))
            for each, new in zip((found, first, last, le, latest), self._cut_off([of[binds] for of in places])):
                each[binds] = new
            for row in special.tolist():
                found[row], first[row], last[row], le[row], latest[row] = self._one([int(of[row]) for of in places])
        kept = found > self._threshold
        told = AnchoredMatches(np.stack(places), found, first, last, le, latest)
        return told if kept.all() else told.at(kept)

    def _cut_off(self, places: Sequence[Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Returns the matches of signatures that the window may cut off."""
        events = [of.at(at) for of, at in zip(self._components, places)]
        limits = [(each.latest, each.least) for each in self._bounds] if self._following else None
        low, high, there = ranges(events, self._window, limits)
        _, free, _ = ranges(events, self._window, None)
        found = np.zeros(len(there))
        kept = [at[there] for at in places]
        if there.any():
            widths = [wide(int((of.high - of.low + 1).max())) for of in events]
            pairs = list(zip(itertools.count(1), kept, kept[1:], widths))
            tables = [self._tables(number, one, to, times, False)[:2] for number, one, to, times in pairs]
            own = [of.at(there) for of in events]
            found[there] = confidences(self._kinds, own, kept, self._window, tables, low[0, there], high[0, there])
        return found, low[0], high[-1], free[-1], free[0]

    def _one(self, places: Sequence[int]) -> UncertainMatch:
        """Returns the match of one signature, as `afa.extra.uncertain.signatures` finds it."""
        links = [self._link(number, place, places) for number, place in enumerate(places)]
        return found_of(links, self._window) or UncertainMatch(0.0, 0, 0, 0, 0)

    def _link(self, number: int, place: int, places: Sequence[int]) -> Link:
        events = self._components[number]
        event = self._kinds.of(events, place)
        if not (number and self._following):
            return Link([event])
        after = self._components[number - 1].low[places[number - 1]]
        spread = int((events.high - events.low).max())
        begin, end = np.searchsorted(events.low, (after - spread, event.high))
        return Link([event], [self._kinds.of(events, x) for x in range(begin, end) if x != place and events.high[x] > after])
