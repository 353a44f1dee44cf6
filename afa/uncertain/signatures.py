"""The matches of a sequence that begin with one event: lists of events that grow by one, each with its confidence and ranges.

    anchor     the first event of a match; of an interchangeable closure at the beginning, the first one by its interval
    near       the events of each component that may be in a world with the anchor, in their order

A list ends where no world has it, where its confidence, which never grows with it, is at or below the threshold, or where another
event is always next (NELT). Source: Zhang, Diao, Immerman 2014, Algorithm 1; 2010, Sec. 4.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from afa.errors import AfaError
from afa.uncertain.chain_confidence import Link, Mass, begin, confidence, extend
from afa.uncertain.event_instants import Instants
from afa.uncertain.interval_propagation import NEVER, Ceiling, Order, tightest
from afa.uncertain.sequence_pattern import CHAIN, CLOSURE, ONE, SequencePattern

MOST = 100_000
"""The most lists of events that are looked at behind one anchor."""


class Standing(NamedTuple):
    """An event in force that fits a component.

    Parameters
    ----------
    place : tuple
        Its interval, and what orders events of one interval: events are unique by it within a component and key.
    """

    place: tuple[Any, ...]
    identity: Any
    payload: Any
    instants: Instants
    kind: int = -1
    """The number of its interval's kind."""


class Found(NamedTuple):
    """A match: its confidence and the tightest range of its times; its LE, and the latest possible time of its first event.

    The last two are those of skip till any, which no competitor moves: so one that comes behind a promise moves no LE below it.
    """

    confidence: float
    first: int
    last: int
    le: int
    latest: int


Signature = tuple[tuple[Standing, ...], ...]
"""For each component the events that stand for it: one, a chain in its order, or a closure in the order of places."""


class _Prefix(NamedTuple):
    """A list of events: what stands for the components so far, of which the last may grow.

    ``mass``: of all that is chosen, ``before``: without the last component.
    """

    chosen: Signature
    links: tuple[Link, ...]
    mass: Mass
    before: Mass | None


class Search:
    """All matches of one anchor.

    Parameters
    ----------
    pattern : SequencePattern
    near : sequence of sequence of Standing
        For each component.

    Attributes
    ----------
    pruned : int
        Lists that were ended early: by the threshold, or as another event is always next.
    """

    def __init__(self, pattern: SequencePattern, near: Sequence[Sequence[Standing]]) -> None:
        self._pattern, self._near = pattern, near
        self.pruned = self._lists = 0

    def matches(self, anchor: Standing) -> Iterator[tuple[Signature, Found]]:
        """Yield the matches, each with what is told of it.

        Raises
        ------
        AfaError
            There are too many lists of events.
        """
        link = Link([anchor.instants], closure=self._pattern.components[0].kind == CLOSURE)
        yield from self._from(_Prefix(((anchor,),), (link,), begin(link), None))

    def _from(self, prefix: _Prefix) -> Iterator[tuple[Signature, Found]]:
        """Yield the matches that begin with a list."""
        self._lists += 1
        if self._lists > MOST:
            raise AfaError(
                f"expected at most {MOST:,} lists of events behind one but got more, behind {prefix.chosen[0][0].identity!r}; "
                f"raise threshold=, shorten window=, or ask for collapsed=True"
            )
        number = len(prefix.chosen)
        if self._pattern.components[number - 1].kind != ONE:
            yield from self._more(prefix, number - 1)
        if number < len(self._pattern.components):
            yield from self._next(prefix, number)
            return
        found = self._told(prefix)
        if found is not None and found.confidence > self._pattern.threshold:
            yield prefix.chosen, found

    def _more(self, prefix: _Prefix, number: int) -> Iterator[tuple[Signature, Found]]:
        """Add one more event of the last component, which is a closure."""
        *earlier, group = prefix.chosen
        chain = self._pattern.components[number].kind == CHAIN
        for each in self._near[number]:
            if chain:
                if each in group or not self._pattern.follows(number, group[-1].payload, each.payload):
                    continue
            elif each.place <= group[-1].place:
                continue
            if not self._pattern.goes_with(earlier, number, each.payload):
                continue
            chosen = (*earlier, (*group, each))
            if chain:
                link = Link([each.instants])
                yield from self._checked(_Prefix(chosen, (*prefix.links, link), extend(prefix.mass, link), prefix.before))
                continue
            link = Link([*prefix.links[-1].events, each.instants], closure=True)
            mass = begin(link) if prefix.before is None else extend(prefix.before, link)
            yield from self._checked(_Prefix(chosen, (*prefix.links[:-1], link), mass, prefix.before))

    def _next(self, prefix: _Prefix, number: int) -> Iterator[tuple[Signature, Found]]:
        """Add the first event of one more component."""
        kind = self._pattern.components[number].kind
        fitting = [each for each in self._near[number] if self._pattern.goes_with(prefix.chosen, number, each.payload)]
        following = self._pattern.next and kind == ONE
        high = prefix.mass.latest
        latest = min((each.instants.high for each in fitting if each.instants.low > high), default=NEVER) if following else NEVER
        for each in fitting:
            if each.instants.low > latest:
                self.pruned += 1
                continue
            rivals = [other.instants for other in fitting if other is not each] if following else None
            link = Link([each.instants], rivals, kind == CLOSURE)
            chosen, links = (*prefix.chosen, (each,)), (*prefix.links, link)
            yield from self._checked(_Prefix(chosen, links, extend(prefix.mass, link), prefix.mass))

    def _checked(self, longer: _Prefix) -> Iterator[tuple[Signature, Found]]:
        """Go on with a longer list, if some world has it, and its confidence may be above the threshold."""
        if not longer.mass.mass.any():
            return
        if longer.mass.total <= self._pattern.threshold:
            self.pruned += 1
            return
        yield from self._from(longer)

    def _told(self, prefix: _Prefix) -> Found | None:
        window, links = self._pattern.window, prefix.links
        shape = Shape(links)
        ranges = shape.ranges(window)
        if ranges is None:
            return None
        first, last = min(ranges[u][0] for u in shape.firsts), max(ranges[v][1] for v in shape.lasts)
        lifetime = shape.lifetime(window)
        if links[-1].span[1] - min(each.low for each in links[0].events) < window:
            return Found(prefix.mass.total, first, last, *lifetime)
        spans = [(max(ranges[u][0] for u in of), max(ranges[u][1] for u in of)) for of in shape.of_links]
        return Found(confidence(links, window, spans, (first, shape.latest)), first, last, *lifetime)


class Shape:
    """The constraints between the events of a signature."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.events = [each for link in links for each in link.events]
        self.of_links: list[list[int]] = []
        for link in links:
            start = self.of_links[-1][-1] + 1 if self.of_links else 0
            self.of_links.append(list(range(start, start + len(link.events))))
        self.firsts, self.lasts = self.of_links[0], self.of_links[-1]
        self.steps = [(u, v, 1) for before, after in itertools.pairwise(self.of_links) for u in before for v in after]
        self.depth = len(links) - 1
        self.nexts = [
            (before, after[0], Ceiling(link.competitors))
            for (before, after), link in zip(itertools.pairwise(self.of_links), links[1:])
            if link.competitors
        ]
        self.latest = 0
        """The latest time of the first event, once `ranges` has found it."""

    def lifetime(self, window: int) -> tuple[int, int]:
        """Return the latest times of the last and of the first event under skip till any, of a signature that some world has."""
        order = Order(self.steps, self.firsts, self.lasts, (), self.depth)
        ranges = tightest(self.events, order, window)
        assert ranges is not None
        return max(ranges[v][1] for v in self.lasts), min(ranges[u][1] for u in self.firsts)

    def ranges(self, window: int) -> list[tuple[int, int]] | None:
        """Return the range of each event over all worlds. Where a closure stands before a next event, one of it is the latest."""
        found: list[list[tuple[int, int]]] = []
        for chosen in itertools.product(*[before for before, _, _ in self.nexts]):
            behind = [(u, last, 0) for last, (before, _, _) in zip(chosen, self.nexts) for u in before if u != last]
            ceilings = [(last, v, ceiling) for last, (_, v, ceiling) in zip(chosen, self.nexts)]
            order = Order([*behind, *self.steps], self.firsts, self.lasts, ceilings, self.depth)
            ranges = tightest(self.events, order, window)
            if ranges is not None:
                found.append(ranges)
        if not found:
            return None
        self.latest = max(min(ranges[u][1] for u in self.firsts) for ranges in found)
        return [(min(low for low, _ in each), max(high for _, high in each)) for each in zip(*found)]
