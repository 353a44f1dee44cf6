"""The events of chosen matches: the base of the stages that tell them, behind `Choose`.

    rows -> operator -> Choose -> what is told of chosen matches and their events

A match of SQL takes all events of its key from its first to its last one, and what choosing asks of it says which component took
each (`afa.language.row_components`). So the events of a chosen match are read from what the operator holds. It keeps them a window
longer for that (``lineage=True``): what is not final behind `Choose` began within the window before the promise. Without WITHIN
nothing is final there, and nothing is dropped.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.change import Change
from afa.errors import ChangeError
from afa.operator.tables import CallInput
from afa.operator.told_anew import TouchedEvents
from punctuation.deadlines import Deadlines
from punctuation.promise import Punctuation
from punctuation.time import FOREVER
from speculation import stage_state as saved
from speculation.before_after import After
from speculation.chain import Point
from speculation.choose import Choose
from speculation.stage import Output, Stage


class MatchRows(NamedTuple):
    """Which component takes each event of a match."""

    components: tuple[str, ...]  # their names, from left to right
    taken: Callable[[Any], list[int]]  # from the values of the choices to the place of the component that took each event
    window: int | None


class MatchEvent(NamedTuple):
    """An event of a match: the place of the component that took it, and the event."""

    component: int
    payload: Any
    le: int
    re: int


class ShownMatch(NamedTuple):
    """A chosen match, where its last event stands, and what a stage tells of it."""

    match: Change
    close: Point
    what: Any


Span = tuple[list[Point], list[tuple[Any, int, int]]]
"""Places, and the event at each: payload, LE, RE."""


class ChosenEvents(Stage):
    """Chosen matches that are not final, and what is told of their events; ``core`` is the operator's, whose events are read."""

    draws = True

    def __init__(self, spec: MatchRows, choose: Choose, core: Any) -> None:
        super().__init__()
        self._spec, self._choose, self._core = spec, choose, core
        self._told: dict[Hashable, SortedDict[Point, ShownMatch]] = {}
        self._gone: list[Change] = []
        self._come: list[Change] = []
        self._deadlines: Deadlines | None = None  # None: they are to be set anew
        self.touched = TouchedEvents()

    def of_match(self, match: Change, taken: Sequence[MatchEvent]) -> Any:
        """Returns the value that the stage tells of a match and its events."""
        raise NotImplementedError

    def count(self, told: ShownMatch, sign: int) -> None:
        """Take note of what is told no more (-1), or now (1)."""
        raise NotImplementedError

    def difference(self) -> list[Change]:
        """Returns the changes since the last time."""
        raise NotImplementedError

    def show(self, core: Any) -> None:
        """Let tables of output show what is told."""
        raise NotImplementedError

    def check_saved(self, numbers: list[Any]) -> None:
        """Refuse a snapshot of a stage that tells something else."""
        raise NotImplementedError

    # -- one call --------------------------------------------------------------------------------------------------------------

    def begin_part(self) -> None:
        """Begin a part of a call: what it touches is noted from here on."""
        self.touched.clear()
        self._gone, self._come = [], []

    def call_failed(self, before: Any) -> None:
        """Restore all; deadlines are set anew when they are needed."""
        super().call_failed(before)
        self._deadlines = None
        self.begin_part()

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a chosen match that comes or goes, or a promise."""
        if isinstance(item, Punctuation):
            self.end(out)
            self._settle(item.t)
            out.append(item)
        else:
            (self._come if item.diff > 0 else self._gone).append(item)

    def end(self, out: Output) -> None:
        """Append what the part of the call changes in what is told."""
        for match in self._gone:
            self._drop(match)
        stay = list(dict.fromkeys(self._stay()))
        for match in stay:
            self._drop(match)
        self._tell([*self._come, *stay])
        self.begin_part()
        found = self.difference()
        found.sort(key=lambda change: (change.diff > 0, change.le))
        out += found

    def _stay(self) -> Iterator[Change]:
        """Yield the matches told before whose events may have changed."""
        for key, le in self.touched.events:
            told: Any = self._told.get(key)
            if told is not None:
                yield from self._over(told, le)
        if self.touched.since < FOREVER:
            for told in self._told.values():
                yield from (each.match for each in told.values() if each.close[0] >= self.touched.since)

    def _over(self, told: SortedDict[Point, ShownMatch], le: int) -> Iterator[Change]:
        """Yield the matches of a key between whose first and last event an instant lies."""
        window = self._spec.window
        first = None if window is None else (le - window + 1,)
        for start in told.irange(first, (le + 1,), inclusive=(True, False), reverse=True):
            if told[start].close >= (le,):
                yield told[start].match
            elif self._choose.apart:
                return

    # -- matches ---------------------------------------------------------------------------------------------------------------

    def _drop(self, match: Change) -> None:
        told = self._told[match.key]
        start = self._choose.start(match, self._choose.values(match))
        self.count(told[start], -1)
        self._forget(match.key, told, start)

    def _forget(self, key: Hashable, told: SortedDict[Point, ShownMatch], start: Point) -> None:
        self._journal.drop(told, start)
        if not told:
            self._journal.drop(self._told, key)

    def _tell(self, matches: Iterable[Change]) -> None:
        """Tell matches. The events of each key are read once."""
        choose = self._choose
        of: dict[Hashable, list[tuple[Point, Point, Change, Any]]] = {}
        for match in matches:
            values = choose.values(match)
            found = choose.start(match, values), choose.close(match, values), match, [values[i] for i, _ in choose.preferred]
            of.setdefault(match.key, []).append(found)
        for key, some in of.items():
            span = self._events(key, min(start for start, *_ in some), max(close for _, close, *_ in some))
            told = self._told.get(key)
            if told is None:
                told = SortedDict()
                self._journal.put(self._told, key, told)
            for start, close, match, choices in some:
                taken = self._taken(match, choices, span, start, close)
                made = ShownMatch(match._replace(diff=1), close, () if taken is None else self.of_match(match, taken))
                self._journal.put(told, start, made)
                self.count(made, 1)
            self._wait(key)

    def _taken(self, match: Change, choices: Any, span: Span, start: Point, close: Point) -> list[MatchEvent] | None:
        """Return the events of a match. None: rows of one place are among them, of which the operator has told, and goes on."""
        places, events = span
        here = events[bisect_left(places, start) : bisect_right(places, close)]
        taken = self._spec.taken(choices)
        if len(here) != len(taken):
            if self._core.faults is not None and len(here) > len(taken):
                return None
            raise ChangeError(
                f"expected a match that takes each row from its first to its last one, {len(here)} of them, but got one of "
                f"{len(taken)}, {match!r}: of arcs that are not of the query no rows can be told"
            )
        return [MatchEvent(component, *event) for component, event in zip(taken, here)]

    def _events(self, key: Hashable, start: Point, close: Point) -> Span:
        """Return the events of a key between two places, in order. O(log n of n that are held + those returned)."""
        order = self._core.sequence
        places, events = list[Point](), list[tuple[Any, int, int]]()
        for step in self._core.engine.steps(key, start[0], close[0], ()):
            for payload, re in step.events:
                places.append((step.le,) if order is None else (step.le, getattr(payload, order)))
                events.append((payload, step.le, re))
        return places, events

    # -- what is final ---------------------------------------------------------------------------------------------------------

    def _settle(self, t: int) -> None:
        """Forget the matches that start before a promise for chosen matches."""
        for key in self._due(t):
            told = self._told[key]
            for start in list(told if t == FOREVER else told.irange(None, (t,), inclusive=(True, False))):
                self.forget(told[start])
                self._forget(key, told, start)
            self._wait(key)

    def forget(self, told: ShownMatch) -> None:
        """Forget what is told of a match, as it is final."""
        raise NotImplementedError

    def _due(self, t: int) -> list[Hashable]:
        if t == FOREVER:
            return list(self._told)
        if self._deadlines is None or not self._deadlines.whole:
            self._deadlines = Deadlines()
            for key in self._told:
                self._wait(key)
        return [key for key in self._deadlines.due(t) if key in self._told]

    def _wait(self, key: Hashable) -> None:
        """Set the promise at which a key has something that is final."""
        if self._deadlines is not None:
            told = self._told.get(key)
            self._deadlines.set(key, told.peekitem(0)[0][0] + 1 if told else None)

    def fill(self) -> None:
        """Tell, to nobody, all chosen matches that are not final: of an operator that was restored."""
        choose = self._choose
        found = [match for key in list(choose.keys) for match in choose.of_key(key)]
        self._tell(match for match in found if choose.start(match, choose.values(match)) >= (choose.promised,))
        self.difference()
        self._journal.commit()


class TellsEvents(After):
    """An operator behind which matches are chosen, with a stage that tells of their events. Made by `Query.operator`.

    What it holds follows from the operator (a `Choose` behind another) and the choice: a snapshot has the stage's parameters only.
    """

    operator: After
    by_itself = False

    def __init__(self, stage: ChosenEvents, operator: After) -> None:
        super().__init__(stage, operator)
        self._core.watch(stage.touched, whole=stage._spec.window is None)
        stage.fill()
        stage.show(self._core)

    def _part(self, come: CallInput, net: bool) -> Output:
        self.stage.begin_part()
        return super()._part(come, net)

    def _found(self, come: CallInput, net: bool) -> Any:
        return super(After, self)._found(come, net)

    def _snapshot(self) -> bytes:
        return saved.seal(self.stages[0], self.place, self.stage.numbers(), [], None, self.operator._snapshot())

    @classmethod
    def loaded(cls, part: saved.SavedStage, operator: Any, like: Any = None) -> Any:
        """Put the stage that a snapshot holds at its operator; ``like``: the one of the query."""
        like.check_saved(part.numbers)
        return cls(like, operator)
