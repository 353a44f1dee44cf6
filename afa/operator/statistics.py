"""Statistics: what an operator holds, what it has done so far, and how many matches time-outs may still bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from punctuation.time import FOREVER

if TYPE_CHECKING:
    from afa.operator.call import Core


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
        Retractions that wait for their insertion, in copies.
    keys : int
        Keys held.
    state_size : int
        ``events + partial_matches + intervals + matches + pending``.
    changes : int
        Event changes taken so far, a change of n copies as n.
    outputs : int
        Matches inserted so far.
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
    ties : int
        Events held beyond the first of their key and instant (LE, and sequence, where there is one): alternatives, of which a match
        takes one. Copies of an event count once; with ``keep_payloads=False`` also events of one triggering set.
    """

    events: int
    partial_matches: int
    intervals: int
    matches: int
    pending: int
    keys: int
    state_size: int
    changes: int
    outputs: int
    retractions: int
    late: int
    stale: int
    gaps: int = 0
    missing: int = 0
    repeated: int = 0
    barriers: int = 0
    ties: int = 0

    @property
    def retraction_ratio(self) -> float:
        """Withdrawn matches for each inserted one; 0 if none was inserted."""
        return self.retractions / self.outputs if self.outputs else 0.0


def statistics_of(core: Core) -> Statistics:
    """Return the numbers of an operator. O(what is held) on some engines."""
    held = core.engine.sizes()
    pending = held.pending + sum(core.arcs.pending.values())
    numbers = core.engine.numbers
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
        **({} if core.gapless is None or numbers is None else core.gapless.statistics(numbers)),
    )


class _TakenBack(Exception):  # noqa: N818  (no error: the way back)
    """Raised to take back what was tried."""

    def __init__(self, found: int) -> None:
        super().__init__(found)
        self.found = found


def open_timeouts(core: Core) -> int:
    """Return how many matches time-outs would still bring if no event came any more: try it, count, and take it back.

    Raises
    ------
    ClosureError
        The matches have no end.
    """
    if not core.arcs.table.timeouts:
        return 0
    try:
        core.calls.call(_try, core)
    except _TakenBack as tried:
        return tried.found
    raise AssertionError("what is tried is never kept")


def _try(core: Core) -> None:
    core.progress.promise_events(FOREVER)
    core.engine.overdue(FOREVER)
    core.engine.tick()
    raise _TakenBack(sum(change.diff for change in core.engine.collect()))
