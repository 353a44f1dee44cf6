"""The scan over the rows of one key: what is shown, and what a change of a row changes in it.

A scan tries the rows one by one: where the attempt that begins with a row ends a match, that is shown, and the scan goes on where
AFTER MATCH SKIP says; else with the next row. So the starts of what is shown are an orbit: from a row to where the scan lands. A
change of a row changes the matches of some starts; from each of these that is in the orbit both orbits, as it was and as it is, are
followed until they meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.scan.folds import BEHIND, Folds, Reach, step
from afa.scan.plan import NEXT, PAST, ScanPlan
from afa.scan.rows import NEW, Row, Threads
from punctuation.time import FOREVER


class ScanMatch(NamedTuple):
    """A match: the places of its rows, the component that took each, and its lifetime."""

    places: tuple[Any, ...]
    components: tuple[int, ...]
    le: int
    re: int
    values: Any  # what it shows


class Scan:
    """The rows of one key, and the matches that are shown: ``shown``, by the places of their first rows."""

    def __init__(self, plan: ScanPlan, values: Any) -> None:
        self.plan, self._values = plan, values
        self.rows: SortedDict[Any, Row] = SortedDict()
        self.shown: SortedDict[Any, ScanMatch] = SortedDict()
        self._folds = Folds(self.rows)
        self._gone: Any = None  # the place of a row that has just gone: a scan steps over it as over one that matches nothing

    # -- changes ---------------------------------------------------------------------------------------------------------------

    def insert(self, row: Row) -> tuple[list[ScanMatch], list[ScanMatch]]:
        """Take a row. Returns the matches that go and those that come."""
        place = row.place
        before = self._before(place)
        touched = self._accepting(before, place)
        self.rows[place] = row
        self._folds.add(place)
        last = self._derive(place, 1)
        return self._follow(place, last, touched | self._accepting(before, place))

    def remove(self, place: Any) -> tuple[list[ScanMatch], list[ScanMatch]]:
        """Take a row back. Returns the matches that go and those that come."""
        before = self._before(place)
        touched = self._accepting(before, place)
        del self.rows[place]
        self._folds.drop(place)
        last = self._derive(place, 0)
        self._gone = place
        found = self._follow(place, last, touched | self._accepting(before, place))
        self._gone = None
        return found

    def _before(self, place: Any) -> frozenset[Threads]:
        """Return the classes that there are before a place."""
        i = self.rows.bisect_left(place)
        return self.rows.peekitem(i - 1)[1].classes if i else frozenset()

    def _accepting(self, classes: Iterable[Threads], place: Any) -> frozenset[Threads]:
        """Return those of the classes before a place by which a match ends from there on."""
        return frozenset(c for c in classes if any(reach.last for reach in self._along(Reach(c, None), place)))

    def _along(self, reach: Reach, begin: Any, end: Any = BEHIND) -> Iterable[Reach]:
        for fold in self._folds.over(begin, end):
            if reach.to is None:
                return
            reach = step(reach, fold)
            yield reach

    def _derive(self, place: Any, rows: int) -> Any:
        """Derive the links of the rows from a place on, until behind so many the classes are those there were. Returns the last one."""
        classes, last = self._before(place), place
        for i, at in enumerate(self.rows.irange(place)):
            row, last = self.rows[at], at
            old = row.derive(self.plan, classes)
            self._folds.changed(at)
            classes = row.classes
            if i >= rows and classes == old:
                break
        return last

    # -- questions -------------------------------------------------------------------------------------------------------------

    def _bound(self, start: Any) -> Any:
        """Return the place before which the match of a start must end."""
        if self.plan.window is not None:
            return (self.rows[start].le + self.plan.window,)
        until = FOREVER
        for place in self.rows.irange(start):
            row = self.rows[place]
            if row.le >= until:
                return place
            until = min(until, row.re)
        return BEHIND

    def match_of(self, start: Any) -> ScanMatch | None:
        """Return the match of the attempt that begins with a row; None: it ends none."""
        link = self.rows[start].links[NEW]
        reach = Reach(link.to, start if link.accept else None)
        for reach in self._along(reach, self._folds.behind(start), self._bound(start)):
            pass
        return None if reach.last is None else self._read(start, reach.last)

    def _read(self, start: Any, end: Any) -> ScanMatch:
        """Read back which component took each row of a match."""
        places = tuple(self.rows.irange(start, end))
        path, source = [], NEW
        for place in places:
            link = self.rows[place].links[source]
            path.append(link)
            source = link.to or NEW
        assert path[-1].accept is not None
        thread, way = path[-1].accept
        components = [way.component]
        for link in reversed(path[:-1]):
            assert link.to is not None
            components.append(self.plan.component[link.to[thread][0]])
            thread = link.back[thread]
        rows = [self.rows[place] for place in places]
        window = self.plan.window
        re = min(row.re for row in rows) if window is None else rows[0].le + window
        taken = tuple(reversed(components))
        return ScanMatch(places, taken, rows[-1].le, re, self._values(taken, [row.payload for row in rows]))

    def _next_match(self, place: Any) -> Any:
        """Return the first start from a place on that ends a match."""
        while True:
            matched, unmatched = BEHIND, dict[Threads, Any]()
            for fold in self._folds.over(place):
                still = dict(fold.unmatched)
                matched = min(matched, fold.matched)
                for source, start in unmatched.items():
                    to, last = fold.links[source]
                    if last is not None:
                        matched = min(matched, start)
                    elif to is not None:
                        still[to] = min(start, still.get(to, BEHIND))
                unmatched = still
            if matched == BEHIND or self.match_of(matched) is not None:  # it may end too late
                return matched
            place = self._folds.behind(matched)

    def _next_touched(self, begin: Any, end: Any, classes: frozenset[Threads]) -> Any:
        """Return the first start in ``[begin, end)`` that is in one of these classes before ``end``; BEHIND: there is none."""
        alive = dict[Threads, Any]()
        for fold in self._folds.over(begin, end) if classes else ():
            still = dict(fold.alive)
            for source, start in alive.items():
                to = fold.links[source].to
                if to is not None:
                    still[to] = min(start, still.get(to, BEHIND))
            alive = still
        return min((start for c, start in alive.items() if c in classes), default=BEHIND)

    # -- the orbit -------------------------------------------------------------------------------------------------------------

    def _from(self, place: Any, here: bool = False) -> Any:
        """Return the first row behind a place, or at it, be it the one that has just gone."""
        found, gone = self._folds.behind(place, here=here), self._gone
        return gone if gone is not None and (place <= gone if here else place < gone) and gone < found else found

    def _landing(self, match: ScanMatch) -> Any:
        """Return where a scan goes on behind a match."""
        mode, components = self.plan.skip
        start, end = match.places[0], match.places[-1]
        if mode == PAST:
            return self._from(end)
        if mode == NEXT:
            return self._from(start)
        found = [place for place, component in zip(match.places, match.components) if component in components]
        place = (found[0] if mode == "first" else found[-1]) if found else start
        return self._from(place, here=True) if place > start else self._from(start)

    def _follow(self, place: Any, last: Any, touched: frozenset[Threads]) -> tuple[list[ScanMatch], list[ScanMatch]]:
        """Return the matches that go and those that come, when the rows from a place to ``last`` have links anew."""
        shown = self.shown
        gone: list[ScanMatch] = []
        come: list[ScanMatch] = []
        at: Any = ()
        while True:
            start = self._next_touched(at, place, touched) if at < place else BEHIND
            if start == BEHIND:
                start = max(at, place)
            if start > last:
                break
            i = shown.bisect_left(start) - 1
            if i >= 0 and shown.peekitem(i)[0] >= at:
                landing = self._landing(shown.peekitem(i)[1])
                if landing > start:  # the scan jumps over it
                    at = landing
                    continue
            at = self._meet(start, gone, come)
        for match in come:
            shown[match.places[0]] = match
        same = set(gone) & set(come)
        return [match for match in gone if match not in same], [match for match in come if match not in same]

    def _meet(self, start: Any, gone: list[ScanMatch], come: list[ScanMatch]) -> Any:
        """Follow both orbits from a start in both of them until they meet. Returns where."""
        shown = self.shown
        old, new = shown.pop(start, None), self.match_of(start) if start in self.rows else None
        was = self._from(start) if old is None else self._landing(old)
        now = self._from(start) if new is None else self._landing(new)
        gone += [] if old is None else [old]
        come += [] if new is None else [new]
        while True:
            i = shown.bisect_left(was)
            before = shown.peekitem(i)[0] if i < len(shown) else BEHIND
            if was == now:
                return was
            behind = self._next_match(now) if now < BEHIND else BEHIND
            if max(was, now) <= min(before, behind):
                return max(was, now)
            if behind < was and behind <= before:
                new = self.match_of(behind)
                assert new is not None
                come.append(new)
                now = self._landing(new)
            else:
                old = shown.pop(before)
                gone.append(old)
                was = self._landing(old)
