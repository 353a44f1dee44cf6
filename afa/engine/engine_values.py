"""What an engine is made with, and what it tells of the state that it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from afa.journal import Journal
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch
from afa.model.raised import Faults
from punctuation.progress import Progress


class Setup(NamedTuple):
    """The arguments that an engine is made with.

    Parameters
    ----------
    automaton : Automaton
    table : ArcTable
        The arcs in force to begin with.
    progress : Progress
        The operator's promises of both inputs.
    journal : Journal
        The operator's undo log, for calls that fail.
    sequence : str or None
        The event's field that orders events of one LE.
    keyed : bool
        Whether there are keys.
    faults : Faults or None
        Collects what users' functions raise; an arc does not serve where one of its functions raises. None: it is raised.
    gaps : str or None
        Where ``sequence`` numbers the events without gaps, what becomes of a gap that is final: "break" or "join".
    threads : int
        In so many threads keys may be worked on side by side; an engine need not.
    longest : bool
        Whether of matches with equal payload and LE only the one with the largest RE is in force.
    """

    automaton: Automaton
    table: ArcTable
    progress: Progress
    journal: Journal
    sequence: str | None
    keyed: bool
    faults: Faults | None = None
    gaps: str | None = None
    threads: int = 1
    longest: bool = False


class Sizes(NamedTuple):
    """How much is held."""

    events: int
    partial_matches: int
    intervals: int
    matches: int
    pending: int
    keys: int
    ties: int = 0
    kept_steps: int = 0
    kept_events: int = 0
    kept_partial_matches: int = 0


class Living(NamedTuple):
    """What may go on at an instant: where the first partial match began (FOREVER: none may), and what had to be looked at.

    Parameters
    ----------
    begun : int
        Its LE; where of equal matches the longest counts, that of the first step with an event that lives still.
    rows, keys : int
        How many partial matches, or steps, and keys.
    """

    begun: int
    rows: int
    keys: int


class Ends(NamedTuple):
    """How many beginnings are over, by what ended them: see `afa.operator.statistics.Statistics`."""

    by_window: int = 0
    by_no_arc: int = 0
    timeouts_past: int = 0


class Step(NamedTuple):
    """One step of a key, for reading; see `Engine.steps`.

    Parameters
    ----------
    start : hashable
        The ``start`` of the partial matches that begin here.
    le : int
    follows : bool
        Whether its list continues that of the step before it: always, but behind a gap in numbers.
    events : mapping of (payload, RE) to int
        Its events, with their copies. Empty: they were dropped, and nothing says how its list came about.
    partial : list of PMatch
        Partial matches that end here, in any order.
    """

    start: Any
    le: int
    follows: bool
    events: Mapping[tuple[Any, int], int]
    partial: list[PMatch]


class SoughtMatch(NamedTuple):
    """A match whose ways are asked for; see `Engine.ways`.

    Parameters
    ----------
    le : int
    re : int or None
        None: any, of several matches all.
    payloads : sequence of tuple
        The first fields of its payload; of any of them, if there are several.
    since : int
        What began before is not all held.
    least : int, optional
        Beyond ``le``: the ways of all computations whose events have an RE at or above this, by states and registers, whatever
        their starts (`afa.lineage.bounded`); with an ``re``, which is this then, only if no match with these payloads has a larger
        one.
        None: those of the runs that end as the match, by their starts.
    """

    le: int
    re: int | None
    payloads: Sequence[tuple[Any, ...]]
    since: int
    least: int | None = None


class Picks(NamedTuple):
    """The events behind some matches of one key.

    Parameters
    ----------
    of : list of (list of tuple or None)
        By match, ``(component, number of the event)`` of each event in any of its paths, once, in order; None: nothing was found.
    events : list of tuple
        ``(payload, le, re)`` of each event.
    """

    of: list[list[tuple[str, int]] | None]
    events: list[tuple[Any, int, int]]


class PathTotals(NamedTuple):
    """Aggregates of a field over all pairs of a path and an event in it, as `afa.lineage.Aggregates`; and of what.

    Parameters
    ----------
    re : int
        The largest RE of the matches.
    paths, count : int
        No paths: there is no such match.
    sum, min, max : int, float or None
    """

    re: int
    paths: int
    count: int  # type: ignore[assignment]  # a tuple's method of this name is of no use here
    sum: int | float | None
    min: int | float | None
    max: int | float | None


class Ways(NamedTuple):
    """All that leads to a match. Partial matches are numbered from 2 on; 0 stands for what has not begun yet.

    Parameters
    ----------
    times : list of int
        LE of each step at which a partial match that leads to the match becomes another.
    groups : list of list of int
        Four columns, a row for all that leads to one partial match at one step by one pick: the step, the partial match, the
        number of the event or -1 (none was picked), the number of the component. In order of steps. A partial match without a
        group at a step rests there.
    edges : array of shape (2, n)
        Rows of groups, and the partial matches (0: it begins) at the step before from which they lead. In order of steps.
    ends : list of list of int
        Two columns: steps at which the match ends, or since which it rests; the partial matches there that are the match.
    events : list of tuple
        ``(fields of the payload, re)`` of each event.
    form : type
        Of payloads.
    components : sequence of str
    numbers : int
        One past the last number of a partial match.
    re : int
        The largest RE of the matches.
    """

    times: list[int]
    groups: list[list[int]]
    edges: Any
    ends: list[list[int]]
    events: list[tuple[tuple[Any, ...], int]]
    form: Any
    components: Sequence[str]
    numbers: int
    re: int
