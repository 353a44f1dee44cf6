"""Collapsed output: one match in the place of all the subsets of an interchangeable closure.

    a  {b1 b2 b3}  c      one record: all events that may be in the closure, 2^3 - 1 subsets, how probable it is that one is there

Its confidence is the probability that at least one event of the closure lies between the others: of the worlds that have a match of
any subset. Its range is the tightest over these worlds. Source: Zhang, Diao, Immerman 2014, Sec. 5.2; they give the set alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from afa.errors import AfaError
from afa.extra.uncertain.chain_confidence import Link, Mass, begin, extend, through
from afa.extra.uncertain.event_instants import Instants
from afa.extra.uncertain.sequence_pattern import CLOSURE, SequencePattern
from afa.extra.uncertain.signatures import FittingEvent, Search, Signature, UncertainMatch, found_of


class CollapsedSearch:
    """All matches of one anchor, those that differ in the closure as one; ``near``: for each component."""

    def __init__(self, pattern: SequencePattern, near: Sequence[Sequence[FittingEvent]]) -> None:
        self._pattern, self._place = pattern, place_of(pattern)
        self._closure = near[self._place]
        others = [of for number, of in enumerate(near) if number != self._place]
        self._search = Search(pattern.without(self._place), others)

    @property
    def pruned(self) -> int:
        return self._search.pruned

    def matches(self, anchor: FittingEvent) -> Iterator[tuple[Signature, UncertainMatch]]:
        """Yields the matches, each with its confidence and times. Raises as `Search`."""
        for prefix, _ in self._search.complete(anchor):
            chosen = [*prefix.chosen[: self._place], (), *prefix.chosen[self._place :]]
            before = sum(map(len, chosen[: self._place]))  # links: a chain has one for each event
            group, found = [], list[UncertainMatch]()
            for each in self._closure:
                told = self._with(each, chosen, prefix.links, before)
                if told is not None:
                    group.append(each)
                    found.append(told)
            if not group:
                continue
            total = at_least_one(prefix.links, before, [each.instants for each in group], self._pattern.window)
            if total > self._pattern.threshold:
                first, last = min(each.first for each in found), max(each.last for each in found)
                le, latest = max(each.le for each in found), max(each.latest for each in found)
                chosen[self._place] = tuple(group)
                yield tuple(chosen), UncertainMatch(total, first, last, le, latest)

    def _with(self, each: FittingEvent, chosen: Signature | list[Any], links: Sequence[Link], before: int) -> UncertainMatch | None:
        """Returns the times of the match whose closure is one event; None: no world has it, or a constraint breaks."""
        place, pattern = self._place, self._pattern
        if not pattern.goes_with(chosen[:place], place, each.payload):
            return None
        only = [*chosen[:place], (each,), *chosen[place + 1 :]]
        if not all(pattern.goes_with(only[:n], n, other.payload) for n in range(place + 1, len(only)) for other in only[n]):
            return None
        return found_of([*links[:before], Link([each.instants]), *links[before:]], pattern.window, 0.0)


def subsets(
    pattern: SequencePattern, near: Sequence[Sequence[FittingEvent]], chosen: Signature
) -> Iterator[tuple[Signature, UncertainMatch]]:
    """Yields the matches that a collapsed one stands for, the most probable one first.

    A subset is at most as probable as what it contains: so the next one is among those that have grown from what was yielded.
    ``near``: the events around the first one of the match, for each component; ``chosen``: the match, with its whole closure.
    """
    place = place_of(pattern)
    group = sorted(chosen[place], key=lambda each: each.place)
    others = [number for number in range(len(chosen)) if number != place]
    search = Search(
        pattern.without(place), [near[number] for number in others], [{each.place for each in chosen[number]} for number in others]
    )
    wanted = tuple(chosen[number] for number in others)
    prefix = next((prefix for prefix, _ in search.complete(chosen[0][0]) if prefix.chosen == wanted), None)
    if prefix is None:
        return
    before = sum(map(len, chosen[:place]))
    todo: list[tuple[float, tuple[int, ...], UncertainMatch]] = []

    def look(numbers: tuple[int, ...]) -> None:
        link = Link([group[number].instants for number in numbers], closure=True)
        found = found_of([*prefix.links[:before], link, *prefix.links[before:]], pattern.window)
        if found is not None and found.confidence > pattern.threshold:
            heapq.heappush(todo, (-found.confidence, numbers, found))

    for number in range(len(group)):
        look((number,))
    while todo:
        _, numbers, found = heapq.heappop(todo)
        yield (*chosen[:place], tuple(group[number] for number in numbers), *chosen[place + 1 :]), found
        for number in range(numbers[-1] + 1, len(group)):
            look((*numbers, number))


def place_of(pattern: SequencePattern) -> int:
    """Returns the number of the closure that is collapsed. AfaError: the pattern can't be collapsed."""
    found = [number for number, each in enumerate(pattern.components) if each.kind == CLOSURE]
    if len(found) != 1 or found[0] == 0:
        said = ", ".join(pattern.components[number].name for number in found) or "none"
        raise AfaError(f"expected one closure without an order, behind another component, for collapsed=True but got {said}")
    if pattern.next and found[0] < len(pattern.components) - 1:
        name = pattern.components[found[0]].name
        raise AfaError(
            f"expected strategy='skip_till_any', or a closure at the end, for collapsed=True but got {name} before another "
            f"component, whose next event depends on which event of {name} is the latest"
        )
    return found[0]


def at_least_one(links: Sequence[Link], place: int, closure: Sequence[Instants], window: int) -> float:
    """Returns the probability that events are in order, within a window, with at least one of a closure among them.

    ``links`` are those of the other components, of which ``place`` come before the closure.
    """
    last = max([each.high for each in closure] + [links[-1].span[1]])
    mass = begin(links[0], window if last - links[0].span[0] >= window else None)
    for number, link in enumerate(links[1:], 1):
        mass = _behind(mass, link, closure) if number == place else extend(mass, link)
    if place < len(links):
        return mass.total
    s = mass.low + np.arange(mass.mass.shape[1])[None, :]
    end = np.array([[last]]) if mass.ends is None else mass.ends
    return float((mass.mass * _some(closure, s, end + 1)).sum())


def _behind(before: Mass, link: Link, closure: Sequence[Instants]) -> Mass:
    """Returns the mass behind a closure and the event after it."""
    low, high = link.span
    t = np.arange(low, high + 1)
    mass = through(before, t, lambda s: _some(closure, s, t[None, :])) * link.events[0].within(low, high)
    return Mass(low, mass if before.ends is None else np.where(t <= before.ends, mass, 0.0), before.ends)


def _some(closure: Sequence[Instants], s: Any, t: Any) -> Any:
    """Returns the probability that at least one event lies strictly between s and t."""
    none = np.ones(np.broadcast(s, t).shape)
    some = np.zeros(none.shape)
    for each in closure:
        inside = np.where(s < t, np.maximum(each.at_most(t - 1) - each.at_most(s), 0.0), 0.0)
        some, none = some + none * inside, none * (1 - inside)
    return some
