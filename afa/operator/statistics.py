"""Statistics: what an operator holds, what it has done so far, and how many matches time-outs may still bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from afa.engine import Ends
from afa.html_tables import grid
from punctuation.time import FOREVER

if TYPE_CHECKING:
    from afa.operator.call import Core

TOTAL, SLOW = "total", "slow"
SoFar = Annotated[int, TOTAL]
"""A number that only grows."""
Sought = Annotated[int, SLOW]
"""A number that takes ten times as long as all others: a running job does not tell it by itself."""


class Statistics(NamedTuple):
    """The numbers of one operator, over all its keys.

    Parameters
    ----------
    events : int
        Events held, in copies.
    partial_matches : int
        Partial matches stored; one that stands at many steps by an ignorable run counts once ([AFA10] App. D).
    intervals : int
        Ignorable runs held.
    matches : int
        Matches in force that are not final yet.
    pending : int
        Retractions that wait for their insertion, in copies; with ``id=`` also those that name an event which has not come.
    keys : int
        Keys held.
    state_size : int
        ``events + partial_matches + intervals + matches + pending``.
    changes : int
        Event changes taken so far, a change of n copies as n.
    outputs : int
        Matches inserted so far, those that show the same (AFTER MATCH SKIP) one by one; likewise ``retractions``.
    retractions : int
        Matches withdrawn so far.
    late : int
        Late changes dropped or handed to the callback so far, a change of n copies as one.
    stale : int
        Punctuations that promised nothing new.
    gaps : int
        With ``gapless=``: gaps that a punctuation made final so far.
    missing : int
        The numbers that were missing in them.
    repeated : int
        Events dropped or handed to the callback so far, as their number was in force.
    barriers : int
        Gaps that can still close.
    ended_by_window : int
        Beginnings that are over, of those held: instants at which a partial match of a key began. None of its partial matches went
        on at the next step, and the lifetimes of all that stood last were over there. Whether they had matched does not matter.
        A promise drops them with the state. O(what is held), like the next two.
    ended_by_no_arc : int
        Beginnings that are over otherwise: the next event of the key came within a lifetime, and no arc served.
    timeouts_past : int
        Beginnings of which a partial match waits for a time-out that comes when its lifetime is over, so that it never fires.
        Its ``at`` is read as an expression, and not called: one that can't be taken apart counts nothing.
    ties : int
        Events held beyond the first of their key and instant (LE, and sequence, where there is one): alternatives, of which a match
        takes one. Copies of an event count once; with ``keep_payloads=False`` also events of one triggering set.
    kept_steps : int
        Steps held that lie below the last promise: with ``lineage=True`` those that answer lineages only, in a query with AFTER
        MATCH SKIP those of attempts whose matches may change.
    kept_events : int
        Events in them, in copies; they are among ``events``.
    kept_partial_matches : int
        Partial matches stored at them; they are among ``partial_matches``.
    ids : int
        With ``id=``: ids that are remembered.
    id_bytes : int
        Bytes that they take, beside the columns of their events; a text adds its length.
    repeats : int
        Messages so far that had come before.
    superseded : int
        Messages so far of which a newer version had come.
    """

    events: int
    partial_matches: int
    intervals: int
    matches: int
    pending: int
    keys: int
    state_size: int
    changes: SoFar
    outputs: SoFar
    retractions: SoFar
    late: SoFar
    stale: SoFar
    gaps: SoFar = 0
    missing: SoFar = 0
    repeated: SoFar = 0
    barriers: int = 0
    ties: int = 0
    ended_by_window: Sought = 0
    ended_by_no_arc: Sought = 0
    timeouts_past: Sought = 0
    kept_steps: int = 0
    kept_events: int = 0
    kept_partial_matches: int = 0
    ids: int = 0
    id_bytes: int = 0
    repeats: SoFar = 0
    superseded: SoFar = 0

    def _repr_html_(self) -> str:
        """Return the numbers that are not zero as a table, for notebooks."""
        held = [(name, value) for name, value in zip(self._fields, self) if value] or [("events", 0)]
        return grid([name.replace("_", " ") for name, _ in held], [[value for _, value in held]])

    @property
    def retraction_ratio(self) -> float:
        """Withdrawn matches for each inserted one; 0 if none was inserted."""
        return self.retractions / self.outputs if self.outputs else 0.0


def statistics_of(core: Core, ends: bool = True) -> Statistics:
    """Return the numbers of an operator; without ``ends`` what is over stays 0. O(what is held); ten times as fast without."""
    ids = None if core.ids is None else core.ids.counted()
    held, over = core.engine.sizes(), core.engine.ends() if ends else Ends()
    pending = held.pending + sum(core.arcs.pending.values()) + (0 if ids is None else ids.waiting)
    return Statistics(
        events=held.events,
        partial_matches=held.partial_matches,
        intervals=held.intervals,
        matches=held.matches,
        pending=pending,
        keys=held.keys,
        state_size=held.events + held.partial_matches + held.intervals + held.matches + pending,
        changes=core.changes,
        outputs=core.outputs,
        retractions=core.withdrawn,
        late=core.late.count,
        stale=core.progress.stale,
        ties=held.ties,
        kept_steps=held.kept_steps,
        kept_events=held.kept_events,
        kept_partial_matches=held.kept_partial_matches,
        ended_by_window=over.by_window,
        ended_by_no_arc=over.by_no_arc,
        timeouts_past=over.timeouts_past,
        **({} if ids is None else {name: getattr(ids, name) for name in ("ids", "id_bytes", "repeats", "superseded")}),
        **({} if core.gapless is None else core.gapless.statistics()),
    )


class _TakenBack(Exception):  # noqa: N818  (no error: the way back)
    """Raised to take back what was tried; says how many matches there were."""


def open_timeouts(core: Core) -> int:
    """Return how many matches time-outs would still bring if no event came any more: try it, count, and take it back.

    Raises `ClosureError` where the matches have no end.
    """
    if not core.arcs.table.timeouts:
        return 0
    try:
        core.calls.call(_try, core)
    except _TakenBack as tried:
        found: int = tried.args[0]
        return found
    raise AssertionError("what is tried is never kept")


def _try(core: Core) -> None:
    core.progress.promise_events(FOREVER)
    core.engine.overdue(FOREVER)
    core.engine.tick()
    raise _TakenBack(sum(change.diff for change in core.engine.collect()))
