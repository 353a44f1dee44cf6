"""ALL ROWS PER MATCH: behind the choice of matches, each chosen match is told as its rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AfaError, SnapshotError, blame
from afa.language.chosen_events import ChosenEvents, MatchEvent, MatchRows, ShownMatch, TellsEvents
from afa.language.row_values import RowValues
from afa.lineage import Lineage
from afa.model.raised import Raised, in_words
from afa.state.sound import short
from speculation.choose import Choose

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


class Shown(NamedTuple):
    """What of the rows of a match is shown."""

    values: RowValues
    hidden: frozenset[int]  # the places of the components whose rows are not shown
    said: str  # all that decides what rows show, as text: a snapshot belongs to queries that say the same


class ChosenRows(ChosenEvents):
    """The rows of chosen matches that are not final."""

    def __init__(self, shown: Shown, spec: MatchRows, choose: Choose, core: Any) -> None:
        super().__init__(spec, choose, core)
        self._shown = shown
        self._leaving: dict[Row, int] = {}  # in how many chosen matches a row stands
        self._counted: dict[Row, int] = {}  # by how much that changes

    @property
    def statistics(self) -> RowStatistics:
        """The numbers of chosen matches that are not final, and of their rows. O(keys)."""
        return self._calls.call(self._look)

    def show(self, core: Any) -> None:
        core.shown = self._shown.values.schema
        core.shapes.clear()

    def numbers(self) -> list[Any]:
        """Return all that decides what the rows show, as plain data."""
        return [self._shown.said]

    def check_saved(self, numbers: list[Any]) -> None:
        if numbers != self.numbers():
            raise SnapshotError(
                "expected a snapshot of rows that show the same (MEASURES, SUBSET, the pattern, what it hides) "
                f"but got one of others: {short(numbers)}"
            )

    def _look(self) -> RowStatistics:
        return RowStatistics(sum(map(len, self._told.values())), len(self._leaving))

    def call_begins(self) -> Any:
        """Begin a call: nothing of one before is counted."""
        self._counted = {}
        return super().call_begins()

    def of_match(self, match: Change, taken: Sequence[MatchEvent]) -> tuple[Row, ...]:
        """Return the rows of a match. O(rows * values)."""
        shown, components = self._shown, self._spec.components
        try:
            rows = list(shown.values.rows_of([(components[each.component], each.payload) for each in taken]))
        except Exception as error:
            where = f"MEASURES, in the match from {taken[0].le} to {taken[-1].le}"
            if self._core.faults is not None:
                self._core.faults.take(
                    Raised(match.key, taken[-1].le, None, "", "MEASURES", in_words(error)), f"in {where}: its rows are left out"
                )
                return ()
            blame(error, where)
            raise
        re: Any = match.re
        return tuple((row, each.le, re, match.key) for each, row in zip(taken, rows) if each.component not in shown.hidden)

    def count(self, told: ShownMatch, sign: int) -> None:
        """Take note of rows that are told no more (-1), or now (1)."""
        counted = self._counted
        for row in told.what:
            counted[row] = counted.get(row, 0) + sign

    def difference(self) -> list[Change]:
        """Return the rows that have come and gone."""
        found = []
        counted, self._counted = self._counted, {}
        for row, diff in counted.items():
            before = self._leaving.get(row, 0)
            if diff:
                self._leave(row, before + diff)
                if not before or not before + diff:
                    payload, le, re, key = row
                    found.append(Change(payload, le, re, 1 if diff > 0 else -1, key))
        return found

    def forget(self, told: ShownMatch) -> None:
        """Forget rows that are final."""
        for row in told.what:
            self._leave(row, self._leaving[row] - 1)

    def _leave(self, row: Row, count: int) -> None:
        if count:
            self._journal.put(self._leaving, row, count)
        else:
            self._journal.drop(self._leaving, row)


class AllRows(TellsEvents):
    """An operator behind which matches are chosen, and told as their rows."""

    stages = ("AllRows",)

    def lineage(self, match: Change) -> Lineage:
        """Refuse: what leaves are rows, no matches."""
        raise AfaError(f"expected ONE ROW PER MATCH for the lineage of a match but got a row, {match!r}: it is its event")

    collapsed = lineage

    def _chosen(self) -> None:
        """Refuse: a row is no match of which some are chosen."""
        raise AfaError("expected ONE ROW PER MATCH for the lineage of a match but got rows, which are its events")
