"""What an engine is made with, and what it tells of the state that it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from afa.journal import Journal
from afa.model.arc import Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch
from afa.model.raised import Faults
from punctuation.progress import Progress


class Setup(NamedTuple):
    """The arguments that an engine is made with."""

    automaton: Automaton
    table: ArcTable  # the arcs in force to begin with
    progress: Progress  # the operator's promises of both inputs
    journal: Journal  # the operator's undo log, for calls that fail
    sequence: str | None  # the event's field that orders events of one LE
    keyed: bool
    # Collects what users' functions raise; an arc does not serve where one of its functions raises. None: it is raised.
    faults: Faults | None = None
    # Where ``sequence`` numbers the events without gaps, what becomes of a gap that is final: "break" or "join".
    gaps: str | None = None
    threads: int = 1  # keys may be worked on side by side in so many; an engine need not
    longest: bool = False  # whether of matches with equal payload and LE only the one with the largest RE is in force


class GivenColumns(NamedTuple):
    """A table for an engine: lists, or columns of numpy, pandas or Arrow."""

    events: Mapping[str, Any]  # the event's fields
    times: Mapping[str, Any]  # ``le``; where the table has them ``re``, ``diff``, ``kind``, ``arc``
    window: int | None  # the length of lifetimes without an ``re``
    keys: list[Any] | None = None  # the columns of the key; None: there is none
    single: bool = True  # whether a key is the value of its one column, or a tuple
    arcs: Sequence[Arc] = ()  # those to which the column ``arc`` refers by number
    runs: Any = None  # how many rows each of the keys has, side by side; None: the columns of the key have one for each row


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
    """What may go on at an instant: where the first partial match began (FOREVER: none may), and what had to be looked at."""

    begun: int  # its LE; where of equal matches the longest counts, that of the first step with an event that lives still
    rows: int  # how many partial matches, or steps
    keys: int


class Ends(NamedTuple):
    """How many beginnings are over, by what ended them: see `afa.operator.statistics.Statistics`."""

    by_window: int = 0
    by_no_arc: int = 0
    timeouts_past: int = 0


class Step(NamedTuple):
    """One step of a key, for reading; see `Engine.steps`."""

    start: Any  # the ``start`` of the partial matches that begin here
    le: int
    follows: bool  # whether its list continues that of the step before it: always, but behind a gap in numbers
    # The copies of each (payload, RE). Empty: they were dropped, and nothing says how its list came about.
    events: Mapping[tuple[Any, int], int]
    partial: list[PMatch]  # those that end here, in any order


class SoughtMatch(NamedTuple):
    """A match whose ways are asked for; see `Engine.ways`."""

    le: int
    re: int | None  # None: any, of several matches all
    payloads: Sequence[tuple[Any, ...]]  # the first fields of its payload; of any of them, if there are several
    since: int  # what began before is not all held
    # None: the ways of the runs that end as the match, by their starts. Else, beyond ``le``: those of all computations whose events
    # have an RE at or above this, by states and registers, whatever their starts (`afa.lineage.bounded`); with an ``re``, which is
    # this then, only if no match with these payloads has a larger one.
    least: int | None = None

    def is_among(self, shown: Iterable[tuple[int, int, Any]]) -> bool:
        """Return whether it is one of these: LE, RE, record."""
        return any(le == self.le and self.re in (None, re) and tuple(record) in self.payloads for le, re, record in shown)


class Picks(NamedTuple):
    """The events behind some matches of one key."""

    # By match, (component, number of the event) of each event in any of its paths, once, in order; None: nothing was found.
    of: list[list[tuple[str, int]] | None]
    events: list[tuple[Any, int, int]]  # (payload, le, re) of each


class PathTotals(NamedTuple):
    """Aggregates of a field over all pairs of a path and an event in it, as `afa.lineage.Aggregates`; and of what."""

    re: int  # the largest RE of the matches
    paths: int  # 0: there is no such match
    count: int  # type: ignore[assignment]  # a tuple's method of this name is of no use here
    sum: int | float | None
    min: int | float | None
    max: int | float | None


class Ways(NamedTuple):
    """All that leads to a match. Partial matches are numbered from 2 on; 0 stands for what has not begun yet."""

    # LE of each step at which a partial match that leads to the match becomes another.
    times: list[int]
    # Four columns, a row for all that leads to one partial match at one step by one pick: the step, the partial match, the number
    # of the event or -1 (none was picked), the number of the component. In order of steps. A partial match without a group at a
    # step rests there.
    groups: list[list[int]]
    # An array of shape (2, n): rows of groups, and the partial matches (0: it begins) at the step before from which they lead. In
    # order of steps.
    edges: Any
    # Two columns: steps at which the match ends, or since which it rests; the partial matches there that are the match.
    ends: list[list[int]]
    events: list[tuple[tuple[Any, ...], int]]  # (fields of the payload, re) of each
    form: Any  # the class of payloads
    components: Sequence[str]
    numbers: int  # one past the last number of a partial match
    re: int  # the largest RE of the matches
