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
from afa.extra.uncertain.chain_confidence import GrowingClosure, Link, Mass, begin, confidence, extend
from afa.extra.uncertain.event_instants import Instants
from afa.extra.uncertain.interval_propagation import NEVER, Ceiling, Order, tightest
from afa.extra.uncertain.sequence_pattern import CLOSURE, ONE, SequencePattern

MOST = 100_000
"""The most lists of events that are looked at behind one anchor."""


class FittingEvent(NamedTuple):
    """An event in force that fits a component."""

    place: tuple[Any, ...]  # its interval, and what orders events of one: unique within a component and key
    identity: Any
    payload: Any
    instants: Instants


class UncertainMatch(NamedTuple):
    """A match: its confidence and the tightest range of its times; its LE, and the latest possible time of its first event.

    The last two are those of skip till any, which no competitor moves: so one that comes behind a promise moves no LE below it.
    """

    confidence: float
    first: int
    last: int
    le: int
    latest: int


Signature = tuple[tuple[FittingEvent, ...], ...]
"""For each component the events that stand for it: one, a chain in its order, or a closure in the order of places."""


class Prefix(NamedTuple):
    """A list of events: one group for each component so far, of which the last may grow."""

    chosen: Signature
    links: tuple[Link, ...]
    mass: Mass  # of all that is chosen
    growing: GrowingClosure | None = None  # the last component, where it is an interchangeable closure


class Search:
    """All matches of one anchor.

    ``near``: events for each component; ``only``: the places of those that may be chosen, while others still lie in between.
    ``pruned`` counts lists that were ended early: by the threshold, or as another event is always next.
    """

    def __init__(
        self, pattern: SequencePattern, near: Sequence[Sequence[FittingEvent]], only: Sequence[set[Any]] | None = None
    ) -> None:
        self._pattern, self._near, self._only = pattern, near, only
        self.pruned = self._lists = 0

    def matches(self, anchor: FittingEvent) -> Iterator[tuple[Signature, UncertainMatch]]:
        """Yields the matches, each with its confidence and times. AfaError: there are too many lists of events."""
        for prefix, found in self.complete(anchor):
            yield prefix.chosen, found

    def complete(self, anchor: FittingEvent) -> Iterator[tuple[Prefix, UncertainMatch]]:
        """Yields the lists that are matches. Raises as `matches`."""
        todo = [self._first(anchor)]
        while todo:
            prefix = todo.pop()
            found = self._found(prefix)
            if found is not None:
                yield prefix, found
            todo.extend(self._longer(prefix))

    def _first(self, anchor: FittingEvent) -> Prefix:
        if self._pattern.components[0].kind != CLOSURE:
            link = Link([anchor.instants])
            return Prefix(((anchor,),), (link,), begin(link))
        return self._closure(None, (), (), [anchor])

    def _longer(self, prefix: Prefix) -> Iterator[Prefix]:
        """Yields the lists with one more event that some world has, and whose confidence may be above the threshold."""
        self._lists += 1
        if self._lists > MOST:
            raise AfaError(
                f"expected at most {MOST:,} lists of events behind one but got more, behind {prefix.chosen[0][0].identity!r}; "
                f"raise threshold=, shorten window=, or ask for collapsed=True"
            )
        number = len(prefix.chosen)
        longer: list[Iterator[Prefix]] = []
        if self._pattern.components[number - 1].kind != ONE:
            longer.append(self._more(prefix, number - 1))
        if number < len(self._pattern.components):
            longer.append(self._next(prefix, number))
        for each in itertools.chain(*longer):
            if not each.mass.mass.any():
                continue
            if each.mass.total <= self._pattern.threshold:
                self.pruned += 1
                continue
            yield each

    def _more(self, prefix: Prefix, number: int) -> Iterator[Prefix]:
        """Yields lists with one more event of the last component, which is a closure."""
        *earlier, group = prefix.chosen
        for each in self._may(number):
            if not self._pattern.goes_with(earlier, number, each.payload):
                continue
            if prefix.growing is not None:
                if each.place > group[-1].place:
                    yield self._closure(prefix.growing, tuple(earlier), prefix.links[:-1], [*group, each])
            elif each not in group and self._pattern.follows(number, group[-1].payload, each.payload):
                link = Link([each.instants])
                yield Prefix((*earlier, (*group, each)), (*prefix.links, link), extend(prefix.mass, link))

    def _next(self, prefix: Prefix, number: int) -> Iterator[Prefix]:
        """Yields lists with the first event of one more component."""
        kind = self._pattern.components[number].kind
        if kind != ONE or not self._pattern.next:
            for each in self._may(number):
                if not self._pattern.goes_with(prefix.chosen, number, each.payload):
                    continue
                if kind == CLOSURE:
                    yield self._closure(self._empty(prefix.mass, number), prefix.chosen, prefix.links, [each])
                else:
                    yield self._one_more(prefix, each, Link([each.instants]))
            return
        fitting = [each for each in self._near[number] if self._pattern.goes_with(prefix.chosen, number, each.payload)]
        high = prefix.mass.latest
        latest = min((each.instants.high for each in fitting if each.instants.low > high), default=NEVER)
        for each in fitting:
            if self._only is not None and each.place not in self._only[number]:
                continue
            if each.instants.low > latest:
                self.pruned += 1
                continue
            rivals = [other.instants for other in fitting if other is not each]
            yield self._one_more(prefix, each, Link([each.instants], rivals))

    @staticmethod
    def _one_more(prefix: Prefix, event: FittingEvent, link: Link) -> Prefix:
        return Prefix((*prefix.chosen, (event,)), (*prefix.links, link), extend(prefix.mass, link))

    def _empty(self, before: Mass | None, number: int) -> GrowingClosure:
        near = self._near[number]
        return GrowingClosure.of(before, min(each.instants.low for each in near), max(each.instants.high for each in near))

    def _closure(
        self, growing: GrowingClosure | None, chosen: Signature, links: tuple[Link, ...], group: Sequence[FittingEvent]
    ) -> Prefix:
        """Returns a list whose last component is a closure that has grown by the last of its events."""
        grown = (growing or self._empty(None, 0)).with_more(group[-1].instants)
        link = Link([each.instants for each in group], closure=True)
        return Prefix((*chosen, tuple(group)), (*links, link), grown.mass(link), grown)

    def _may(self, number: int) -> Iterator[FittingEvent]:
        """Yields the events that may be chosen for a component."""
        for each in self._near[number]:
            if self._only is None or each.place in self._only[number]:
                yield each

    def _found(self, prefix: Prefix) -> UncertainMatch | None:
        """Returns the match that a list is; None: it is no match, or not above the threshold."""
        if len(prefix.chosen) < len(self._pattern.components):
            return None
        found = found_of(prefix.links, self._pattern.window, prefix.mass.total)
        return found if found is not None and found.confidence > self._pattern.threshold else None


def found_of(links: Sequence[Link], window: int, total: float | None = None) -> UncertainMatch | None:
    """Returns the match of a signature; None: no world has it. ``total``: its confidence but for the window, or 0, if not asked."""
    events = [each for link in links for each in link.events]
    numbers = itertools.count()
    of_links = [[next(numbers) for _ in link.events] for link in links]
    firsts, lasts = of_links[0], of_links[-1]
    pairs = list(zip(itertools.pairwise(of_links), links[1:]))
    steps = [(u, v, 1) for (before, after), _ in pairs for u in before for v in after]
    order = Order(steps, firsts, lasts, (), len(links) - 1)
    free = tightest(events, order, window)
    if free is None:
        return None
    nexts = [(before, after[0], Ceiling(link.competitors)) for (before, after), link in pairs if link.competitors]
    found = [each for one in _latest_ones(order, nexts) if (each := tightest(events, one, window))] if nexts else [free]
    if not found:
        return None
    ranges = [(min(low for low, _ in each), max(high for _, high in each)) for each in zip(*found)]
    first, last = min(ranges[u][0] for u in firsts), max(ranges[v][1] for v in lasts)
    if total is None or (total and links[-1].span[1] - min(each.low for each in links[0].events) >= window):
        spans = [(max(ranges[u][0] for u in of), max(ranges[u][1] for u in of)) for of in of_links]
        total = confidence(links, window, spans, (first, max(min(each[u][1] for u in firsts) for each in found)))
    return UncertainMatch(total, first, last, max(free[v][1] for v in lasts), min(free[u][1] for u in firsts))


def _latest_ones(order: Order, nexts: Sequence[tuple[Sequence[int], int, Ceiling]]) -> Iterator[Order]:
    """Yields the constraints with skip till next: of a closure that stands before a next event, each may be the latest."""
    for chosen in itertools.product(*[before for before, _, _ in nexts]):
        behind = [(u, last, 0) for last, (before, _, _) in zip(chosen, nexts) for u in before if u != last]
        ceilings = [(last, v, ceiling) for last, (_, v, ceiling) in zip(chosen, nexts)]
        yield order._replace(steps=[*behind, *order.steps], ceilings=ceilings)
