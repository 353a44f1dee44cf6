"""The chain of chosen matches of one key: which of overlapping matches are shown, as AFTER MATCH SKIP of SQL says.

    matches by place       (1, 5) (1, 9) (3, 4) (6, 8)         place: start, then preference; here the longer one first
    chosen                 (1, 9)                              all that start by 9 are passed over
    (1, 9) is retracted    (1, 5)        (6, 8)                drawn anew from the place of what has changed

Which match comes next after a chosen one is a function of the set of matches: the first by place of those that start behind the
chosen one's *resume point*. So a change leaves the chain before its place as it is; from there on it is drawn anew, until it meets
a link of the old one that lies behind all that has changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.journal import Journal


class Candidate(NamedTuple):
    """A match as the chain sees it.

    Attributes
    ----------
    place : tuple
        What matches are ordered by; no two have the same.
    start : tuple
        Where it starts.
    resume : tuple
        The next one must start behind this. ``place`` begins with something that is at least as large as ``start``, so that no
        match with a place below ``resume`` starts behind it.
    match : Any
    """

    place: tuple[Any, ...]
    start: tuple[Any, ...]
    resume: tuple[Any, ...]
    match: Any


class Difference(NamedTuple):
    """What a change does to a chain: matches no longer chosen, matches now chosen, and how many links were drawn anew."""

    withdrawn: list[Candidate]
    announced: list[Candidate]
    drawn: int


class Chain:
    """The matches of one key, and the chosen ones among them.

    Parameters
    ----------
    journal : Journal
        Takes the inverse of every write.

    Examples
    --------
    >>> def match(start, end):
    ...     return Candidate((start, -end), (start,), (end,), (start, end))
    >>> chain = Chain(Journal())
    >>> [c.match for c in chain.change([], [match(1, 5), match(3, 4), match(6, 8), match(1, 9)]).announced]
    [(1, 9)]
    >>> [[c.match for c in found] for found in chain.change([match(1, 9)], [])[:2]]
    [[(1, 9)], [(1, 5), (6, 8)]]
    """

    __slots__ = ("_journal", "chosen", "matches")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.matches: SortedDict[tuple[Any, ...], Candidate] = SortedDict()
        self.chosen: SortedDict[tuple[Any, ...], Candidate] = SortedDict()

    def change(self, gone: Iterable[Candidate], come: Iterable[Candidate]) -> Difference:
        """Take matches out and put matches in. O(log n) for each, and what is drawn anew."""
        places = []
        for candidate in gone:
            self._journal.drop(self.matches, candidate.place)
            places.append(candidate.place)
        for candidate in come:
            self._journal.put(self.matches, candidate.place, candidate)
            places.append(candidate.place)
        return self._redraw(min(places), max(places)) if places else Difference([], [], 0)

    def _redraw(self, first: tuple[Any, ...], last: tuple[Any, ...]) -> Difference:
        """Draw the chain anew from the place ``first`` on, until it meets a link behind ``last``."""
        links = self.chosen.values()
        at = end = self.chosen.bisect_left(first)
        resume = links[at - 1].resume if at else None
        new: list[Candidate] = []
        while (link := self._next(resume)) is not None:
            if link.place > last and link.place in self.chosen:
                end = self.chosen.bisect_left(link.place)
                break
            new.append(link)
            resume = link.resume
        else:
            end = len(self.chosen)
        old = list(links[at:end])
        kept = {link.place for link in old if self.matches.get(link.place) == link} & {link.place for link in new}
        withdrawn = [link for link in old if link.place not in kept]
        announced = [link for link in new if link.place not in kept]
        for link in withdrawn:
            self._journal.drop(self.chosen, link.place)
        for link in announced:
            self._journal.put(self.chosen, link.place, link)
        return Difference(withdrawn, announced, len(new))

    def _next(self, resume: tuple[Any, ...] | None) -> Candidate | None:
        """Return the first match by place that starts behind the resume point."""
        for place in self.matches.irange(resume):
            candidate: Candidate = self.matches[place]
            if resume is None or candidate.start > resume:
                return candidate
        return None

    def settle(self, place: tuple[Any, ...], start: tuple[Any, ...]) -> None:
        """Forget what no change can touch any more: what comes lies at ``place`` or behind it, and starts at ``start`` or later.

        The last final link stays as long as its resume point passes over something.
        """
        final = list(self.chosen.irange(None, place, inclusive=(True, False)))
        anchor = final[-1] if final and self.chosen[final[-1]].resume >= start else None
        for each in final:
            if each != anchor:
                self._journal.drop(self.chosen, each)
        for each in list(self.matches.irange(None, place, inclusive=(True, False))):
            if each != anchor:
                self._journal.drop(self.matches, each)
