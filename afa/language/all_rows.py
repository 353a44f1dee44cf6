"""ALL ROWS PER MATCH: behind the choice of matches, each chosen match is told as its rows.

    rows -> operator -> Choose -> AllRows -> rows of chosen matches, with what MEASURES say of them

A match of SQL takes all rows from its first to its last one, and what choosing asks of it says which component took each
(`afa.language.row_components`). So the rows of a chosen match are read from the events that the operator holds. It keeps them a
window longer for that (``lineage=True``): what is not final behind `Choose` began within the window before the promise. Without
WITHIN nothing is final there, and nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.change import Change
from afa.errors import AfaError, ChangeError, blame
from afa.language.row_values import RowValues
from afa.lineage import Lineage
from afa.operator.tables import Come, items_of
from afa.operator.touched import Touched
from punctuation.promise import Punctuation
from punctuation.time import FOREVER
from speculation.before_after import After
from speculation.chain import Point
from speculation.choose import Choose
from speculation.stage import Output, Stage

Row = tuple[Any, int, int, Hashable]
"""A row as it leaves: what it shows, its LE, the RE of its match, the key."""


class RowStatistics(NamedTuple):
    """The numbers of one `AllRows`.

    Parameters
    ----------
    matches : int
        Chosen matches that are not final.
    rows : int
        Of these matches, that are shown.
    """

    matches: int
    rows: int


class MatchRows(NamedTuple):
    """What the rows of a match are.

    Parameters
    ----------
    components : sequence of str
        The names of the pattern's components, from left to right.
    hidden : collection of int
        The places of those whose rows are not shown.
    taken : callable
        From the values of the choices to the places of the components that took the rows.
    values : RowValues
    window : int or None
    """

    components: tuple[str, ...]
    hidden: frozenset[int]
    taken: Callable[[Any], list[int]]
    values: RowValues
    window: int | None


class Told(NamedTuple):
    """A chosen match, where its last row stands, and its rows as they have left."""

    match: Change
    close: Point
    rows: tuple[Row, ...]


class Rows(Stage):
    """The rows of chosen matches that are not final.

    Parameters
    ----------
    spec : MatchRows
    choose : Choose
        In front of it.
    core : Core
        Of the operator, whose events are read.
    """

    def __init__(self, spec: MatchRows, choose: Choose, core: Any) -> None:
        super().__init__()
        self._spec, self._choose, self._core = spec, choose, core
        self._told: dict[Hashable, SortedDict[Point, Told]] = {}
        self._leaving: dict[Row, int] = {}  # in how many chosen matches a row stands
        self._gone: list[Change] = []
        self._come: list[Change] = []
        self.touched = Touched()

    @property
    def statistics(self) -> RowStatistics:
        """The numbers of chosen matches that are not final, and of their rows. O(these)."""
        return self._calls.call(self._look)

    def _look(self) -> RowStatistics:
        return RowStatistics(sum(map(len, self._told.values())), len(self._leaving))

    # -- one call --------------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a part of a call: what it touches is noted from here on."""
        self.touched.clear()
        self._gone, self._come = [], []

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a chosen match that comes or goes, or a promise."""
        if isinstance(item, Punctuation):
            self.end(out)
            self._settle(item.t)
            out.append(item)
        else:
            (self._come if item.diff > 0 else self._gone).append(item)

    def end(self, out: Output) -> None:
        """Append the difference that the part of the call makes in rows."""
        count: dict[Row, int] = {}
        for match in self._gone:
            self._drop(match, count)
        stay = list(self._stay())
        for match in self._come:
            self._tell(match, count)
        for match in stay:
            self._drop(match, count)
            self._tell(match, count)
        self.begin()
        out += self._net(count)

    def _stay(self) -> Iterator[Change]:
        """Yield the matches told before whose events may have changed."""
        for key, le in self.touched.events:
            told: Any = self._told.get(key)
            if told is not None:
                yield from self._over(told, le)
        if self.touched.since < FOREVER:
            for told in self._told.values():
                yield from (each.match for each in told.values() if each.close[0] >= self.touched.since)

    def _over(self, told: SortedDict[Point, Told], le: int) -> Iterator[Change]:
        """Yield the matches of a key between whose first and last row an instant lies."""
        window = self._spec.window
        first = None if window is None else (le - window + 1,)
        for start in told.irange(first, (le + 1,), inclusive=(True, False)):
            if told[start].close >= (le,):
                yield told[start].match

    def _net(self, count: dict[Row, int]) -> list[Change]:
        """Count rows that several matches show, and return those that come or go."""
        found = []
        for row, diff in count.items():
            before = self._leaving.get(row, 0)
            if diff:
                self._leave(row, before + diff)
            if not before or not before + diff:
                payload, le, re, key = row
                found += [Change(payload, le, re, 1 if diff > 0 else -1, key)] if diff else []
        found.sort(key=lambda change: (change.diff > 0, change.le))
        return found

    def _leave(self, row: Row, count: int) -> None:
        if count:
            self._journal.put(self._leaving, row, count)
        else:
            self._journal.drop(self._leaving, row)

    # -- matches ---------------------------------------------------------------------------------------------------------------

    def _drop(self, match: Change, count: dict[Row, int]) -> None:
        told = self._told[match.key]
        start = self._choose.start(match, self._choose.values(match))
        for row in told[start].rows:
            count[row] = count.get(row, 0) - 1
        self._forget(match.key, told, start)

    def _forget(self, key: Hashable, told: SortedDict[Point, Told], start: Point) -> None:
        self._journal.drop(told, start)
        if not told:
            self._journal.drop(self._told, key)

    def _tell(self, match: Change, count: dict[Row, int]) -> None:
        choose, key = self._choose, match.key
        values = choose.values(match)
        start, close = choose.start(match, values), choose.close(match, values)
        rows = self._rows(match, values, start, close)
        told = self._told.get(key)
        if told is None:
            told = SortedDict()
            self._journal.put(self._told, key, told)
        self._journal.put(told, start, Told(match._replace(diff=1), close, rows))
        for row in rows:
            count[row] = count.get(row, 0) + 1

    def _rows(self, match: Change, values: tuple[Any, ...], start: Point, close: Point) -> tuple[Row, ...]:
        """Return the rows of a match. O(rows, and what the operator holds of its key there)."""
        spec, re, key = self._spec, match.re, match.key
        events = [(place[0], payload) for place, payload in self._events(key, start, close)]
        taken = spec.taken([values[i] for i, _ in self._choose.preferred])
        if len(events) != len(taken):
            raise ChangeError(
                f"expected a match that takes each row from its first to its last one, {len(events)} of them, but got one of "
                f"{len(taken)}, {match!r}: of arcs that are not of the query no rows can be told"
            )
        try:
            shown = list(spec.values.of([(spec.components[i], payload) for i, (_, payload) in zip(taken, events)]))
        except Exception as error:
            blame(error, f"MEASURES, in the match from {start[0]} to {match.le}")
            raise
        assert re is not None
        return tuple((row, le, re, key) for i, (le, _), row in zip(taken, events, shown) if i not in spec.hidden)

    def _events(self, key: Hashable, start: Point, close: Point) -> Iterator[tuple[Point, Any]]:
        """Yield the events of a key between two places, in order."""
        order = self._core.sequence
        for step in self._core.engine.steps(key, start[0], close[0], ()):
            for payload, _ in step.events:
                place = (step.le,) if order is None else (step.le, getattr(payload, order))
                if start <= place <= close:
                    yield place, payload

    # -- what is final ---------------------------------------------------------------------------------------------------------

    def _settle(self, t: int) -> None:
        """Forget the matches that start before a promise for chosen matches."""
        for key in [key for key, told in self._told.items() if t == FOREVER or told.peekitem(0)[0] < (t,)]:
            told = self._told[key]
            for start in list(told if t == FOREVER else told.irange(None, (t,), inclusive=(True, False))):
                for row in told[start].rows:
                    self._leave(row, self._leaving[row] - 1)
                self._forget(key, told, start)

    def fill(self) -> None:
        """Tell, to nobody, the rows of all chosen matches that are not final: of an operator that was restored."""
        choose, count = self._choose, dict[Row, int]()
        for key in list(choose.keys):
            for match in choose.of_key(key):
                if choose.start(match, choose.values(match)) >= (choose.promised,):
                    self._tell(match, count)
        self._net(count)
        self._journal.commit()


class AllRows(After):
    """An operator behind which matches are chosen, and told as their rows. Made by `Query.operator`.

    Parameters
    ----------
    operator : After
        A `Choose` behind an operator.
    spec : MatchRows
    """

    operator: After

    def __init__(self, operator: After, spec: MatchRows) -> None:
        self._stand(operator)
        core = self._core
        stage = Rows(spec, operator.stage, core)
        self._hold(stage)
        core.watch(stage.touched, whole=spec.window is None)
        core.shown = spec.values.schema
        core.shapes.clear()
        stage.fill()

    def run(self, come: Come, net: bool) -> Output:
        """Carry out what one call brings, as `Core.run`."""
        if net:
            return self._part(come)
        return [found for item in items_of(self._core, come) for found in self._part(come._replace(parts=[item]))]

    def _part(self, come: Come) -> Output:
        self.stage.begin()
        found: Output = self.stage.push_fitting(self.operator.run(come, True))
        return found

    def _found(self, come: Come, net: bool) -> Any:
        return super(After, self)._found(come, net)

    def lineage(self, match: Change) -> Lineage:
        """Refuse: what leaves are rows, no matches."""
        raise AfaError(f"expected ONE ROW PER MATCH for the lineage of a match but got a row, {match!r}: it is its event")

    collapsed = lineage

    def _snapshot(self) -> bytes:
        return self.operator._snapshot()
