"""`replay`: what a pattern would have found in stored history, read only where a match can lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa.change import Change
from afa.errors import AfaError
from afa.frames.asked import TAKES
from afa.frames.found import joined, written
from afa.frames.frame_reading import End
from afa.operator.options import FrameOptions, Options, Unpack, options_of, takes_options
from afa.replay.costs import Costs
from afa.replay.finding_spans import MatchSpans, find_spans, first_scan
from afa.replay.question import Question, Said, longest_lifetime, question
from afa.replay.scan_plan import ReplayPlan
from afa.replay.shares import Shares
from afa.replay.through_spans import all_rows, by_key, rows_of_spans, through_spans
from afa.replay.witness.witnesses import Necessary
from punctuation.time import FOREVER

Progress = Callable[[str, int, int], None]
"""Is told what is done, how much of it, and how much there is."""


EXPLAINS = ("key", "window", "order_by", "tick")


class Replayed(NamedTuple):
    """The matches that a replay found, and how it went.

    Attributes
    ----------
    matches : pyarrow.Table
        As `afa.find` gives them for a Parquet file: columns of the key, of what matches show, ``le``, ``re``.
    plan : Plan
        ``print`` shows it in one line.
    """

    matches: pa.Table
    plan: ReplayPlan

    def __repr__(self) -> str:
        return f"{self.matches.num_rows:,} matches; {self.plan}"


@takes_options(*TAKES)
def replay(
    pattern: Any,
    source: Any,
    *,
    time: str | None = None,
    until: str | None = None,
    diff: str | None = None,
    end: End = "latest",
    arcs: Iterable[Change] = (),
    require: bool = False,
    progress: Progress | None = None,
    **options: Unpack[FrameOptions],
) -> Replayed:
    """Find the matches of a pattern in stored history, and read only the stretches in which one can lie.

    The matches are those that an operator has in force after all rows and a last promise, as `afa.find` gives them. Which events a
    match must contain follows from the automaton; where they can be, from the statistics of the files; then the column of the
    rarest one is scanned, then the next one's where that leaves something, as long as a scan costs less than it saves; then the
    rows around them go through the operator.

    Parameters
    ----------
    pattern : Automaton, Query, words of `afa.language`
    source : str, Path, list of these, or pyarrow.dataset.Dataset
        A Parquet file, a folder of them, what else pyarrow reads. Sorted by time, or nearly, it is read least.
    time, until, diff, end, options
        As of `afa.find`.
    arcs : iterable of Change
        Arcs with lifetimes, as ``afa.insert(arc, le, re)`` makes them, which serve beside the automaton's own, or retract some.
    require : bool
        Whether a full run is refused, if only that would do.
    progress : callable, optional
        Called with what is done, how much of it, and how much there is.

    Returns
    -------
    Replayed
        ``.matches`` and ``.plan``.

    Raises
    ------
    AfaError
        As `afa.find`. Also: the source can't be opened, is damaged or has changed meanwhile; with ``require``, the reason why all
        of it would have to be read.

    Notes
    -----
    Rows that no match can contain are not asked of the user's functions, so that one that would raise there does not.
    Source: thesis, Marburg 2021, Sec. 3.4; departs: cuts of the automaton for its index selection, keys, lifetimes, scans.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton
    >>> class Trade(NamedTuple):
    ...     price: float
    >>> spike = Automaton(
    ...     start="0", final={"2"}, event=Trade, arcs=[Arc("0", "1", "price > 99"), Arc("1", "2", "price < 50")]
    ... )
    >>> rows = pa.table({"price": [60.0 + i % 9 for i in range(1000)] + [99.5, 40.0], "at": range(1002)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(rows, f"{folder}/trades.parquet", row_group_size=100)
    ...     found = replay(spike, folder, time="at", window=10)
    >>> found.matches.to_pylist()
    [{'le': 1001, 're': 1010}]
    >>> print(found.plan)
    a match may lie in 1 of 11 row groups, by their statistics; 2 of 1,002 rows replayed
    """
    said = options_of(options, "replay", TAKES)
    return replayed(pattern, source, said, (time, until, diff, end), arcs, require, progress)


def replayed(
    pattern: Any,
    source: Any,
    options: Options,
    said: Said,
    arcs: Iterable[Change] = (),
    require: bool = False,
    progress: Progress | None = None,
) -> Replayed:
    """Find the matches in stored history; see `replay`."""
    asking = question(pattern, source, options, said, arcs)
    found, plan = located(asking, require, progress)
    (matches,) = answers([asking], found, plan, progress)
    return Replayed(matches, plan)


@takes_options(*EXPLAINS)
def explain(
    pattern: Any,
    source: Any,
    *,
    time: str | None = None,
    until: str | None = None,
    diff: str | None = None,
    arcs: Iterable[Change] = (),
    **options: Unpack[FrameOptions],
) -> ReplayPlan:
    """Say what `replay` would do, from the statistics alone: no row is read.

    Parameters
    ----------
    pattern, source, time, until, diff, arcs, options
        As of `replay`.

    Returns
    -------
    Plan
        In how many row groups a match may lie, and which columns would be scanned first, if values are spread evenly.
    """
    said = options_of(options, "explain", EXPLAINS)
    asking = question(pattern, source, said, (time, until, diff, "latest"), arcs, rows=False)
    lived = longest_lifetime(asking) if asking.reading.until is None else FOREVER - 1
    needs, costs, reason = _weighed(asking, lived, look=False)
    plan = planned(asking, needs)
    if reason is not None and (needs.possible or asking.by_span is None):
        plan.reason = reason
        return plan
    plan.ahead = []
    if needs.possible and costs is not None:
        plan.may_hold, scan = first_scan(asking, needs, costs, lived, plan)
        plan.ahead = list(scan.columns) if scan is not None else []
    return plan


def _weighed(asking: Question, longest: int, look: bool) -> tuple[Necessary, Costs | None, str | None]:
    """Return the witnesses, the rarest ones, what scans cost, and why all rows are replayed; ``look``: whether rows are sampled."""
    needs, costs = asking.necessary(), None
    reason = why_all(asking, needs, longest)
    if asking.by_span is not None and (reason is None or not look):  # else conditions may be on fields that no row has
        shares = Shares(asking, needs.boxes, look)
        needs = asking.necessary(shares.whole)
        reason = reason or why_all(asking, needs, longest)
        extents, rows = asking.extents, asking.stored.rows
        costs = Costs(rows, extents.least, extents.latest, needs.witnesses, shares, len(asking.names), longest)
    return needs, costs, reason


def planned(asking: Question, needs: Necessary) -> ReplayPlan:
    """Return a plan in which nothing has been done yet."""
    schema = asking.plan.events
    said = [witness.text(schema) for witness in needs.witnesses]
    return ReplayPlan(said, len(asking.stored), asking.stored.total, [repr(arc) for arc in needs.opaque])


def why_all(asking: Question, needs: Necessary, longest: int) -> str | None:
    """Return the reason why all rows have to be replayed; None: they need not."""
    if asking.plan.computed is not None:
        return "keys, or an order of rows, are computed of them"
    if asking.by_span is None:
        return "a stage in front of the operator looks at what was before a match"
    if not needs.witnesses:
        return "every event may be part of a match"
    if longest >= FOREVER:
        return "without a window an event may be part of a match at any distance"
    return None


def located(
    asking: Question,
    require: bool = False,
    progress: Progress | None = None,
    order: Sequence[tuple[str, ...]] | None = None,
) -> tuple[MatchSpans | None, ReplayPlan]:
    """Find where matches can lie; None: anywhere, and the plan says why. ``order``: the columns to scan, whatever they cost."""
    lived = longest_lifetime(asking)
    needs, costs, reason = _weighed(asking, lived, look=True)
    plan = planned(asking, needs)
    if not needs.possible:
        return MatchSpans.nothing(asking), plan
    if reason is None and costs is not None:
        found = find_spans(asking, needs, costs, lived, plan, order, progress)
        if order is None and _dear(asking, found, costs, plan):
            reason = "it costs less than looking for rare events" if not plan.steps else "matches may lie nearly everywhere"
        else:
            return found, plan
    plan.reason = reason
    if require:
        raise AfaError(f"expected a pattern that needs some rare event, with require=True, but got a full run: {reason}")
    return None, plan


def _dear(asking: Question, found: MatchSpans, costs: Costs, plan: ReplayPlan) -> bool:
    """Return whether a full run costs less than the replay of what was found."""
    left, _ = costs.left(found.spans, found.alive, len(found.keys))
    return costs.of_replay(left) >= costs.total


def answers(
    askings: Sequence[Question], found: MatchSpans | None, plan: ReplayPlan, progress: Progress | None = None
) -> list[pa.Table]:
    """Return the matches of each of several patterns as a table; refuse them if a file has changed meanwhile."""
    tables = matches_of(askings, found, plan, progress)
    askings[0].stored.check_unchanged()
    return [written(joined(each, one.plan), one.head, one.plan, one.reading) for each, one in zip(tables, askings)]


def matches_of(
    askings: Sequence[Question], found: MatchSpans | None, plan: ReplayPlan, progress: Progress | None = None
) -> list[list[Any]]:
    """Return the tables of each of several patterns' operators where matches can lie, and note in the plan how much that was.

    The rows there are read once.
    """
    first = askings[0]
    groups = np.arange(len(first.stored)) if found is None else np.flatnonzero(found.alive)
    plan.read = len(groups)

    def told(done: int) -> None:
        if progress is not None:
            progress("replay", done, len(groups))

    if found is None:
        plan.replayed = first.stored.total
        return [all_rows(asking, told) for asking in askings]
    spans, keys = found.by_key(first), found.keys
    plan.spans = len(spans)

    def parts() -> Iterator[tuple[Any, int]]:
        for columns, then in rows_of_spans(first, spans, keys, groups, told):
            plan.replayed += len(columns["le"])
            yield columns, then

    return [by_key(tables, asking, spans, keys) for asking, tables in zip(askings, through_spans(askings, parts()))]
