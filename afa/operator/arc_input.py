"""The second input of an operator: arcs as events with lifetimes ([AFA10] Sec. 2.3, 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from afa.change import Change
from afa.errors import ChangeError
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.operator.named_swap import NamedSwap
from afa.schema import as_ticks
from punctuation.time import FOREVER


class ArcSource:
    """What comes on the arc input and says itself what becomes of the arcs in force: a poll of an arc log."""

    def carried_out(self, arcs: ArcInput, core: Any) -> None:
        """Change the arcs in force, within a call."""
        raise NotImplementedError


class ArcInput:
    """The arcs in force, and the retractions of arcs that wait for their insertion; shared by all keys of a core."""

    __slots__ = ("__weakref__", "elsewhere", "log", "pending", "table")

    def __init__(self, table: ArcTable) -> None:
        self.table = table
        self.elsewhere = False  # whether the table is kept by someone else, so that no snapshot holds it
        self.log: Any = None  # where the operator is in an arc log, an `afa.arclog.log_state.LogState`
        self.pending: dict[ArcEvent, int] = {}

    if TYPE_CHECKING:  # see `afa.METHODS`

        def restore_log(self, core: Any, data: Any, arc_at: Callable[[Any], Arc]) -> None:
            """Put the state of an arc log in place that a snapshot has."""

    def take(self, core: Any, item: Any) -> None:
        """Take a change of an arc, a swap by name, or a source of changes."""
        if isinstance(item, Change):
            self._change(core, item._replace(payload=core.binder.fitting(item.payload)))
        elif isinstance(item, NamedSwap):
            self._swap(core, item)
        elif isinstance(item, ArcSource):
            item.carried_out(self, core)
        else:
            raise ChangeError(f"expected a change (insert, retract) or a Punctuation but got {item!r} on the arc input")

    def _change(self, core: Any, change: Change) -> None:
        """Take an insertion or a retraction of an arc (checked), with a lifetime or without."""
        arc: Arc = change.payload
        self._check_name(arc.name)
        if change.diff not in (1, -1):
            raise ChangeError(f"expected diff=1 or -1 but got diff={change.diff!r} for {arc!r}")
        if change.le is None:
            if change.re is not None:
                raise ChangeError(f"expected le with re (or neither: from now on) but got re={change.re!r} for {arc!r}")
            self._change_from_now(core, arc, change.diff)
            return
        le = as_ticks(change.le, "le", core.tick)
        re = FOREVER if change.re is None else as_ticks(change.re, "re", core.tick)
        if re <= le:
            raise ChangeError(f"expected re > le but got le={le}, re={re} for {arc!r}")
        promise = core.progress.arc_promise
        if le < promise:
            core.late.take(change, f"expected le >= {promise} (promised) but got le={le} for {arc!r}")
            return
        self._change_exactly(core, ArcEvent(arc, le, re), change.diff)

    def _swap(self, core: Any, wanted: NamedSwap) -> None:
        """Take a swap by name. A late swap is refused, whatever the policy says."""
        for name in (wanted.name, None if wanted.arc is None else wanted.arc.name):
            self._check_name(name)
        table, event = wanted.carried_out(self.table, core.progress.now, core.progress.arc_promise, core.binder.fitting)
        self._put(core, _cleaned(core, table), event.le, event.re)

    def _check_name(self, name: str | None) -> None:
        """Refuse a change of an arc whose name the log has."""
        if self.log is not None and name is not None and name in self.log.names:
            raise ChangeError(
                f"expected changes of the arc {name!r} from the arc log, which has lines of this name, but got one beside it: "
                f"write it there (ArcLog.insert, retract, swap)"
            )

    def _change_from_now(self, core: Any, arc: Arc, diff: int) -> None:
        """Put an arc in force, or end one, from one tick past all that was seen on: the default mode."""
        now = core.progress.now
        if diff > 0 and now == FOREVER:
            core.late.take(Change(arc, now), f"expected an arc before the end of the stream but got {arc!r} after it")
        elif diff > 0:
            self._put(core, self.table.added(ArcEvent(arc, now, FOREVER)), now, FOREVER)
        else:
            self._end_at(core, arc, now)

    def _change_exactly(self, core: Any, event: ArcEvent, diff: int) -> None:
        if diff > 0 and self.pending.get(event):
            self._pend(core, event, -1)
        elif diff > 0:
            self._put(core, self.table.added(event), event.le, event.re)
        elif self.table.count(event):
            self._put(core, self.table.removed(event), event.le, event.re)
        else:
            self._pend(core, event, 1)

    def _end_at(self, core: Any, arc: Arc, t: int) -> None:
        found = self.table.find(arc, t)
        if found is None:
            known = ", ".join(repr(event.arc) for event in self.table.events if event.re > t) or "none"
            raise ChangeError(f"expected an arc in force but got {arc!r}; in force: {known}")
        self._put(core, self.table.ended(found, t), max(t, found.le), found.re)

    def replace(self, core: Any, table: ArcTable, gone: Sequence[ArcEvent], come: Sequence[ArcEvent]) -> None:
        """Put another table in force, as one swap. It may remove and add arc events that would be late."""
        spans = spans_of(gone, come)
        if spans:
            self._put(core, table, min(le for le, _ in spans), max(re for _, re in spans))

    def overdue(self, core: Any) -> None:
        """Hand the policy those retractions whose insertion can't come any more."""
        promise = core.progress.arc_promise
        found = [event for event in self.pending if event.le < promise]
        for event in sorted(found, key=lambda event: (event.le, event.re, repr(event.arc))):
            for _ in range(self.pending[event]):
                core.late.take(
                    Change(event.arc, event.le, event.re, -1),
                    f"expected the insertion of {event.arc!r} at le={event.le} before {promise} (promised) "
                    f"but got its retraction only",
                )
            core.journal.drop(self.pending, event)

    def clean(self, core: Any) -> None:
        """Drop the arc events that no event can take any more."""
        self._put(core, _cleaned(core, self.table), FOREVER, FOREVER)

    def follow(self, core: Any, table: ArcTable) -> None:
        """Let a table be in force that the engine has made of this one, by changes within a batch."""
        core.journal.note(setattr, self, "table", self.table)
        self.table = table
        self.clean(core)  # a promise may have come after the last of these changes

    def _put(self, core: Any, table: ArcTable, le: int, re: int) -> None:
        if table is not self.table:
            core.journal.note(setattr, self, "table", self.table)
            core.swap_arcs(table, le, re)
            self.table = table

    def _pend(self, core: Any, event: ArcEvent, more: int) -> None:
        count = self.pending.get(event, 0) + more
        if count:
            core.journal.put(self.pending, event, count)
        else:
            core.journal.drop(self.pending, event)


def _cleaned(core: Any, table: ArcTable) -> ArcTable:
    """Return a table without the arc events that serve no row any more."""
    found = table.cleaned(core.progress.floor)
    return found if found is table or core.automaton.choice is None else table.cleaned(core.reads_from)


def spans_of(gone: Sequence[ArcEvent], come: Sequence[ArcEvent]) -> list[tuple[int, int]]:
    """Return the instants at which two sets of arc events differ; if an arc only ends elsewhere, those between its two ends."""
    ends = {(id(event.arc), event.le): event.re for event in gone}
    spans = []
    for event in come:
        re = ends.pop((id(event.arc), event.le), event.le)
        spans.append((min(re, event.re), max(re, event.re)))
    return spans + [(le, re) for (_, le), re in ends.items()]
