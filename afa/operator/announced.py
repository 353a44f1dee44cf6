"""What a call tells of the events behind its matches: members of those that it announces, and which of those that stay have others.

Where members are told, the operator keeps what lineages need (``lineage=True``): all that a call announces still has its events,
what the call makes final as well.

With ``tell="lineage"`` the matches in force that a change may touch are read before it is taken: those of its key with an LE from
the change's LE on, of an arc those of all keys; no other match can have that event, or that arc, in a path. Behind the call the
events of those that stay are derived again. So what is told is exact by its definition, and nothing is held from call to call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from afa.change import Announced, Change, put_in_order
from afa.engine import Logged
from afa.errors import AfaError
from afa.lineage.match_ends import LineageSource, events_of, matches_from
from afa.operator.members import Events, Members
from afa.schema import any_payload
from punctuation.time import BEGINNING, FOREVER

LINEAGE = "lineage"


def told_of(tell: Any) -> bool:
    """Return whether matches are told anew whose events have changed.

    Raises
    ------
    AfaError
        It says something else.
    """
    if tell not in (None, LINEAGE):
        raise AfaError(f'expected "lineage" or None but got tell={tell!r}')
    return tell is not None


class Announcing:
    """What the calls of an operator tell of the events behind its matches.

    Parameters
    ----------
    held : callable
        Returns what lineages are derived from, at present.
    members : Members or None
        What of the events an announced match comes with. None: nothing.
    again : bool
        Whether a match that stays is told again, with ``diff`` 0, when its events have changed.
    """

    def __init__(self, held: Callable[[], LineageSource], members: Members | None, again: bool) -> None:
        self._held, self.members, self.again = held, members, again
        self._from: dict[Hashable, int] = {}  # by key, from which LE on its matches were read in this part of a call
        self._before: dict[Any, tuple[Change, Events]] = {}

    @property
    def options(self) -> list[list[Any]]:
        """The options that it was made by, by name."""
        members = [] if self.members is None else [["members", self.members.asked]]
        return [*members, *([["tell", LINEAGE]] if self.again else [])]

    # -- before a change is taken ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a part of a call, whose output is one difference."""
        self._from, self._before = {}, {}

    def touch(self, key: Hashable, le: int) -> None:
        """Read the matches of a key that a change at ``le`` may touch. O(what is held of the key from there on), once a call."""
        read = self._from.get(key, FOREVER)
        if le >= read:
            return
        held = self._held()
        found = [match for match in matches_from(held, key, le) if match.le < read]  # type: ignore[operator]
        self._before |= {_name(match): (match, events) for match, events in zip(found, events_of(held, found))}
        self._from[key] = le

    def touch_all(self, le: int) -> None:
        """Read the matches of all keys that a change of an arc may touch."""
        for key in self._held().engine.known_keys():
            self.touch(key, le)

    def touch_rows(self, rows: Any) -> None:
        """Read the matches of all keys that events in an engine's own form may touch, whichever keys they have."""
        if rows.kind is not None:
            self.touch_all(BEGINNING)
        elif len(rows.le) and (least := int(rows.le.min())) < self._held().progress.now:
            self.touch_all(least)

    # -- behind it -------------------------------------------------------------------------------------------------------------

    def told(self, changes: list[Change]) -> list[Change]:
        """Return the changes of a part of a call with all that is told, in order."""
        held = self._held()
        come = [change for change in changes if change.diff > 0]
        found = [change for change in changes if change.diff < 0]
        found += self._changed(held, found)
        self.begin()  # which lets go what was read
        if self.members is None:
            found += come
        else:
            found += map(Announced.of, come, map(self.members.of, events_of(held, come)))
        if len(found) > 1:
            put_in_order(found)
        return found

    def told_rows(self, rows: Logged, schema: Any) -> Logged:
        """Return the output of a call as columns, with members. ``schema``: of matches."""
        if self.members is None:
            return rows
        places = np.flatnonzero(rows.diff > 0)
        come = rows.at(places).changes(schema)
        members: list[Any] = [None] * len(rows.le)
        for place, events in zip(places.tolist(), events_of(self._held(), come)):
            members[place] = self.members.of(events)
        return rows._replace(members=members)

    def _changed(self, held: LineageSource, gone: Iterable[Change]) -> list[Change]:
        """Return the matches that stay and have other events than before, with ``diff`` 0."""
        if not self._before:
            return []
        left = set(map(_name, gone))
        stay = {match: events for name, (match, events) in self._before.items() if name not in left}
        found = []
        for (match, before), events in zip(stay.items(), events_of(held, list(stay))):
            if _set_of(events) != _set_of(before):
                again = match._replace(diff=0)
                found.append(again if self.members is None else Announced.of(again, self.members.of(events)))
        return found


def _name(match: Change) -> Any:
    """Return what tells matches apart."""
    return any_payload(match.payload), match.le, match.re, match.key


def _set_of(events: Events) -> set[Any]:
    """Return what tells apart which events there are, for which components."""
    return {(name, any_payload(change.payload), change.le, change.re) for name, each in events.items() for change in each}
