"""The events of one key by component and time, and the matches in force behind each event that begins some.

An event that comes or goes concerns the matches of those anchors alone with which it can be within a window in some world:

    anchor       [----]..............]        its instants, and a window behind the last of them
    event                     [---]           any that is in there may be part of a match, or between two events of it
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sortedcontainers import SortedDict

from afa.extra.uncertain.collapsed_closures import CollapsedSearch
from afa.extra.uncertain.event_instants import IntervalKind
from afa.extra.uncertain.instant_tables import Events, Kinds
from afa.extra.uncertain.plain_signatures import PlainSearch
from afa.extra.uncertain.sequence_pattern import CLOSURE, ONE, SequencePattern
from afa.extra.uncertain.signatures import FittingEvent, Search, Signature, UncertainMatch
from afa.journal import Journal

Name = tuple[Any, ...]
"""A signature by identities."""


class Revised(NamedTuple):
    name: Name
    found: UncertainMatch
    diff: int


class Line:
    """The events and matches of one key."""

    __slots__ = ("_journal", "_pattern", "components", "matches", "spread")

    def __init__(self, pattern: SequencePattern, journal: Journal) -> None:
        self._pattern, self._journal = pattern, journal
        self.components: list[SortedDict[Any, FittingEvent]] = [SortedDict() for _ in pattern.components]
        self.spread = [0] * len(pattern.components)
        """At least the length of the longest interval of each component."""
        self.matches: dict[Hashable, dict[Name, UncertainMatch]] = {}
        """By the place of the anchor."""

    def add(self, number: int, event: FittingEvent) -> None:
        length = event.instants.high - event.instants.low
        if length > self.spread[number]:
            spread = list(self.spread)
            spread[number] = length
            self._journal.set(self, "spread", spread)
        self._journal.put(self.components[number], event.place, event)

    def remove(self, number: int, event: FittingEvent) -> None:
        self._journal.drop(self.components[number], event.place)

    @property
    def empty(self) -> bool:
        return not any(self.components)

    def between(self, number: int, low: int, high: int) -> Iterator[FittingEvent]:
        """Yields the events of a component that may be at an instant from ``low`` to ``high``, in order."""
        events = self.components[number]
        for place in events.irange((low - self.spread[number],), (high + 1,)):
            if place[1] >= low:
                yield events[place]

    def concerned(self, number: int, event: FittingEvent, promised: int) -> Iterator[FittingEvent]:
        """Yields the anchors whose matches an event may change, of those that may change at all."""
        window, kind = self._pattern.window, self._pattern.components[0].kind
        low, high = event.instants.low, event.instants.high
        if number == 0 and kind == ONE:
            if event.place in self.components[0]:
                yield event
            return
        for anchor in self.between(0, low - window + 1, high + window - 1 if kind == CLOSURE else high):
            if anchor.instants.high + window > promised:
                yield anchor

    def revised(self, anchors: Sequence[FittingEvent]) -> tuple[list[Revised], int]:
        """Find the matches of anchors anew. Returns what goes and comes, and how many lists of events were ended early."""
        found, pruned = self._found_plain(anchors) if self._pattern.plain else self._found(anchors)
        return [each for anchor, new in zip(anchors, found) for each in self._put(anchor, new)], pruned

    def _found(self, anchors: Sequence[FittingEvent]) -> tuple[list[dict[Name, UncertainMatch]], int]:
        """Find the matches of each anchor, one by one."""
        matches, pruned = [], 0
        for anchor in anchors:
            near = self.near(anchor)
            search = CollapsedSearch(self._pattern, near) if self._pattern.collapsed else Search(self._pattern, near)
            matches.append({name_of(self._pattern, signature): found for signature, found in search.matches(anchor)})
            pruned += search.pruned
        return matches, pruned

    def _found_plain(self, anchors: Sequence[FittingEvent]) -> tuple[list[dict[Name, UncertainMatch]], int]:
        """Find the matches of all anchors at once."""
        if not anchors:
            return [], 0
        low, high = min(each.instants.low for each in anchors), max(each.instants.high for each in anchors)
        near = [list(self.between(number, low, high + self._pattern.window - 1)) for number in range(len(self.components))]
        kinds = {each.instants.kind: 0 for of in near for each in of}
        kinds.update(zip(kinds, itertools.count()))
        columns = [_columns(of, kinds) for of in near]
        search = PlainSearch(Kinds(kinds), columns, self._pattern.window, self._pattern.next, self._pattern.threshold)
        wanted = {anchor.place: number for number, anchor in enumerate(anchors)}
        told = search.matches(np.array([at for at, each in enumerate(near[0]) if each.place in wanted], np.int64))
        found: list[dict[Name, UncertainMatch]] = [{} for _ in anchors]
        identities = [[of[at].identity for at in places.tolist()] for of, places in zip(near, told.places)]
        numbers = zip(told.confidence.tolist(), told.first.tolist(), told.last.tolist(), told.le.tolist(), told.latest.tolist())
        for anchor, name, each in zip(told.places[0].tolist(), zip(*identities), itertools.starmap(UncertainMatch, numbers)):
            found[wanted[near[0][anchor].place]][name] = each
        return found, search.pruned

    def _put(self, anchor: FittingEvent, new: dict[Name, UncertainMatch]) -> list[Revised]:
        """Write the matches of an anchor. Returns what goes and comes."""
        old = self.matches.get(anchor.place, {})
        changed = [Revised(name, found, -1) for name, found in old.items() if new.get(name) != found]
        changed += [Revised(name, found, 1) for name, found in new.items() if old.get(name) != found]
        if changed and new:
            self._journal.put(self.matches, anchor.place, new)
        elif changed:
            self._journal.drop(self.matches, anchor.place)
        return changed

    def dropped(self, anchor: FittingEvent) -> list[Revised]:
        """Take out the matches of an anchor that is no longer in force. Returns them."""
        old = self.matches.get(anchor.place)
        if old is None:
            return []
        self._journal.drop(self.matches, anchor.place)
        return [Revised(name, found, -1) for name, found in old.items()]

    def near(self, anchor: FittingEvent) -> list[list[FittingEvent]]:
        """Returns the events of each component that may be in a world with an anchor, within a window."""
        window = self._pattern.window
        low, high = anchor.instants.low, anchor.instants.high + window - 1
        if self._pattern.components[0].kind == CLOSURE:
            low -= window - 1
        return [list(self.between(number, low, high)) for number in range(len(self.components))]

    def forget(self, t: int) -> list[FittingEvent]:
        """Forget what no change at or above a promise can concern. Returns the events that are forgotten."""
        window, behind = self._pattern.window, 0
        if self._pattern.components[0].kind == CLOSURE:
            behind = window - 1
        needed, over = t - behind, []
        for anchor in self.components[0].values():
            if anchor.instants.low - behind >= needed:
                break
            if anchor.instants.high + window > t:
                needed = anchor.instants.low - behind
                break
        for number, events in enumerate(self.components):
            bound = (t - window if number == 0 and self._pattern.components[0].kind == ONE else needed - 1) + 1
            over += [(number, events[place]) for place in events.irange(None, (bound,)) if place[1] < bound]
        for place in [place for place in self.matches if place[1] + window <= t]:  # type: ignore[index]  # a place is a tuple
            self._journal.drop(self.matches, place)
        for number, event in over:
            self.remove(number, event)
        return [event for _, event in over]


def _columns(events: Sequence[FittingEvent], kinds: dict[IntervalKind, int]) -> Events:
    ends = np.array([each.place[:2] for each in events], np.int64).reshape(len(events), 2)
    return Events(ends[:, 0].copy(), ends[:, 1].copy(), np.array([kinds[each.instants.kind] for each in events], np.int64))


def name_of(pattern: SequencePattern, signature: Signature) -> Name:
    """Returns a signature by identities: of a closure all of them, in its order."""
    return tuple(
        group[0].identity if component.kind == ONE else tuple(each.identity for each in group)
        for component, group in zip(pattern.components, signature)
    )
