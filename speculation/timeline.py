"""The events of one key in order, and for each condition the places of those that satisfy it: which was the last before each event?

    events      10: a    12: b    15: b    17: a    18: b        condition: "a"
    last a       None     10       10       10       17
    a at 11      None     11       11       11       17          what lies behind the next a stays as it is

A *place* is (LE, order): events of one place are before nobody there. All events of a place have the same last ones, so that these
are held once for a place. What a change leads to is worked out at the end of a call (`revised`), from the places that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.journal import Journal
from afa.model.copies import added
from punctuation.time import FOREVER

Place = tuple[Any, ...]
Last = tuple[int | None, ...]
"""For each condition the LE of the last event before a place that satisfies it."""


class EventCopies(NamedTuple):
    """How many copies of an event are in force (below 0: retractions that wait for it), and how many have left."""

    copies: int
    shown: int


NOTHING = EventCopies(0, 0)


class TouchedPlaces:
    """What the changes of a call concern: places whose events come or go; for each condition, where one that satisfies it does."""

    __slots__ = ("moved", "places")

    def __init__(self, conditions: int) -> None:
        self.places: set[Place] = set()
        self.moved: list[set[Place]] = [set() for _ in range(conditions)]


class EventVersion(NamedTuple):
    """A version of an event that comes (``diff`` > 0) or goes."""

    payload: Any
    le: int
    re: int | None
    diff: int
    last: Last


class Timeline:
    """The events of one key, over so many conditions.

    The journal takes the inverse of every write. Only events with an LE above an event's LE - ``window`` count for it; None: all.

    >>> line, touched = Timeline(Journal(), 1, None), TouchedPlaces(1)
    >>> for le, payload in ((10, "a"), (12, "b"), (15, "b")):
    ...     line.change((le, 0), payload, None, 1, (payload == "a",), touched)
    >>> [(v.payload, v.diff, v.last) for v in line.revised(touched)]
    [('a', 1, (None,)), ('b', 1, (10,)), ('b', 1, (10,))]
    >>> late = TouchedPlaces(1)
    >>> line.change((13, 0), "a", None, 1, (True,), late)
    >>> [(v.payload, v.le, v.diff, v.last) for v in line.revised(late)]
    [('a', 13, 1, (10,)), ('b', 15, -1, (10,)), ('b', 15, 1, (13,))]
    """

    __slots__ = ("_journal", "_window", "events", "floors", "hits", "lasts")

    def __init__(self, journal: Journal, conditions: int, window: int | None) -> None:
        self._journal, self._window = journal, window
        self.events: SortedDict[Place, dict[tuple[Any, int | None], EventCopies]] = SortedDict()
        self.lasts: dict[Place, Last] = {}  # with which the events of a place have left
        self.hits: list[SortedDict[Place, int]] = [SortedDict() for _ in range(conditions)]  # how many events satisfy it there
        self.floors: dict[int, int] = {}  # of a condition: the LE of the last event below the promise

    def change(
        self, place: Place, payload: Any, re: int | None, diff: int, holds: tuple[bool, ...], touched: TouchedPlaces
    ) -> None:
        """Take a change of an event; ``holds``: which conditions it satisfies. O(log n)."""
        bucket = self.events.get(place)
        if bucket is None:
            bucket = {}
            self._journal.put(self.events, place, bucket)
        held = bucket.get((payload, re), NOTHING)
        copies = added(held.copies, diff, payload, place[0])
        self._journal.put(bucket, (payload, re), EventCopies(copies, held.shown))
        touched.places.add(place)
        if (copies > 0) is not (held.copies > 0):
            for number, hits in enumerate(self.hits):
                if holds[number]:
                    self._count(hits, place, 1 if copies > 0 else -1, touched.moved[number])

    def _count(self, hits: SortedDict[Place, int], place: Place, by: int, moved: set[Place]) -> None:
        before = hits.get(place, 0)
        if before + by:
            self._journal.put(hits, place, before + by)
        else:
            self._journal.drop(hits, place)
        if not before or not before + by:
            moved.add(place)

    def revised(self, touched: TouchedPlaces) -> Iterator[EventVersion]:
        """Yield the versions of events that go and come: what has changed, and what looks back to another last event now.

        O(log n) for each event between a place that has changed and the next one that satisfies the condition.
        """
        for place in sorted(touched.places.union(*map(self._behind, self.hits, touched.moved))):
            bucket, last, before = self.events[place], self.last(place), self.lasts.get(place)
            for (payload, re), (copies, shown) in list(bucket.items()):
                now = max(copies, 0)
                if last != before and shown:
                    yield EventVersion(payload, place[0], re, -shown, before or ())
                    shown = 0
                if now != shown:
                    yield EventVersion(payload, place[0], re, now - shown, last)
                if copies:
                    self._journal.put(bucket, (payload, re), EventCopies(copies, now))
                else:
                    self._journal.drop(bucket, (payload, re))
            if not bucket:
                self._forget(place)
            elif last != before:
                self._journal.put(self.lasts, place, last)

    def _behind(self, hits: SortedDict[Place, int], moved: set[Place]) -> Iterator[Place]:
        """Yield the places of events that may have another last one: up to the next one that satisfies the condition."""
        for place in moved:
            end = next(hits.irange(place, inclusive=(False, True)), None)
            for other in self.events.irange(place, end, inclusive=(False, True)):
                if self._window is not None and other[0] >= place[0] + self._window:
                    break
                yield other

    def last(self, place: Place) -> Last:
        """Return for each condition the LE of the last event before a place that satisfies it."""
        return tuple([self._last(number, place) for number in range(len(self.hits))])

    def _last(self, number: int, place: Place) -> int | None:
        found = next(self.hits[number].irange(None, place, inclusive=(True, False), reverse=True), None)
        le: int | None = self.floors.get(number) if found is None else found[0]
        return None if le is None or (self._window is not None and le <= place[0] - self._window) else le

    def settle(self, t: int) -> Iterator[EventVersion]:
        """Forget what no change can touch behind a promise. Yields the retractions that have waited in vain.

        Of what satisfies a condition the last one is kept, for as long as an event at ``t`` or later may look back to it.
        """
        for place in list(self.events.irange(None, (t,), inclusive=(True, False))):
            for (payload, re), held in self.events[place].items():
                if held.copies < 0:
                    yield EventVersion(payload, place[0], re, held.copies, ())
            self._forget(place)
        for number, hits in enumerate(self.hits):
            for place in list(hits.irange(None, (t,), inclusive=(True, False))):
                self._journal.put(self.floors, number, place[0])
                self._journal.drop(hits, place)
            if number in self.floors and self._window is not None and self.floors[number] <= t - self._window:
                self._journal.drop(self.floors, number)

    def _forget(self, place: Place) -> None:
        self._journal.drop(self.events, place)
        if place in self.lasts:
            self._journal.drop(self.lasts, place)

    @property
    def due(self) -> int | None:
        """The LE that the next promise must have passed to let something be forgotten; None: nothing is held."""
        found = [next(iter(self.events))[0]] if self.events else []
        if self.floors:
            found += [FOREVER] if self._window is None else [le + self._window - 1 for le in self.floors.values()]
        return min(found, default=None)

    @property
    def empty(self) -> bool:
        return not self.events and not self.floors
