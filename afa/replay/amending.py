"""`amend`: what late rows, retracted rows, and arcs with a lifetime in the past change in the matches of stored history.

Only spans are read in which they can change matches: around changed rows, around the rows that a changed arc takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.change import Change
from afa.frames.asked import SWEEPS, check_columns
from afa.frames.found import Columns, rows_at, written
from afa.frames.frame_reading import End
from afa.io.frame import Frame
from afa.model.binding import bound_arc
from afa.operator.options import FrameOptions, Unpack, options_of, takes_options
from afa.replay.changed_rows import Changed, changed, check_met
from afa.replay.key_spans import Lookup, Spans, joined, later, touching
from afa.replay.question import Question, in_groups, lifetime_of, longest_lifetime, question, waiting
from afa.replay.scanning import Scan, Scanner, WitnessBlock
from afa.replay.seen_keys import SeenKeys
from afa.replay.stored import together
from afa.replay.through_spans import RowsOfSpans, by_key, no_rows, operator_columns, pieces, pushed
from afa.replay.witness.boxes import ArcLifetime, boxes_of
from afa.replay.witness.witnesses import Witness
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER


@takes_options(*SWEEPS)
def amend(
    pattern: Any,
    source: Any,
    changes: Any,
    *,
    time: str | None = None,
    until: str | None = None,
    end: End = "latest",
    applied: bool = True,
    arcs: Iterable[Change] = (),
    **options: Unpack[FrameOptions],
) -> pa.Table:
    """Find what changes that came too late make of the matches of stored history: the minimal difference.

    Only the rows around the changes are read: those of their keys within a window of them.

    Parameters
    ----------
    pattern : Automaton, Query, words of `afa.language`
    source : str, Path, list of these, or pyarrow.dataset.Dataset
        The stored rows. Each is an insertion.
    changes : frame, or sequence of Change
        Rows that are inserted or, with -1 in the column ``diff``, retracted, in the columns of the source; what `afa.spark.match`
        writes, of which the rows of ``kind = late`` are taken; or changes of events and of arcs: ``afa.insert(arc, le, re)`` for an
        arc that was in force for a while.
    time, until, end, options
        As of `afa.find`.
    applied : bool
        Whether the source is as it is after the changes of rows: it has the inserted ones, and no retracted one. False: it is as
        it was before them.
    arcs : iterable of Change
        Arcs with lifetimes that served before the changes, too.

    Returns
    -------
    pyarrow.Table
        Columns of the key, of what matches show, ``le``, ``re``, ``diff``: the matches that go (-1) and those that come (1), by
        ``le``. Matches with this difference are those of the changed history.

    Raises
    ------
    ChangeError
        The source contradicts a change, which is named: an inserted row that it has not, a retracted one that it still has.
    AfaError
        As `afa.replay.replay`.

    Notes
    -----
    Without a window all rows are read, and held at once; with AFTER MATCH SKIP all rows of the keys of the changes, since what is
    chosen may change far behind them. Cost: the row groups around the changes; the rows of their keys within a window of them go
    through the operator, then the changes.

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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"price": [99.5, 40.0, 99.5, 45.0], "at": [1, 3, 20, 22]}), f"{folder}/trades.parquet")
    ...     late = {"price": [70.0], "at": [21]}
    ...     found = amend(spike, folder, late, time="at", window=10, applied=False)
    >>> found.to_pylist()
    [{'le': 22, 're': 30, 'diff': -1}]
    """
    asked = options_of(options, "amend", SWEEPS)
    asking = question(pattern, source, asked, (time, until, None, end), arcs)
    check_columns(asking.plan.computed, "afa.amend")
    come = changed(changes, asking)
    asking = asking._replace(plan=waiting(asking.plan, come.arcs))
    columns = _difference(asking, come, applied)
    asking.stored.check_unchanged()
    order = np.lexsort((columns["diff"], columns["re"], columns["le"]))
    return written({name: column[order] for name, column in columns.items()}, asking.head, asking.plan, asking.reading)


def _difference(asking: Question, come: Changed, applied: bool) -> Columns:
    """Return the matches after the changes, less those before them, with a column ``diff``."""
    lived = longest_lifetime(asking)
    if asking.reading.until is not None and len(come.le):
        lasts = come.re - come.le  # one that is too long for an int64 has wrapped
        lived = max(lived, FOREVER if (lasts < 0).any() else int(lasts.max()))
    keys = SeenKeys(asking)
    number = keys.numbers_of(come.frame, np.arange(len(come.le)), come.le, new=True)
    latest = latest_of(asking, come, applied)
    spans = changed_spans(asking, come, number, keys, lived, latest)
    groups = np.flatnonzero(touching(spans, asking.extents.least, asking.extents.latest))
    reader = RowsOfSpans(asking, spans, keys)
    several = together(groups.tolist(), asking.stored.rows)
    parts = [rows for each in several if (rows := reader.of_groups(each)) is not None] or [no_rows(asking)]
    stored = [piece for part in parts for piece in pieces(part)]
    columns = operator_columns(asking, come.frame, come.reading)
    changes = {**columns, asking.span: Lookup(spans).number(number, come.le), "diff": come.diff}
    _check(parts, changes, asking, keys, spans, applied)
    if not asking.plan.waits and not come.arcs:  # what the changes make of the matches, or, taken back, unmake
        op = asking.operator(asking.by_span or asking.plan)
        pushed(op, stored)
        made = pushed(op, [{**changes, "diff": -come.diff if applied else come.diff}])
        made = [{**table, "diff": -table["diff"]} for table in made] if applied else made
        return netted([], by_key(made, asking, spans, keys))
    sides = []
    for after in (False, True):
        op = asking.operator(asking.by_span or asking.plan)
        for change in come.arcs if after else ():
            op.push_arc(change)
        given = stored if after == applied else [*stored, {**changes, "diff": -come.diff if applied else come.diff}]
        last = FOREVER if asking.reading.end == "forever" else latest[after]
        tables = list(pushed(op, [*given, *([Punctuation(last)] if asking.plan.waits else [])]))
        sides.append(by_key(tables, asking, spans, keys))
    return netted(*sides)


def latest_of(asking: Question, come: Changed, applied: bool) -> tuple[int, int]:
    """Return the largest LE before the changes, and after them."""
    if not asking.plan.waits:
        return asking.latest, asking.latest
    gone = come.diff > 0 if applied else come.diff < 0
    left: Counter[int] = Counter()
    for at, many in zip(come.le[gone].tolist(), np.abs(come.diff[gone]).tolist()):
        left[at] += many
    other = max([_latest_without(asking, left), *come.le[~gone].tolist()])
    return (other, asking.latest) if applied else (asking.latest, other)


def _latest_without(asking: Question, gone: Counter[int]) -> int:
    """Return the largest LE of the source without so many rows of some LEs."""
    left, latest = gone.copy(), BEGINNING
    for group in np.argsort(-asking.extents.latest, kind="stable").tolist():
        if asking.extents.latest[group] <= latest:
            break

        def ticks(table: pa.Table) -> Any:
            return Frame(table).ticks(asking.reading.time, asking.plan.tick, "time")

        le, many = np.unique(in_groups(asking.stored, [group], ticks, [asking.reading.time]), return_counts=True)
        for at, here in zip(le[::-1].tolist(), many[::-1].tolist()):
            taken_ = min(here, left[at])
            left[at] -= taken_
            if here > taken_:
                latest = max(latest, at)
                break
    return latest


def _check(parts: Sequence[Columns], changes: Columns, asking: Question, keys: SeenKeys, spans: Spans, applied: bool) -> None:
    """Refuse changes that the source contradicts."""
    names, instants = [name for name in changes if name != "diff"], pa.array(changes["le"])
    rows = [
        row
        for stored in parts
        for row in rows_at(stored, names, np.flatnonzero(pc.is_in(pa.array(stored["le"]), value_set=instants)))
    ]
    wanted = rows_at(changes, names, np.arange(len(changes["le"])))

    def said(row: tuple[Any, ...]) -> str:
        found = dict(zip(names, row))
        of_key = dict(zip(asking.plan.keys, keys.values[spans.key[found.pop(asking.span)]]))
        return ", ".join(f"{name}={value!r}" for name, value in {**of_key, **found}.items())

    check_met(rows, list(zip(wanted, changes["diff"].tolist())), applied, said)


def netted(before: Sequence[Columns], after: Sequence[Columns]) -> Columns:
    """Return the matches that one has and the other has not, with a ``diff``."""
    columns = {name: np.concatenate([table[name] for table in (*before, *after)]) for name in after[0]}
    many = sum(len(table["le"]) for table in before)
    sign = columns["diff"] * np.where(np.arange(len(columns["le"])) < many, -1, 1)
    rows = rows_at(columns, [name for name in columns if name != "diff"], np.arange(len(sign)))
    total: Counter[tuple[Any, ...]] = Counter()
    for row, diff in zip(rows, sign.tolist()):
        total[row] += diff
    kept, diffs = [], []
    for place, row in enumerate(rows):
        diff = total.pop(row, 0)
        if diff:
            kept.append(place)
            diffs.append(diff)
    return {**{name: column[kept] for name, column in columns.items()}, "diff": np.array(diffs, np.int64)}


def changed_spans(asking: Question, come: Changed, number: Any, keys: SeenKeys, longest: int, latest: tuple[int, int]) -> Spans:
    """Return the spans of keys in which some run, or the wait behind it, can be another after the changes.

    ``number``: of the key of each changed row; ``keys`` takes the keys that a changed arc concerns. ``latest``: the largest LE
    before the changes and after them: between the two time-outs fire that did not, or no more.
    """
    if asking.by_span is None or not asking.plan.steady:  # what is chosen of overlapping matches hangs together without an end
        if come.arcs or latest[0] != latest[1]:
            keys.see(range(len(asking.stored)))
        many = np.arange(len(keys))
        return Spans(many, np.full(len(many), BEGINNING), np.full(len(many), FOREVER))
    parts = [(number, later(come.le, 1 - longest), later(come.le, longest))]
    if latest[0] != latest[1]:
        parts.append(_all_keys(asking, keys, later(min(latest), 1 - longest), later(max(latest), 1)))
    for change in come.arcs:
        le, re = lifetime_of(change)
        serving = ArcLifetime(bound_arc(change.payload, asking.plan.tick, asking.plan.automaton), le, re)
        if serving.arc.reads_event and not serving.arc.final:
            parts += _around_takers(asking, serving, keys, longest)
        else:  # it may serve behind any event
            parts.append(_all_keys(asking, keys, later(le, 1 - longest), later(re, longest)))
    return joined(*(np.concatenate(columns) for columns in zip(*parts)))


def _around_takers(asking: Question, serving: ArcLifetime, keys: SeenKeys, longest: int) -> list[tuple[Any, Any, Any]]:
    """Return the spans around the events that an arc may take."""
    boxes = boxes_of(serving, asking.plan.automaton.event_schema, asking.plan.automaton.register_schema)
    witness = Witness(boxes, (serving.arc,), False, False, None)
    scanner = Scanner(asking, [witness], keys, longest, lambda place: 1.0)
    groups = np.flatnonzero(asking.extents.may_hold(boxes)).tolist()
    scan = Scan(witness.fields, (WitnessBlock((0,), (0,)),))
    found = [one for _, several in scanner.candidates(scan, groups, None) for one in several]
    return [(one.key, later(one.le, 1 - longest), later(one.le, longest)) for one in found]


def _all_keys(asking: Question, keys: SeenKeys, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Return a span of time for each key that has rows in it."""
    time = Spans(np.zeros(1, np.int64), np.array([low]), np.array([high]))
    keys.see(np.flatnonzero(touching(time, asking.extents.least, asking.extents.latest)).tolist())
    many = len(keys)
    return np.arange(many), np.full(many, low), np.full(many, high)
