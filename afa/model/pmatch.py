"""Partial matches, as in [AFA10] Sec. 5.1, but with the smallest RE in place of StartRE."""

from __future__ import annotations

from typing import Any, NamedTuple


class PMatch(NamedTuple):
    """One computation over a contiguous run of events, up to the step in whose list it stands.

    Two computations that agree in all four fields continue alike, and are one partial match with a count. Departs from the paper,
    which keeps StartRE in place of the smallest RE: with lifetimes of different lengths that is not enough.
    """

    start: Any  # where the run began: the key of its first step
    re: int  # ``m``, the smallest RE of the events consumed, in ticks
    state: str
    register: Any


def le_of(place: Any) -> int:
    """Return the LE of a step by its key, which is that, or a pair of it and what orders events of one LE."""
    le: int = place[0] if isinstance(place, tuple) else place
    return le


class Rest(NamedTuple):
    """The instants from which the partial matches of a list wait for the next step. Time-outs count from there."""

    le: int  # of the step at which they stand
    since: int  # behind ``le``, or from the punctuation that made the step a cover: what fires before stands in the list

    @classmethod
    def behind(cls, le: int) -> Rest:
        """Return since when the list of a step waits: the time-outs that its events let fire at once stand in it."""
        return cls(le, le + 1)
