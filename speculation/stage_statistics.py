"""The numbers of the stages."""

from __future__ import annotations

from typing import NamedTuple


class CleanseStatistics(NamedTuple):
    """The numbers of one `Cleanse`, in copies: a change with ``diff=2`` counts as two.

    Parameters
    ----------
    held : int
        Changes that wait now.
    peak_held : int
        The most changes that ever waited.
    passed : int
        Changes that left at once.
    released : int
        Changes that left after they had waited.
    annihilated : int
        Pairs of an insertion and its retraction that met while one of them waited.
    bound : int
        The bound: all changes that have left have an LE below it, and a change that comes with such an LE leaves at once.
    stale : int
        Punctuations that promised nothing new.
    """

    held: int
    peak_held: int
    passed: int
    released: int
    annihilated: int
    bound: int
    stale: int


class ConsolidateStatistics(NamedTuple):
    """The numbers of one `Consolidate`, in copies: a change with ``diff=2`` counts as two.

    Parameters
    ----------
    held : int
        Changes that wait now.
    came : int
        Changes that came so far.
    left : int
        Changes that left so far.
    """

    held: int
    came: int
    left: int


class ChooseStatistics(NamedTuple):
    """The numbers of one `Choose`.

    Parameters
    ----------
    held : int
        Matches of which it is not final whether they are chosen.
    chosen : int
        Those of them that are chosen now.
    drawn : int
        Links of chains drawn so far: new ones, and those drawn anew behind a change.
    """

    held: int
    chosen: int
    drawn: int
