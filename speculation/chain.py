"""The chain of chosen matches of one key: which of overlapping matches are shown, as AFTER MATCH SKIP of SQL says.

    matches by place       (1, 5) (1, 9) (3, 4) (6, 8)         place: start, then preference; here the longer one first
    chosen                 (1, 9)                              after it, all that start by 9 are passed over
    (1, 9) is retracted    (1, 5)        (6, 8)                scanned anew from the place of what has changed

Which match comes next after a chosen one is a function of the set of matches: the first by place of those that start behind the
chosen one's *resume point*. So a change leaves the chain before its place as it is; from there on it is drawn anew, until it meets
a link of the old one that lies behind all that has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

from sortedcontainers import SortedKeyList


class Candidate(NamedTuple):
    """A match as the chain sees it.

    Attributes
    ----------
    place : tuple
        What matches are ordered by: the first one that starts behind the resume point is chosen.
    start : tuple
        Where it starts.
    resume : tuple
        Behind which start the next one may be chosen.
    match : hashable
        The match itself; no two have the same.
    """

    place: tuple[Any, ...]
    start: tuple[Any, ...]
    resume: tuple[Any, ...]
    match: Hashable


def _place(candidate: Candidate) -> tuple[Any, ...]:
    return candidate.place


class Chain:
    """The matches of one key, and the chosen ones among them.

    Parameters
    ----------
    skip_to : callable
        From a resume point to the least place at which a match may lie that starts behind it.

    Examples
    --------
    >>> def match(start, end):
    ...     return Candidate((start, -end), (start,), (end,), (start, end))
    >>> chain = Chain(lambda resume: resume)
    >>> [[c.match for c in found] for found in chain.change([], [match(1, 5), match(3, 4), match(6, 8), match(1, 9)])[:2]]
    [[], [(1, 9)]]
    >>> [[c.match for c in found] for found in chain.change([match(1, 9)], [])[:2]]
    [[(1, 9)], [(1, 5), (6, 8)]]
    """

    __slots__ = ("chosen", "floor", "matches", "skip_to")

    def __init__(self, skip_to: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> None:
        self.matches: SortedKeyList[Candidate, Any] = SortedKeyList(key=_place)
        self.chosen: SortedKeyList[Candidate, Any] = SortedKeyList(key=_place)
        self.floor: tuple[Any, ...] | None = None
        """The resume point of the last link that is final and forgotten. What starts at or before it is never chosen."""
        self.skip_to = skip_to

    def change(self, gone: Iterable[Candidate], come: Iterable[Candidate]) -> tuple[list[Candidate], list[Candidate], int]:
        """Take matches out and put matches in. O(log n) for each, and what is drawn anew.

        Returns
        -------
        list of Candidate
            No longer chosen.
        list of Candidate
            Now chosen.
        int
            How many links were drawn anew.
        """
        changed: list[Candidate] = []
        for candidate in gone:
            if not self._passed(candidate):
                self.matches.remove(candidate)
                changed.append(candidate)
        for candidate in come:
            if not self._passed(candidate):
                self.matches.add(candidate)
                changed.append(candidate)
        if not changed:
            return [], [], 0
        places = sorted(candidate.place for candidate in changed)
        return self._redraw(places[0], places[-1])

    def _redraw(self, first: tuple[Any, ...], last: tuple[Any, ...]) -> tuple[list[Candidate], list[Candidate], int]:
        """Draw the chain anew from the place ``first`` on, until it meets a link behind ``last``."""
        at = self.chosen.bisect_key_left(first)
        resume = self.chosen[at - 1].resume if at else self.floor
        new: list[Candidate] = []
        end = at
        while (link := self._next(resume)) is not None:
            if link.place > last:
                end = self.chosen.bisect_key_left(link.place)
                if end < len(self.chosen) and self.chosen[end].match == link.match:
                    break
            new.append(link)
            resume = link.resume
        else:
            end = len(self.chosen)
        old = list(self.chosen[at:end])
        kept = {link.match for link in old} & {link.match for link in new}
        withdrawn = [link for link in old if link.match not in kept]
        announced = [link for link in new if link.match not in kept]
        for link in withdrawn:
            self.chosen.remove(link)
        self.chosen.update(announced)
        return withdrawn, announced, len(new)

    def _next(self, resume: tuple[Any, ...] | None) -> Candidate | None:
        """Return the first match by place that starts behind the resume point."""
        if resume is None:
            return next(iter(self.matches), None)
        candidate: Candidate
        for candidate in self.matches.irange_key(self.skip_to(resume)):
            if candidate.start > resume:
                return candidate
        return None

    def _passed(self, candidate: Candidate) -> bool:
        return self.floor is not None and candidate.start <= self.floor

    def settle(self, place: tuple[Any, ...]) -> None:
        """Forget what lies before a place, to which no change comes any more: its chosen matches are final."""
        final = list(self.chosen.irange_key(None, place, inclusive=(True, False)))
        if final:
            self.floor = final[-1].resume
            del self.chosen[: len(final)]
        passed = [c for c in self.matches if c.place < place or self._passed(c)]
        for candidate in passed:
            self.matches.remove(candidate)
