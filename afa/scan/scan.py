"""The scan over the rows of one key: what is shown, and what a change of a row changes in it.

A scan tries the rows one by one: where the attempt that begins with a row ends a match, that is shown, and the scan goes on where
AFTER MATCH SKIP says; else with the next row. So the starts of what is shown are an orbit: from a row to where the scan lands. A
change of a row changes the matches of some starts; from each of these that is in the orbit both orbits, as it was and as it is, are
followed until they meet.

A row has the attempts of all rows before it, by their classes; a change derives them anew from its place, and stops where the
classes behind a row are those there were: who is in which is in the links before it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.interpreted.algorithm import Algorithm
from afa.interpreted.state import Entry, State
from afa.journal import Journal
from afa.model.transitions import Transitions
from afa.scan.choice import FIRST, NEXT, PAST, Choice
from afa.scan.folds import NEVER, Folds, Reach, step
from afa.scan.rows import NEW, Ordered, Row, Threads, derive
from punctuation.progress import Progress
from punctuation.time import FOREVER


class ScanMatch(NamedTuple):
    """A match: the places of its rows, the arc by which each was taken, its lifetime, and what it shows."""

    places: tuple[Any, ...]
    arcs: tuple[str, ...]
    le: int
    re: int
    values: Any


class ScanState(State):
    """The rows of one key, folds over them, and the matches that are shown, by the places of their first rows."""

    __slots__ = ("behind", "folds", "shown")

    def __init__(self, key: Any, journal: Journal, ordered: bool) -> None:
        super().__init__(key, journal, ordered)
        self.shown: SortedDict = SortedDict()
        self.behind = self.place(NEVER)
        self.mend()

    def mend(self) -> None:
        """Make the folds anew, which no journal undoes."""
        self.folds = Folds(self.index, self.behind)
        for place in self.index:
            self.folds.add(place)


class Scan(Algorithm):
    """Insertion and deletion of rows in the state of one key, and of arcs."""

    __slots__ = ("choice", "ordered")

    def __init__(self, transitions: Transitions, progress: Progress, choice: Choice) -> None:
        super().__init__(transitions, progress)
        self.choice, self.ordered = choice, Ordered(transitions, choice.rank)

    # -- changes ---------------------------------------------------------------------------------------------------------------

    def change_step(self, s: Any, key: Any, le: int, diffs: Mapping[tuple[Any, int], int]) -> None:
        """Let a row come or go."""
        y = s.index.get(key)
        events = dict(y.events) if y else {}
        for event, diff in diffs.items():
            events[event] = events.get(event, 0) + diff
        events = {event: copies for event, copies in events.items() if copies}
        before = self._before(s, key)
        touched = self._matching(s, before, key)
        if y is None:
            y = Row(key, le, s.journal.serial)
            y.events = events
            s.journal.put(s.index, key, y)
            s.folds.add(key)
        else:
            same = y.events.keys() == events.keys()
            s.keep(y).events = events
            if same:
                return
        if events:
            last = self._derive(s, key, 1)
        else:
            s.journal.drop(s.index, key)
            s.folds.drop(key)
            last = self._derive(s, key, 0)
        self._follow(s, key, last, touched | self._matching(s, before, key), None if events else key)

    def leave_arcs(self, s: Any, le: int, re: int) -> None:
        """Nothing: what is shown is told by `enter_arcs`."""

    def enter_arcs(self, s: Any, le: int, re: int) -> None:
        """After arcs have changed in ``[le, re)``: derive the rows there anew, then what follows."""
        places = list(s.index.irange(s.place(le), s.place(re), inclusive=(True, False)))
        if places:
            last = self._derive(s, places[0], len(places))
            self._follow(s, places[0], last, frozenset(self._before(s, places[0])), None)

    def set_horizon(self, s: State, y: Entry, horizon: int) -> None:
        """Nothing: SQL has no time-outs."""

    def _before(self, s: Any, place: Any) -> Iterable[Threads]:
        """Return the classes that there are before a place."""
        i = s.index.bisect_left(place)
        return s.index.peekitem(i - 1)[1].nodes if i else ()

    def _matching(self, s: Any, classes: Iterable[Threads], place: Any) -> frozenset[Threads]:
        """Return those of the classes before a place by which a match ends from there on."""
        return frozenset(c for c in classes if any(reach.last for reach in self._along(s, Reach(c, None), place, s.behind)))

    def _along(self, s: Any, reach: Reach, begin: Any, end: Any) -> Iterator[Reach]:
        for fold in s.folds.over(begin, end):
            if reach.to is None:
                return
            reach = step(reach, fold)
            yield reach

    def _derive(self, s: Any, place: Any, rows: int) -> Any:
        """Derive the rows from a place on, at least so many, and until the classes behind one are what they were. Returns the last."""
        classes, last = self._before(s, place), place
        for i, at in enumerate(s.index.irange(place)):
            row, last = s.keep(s.index[at]), at
            old = row.nodes
            s.journal.note(setattr, row, "links", row.links)
            derive(row, classes, self.transitions, self.ordered)
            s.folds.changed(at)
            classes = row.nodes
            self.within(s, row, classes)
            if i >= rows and classes.keys() == old.keys():
                break
        return last

    # -- questions -------------------------------------------------------------------------------------------------------------

    def _bound(self, s: Any, start: Any) -> Any:
        """Return the place before which the match of a start must end."""
        if self.choice.window is not None:
            return s.place(s.index[start].le + self.choice.window)
        until = FOREVER
        for place in s.index.irange(start):
            row = s.index[place]
            if row.le >= until:
                return place
            until = min([until, *(re for _, re in row.events)])
        return s.behind

    def match_of(self, s: Any, start: Any) -> ScanMatch | None:
        """Return the match of the attempt that begins with a row; None: it ends none."""
        link = s.index[start].links[NEW]
        reach = Reach(link.to, start if link.accept else None)
        for reach in self._along(s, reach, s.folds.behind(start), self._bound(s, start)):
            pass
        return None if reach.last is None else self._read(s, start, reach.last)

    def _read(self, s: Any, start: Any, end: Any) -> ScanMatch:
        """Read back by which arc each row of a match was taken."""
        rows = [s.index[place] for place in s.index.irange(start, end)]
        path, source = [], NEW
        for row in rows:
            path.append(row.links[source])
            source = path[-1].to or NEW
        assert path[-1].accept is not None
        thread, name = path[-1].accept
        names = [name]
        for link in reversed(path[:-1]):
            thread, name = link.took[thread]
            names.append(name)
        names.reverse()
        window, payloads = self.choice.window, [row.event[0] for row in rows]
        re = min(row.event[1] for row in rows) if window is None else rows[0].le + window
        shown = self.choice.values([self.choice.component[name] for name in names], payloads)
        return ScanMatch(tuple(row.key for row in rows), tuple(names), rows[-1].le, re, shown)

    def _next_match(self, s: Any, place: Any) -> Any:
        """Return the first start from a place on that ends a match."""
        while True:
            matched, unmatched = s.behind, dict[Threads, Any]()
            for fold in s.folds.over(place, s.behind):
                still = dict(fold.unmatched)
                matched = min(matched, s.behind if fold.matched is None else fold.matched)
                for source, start in unmatched.items():
                    to, last = fold.links[source]
                    if last is not None:
                        matched = min(matched, start)
                    elif to is not None:
                        still[to] = min(start, still.get(to, start))
                unmatched = still
            if matched == s.behind or self.match_of(s, matched) is not None:  # it may end too late
                return matched
            place = s.folds.behind(matched)

    def _next_touched(self, s: Any, begin: Any, end: Any, classes: frozenset[Threads]) -> Any:
        """Return the first start in ``[begin, end)`` that is in one of these classes before ``end``; behind all: there is none."""
        alive = dict[Threads, Any]()
        for fold in s.folds.over(begin, end) if classes else ():
            still = dict(fold.alive)
            for source, start in alive.items():
                to = fold.links[source].to
                if to is not None:
                    still[to] = min(start, still.get(to, start))
            alive = still
        return min((start for c, start in alive.items() if c in classes), default=s.behind)

    # -- the orbit -------------------------------------------------------------------------------------------------------------

    def _follow(self, s: Any, place: Any, last: Any, touched: frozenset[Threads], gone: Any) -> None:
        """Count the matches that go and come, when the rows from a place to ``last`` have links anew; ``gone``: that row has gone."""
        shown, orbits = s.shown, _Orbits(self, s, gone)
        at = s.place(-NEVER)
        while True:
            start = self._next_touched(s, at, place, touched) if at < place else s.behind
            if start == s.behind:
                start = max(at, place)
            if start > last:
                break
            i = shown.bisect_left(start) - 1
            if i >= 0 and shown.peekitem(i)[0] >= at:
                landing = orbits.landing(shown.peekitem(i)[1])
                if landing > start:  # the scan jumps over it
                    at = landing
                    continue
            at = orbits.meet(start)
        for match in orbits.gone:
            s.touch(match.le, match.re, match.values, -1)
        for match in orbits.come:
            s.journal.put(shown, match.places[0], match)
            s.touch(match.le, match.re, match.values, 1)


class _Orbits:
    """Both orbits of a change, as it was and as it is. A row that has just gone is one at which no match begins or ends."""

    def __init__(self, scan: Scan, s: Any, row: Any) -> None:
        self._scan, self._s, self._row = scan, s, row
        self.gone: list[ScanMatch] = []
        self.come: list[ScanMatch] = []

    def _from(self, place: Any, here: bool = False) -> Any:
        """Return the first row behind a place, or at it."""
        found, row = self._s.folds.behind(place, here=here), self._row
        return row if row is not None and (place <= row if here else place < row) and row < found else found

    def landing(self, match: ScanMatch) -> Any:
        """Return where a scan goes on behind a match."""
        choice = self._scan.choice
        start, end = match.places[0], match.places[-1]
        if choice.mode == PAST:
            return self._from(end)
        if choice.mode == NEXT:
            return self._from(start)
        found = [place for place, name in zip(match.places, match.arcs) if choice.component[name] in choice.to]
        place = (found[0] if choice.mode == FIRST else found[-1]) if found else start
        return self._from(place, here=True) if place > start else self._from(start)

    def meet(self, start: Any) -> Any:
        """Follow both orbits from a start in both of them until they meet. Returns where."""
        shown = self._s.shown
        was, now = self._was(start), self._now(start)
        while was != now:
            i = shown.bisect_left(was)
            before = shown.peekitem(i)[0] if i < len(shown) else self._s.behind
            behind = self._scan._next_match(self._s, now) if now < self._s.behind else now
            if max(was, now) <= min(before, behind):
                break
            if behind < was and behind <= before:
                now = self._now(behind)
            else:
                was = self._was(before)
        return max(was, now)

    def _was(self, start: Any) -> Any:
        match = self._s.shown.get(start)
        if match is None:
            return self._from(start)
        self._s.journal.drop(self._s.shown, start)
        self.gone.append(match)
        return self.landing(match)

    def _now(self, start: Any) -> Any:
        match = self._scan.match_of(self._s, start) if start in self._s.index else None
        if match is None:
            return self._from(start)
        self.come.append(match)
        return self.landing(match)
