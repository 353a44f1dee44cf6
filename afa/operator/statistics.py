"""Statistics: what an operator holds, and what it has done so far."""

from __future__ import annotations

from typing import NamedTuple


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

    @property
    def retraction_ratio(self) -> float:
        """Withdrawn matches for each inserted one; 0 if none was inserted."""
        return self.retractions / self.outputs if self.outputs else 0.0
