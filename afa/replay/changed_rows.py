"""The changes that `amend` is given: rows as a table, changes of events or of arcs, late rows as Spark writes them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.change import Change
from afa.errors import ChangeError
from afa.frames.frame_reading import FrameReading
from afa.io.frame import Frame
from afa.model.arc import Arc
from afa.replay.question import Question, checked_arcs, ends_of
from afa.schema import ODD, Field, as_ticks

LATE = "late"
REASON = "behind the watermark: "
"""What Spark writes in front of a late row's event (`afa.spark`)."""
LONGEST = 1 << 16
"""The longest text of an event that is read."""


class Changed(NamedTuple):
    """Changes, checked."""

    frame: Frame  # the rows
    reading: FrameReading  # which columns hold their times, and how many copies come or go
    # le, re, diff: of each row
    le: Any
    re: Any
    diff: Any
    arcs: tuple[Change, ...]  # changes of arcs, in their order


def changed(changes: Any, asking: Question) -> Changed:
    """Read what `amend` is given; refuse a row that does not fit, or has a lifetime that the source can't have."""
    if type(changes).__module__.startswith("pyspark"):
        changes = changes.toArrow()
    arcs: list[Change] = []
    listed = isinstance(changes, (list, tuple))
    if listed:
        arcs = [change for change in changes if isinstance(change, Change) and isinstance(change.payload, Arc)]
        changes = _table_of([change for change in changes if not any(change is arc for arc in arcs)], asking)
    frame = Frame(_arrow(changes, asking))
    late = "kind" in frame.names and "reason" in frame.names
    if late:
        frame = Frame(_late_rows(frame, asking))
    reading = _reading(frame, asking, late)
    le = frame.ticks(reading.time, asking.plan.tick, "time")
    diff = frame.counts(reading.diff) if reading.diff is not None else np.ones(len(le), np.int64)
    if not diff.all():
        raise ChangeError(f"expected 1 for an insertion, -1 for a retraction but got diff=0 in row {int(np.argmin(diff != 0))}")
    re = _ends(frame, reading, asking, le, listed)
    return Changed(frame, reading, le, re, diff, checked_arcs(arcs, asking.plan))


def _arrow(changes: Any, asking: Question) -> Any:
    """Return a frame of any kind as an Arrow table; what is none as it is, to be refused."""
    frame, known = Frame(changes), {field.name: field for field in asking.plan.fields}
    wanted = [known.get(name, Field(name, None, True)) for name in frame.names]
    try:
        return pa.table(dict(zip(frame.names, frame.table.take(wanted))))
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected columns that Arrow holds as the changes but got {error}") from error


def _reading(frame: Frame, asking: Question, late: bool) -> FrameReading:
    """Return which columns of the rows hold their times: those of the source, or ``le`` and ``re``."""
    said, names = asking.reading, frame.names
    time = said.time if said.time in names and not late else "le" if "le" in names else said.time
    until = None
    if said.until is not None:
        until = said.until if said.until in names and not late else "re" if "re" in names else said.until
    diff = said.diff if said.diff in names and not late else "diff" if "diff" in names else None
    return FrameReading(time, until, diff, said.end)


def _ends(frame: Frame, reading: FrameReading, asking: Question, le: Any, listed: bool) -> Any:
    """Return the REs of rows; ``listed``: they were changes, whose RE is an end also where the source has another ``re``."""
    found = ends_of(frame, asking._replace(reading=reading), le)
    own = listed or "re" not in asking.head.names
    if reading.until is None and "re" in frame.names and asking.reading.until is None and own:
        told = ends_of(frame, asking._replace(reading=reading._replace(until="re")), le)
        wrong = np.flatnonzero(told != found)
        if len(wrong):
            row = int(wrong[0])
            raise ChangeError(
                f"expected re={int(found[row])}, le + window, as the source has no column of ends, but got re={int(told[row])} "
                f"in row {row}; say until= if it has one"
            )
    return found


def _table_of(changes: Sequence[Any], asking: Question) -> pa.Table:
    """Return changes of events as a table in the columns of the source."""
    plan, reading, rows = asking.plan, asking.reading, []
    for change in changes:
        if not isinstance(change, Change) or change.le is None:
            raise ChangeError(
                f"expected a table of rows, or changes with times, as afa.insert(event, le) makes them, but got {change!r}"
            )
        payload = plan.events.take(plan.events.dated(change.payload, change.le))
        row = {field.name: value for field, value in zip(plan.events.fields, payload) if field.name != plan.events.instant}
        key = change.key if isinstance(change.key, tuple) and len(plan.keys) > 1 else (change.key,)
        for name, value in zip(plan.keys, key):
            if name not in row and name != plan.events.instant:
                row[name] = value
        row["le"] = as_ticks(change.le, "le", plan.tick)
        if change.re is not None:
            row["re"] = as_ticks(change.re, "re", plan.tick)
        rows.append({**row, "diff": change.diff})
    names = [name for name in asking.names if name not in reading.columns]
    schema = pa.schema([asking.stored.schema.field(name) for name in names])
    times = [pa.field(name, pa.int64()) for name in ("le", "re", "diff") if name not in names]
    try:
        found = {field.name: pa.array([row.get(field.name) for row in rows], field.type) for field in [*schema, *times]}
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected events that fit the columns of the source but got {error}") from error
    return pa.table(found)


def _late_rows(frame: Frame, asking: Question) -> pa.Table:
    """Return the rows that came behind the watermark, out of what `afa.spark.match` writes, with their events' fields."""
    table = frame.given.filter(pc.equal(frame.given["kind"], LATE))
    plan = asking.plan
    payloads = [_event_of(text, asking) for text in table["reason"].to_pylist()]
    found = {name: table[name] for name in ("le", "re", "diff") if name in table.column_names}
    for name in asking.names:
        if name in asking.reading.columns:
            continue
        kind = asking.stored.schema.field(name).type
        try:
            if any(field.name == name for field in plan.fields):
                found[name] = pa.array([payload[name] for payload in payloads], kind)
            else:
                found[name] = table[name].cast(kind)
        except (pa.ArrowException, *ODD) as error:
            raise ChangeError(f"expected late rows that fit the column {name!r} of the source ({kind}) but got {error}") from error
    return pa.table(found)


def _event_of(text: Any, asking: Question) -> dict[str, Any]:
    """Return the fields of an event, as its text shows them: constants by name, nothing else is read."""
    events = asking.plan.events
    if not isinstance(text, str) or not text.startswith(REASON) or len(text) > LONGEST:
        raise ChangeError(f"expected the reason of a late row, {REASON!r} and its event, but got {str(text)[:200]!r}")
    shown = text[len(REASON) :]
    try:
        call: Any = ast.parse(shown, mode="eval").body
        names = sorted(str(word.arg) for word in call.keywords)
        if not isinstance(call, ast.Call) or call.args or names != sorted(field.name for field in events.fields):
            raise ValueError("other fields")
        return {str(word.arg): _constant(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, AttributeError, RecursionError, MemoryError) as error:
        raise ChangeError(
            f"expected the text of a {events.describe()} in the reason of a late row but got {shown[:200]!r}"
        ) from error


def _constant(node: Any) -> Any:
    match node:
        case ast.Constant(value) if value is None or isinstance(value, (int, float, bool, str)):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float()) | ast.Name() as x):
            return -_constant(x)
        case ast.Name("nan" | "inf" as name):
            return float(name)
    raise ValueError("no constant")


def check_met(
    rows: Iterable[tuple[Any, ...]],
    wanted: Sequence[tuple[tuple[Any, ...], int]],
    applied: bool,
    said: Callable[[tuple[Any, ...]], str],
) -> None:
    """Refuse changes that stored rows contradict, and name the first one.

    ``rows``: what is stored at the instants of the changes; ``wanted``: the changes, and how many copies come or go;
    ``applied``: whether the source is as it is after them; ``said``: returns a row in words.
    """
    stored, total = Counter(rows), Counter[tuple[Any, ...]]()
    for change, many in wanted:
        total[change] += many
    for change, many in total.items():
        here, why = stored[change], None
        if applied and many > 0 and here < many:
            why = "inserted, but the source, which is as it is after the changes, has"
        elif applied and many < 0 and here:
            why = "retracted, but the source, which is as it is after the changes, still has"
        elif not applied and many < 0 and here < -many:
            why = "retracted, but the source, which is as it is before the changes, has"
        if why is not None:
            found = "no such row" if not here else "such a row" if here == 1 else f"{here} such rows"
            hint = "; with applied=False the source is as it is before them" if applied else ""
            raise ChangeError(
                f"expected changes that the source agrees with but got one that is {why} {found}: {said(change)}{hint}"
            )
