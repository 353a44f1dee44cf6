"""The chain of chosen matches of one key: which of overlapping matches are shown, as AFTER MATCH SKIP of SQL says.

    matches by group       1: (1, 5) (1, 9)    3: (3, 4)    6: (6, 8)        here a group is a start, and the longer one preferred
    chosen                 1: (1, 9)                                         all that start by 9 are passed over
    (1, 9) is retracted    1: (1, 5)                        6: (6, 8)        drawn anew from the group that has changed

Which match comes next after a chosen one is a function of the set of matches: the preferred one of those that start at the chosen
one's *resume point* or behind it. So a change leaves the chain before its group as it is; from there on it is drawn anew, until it
meets a link of the old one that lies behind all that has changed. A group gives one link at most; which of its matches is preferred
is asked only where the chain comes by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.change import Change
from afa.journal import Journal

Point = tuple[Any, ...]


class Group(dict[Change, None]):
    """Matches, as insertions; ``born``: the serial of the call that made the group, which undoes it as a whole."""

    __slots__ = ("born",)

    def __init__(self, born: int) -> None:
        self.born = born


class ChosenMatch(NamedTuple):
    """A chosen match. It starts before the place ``resume``; the next one starts there or behind it."""

    resume: Point
    match: Change


class ChainDifference(NamedTuple):
    """What a change does to a chain: links no longer chosen, links now chosen, and how many were drawn anew."""

    withdrawn: list[ChosenMatch]
    announced: list[ChosenMatch]
    drawn: int


Pick = Callable[[Group, "Point | None"], "ChosenMatch | None"]
"""Returns the preferred match of a group, of those that start at the resume point or behind it; None: there is none."""


class MatchChain:
    """The matches of one key, and the chosen ones among them.

    The journal takes the inverse of every write. ``pick`` chooses a match of a group, or none. A group is at least as large as the
    starts of its matches, so that none in a group below a resume point starts behind it. What starts at the resume point of a
    link, or behind it, lies in another group than the link.

    >>> def longest(group, resume):
    ...     match = max(group, key=lambda match: match.le)
    ...     return ChosenMatch((match.le + 1,), match)
    >>> chain = MatchChain(Journal(), longest)
    >>> for start, end in ((1, 5), (3, 4), (6, 8), (1, 9)):
    ...     _ = chain.insert((start,), Change("x", end, start + 10, 1))
    >>> [link.match.le for link in chain.draw((1,), (6,)).announced]
    [9]
    >>> chain.retract((1,), Change("x", 9, 11, -1))
    True
    >>> [[link.match.le for link in links] for links in chain.draw((1,), (1,))[:2]]
    [[9], [5, 8]]
    """

    __slots__ = ("_journal", "_pick", "chosen", "groups")

    def __init__(self, journal: Journal, pick: Pick) -> None:
        self._journal, self._pick = journal, pick
        self.groups: SortedDict[Point, Group] = SortedDict()
        self.chosen: SortedDict[Point, ChosenMatch] = SortedDict()

    def insert(self, group: Point, match: Change) -> bool:
        """Put a match in. False: it is there."""
        there = self.groups.get(group)
        if there is None:
            self.groups.bisect_left(group)  # what can't be compared raises before anything is written
            there = Group(self._journal.serial)
            there[match] = None
            self._journal.put(self.groups, group, there)
        elif match in there:
            return False
        elif there.born == self._journal.serial:
            there[match] = None
        else:
            self._journal.put(there, match, None)
        return True

    def retract(self, group: Point, match: Change) -> bool:
        """Take a match out. False: it is not there."""
        there: Any = self.groups.get(group, ())
        match = match._replace(diff=1)
        if match not in there:  # a NaN is equal to itself only if it is the same object
            text = repr(match)
            found = next((each for each in there if repr(each) == text), None)
            if found is None:
                return False
            match = found
        self._journal.drop(there, match)
        if not there:
            self._journal.drop(self.groups, group)
        return True

    def draw(self, first: Point, last: Point) -> ChainDifference:
        """Draw the chain anew from the first group that has changed on, until it meets a link behind the last one."""
        chosen = self.chosen
        at = chosen.bisect_left(first)
        resume = chosen.peekitem(at - 1)[1].resume if at else None
        new: dict[Point, ChosenMatch] = {}
        met = None
        while (found := self._next(resume)) is not None:
            group, link = found
            if group > last and chosen.get(group) == link:
                met = group
                break
            new[group] = link
            resume = link.resume
        old = {group: chosen[group] for group in chosen.irange(first, met, inclusive=(True, False))}
        for group in old:
            if group not in new:
                self._journal.drop(chosen, group)
        for group, link in new.items():
            if old.get(group) != link:
                self._journal.put(chosen, group, link)
        withdrawn = [link for group, link in old.items() if new.get(group) != link]
        announced = [link for group, link in new.items() if old.get(group) != link]
        return ChainDifference(withdrawn, announced, len(new))

    def _next(self, resume: Point | None) -> tuple[Point, ChosenMatch] | None:
        """Return the link behind a resume point, and its group."""
        for group in self.groups.irange(resume):
            link = self._pick(self.groups[group], resume)
            if link is not None:
                return group, link
        return None

    def settle(self, group: Point, start: Point) -> list[ChosenMatch]:
        """Forget what no change can touch any more: what comes lies in ``group`` or behind it, and starts at ``start`` or later.

        Returns the links that are forgotten. The last final one stays as long as its resume point passes over something.
        """
        final = list(self.chosen.irange(None, group, inclusive=(True, False)))
        anchor = final.pop() if final and self.chosen[final[-1]].resume > start else None
        links = [self.chosen[each] for each in final]
        for each in final:
            self._journal.drop(self.chosen, each)
        for each in list(self.groups.irange(None, group, inclusive=(True, False))):
            if each != anchor:
                self._journal.drop(self.groups, each)
        return links
