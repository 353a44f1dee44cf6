"""Changes of arcs among the rows of a batch, foreseen: which bits the arcs that come will have, where payloads are not kept.

In the default mode a change concerns events that come after it only. So what the arcs in force will have been at the end of a batch
tells the triggering set of every event in it, and the kernels carry out the changes as they come upon them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from afa.arc import Arc
from afa.arctable import ArcEvent, ArcTable
from afa.change import Change
from afa.compiled.columns import Encoded
from afa.compiled.kernel import names as k
from afa.errors import AutomatonError
from afa.triggers import Triggers

if TYPE_CHECKING:
    from afa.compiled.reduced import ReducedColumns
    from afa.core import Core


class Plan(NamedTuple):
    """The batch with rewritten arcs, and all arcs that will have been in force."""

    encoded: Encoded
    triggers: Triggers


class Beneath:
    """The operator as the engine sees it while arcs change as planned: with rewritten arcs in the place of the user's.

    Parameters
    ----------
    core : Core
    reduced : ReducedColumns
    triggers : Triggers
        Of the plan.
    """

    def __init__(self, core: Core, reduced: ReducedColumns, triggers: Triggers) -> None:
        self._core, self._reduced, self._triggers = core, reduced, triggers
        self.late, self.progress_to, self.take_late = core.late, core.progress_to, core.take_late
        self.arcs = self  # for `table` and `clean`

    @property
    def changes(self) -> int:
        """How many changes were taken."""
        return self._core.changes

    @changes.setter
    def changes(self, n: int) -> None:
        self._core.changes = n

    @property
    def table(self) -> ArcTable | None:
        """What the kernels have made of the arcs in force. None: the way back is noted where it is set."""
        return None

    @table.setter
    def table(self, table: ArcTable | None) -> None:
        if table is None:
            return
        events = [event._replace(arc=self._triggers.original(event.arc)) for event in table.events]
        arcs, reduced = self._core.arcs, self._reduced
        self._core.journal.note(setattr, arcs, "table", arcs.table)
        arcs.table = ArcTable(events)
        reduced.follow(self._triggers.followed_by(events, k.FOREVER, self._triggers.places))

    def clean(self) -> None:
        """Drop the arcs that no event can take any more."""
        self._core.arcs.clean()

    def take_record(self, item: Any) -> None:
        """A punctuation, or a change of an arc that the kernels did not carry out."""
        if isinstance(item, Change):
            item = item._replace(payload=self._triggers.original(item.payload))
        self._core.take_record(item)


def promises(encoded: Encoded, part: slice, before: int) -> tuple[Any, Any]:
    """Of each row what the events are promised there, and whether it is an event."""
    le = encoded.le[part]
    if encoded.kind is None:
        return np.full(len(le), before, np.int64), np.ones(len(le), np.bool_)
    kind = encoded.kind[part]
    return np.maximum.accumulate(np.where(kind == k.PUNCTUATION, le, before).clip(before)), kind == k.EVENT


def plan(reduced: ReducedColumns, encoded: Encoded, rows: Sequence[int]) -> Plan | None:
    """The plan of a batch in whose rows arcs change; None: one of them has to be seen on its own, if only to be refused."""
    presents = _presents(encoded, rows, reduced)
    changes = [encoded.item(row) for row in rows]
    found = _simulated(reduced.triggers.events, changes, presents)
    if found is None:
        return None
    events, taken = found
    before = reduced.triggers
    try:
        triggers = before.followed_by(events, k.FOREVER)
    except AutomatonError:
        return None
    arcs = [triggers.rewritten(event) for event in taken]
    numbers = {id(arc): i for i, arc in enumerate({id(arc): arc for arc in arcs}.values())}
    column = np.full(len(encoded.le), k.NOWHERE, np.int64)
    column[list(rows)] = [numbers[id(arc)] for arc in arcs]
    return Plan(encoded._replace(arc=column, arcs=list({id(arc): arc for arc in arcs}.values())), triggers)


def _presents(encoded: Encoded, rows: Sequence[int], reduced: ReducedColumns) -> list[int]:
    """The present at each of the rows: one tick past all that was seen before it."""
    progress = reduced.progress
    promised, events = promises(encoded, slice(0, len(encoded.le)), progress.events)
    silent = (encoded.kind == k.ARC) | (events & (encoded.le < promised))
    seen = np.maximum.accumulate(np.where(silent, k.BEGINNING, np.minimum(encoded.le, k.FOREVER - 1) + 1))
    return [max(progress.now, int(t)) for t in seen[list(rows)]]


def _simulated(
    events: Sequence[ArcEvent], changes: Sequence[Any], presents: Sequence[int]
) -> tuple[list[ArcEvent], list[tuple[Arc, int]]] | None:
    """All arc events that will have been in force, and of each change the arc and the LE of the one that it concerns."""
    known: list[ArcEvent] = list(events)
    of_arc: dict[Arc, list[int]] = {}
    for i, event in enumerate(known):
        of_arc.setdefault(event.arc, []).append(i)
    taken: list[tuple[Arc, int]] = []
    for change, now in zip(changes, presents):
        arc = change.payload
        if not isinstance(arc, Arc) or change.le is not None or change.diff not in (1, -1) or now in (k.BEGINNING, k.FOREVER):
            return None
        if change.diff > 0:
            of_arc.setdefault(arc, []).append(len(known))
            known.append(ArcEvent(arc, now, k.FOREVER))
            taken.append((arc, now))
            continue
        last = [i for i in of_arc.get(arc, ()) if known[i].re > now]
        if not last:
            return None
        i = max(last, key=lambda i: (known[i].arc is arc, known[i].le, known[i].re))
        if known[i].le >= now:
            return None
        taken.append((known[i].arc, known[i].le))
        known[i] = known[i]._replace(re=now)
    return known, taken
