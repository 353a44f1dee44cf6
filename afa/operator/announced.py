"""What a call tells of the events behind its matches: members of those that it announces, and which of those that stay have others.

Where members are told, the operator keeps what lineages need (``lineage=True``): all that a call announces still has its events,
what the call makes final as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.change import Announced, Change
from afa.engine import Logged
from afa.errors import AfaError
from afa.lineage.match_ends import LineageSource, events_of, lineage_in_force
from afa.model.automaton import Automaton
from afa.operator.collapsed_output import Collapsing
from afa.operator.members import Events, Members
from afa.operator.options import Options
from afa.operator.postponed_output import by_automaton, by_words
from afa.operator.told_anew import PathOutput, match_name
from afa.schema import Schema, any_payload

LINEAGE = "lineage"


def told_of(tell: Any) -> bool:
    """Return whether matches are told anew whose events have changed. Raises `AfaError` where ``tell`` says something else."""
    if tell not in (None, LINEAGE):
        raise AfaError(f'expected "lineage" or None but got tell={tell!r}')
    return tell is not None


class Announcing(PathOutput):
    """Matches with their members. With ``again`` one that stays is told with ``diff`` 0 when its events have changed."""

    def __init__(self, members: Members | None, again: bool) -> None:
        super().__init__()
        self.members, self.again = members, again
        self.options = [] if members is None else [["members", members.asked]]
        self.options += [["tell", LINEAGE]] if again else []

    def read(self, held: LineageSource, matches: list[Change]) -> dict[Any, tuple[Change, Events]]:
        return {match_name(match): (match, events) for match, events in zip(matches, events_of(held, matches))}

    def told(self, core: Any, changes: list[Change]) -> list[Change]:
        held = core.held(whole=True)
        come = [change for change in changes if change.diff > 0]
        found = [change for change in changes if change.diff < 0]
        found += self._changed(held, changes)
        self.begin()
        return [*found, *(come if self.members is None else map(self._with_members, come, events_of(held, come)))]

    def told_rows(self, core: Any, rows: Logged) -> Logged:
        if self.members is None:
            return rows
        places = np.flatnonzero(rows.diff > 0)
        come = rows.at(places).changes(core.automaton.match_schema)
        members: list[Any] = [None] * len(rows.le)
        for place, events in zip(places.tolist(), events_of(core.held(whole=True), come)):
            members[place] = self.members.of(events)
        return rows._replace(members=members)

    def _with_members(self, match: Change, events: Events) -> Change:
        return match if self.members is None else Announced.of(match, self.members.of(events))

    def _changed(self, held: LineageSource, told: list[Change]) -> list[Change]:
        """Return the matches that stay and have other events than before, with ``diff`` 0; not those that have come, too."""
        several = held.automaton.choice is not None  # then one may go, and another one that shows the same stay
        stays = (several and change.diff < 0 and lineage_in_force(held, change._replace(diff=1)) is not None for change in told)
        left = {match_name(change) for change, stay in zip(told, stays) if not stay}
        stay = {match: events for name, (match, events) in self._before.items() if name not in left}
        now = zip(stay.items(), events_of(held, list(stay)))
        changed = [(match, events) for (match, before), events in now if _set_of(events) != _set_of(before)]
        return [self._with_members(match._replace(diff=0), events) for match, events in changed]


def _set_of(events: Events) -> set[Any]:
    """Return what tells apart which events there are, for which components."""
    return {(name, any_payload(change.payload), change.le, change.re) for name, each in events.items() for change in each}


# -- of all that an operator may tell of paths ---------------------------------------------------------------------------------


def asks(automaton: Automaton, options: Options) -> bool:
    """Return whether an automaton or options ask for what is derived from paths."""
    asked = (automaton.having, options.members, options.collapse, options.having)
    return told_of(options.tell) or any(each is not None for each in asked)


def told_by(automaton: Automaton, event: Schema | None, sequence: str | None, options: Options) -> PathOutput | None:
    """Return what is told of paths, None where matches leave as they are. Raises `AfaError` where an option says what is none."""
    if automaton.having is not None:
        return by_automaton(automaton)
    if options.having is not None:
        return by_words(automaton, event, options.having)
    if options.collapse is not None:
        return Collapsing(automaton, event, options.collapse)
    if options.members is None and options.tell is None:
        return None
    members = None if options.members is None else Members(automaton, event, sequence, options.members)
    return Announcing(members, told_of(options.tell))
