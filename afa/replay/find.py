"""`find`: the matches of a pattern in a whole frame, or in files, where only the stretches are read that may hold a match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from afa.errors import AfaError
from afa.frames.asked import asked, taken_options
from afa.frames.found import rows_at, written
from afa.frames.frame_reading import End, FrameReading, finest_times
from afa.frames.lanes import LaneHistory, history_of, matches_of
from afa.frames.message_rows import events_of
from afa.frames.slicing import columns_of, fields_of, ranks_of
from afa.io.frame import Frame, is_stored, unit_of_times
from afa.io.listed_columns import picked
from afa.language.sql_query import over_columns
from afa.language.stacked_query import OF_EACH, StackedQuery
from afa.model.renamed import renamed
from afa.operator.options import OF_FIND, FindOptions, Options, Unpack, check_options, takes_options
from afa.rules.found_rules import found_rules
from afa.rules.rules import Rules
from afa.schema import Schema


def found_by_rank(
    pattern: Any,
    ranked: Any,
    frame: Frame,
    options: Options,
    threads: int | None,
    beside: Mapping[str, Any],
    diff: str | None,
    history: LaneHistory | None,
) -> Any:
    """Return the matches in a frame whose rows are in the order of ``pattern``'s list; ``ranked``: the query over ranks as LEs.

    ``beside``: what is said beside and means nothing without times. Columns ``le`` and ``re`` are left out.
    """
    for name, value in beside.items():
        if value is not None and (name, value) != ("end", "latest"):
            raise AfaError(f"{name}={value!r} can't be combined with ORDER BY {pattern.tree.rank} because rows have no time there")
    finest = finest_times(frame, pattern.events)
    tick = options.tick or pattern.tick or (finest and unit_of_times(frame.times(finest), finest))
    plan = asked(ranked, options.but(tick=tick))
    columns = fields_of(frame, plan)
    columns["le"] = ranks_of(columns, plan.events, pattern.tree.rank)
    if diff is not None:
        columns["diff"] = frame.counts(diff)
    found = matches_of(columns, plan, threads, "latest", history)
    times = Schema.of(pattern.tree.event, "event").times
    plan = plan._replace(shown=plan.shown._replace(times=pattern.shown.times), events=plan.events._replace(times=times))
    without = {name: column for name, column in found.items() if name not in ("le", "re")}
    if pattern.tree.distinct:  # no lifetime tells them apart
        first: dict[Any, int] = {}
        for place, row in enumerate(rows_at(without, list(without), np.arange(len(found["le"])))):
            first.setdefault(row, place)
        without = {name: picked(column, np.array([*first.values()], np.int64)) for name, column in without.items()}
    return written(without, frame, plan, FrameReading(finest or frame.names[0], None, diff))


def _in_force(
    frame: Frame, pattern: Any, said: Options, time: str | None, until: str | None, diff: str | None, end: Any
) -> tuple[Any, Options, None]:
    """Return the rows of messages whose events are in force, and the options without what was said of ids."""
    first = pattern.links[0] if isinstance(pattern, StackedQuery) else pattern
    rows = events_of(frame, first, said, FrameReading.of(frame, first, time, until, diff, end))
    return rows, said.but(id=None, on_repeat=None, version=None), None


@renamed("workers")
@takes_options(*OF_FIND)
def find(
    pattern: Any,
    frame: Any,
    *,
    time: str | None = None,
    until: str | None = None,
    diff: str | None = None,
    end: End = "latest",
    threads: int | None = None,
    device: str | None = None,
    **options: Unpack[FindOptions],
) -> Any:
    """Find the matches of a pattern in a whole frame: those that are in force when an operator has taken all rows.

    The rows are taken by time, whatever their order, in slices with a watermark each: little is held meanwhile, nothing is kept.
    Of files only the stretches are read in which a match can lie, as `afa.replay.replay` does, which also says how.

    Parameters
    ----------
    pattern : Automaton, Query, words of `afa.language`, text of a query in SQL, `afa.Rules`, or what else makes operators
        A query has its own key, window and order; of text the columns of the frame are the fields of the events.
    frame : pandas, polars, Arrow, DuckDB relation, dict of columns; or files: str, Path, list of these, or pyarrow.dataset.Dataset
        Its columns are the event's fields, the key and the times; others may stay. Files, or a folder of them, are read row group
        by row group: they are never in memory as a whole, unless their times are all mixed up.
    key : str or sequence of str, optional
        The columns within whose values it is matched.
    time : str, optional
        The column of LE: ints, or timestamps or dates, with a zone or without (then UTC). None: ``le``, the event's `afa.Instant`,
        or the only column of timestamps.
    window : int, str or timedelta, optional
        How long an event lives: ticks, ``"1 hour"``. None: for ever, or until ``until``.
    until : str, optional
        The column of RE; where it has no value the window counts.
    diff : str, optional
        The column that says 1 of an insertion and -1 of a retraction.
    id, on_repeat, version : str, optional
        As of `Operator`: rows are messages, in the order in which they stand. A fault, and a retraction without its event, are
        refused (`LateEventError`).
    order_by : str, optional
        The event's field that orders events of one LE.
    tick : "ns", "us", "ms", "s", "min", "h" or "d", optional
        What one tick is. None: what a query says; else the unit of the column of times; ints have none.
    end : "latest" or "forever"
        Up to where time-outs fire at the end: the largest LE; or all of them.
    threads : int, optional
        How many threads take groups of many keys, or slices of time (of a `TemporalPattern` without keys, each with the rows up to
        ``within`` behind it). None: one for each core.
    device : "opencl" or "cuda", or "opencl:1" for the second one, optional
        What takes lanes (`Explanation.no_lanes`) in place of threads, with the same answer; of a frame in memory. A frame that many
        patterns go over is copied to it once by ``prepared(.., device=)``. ``afa devices`` lists them.
    engine : "auto", "compiled" or "interpreted"
    longest : bool
        As of `Operator`.
    members : str or True, optional
        As of `Operator`: a column ``members`` of lists, by component a struct of lists; in pandas and dicts of
        columns tuples, and dicts of tuples.
    collapse, having
        As of `Operator`: records of all paths in place of matches; only the matches of which a path satisfies a condition.
    partial_matches, max_bytes
        As of `Operator`, of each of those that take parts of the frame: what they may hold, else a `BudgetError`.

    Returns
    -------
    frame
        Of the kind that came in (files: Arrow): columns of the key, of what matches show, ``le`` and ``re``, these in the
        type of the column of times; FOREVER is missing there. By ``le``, then ``re``.

    Raises
    ------
    AfaError
        A column is missing or does not fit, a time is missing or no whole number of ticks, the automaton has no event schema. Also
        what a user's function raises.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import afa
    >>> class Trade(NamedTuple):
    ...     price: float
    >>> dip = afa.Automaton(
    ...     start="0", final={"2"}, event=Trade, arcs=[afa.Arc("0", "1", "price < 9"), afa.Arc("1", "2", "price > 9")]
    ... )
    >>> trades = {"symbol": ["A", "B", "A"], "price": [8.0, 8.5, 9.5], "at": [10, 11, 12]}
    >>> {name: column.tolist() for name, column in find(dip, trades, key="symbol", time="at", window=60).items()}
    {'symbol': ['A'], 'le': [12], 're': [70]}
    """
    said, threads = taken_options(options, "find", OF_FIND, threads)
    if isinstance(pattern, Rules):

        def of_rule(rule: Any, given: Any) -> Any:
            return find(rule, frame, time=time, until=until, diff=diff, end=end, threads=threads, device=device, **given)

        return found_rules(pattern, frame, of_rule, said.said)
    history: LaneHistory | None = None
    if is_stored(frame):
        if device is not None:
            raise AfaError(f"device={device!r} can't be combined with files because only the stretches are read that may match")
        from afa.replay.replaying import replayed
        from afa.replay.stored import Stored, schema_of

        pattern = over_columns(pattern, lambda: schema_of(frame))
        if said.id is not None:
            frame, said, diff = _in_force(Stored(frame).whole(), pattern, said, time, until, diff, end)
            return find(pattern, frame, time=time, until=until, end=end, threads=threads, **said.said)
        if getattr(pattern, "ranked", None) is not None:
            opened = Stored(frame).whole()
        elif not isinstance(pattern, StackedQuery):
            return replayed(pattern, frame, said, (time, until, diff, end)).matches
    else:
        opened = Frame.opened(frame)
        history = history_of(opened, device, said.engine)
        device = None if history is None or said.engine != "auto" else history.on
        frame, pattern = opened.given, over_columns(pattern, lambda: opened.given)
        if said.id is not None:
            if history is not None and device is not None:
                raise AfaError(f"device={device!r} can't be combined with id={said.id!r} because other rows are in force each time")
            frame, said, diff = _in_force(opened, pattern, said, time, until, diff, end)
            opened, history = Frame(frame), None
    if isinstance(pattern, StackedQuery):
        check_options(said.said, OF_EACH, f"afa.find over {pattern}")
        for place, each in enumerate(pattern.links):
            given: Any = {"time": each.tree.time} if place else {"time": time, "until": until, "diff": diff}
            frame = find(each, frame, end=end, threads=threads, device=device, **given, **said.said)
        return frame
    if (ranked := getattr(pattern, "ranked", None)) is not None:
        return found_by_rank(pattern, ranked, opened, said, threads, {"time": time, "until": until, "end": end}, diff, history)
    reading = FrameReading.of(opened, pattern, time, until, diff, end)
    plan = reading.asked(pattern, opened, said)
    return written(matches_of(columns_of(opened, plan, reading), plan, threads, reading.end, history), opened, plan, reading)
