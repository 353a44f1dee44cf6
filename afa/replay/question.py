"""What is asked of a stored table: a pattern bound to its columns, the arcs that serve, and when each row group was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.frames.asked import OperatorPlan, asked
from afa.frames.frame_reading import End, FrameReading
from afa.frames.slicing import columns_of
from afa.io.frame import Frame
from afa.model.arc import TIMEOUT, Arc
from afa.model.automaton import Automaton
from afa.model.binding import bound_arc
from afa.operator.matching import Matching
from afa.operator.options import Options
from afa.replay.holding import Extents
from afa.replay.key_spans import later
from afa.replay.known_blocks import Blocks
from afa.replay.stored import Stored
from afa.replay.witness.boxes import ArcLifetime
from afa.replay.witness.witnesses import Necessary, Share, necessary
from afa.schema import as_ticks
from punctuation.time import BEGINNING, FOREVER

INTERVAL = "interval"
Said = tuple[str | None, str | None, str | None, End]
"""The columns of LE, RE and diff, and what the end promises."""


class Question(NamedTuple):
    """A pattern and a stored table."""

    stored: Stored
    head: Frame  # the table's columns, without rows
    arcs: tuple[Change, ...]  # arcs of a while, beside the automaton's own
    reading: FrameReading
    plan: OperatorPlan  # what runs the pattern by its own key
    by_span: OperatorPlan | None  # what runs it by the number of a span, in the column ``span``. None: it can't.
    span: str  # the name of that column
    extents: Extents  # what the footers tell of each row group, its times among it
    of_blocks: Extents  # what is told of blocks: parts of row groups, where an index beside a file tells more
    group_of: Any  # the row group of each block
    also: tuple[Automaton, ...] = ()  # automata whose matches are to be found, too

    @property
    def strict(self) -> bool:
        """Whether a later event of a run has a larger LE: none of an equal one."""
        return self.plan.order_by is None

    @property
    def latest(self) -> int:
        """The largest LE."""
        return int(self.extents.latest.max()) if len(self.extents.latest) else BEGINNING

    @property
    def last(self) -> int:
        """The promise at the end."""
        return FOREVER if self.reading.end == "forever" else self.latest

    @property
    def names(self) -> list[str]:
        """The columns that are read for the operator."""
        fields = [field.name for field in self.plan.fields]
        return list(dict.fromkeys([*fields, *self.key_names, *self.reading.columns]))

    @property
    def key_names(self) -> list[str]:
        """The columns of the key."""
        return [name for name in self.plan.keys if name != self.plan.events.instant and name not in self.plan.made]

    @property
    def about_names(self) -> list[str]:
        """The columns of times and of the key."""
        until = self.reading.until
        return [self.reading.time, *self.key_names, *([] if until is None else [until])]

    def necessary(self, share: Share | None = None) -> Necessary:
        """Return the witnesses that a match must contain."""
        arcs = [*servings(self.plan, self.arcs), *(ArcLifetime(arc) for other in self.also for arc in other.arcs)]
        return necessary(self.plan.automaton, arcs, share, {state for other in self.also for state in other.final})

    def operator(self, of: OperatorPlan) -> Any:
        """Make an operator, which has taken the arcs."""
        made = of.make()
        for change in self.arcs:
            made.push_arc(change)
        return made


def question(
    pattern: Any,
    source: Any,
    options: Options,
    said: Said,
    arcs: Iterable[Change] = (),
    rows: bool = True,
) -> Question:
    """Open a source, and bind a pattern to it.

    ``rows``: whether rows may be read, where statistics don't tell the times of a row group; else it may be at any time.
    """
    stored = source if isinstance(source, Stored) else Stored(source)
    head = stored.head()
    reading = FrameReading.of(head, pattern, *said)
    plan = reading.asked(pattern, head, options)
    columns_of(head, plan, reading)  # which says what is missing
    given = checked_arcs(arcs, plan)
    plan = waiting(plan, given)
    taken = {field.name for field in (*plan.events.fields, *plan.shown.fields)} | {"le", "re", "diff", "members", *plan.keys}
    span = next(name for name in (INTERVAL, *(f"{INTERVAL}{n}" for n in range(len(taken)))) if name not in taken)
    by_span = None
    if plan.alone and not isinstance(pattern, Matching):
        by_span = asked(pattern, options.but(tick=plan.tick), by=span)
    blocks = Blocks(stored, reading.time)
    least, latest = times_of(blocks, stored, reading.time, plan.tick, rows)
    of_blocks = extents = Extents(blocks.column, blocks.rows, plan.events, plan.tick, least, latest)
    if blocks.indexed.any():
        begin, end = np.full(len(stored), FOREVER), np.full(len(stored), BEGINNING)
        np.minimum.at(begin, blocks.group, least)
        np.maximum.at(end, blocks.group, latest)
        extents = Extents(stored.bounds, stored.rows, plan.events, plan.tick, begin, end)
    return Question(stored, head, given, reading, plan, by_span, span, extents, of_blocks, blocks.group)


def times_of(blocks: Blocks, stored: Stored, time: str, tick: str | None, rows: bool) -> tuple[Any, Any]:
    """Return the least and the largest LE of each block: as its statistics tell, an index beside it, or else its rows."""
    least, latest = np.full(len(blocks.rows), BEGINNING), np.full(len(blocks.rows), FOREVER - 1)
    for ends, column in zip((least, latest), blocks.times() if blocks.timed.any() else ()):
        ends[blocks.timed] = Frame(pa.table({time: column.filter(pa.array(blocks.timed))})).ticks(time, tick, "time")
    for block in np.flatnonzero(~blocks.timed).tolist() if rows else []:
        ticks = in_groups(stored, [int(blocks.group[block])], lambda table: Frame(table).ticks(time, tick, "time"), [time])
        least[block], latest[block] = ticks.min(), ticks.max()
    return least, latest


def in_groups(stored: Stored, groups: Sequence[int], call: Callable[[pa.Table], Any], columns: Sequence[str]) -> Any:
    """Call a function with columns of some row groups, one behind the other; an error names them."""
    table = stored.read_several(groups, columns)
    with named(f" ({stored.where(groups[0])}{f' and {len(groups) - 1} behind it' if len(groups) > 1 else ''})"):
        return call(table)


@contextmanager
def named(where: str) -> Iterator[None]:
    """Let errors say where rows stand."""
    try:
        yield
    except AfaError as error:
        raise type(error)(f"{error}{where}") from error


def longest_lifetime(asking: Question) -> int:
    """Return the longest lifetime of an event: the window; with a column of REs, what all rows of it say. FOREVER: no bound."""
    reading, plan = asking.reading, asking.plan
    window = FOREVER if plan.window is None else plan.window
    if reading.until is None:
        return window
    longest = 1
    for group in range(len(asking.stored)):

        def lifetime(table: pa.Table) -> int:
            frame = Frame(table)
            le = frame.ticks(reading.time, plan.tick, "time")
            lasts = ends_of(frame, asking, le) - le  # one that is too long for an int64 has wrapped
            return FOREVER if (lasts < 0).any() else int(lasts.max())

        longest = max(longest, in_groups(asking.stored, [group], lifetime, [reading.time, str(reading.until)]))
    return min(longest, FOREVER)


def ends_of(frame: Frame, asking: Question, le: Any) -> Any:
    """Return the REs of rows: as the column of REs says, or after a window."""
    reading, plan = asking.reading, asking.plan
    window = FOREVER if plan.window is None else plan.window
    if reading.until is None:
        return later(le, window)
    found = frame.ticks(reading.until, plan.tick, "until", optional=True)
    if isinstance(found, np.ndarray):
        return found
    gone = found.is_null().to_numpy(zero_copy_only=False)
    return np.where(gone, later(le, window), found.fill_null(0).to_numpy())


def servings(plan: OperatorPlan, arcs: Iterable[Change]) -> list[ArcLifetime]:
    """Return the arcs that serve, with their lifetimes: the automaton's own, and those that come."""
    found = [ArcLifetime(arc) for arc in plan.automaton.arcs]
    for change in arcs:
        le, re = lifetime_of(change)
        serving = ArcLifetime(bound_arc(change.payload, plan.tick, plan.automaton), le, re)
        same = [i for i, one in enumerate(found) if (one.arc, one.since, one.until) == tuple(serving)]
        if change.diff > 0:
            found.append(serving)
        elif same:
            del found[same[0]]
    return found


def lifetime_of(change: Change) -> tuple[int, int]:
    """Return the lifetime of an arc's change."""
    assert change.le is not None
    return change.le, FOREVER if change.re is None else change.re


def waiting(plan: OperatorPlan, arcs: Iterable[Change]) -> OperatorPlan:
    """Return a plan that waits for the end, too, if one of the arcs that come is a time-out."""
    return plan._replace(waits=plan.waits or any(change.payload.kind == TIMEOUT for change in arcs))


def checked_arcs(arcs: Iterable[Change], plan: OperatorPlan) -> tuple[Change, ...]:
    """Return changes of arcs with their lifetimes in ticks; refuse one without a lifetime, or that does not fit."""
    found = []
    for change in arcs:
        if not isinstance(change, Change) or not isinstance(change.payload, Arc):
            raise ChangeError(f"expected changes of arcs, as afa.insert(arc, le, re) makes them, but got {change!r}")
        if change.le is None:
            raise ChangeError(
                f"expected an arc with a lifetime, as stored history has no present, but got le=None for {change.payload!r}; "
                "afa.insert(arc, le=BEGINNING) makes one that was always in force"
            )
        plan.automaton.check_arc(change.payload)
        le, re = (None if at is None else as_ticks(at, name, plan.tick) for name, at in (("le", change.le), ("re", change.re)))
        found.append(change._replace(le=le, re=re))
    return tuple(found)
