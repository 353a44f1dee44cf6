"""The scan over the rows of one key: what is shown, and what a change of rows changes in it.

A scan tries the rows one by one: where the attempt that begins with a row ends a match, that is shown, and the scan goes on where
AFTER MATCH SKIP says; else with the next row. So the starts of what is shown are an *orbit*: from a row to where the scan lands.

    change of rows    their links derived anew, and those of the rows behind, until the classes behind a row are what they were
    what it changes   from the first start whose match may be another one both orbits, as it was and as it is, are followed until
                      they meet behind all that was derived anew

A match takes only rows within the lifetimes of all its rows: under WITHIN, those before start + window. The links do not know
that: the match of an attempt is its last end before its bound, and where there is none, `next_match` asks the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.errors import blame
from afa.interpreted.algorithm import Algorithm
from afa.interpreted.state import Entry, State
from afa.journal import Journal, forget_places
from afa.model.choice import FIRST, NEXT, PAST, Choice
from afa.model.raised import Raised, in_words
from afa.model.transitions import Transitions
from afa.scan.attempts import NEW, ClassMove, RankedArcs, Row, Threads, derive
from punctuation.progress import Progress
from punctuation.time import BEGINNING

NEVER = 1 << 64
"""An LE behind all rows; -NEVER: one before them."""
NEAR = 64
"""How many rows `RowScan.shrinks` looks at."""
Shown = tuple[int, int, Any]
"""LE, RE and record of what a match shows."""


class ScanMatch(NamedTuple):
    """A match: the places of its rows, the places of the pattern that took them, what it shows."""

    rows: tuple[Any, ...]
    took: tuple[int, ...]
    re: int
    shown: tuple[Shown, ...]


class Standing(NamedTuple):
    """Where a scan stands: at the row of a place, or behind it. Rows that have come or gone there since do not matter."""

    place: Any
    behind: bool


class ChangedRows(NamedTuple):
    """The first and the last row that a call has changed, or derived anew."""

    first: Any
    last: Any
    touched: frozenset[Threads]  # the classes before the first one by which a match ended there or behind


class ScanState(State):
    """The rows of one key, and the matches that are shown, by the places of their first rows."""

    __slots__ = ("behind", "changed", "shown")

    def __init__(self, key: Any, journal: Journal, ordered: bool) -> None:
        super().__init__(key, journal, ordered)
        self.shown: SortedDict = SortedDict()
        self.behind = self.place(NEVER)
        self.mend()

    def mend(self) -> None:
        """Make anew what no journal undoes."""
        forget_places(self.shown)
        self.changed: ChangedRows | None = None  # by this call

    def touch(self, le: int, re: int, register: Any, sign: int) -> None:
        """Count one more or one fewer match that shows this, in this call."""
        self.delta[le, re, register] = self.delta.get((le, re, register), 0) + sign

    def sizes(self, final: int, shown: Any = None) -> tuple[int, ...]:
        events, _, runs, _, pending, ties, steps, copies, _ = super().sizes(final, shown)
        threads = {row.key: sum(map(len, row.nodes)) for row in self.index.values()}
        kept = sum(n for row, n in zip(self.index.values(), threads.values()) if row.le < final)
        matches = sum(len(match.shown) for match in self.shown.values())
        return events, sum(threads.values()), runs, matches, pending, ties, steps, copies, kept


class RowScan(Algorithm):
    """Insertion and deletion of rows in the state of one key, and of arcs."""

    __slots__ = ("choice", "ordered")

    def __init__(self, transitions: Transitions, progress: Progress, choice: Choice) -> None:
        super().__init__(transitions, progress)
        self.choice, self.ordered = choice, RankedArcs(transitions, choice)

    # -- changes of rows, in order -----------------------------------------------------------------------------------------------

    def change_step(self, s: Any, key: Any, le: int, diffs: Mapping[tuple[Any, int], int]) -> None:
        """Let a row come or go."""
        y = s.index.get(key)
        events = dict(y.events) if y else {}
        for event, diff in diffs.items():
            events[event] = events.get(event, 0) + diff
        events = {event: copies for event, copies in events.items() if copies}
        if y is not None and y.events.keys() == events.keys():
            s.keep(y).events = events
            return
        self._note(s, key)
        if y is None:
            y = Row(key, le, s.journal.serial)
            y.events = events
            s.journal.put(s.index, key, y)
        elif events:
            s.keep(y).events = events
        else:
            s.journal.drop(s.index, key)
        self._note(s, key, self._derive(s, key, 1 if events else 0))

    def leave_arcs(self, s: Any, le: int, re: int) -> None:
        """Note what matches before arcs change in ``[le, re)``."""
        places = s.index.irange(s.place(le), s.place(re), inclusive=(True, False))
        for place in places:
            self._note(s, place)
            break

    def enter_arcs(self, s: Any, le: int, re: int) -> None:
        """After arcs have changed in ``[le, re)``: derive the rows there anew, then what follows."""
        places = list(s.index.irange(s.place(le), s.place(re), inclusive=(True, False)))
        if places:
            self._note(s, places[0], self._derive(s, places[0], len(places)))
            self.end_steps(s)

    def end_steps(self, s: Any) -> None:
        """Find what the changes of a call change in what is shown: follow both orbits from where they may part."""
        super().end_steps(s)
        if s.changed is None:
            return
        (first, last, touched), s.changed = s.changed, None
        touched |= self._matching(s, self._before(s, first), first)
        start = min(self.first_alive(s, Standing(s.place(-NEVER), False), first, touched), first)
        i = s.shown.bisect_left(start)
        was = now = max(Standing(start, False), self.landing(s.shown.peekitem(i - 1)[1])) if i else Standing(start, False)
        gone, come, end = list[ScanMatch](), list[ScanMatch](), self.next_row(s, Standing(last, True))
        before, after = self._next_shown(s, was), self.next_match(s, now, max(was.place, end))
        while min(before, after) <= last or max(was, now) > Standing(min(before, after), False):
            if Standing(after, False) < was:
                found = self.match_of(s, after)
                come += [] if found is None else [found]
                now = Standing(after, True) if found is None else self.landing(found)
                after = self.next_match(s, now, max(was.place, end))
            elif after < before:
                was = Standing(after, True)  # row by row: nothing was shown there
            else:
                gone.append(s.shown[before])
                s.journal.drop(s.shown, before)
                was = self.landing(gone[-1])
                before = self._next_shown(s, was)
        for match in come:
            s.journal.put(s.shown, match.rows[0], match)
        for matches, sign in ((gone, -1), (come, 1)):
            for match in matches:
                for le, re, record in match.shown:
                    s.touch(le, re, record, sign)

    def _next_shown(self, s: Any, point: Standing) -> Any:
        """Return the first start from a point on whose match was shown; behind all: there is none."""
        return next(s.shown.irange(point.place, inclusive=(not point.behind, True)), s.behind)

    def _note(self, s: Any, place: Any, last: Any = None) -> None:
        """Note, before rows change and behind it, which do: in order."""
        if s.changed is None:
            s.changed = ChangedRows(place, place, self._matching(s, self._before(s, place), place))
        s.changed = s.changed._replace(last=max(s.changed.last, place, place if last is None else last))

    def _before(self, s: Any, place: Any) -> Mapping[Threads, int]:
        """Return the classes that there are before a place."""
        i = s.index.bisect_left(place)
        return s.index.peekitem(i - 1)[1].nodes if i else {}

    def _matching(self, s: Any, classes: Iterable[Threads], place: Any) -> frozenset[Threads]:
        """Return those of the classes before a place by which a match ends from there on."""
        return frozenset(c for c in classes if any(link.accept for _, link in self._links(s, place, c)))

    def _links(self, s: Any, place: Any, source: Threads) -> Iterator[tuple[Row, ClassMove]]:
        """Yield the rows from a place on, each with what it makes of an attempt, until that is over."""
        for at in s.index.irange(place):
            row: Row = s.index[at]
            link = row.links[source]
            yield row, link
            if link.to is None:
                break
            source = link.to

    def _derive(self, s: Any, place: Any, rows: int) -> Any:
        """Derive the rows from a place on, at least so many, and until the classes behind one are what they were; the last one."""
        classes, last = self._before(s, place), place
        for i, at in enumerate(s.index.irange(place)):
            row, last = s.keep(s.index[at]), at
            old = row.nodes
            s.journal.note(setattr, row, "links", row.links)
            derive(row, classes, self.transitions, self.ordered)
            classes = row.nodes
            self.within(s, row, classes)
            if i >= rows and classes == old:
                break
        return last

    def within(self, s: State, y: Entry, found: Mapping[Any, Any]) -> None:
        """Refuse more threads than the budget allows; where that may change yet, note it."""
        threads: Any = [thread for threads in y.nodes for thread in threads]
        super().within(s, y, [_Thread(state) for state, _ in threads])  # type: ignore[arg-type]

    def set_horizon(self, s: State, y: Entry, horizon: int) -> None:
        """Nothing: SQL has no time-outs."""

    # -- questions -------------------------------------------------------------------------------------------------------------

    def match_of(self, s: Any, start: Any) -> ScanMatch | None:
        """Return the match of the attempt that begins with a row; None: it ends none. O(rows until it is over)."""
        path, ends, until = list[tuple[Row, ClassMove]](), 0, NEVER
        for row, link in self._links(s, start, NEW):
            if row.le >= until:
                break
            path.append((row, link))
            until = min(until, row.re)
            if link.accept:
                ends = len(path)
        if not ends:
            return None
        # Read back which place of the pattern took each row.
        rows, links = zip(*path[:ends])
        thread, place = links[-1].accept
        took = [place]
        for link in reversed(links[:-1]):
            thread, place = link.took[thread]
            took.append(place)
        took.reverse()
        window = self.choice.window
        re = min(row.re for row in rows) if window is None else rows[0].le + window
        shown = self._shown(s, rows, took)
        return ScanMatch(tuple(row.key for row in rows), tuple(took), re, tuple((rows[i].le, re, record) for i, record in shown))

    def _shown(self, s: Any, rows: Sequence[Row], took: Sequence[int]) -> list[tuple[int, Any]]:
        """Return what a match shows; nothing, where MEASURES raise and the operator goes on."""
        faults, where = self.transitions.faults, f"MEASURES, in the match from {rows[0].le} to {rows[-1].le}"
        try:
            shown = self.choice.shown(took, [row.payload for row in rows])
            for _, record in shown if faults is not None else ():
                faults.check(record)  # type: ignore[union-attr]
        except Exception as error:
            if faults is None or isinstance(error, MemoryError):
                blame(error, where)
                raise
            faults.take(Raised(s.key, rows[-1].le, None, "", "MEASURES", in_words(error)), f"in {where}: it is left out")
            return []
        return shown

    def next_match(self, s: Any, point: Standing, limit: Any) -> Any:
        """Return the first start from a point on that ends a match; behind all: there is none. O(rows until none may before it).

        From ``limit`` on it may be one that ends none in time.
        """
        place = self.next_row(s, point)
        while place < s.behind:
            found, waiting = s.behind, dict[Threads, Any]()  # by class the first start that has ended none yet
            for at in s.index.irange(place):
                links, here = s.index[at].links, {**waiting, NEW: at}
                waiting = {}
                for source, start in sorted(here.items(), key=itemgetter(1)):
                    link = links[source]
                    if link.accept:
                        found = min(found, start)
                    elif link.to is not None and start < found:
                        waiting.setdefault(link.to, start)
                if found < s.behind and not any(start < found for start in waiting.values()):
                    break
            if found >= limit or self.match_of(s, found) is not None:
                return found
            place = self.next_row(s, Standing(found, True))  # it ends too late
        return s.behind

    def next_row(self, s: Any, point: Standing) -> Any:
        """Return the first row from a point on; behind all: there is none."""
        return next(s.index.irange(point.place, inclusive=(not point.behind, True)), s.behind)

    def first_alive(self, s: Any, point: Standing, end: Any, classes: frozenset[Threads], t: int = -NEVER) -> Any:
        """Return the first start from a point on that is in one of these classes before ``end``; behind all: there is none.

        ``t``: of those only whose rows all have an RE behind it. O(rows back to the first one that lives).
        """
        found = s.behind
        for place in s.index.irange(point.place, end, inclusive=(not point.behind, False), reverse=True):
            row = s.index[place]
            if not classes or row.re <= t:
                break
            if row.links[NEW].to in classes:
                found = place
            classes = frozenset(source for source, link in row.links.items() if link.to in classes and source != NEW)
        return found

    def landing(self, match: ScanMatch) -> Standing:
        """Return where a scan goes on behind a match."""
        choice, start = self.choice, match.rows[0]
        if choice.skip == PAST:
            return Standing(match.rows[-1], True)
        found = [row for row, place in zip(match.rows, match.took) if choice.components[place] in choice.to]
        row = start if choice.skip == NEXT or not found else found[0] if choice.skip == FIRST else found[-1]
        return Standing(row, row == start)

    def derive_all(self, s: Any) -> None:
        """Derive all rows of a state that has only these."""
        self._derive(s, s.index.peekitem(0)[0], len(s.index))

    def all_shown(self, s: Any) -> Iterator[ScanMatch]:
        """Yield what a scan of all rows shows, for tests."""
        at = self.next_row(s, Standing(s.place(-NEVER), False))
        while at < s.behind:
            match = self.match_of(s, at)
            if match is not None:
                yield match
            at = self.next_row(s, Standing(at, True) if match is None else self.landing(match))

    # -- what is final -----------------------------------------------------------------------------------------------------------

    def final(self, s: State) -> int:
        """Return what matches are dropped: none by their LE; `forget` drops them by where they begin."""
        return BEGINNING

    def resumes(self, s: Any, t: int) -> Any:
        """Return the place from which on rows are held, where nothing changes before ``t``: from there the scan goes on.

        That is the first start that may change yet, or where the last match before it lands, if this is later.
        """
        here = s.place(t)
        start = self.first_alive(s, Standing(s.place(-NEVER), False), here, frozenset(self._before(s, here)), t)
        start = min(start, self.next_row(s, Standing(here, False)))
        i = s.shown.bisect_left(start)
        lands = self.landing(s.shown.peekitem(i - 1)[1]) if i else Standing(start, False)
        return max(start, self.next_row(s, lands))

    def forget(self, s: Any, t: int) -> None:
        """Drop what follows from nothing that may change."""
        resumes = self.resumes(s, t)
        for start in list(s.shown.irange(None, resumes, inclusive=(True, False))):
            s.journal.drop(s.shown, start)
        for place in list(s.index.irange(None, resumes, inclusive=(True, False))):
            s.journal.drop(s.index, place)
        if s.index:
            self._derive(s, s.index.peekitem(0)[0], 0)

    def shrinks(self, s: Any) -> int:
        """Return a lower bound of the promises at which a key holds less: before it the attempt of its first row may go on."""
        until = NEVER
        for i, (row, link) in enumerate(self._links(s, s.index.peekitem(0)[0], NEW)):
            if link.to is None or i == NEAR:
                return min(until, row.le + 1)
            until = min(until, row.re)
        return until


class _Thread(NamedTuple):
    """What is counted of a thread."""

    state: str
