"""The members of chosen matches (``members=``, ``tell="lineage"`` of a query with AFTER MATCH SKIP)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.change import Announced, Change
from afa.language.chosen_events import ChosenEvents, MatchEvent, MatchRows, ShownMatch, TellsEvents
from afa.operator.announced import told_of
from afa.operator.members import Events, Members
from afa.schema import any_payload
from afa.state.sound import wanted
from speculation.chain import Point
from speculation.choose import Choose
from speculation.stage_state import SavedStage

Picks = tuple[tuple[str, Change], ...]
"""The events of a match in order, each with the component that took it."""
Behind = tuple[tuple[Point, Picks], ...]
"""The events of the chosen matches that are shown as one, each with where it starts, in order."""


class MembersStatistics(NamedTuple):
    """The numbers of one stage that tells members.

    Parameters
    ----------
    matches : int
        Chosen matches that are not final.
    events : int
        In them; an event in two of them counts twice.
    """

    matches: int
    events: int


class ChosenMembers(ChosenEvents):
    """The events of chosen matches that are not final; ``members`` and ``tell`` are those of `afa.Operator`."""

    def __init__(self, shown: Any, members: Any, tell: Any, spec: MatchRows, choose: Choose, core: Any) -> None:
        super().__init__(spec, choose, core)
        self.again = told_of(tell)
        self._shown = shown
        self._members = None if members is None else Members(core.automaton, core.taken, core.sequence, members)
        self._behind: dict[Change, Behind] = {}
        self._changed: dict[Change, Behind] = {}  # of what has changed since the last difference
        self.touched.members, self.touched.tells = self._members, True

    @property
    def statistics(self) -> MembersStatistics:
        """The numbers of chosen matches that are not final, and of the events in them. O(these)."""
        return self._calls.call(self._look)

    def _look(self) -> MembersStatistics:
        found = [told.what for each in self._told.values() for told in each.values()]
        return MembersStatistics(len(found), sum(map(len, found)))

    def show(self, core: Any) -> None:
        core.show(self._shown)

    def numbers(self) -> list[Any]:
        """Returns the parameters as plain data: members and tell."""
        return [None if self._members is None else self._members.asked, self.again]

    def check_saved(self, numbers: list[Any]) -> None:
        wanted(f"members and tell {self.numbers()}", numbers == self.numbers(), numbers)

    def call_begins(self) -> Any:
        """Begin a call: nothing of one before has changed."""
        self._changed = {}
        return super().call_begins()

    def of_match(self, match: Change, taken: Sequence[MatchEvent]) -> Picks:
        """Return the events of a match."""
        names, key = self._spec.components, match.key
        return tuple((names[each.component], Change(each.payload, each.le, each.re, 1, key)) for each in taken)

    def count(self, told: ShownMatch, sign: int) -> None:
        """Take note of a match that is told no more (-1), or now (1)."""
        shown, start = self._shows(told.match), self._choose.start(told.match, self._choose.values(told.match))
        behind = self._behind.get(shown, ())
        self._changed.setdefault(shown, behind)
        left = tuple(each for each in behind if each[0] != start)
        self._put(shown, tuple(sorted([*left, (start, told.what)], key=_start)) if sign > 0 else left)

    def difference(self) -> list[Change]:
        """Return the matches that have come, gone, or stay with other events."""
        found = []
        before, self._changed = self._changed, {}
        for shown, old in before.items():
            new = self._behind.get(shown, ())
            if not new:
                found += [shown._replace(diff=-1)] if old else []
            elif not old:
                found.append(self._with_members(shown, new))
            elif self.again and _set_of(old) != _set_of(new):
                found.append(self._with_members(shown._replace(diff=0), new))
        return found

    def forget(self, told: ShownMatch) -> None:
        """Forget a match that is final."""
        self.count(told, -1)
        self._changed = {}

    def _put(self, shown: Change, behind: Behind) -> None:
        if behind:
            self._journal.put(self._behind, shown, behind)
        elif shown in self._behind:
            self._journal.drop(self._behind, shown)

    def _shows(self, match: Change) -> Change:
        """Returns the part of a match that leaves."""
        payload = self._shown(*match.payload[: len(self._shown._fields)])
        return Change(any_payload(payload), match.le, match.re, 1, match.key)

    def _with_members(self, match: Change, behind: Behind) -> Change:
        if self._members is None:
            return match
        events: dict[str, dict[Change, None]] = {}
        for _, picks in behind:
            for name, event in picks:
                events.setdefault(name, {})[event] = None
        told: Events = {name: sorted(each, key=self._place) for name, each in events.items()}
        return Announced.of(match, self._members.of(told))

    def _place(self, event: Change) -> Any:
        order = self._core.sequence
        return event.le if order is None else (event.le, getattr(event.payload, order))


def _start(behind: tuple[Point, Picks]) -> Point:
    return behind[0]


def _set_of(behind: Behind) -> set[tuple[str, Change]]:
    return {pick for _, picks in behind for pick in picks}


class TellsMembers(TellsEvents):
    """An operator behind which matches are chosen, and told with their members."""

    stages = ("ChosenMembers",)


def members_of(saved: Sequence[SavedStage]) -> list[Any]:
    """Return the members and the tell with which an operator was saved, by its stages; None each: it told none."""
    for part in saved:
        if part.name in TellsMembers.stages:
            numbers = part.numbers
            wanted("members and tell", len(numbers) == 2 and type(numbers[1]) is bool, numbers)
            return [numbers[0], "lineage" if numbers[1] else None]
    return [None, None]
