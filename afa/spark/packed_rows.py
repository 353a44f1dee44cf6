"""Pack rows on their way to a bucket and back: a bucket's part of a batch is one Arrow stream in one binary column.

Spark's Python workers take rows of a grouped stream one by one; so few and large ones are sent.

    in      bucket int, part int, rows binary      part: EVENTS (an Arrow stream), ARC (a line of an arc log), BAD (`BadRow`, JSON),
                                                   END (what the end of a static table promises, in digits), WAKE (nothing: it
                                                   is to see the job, and to tell its numbers)
    out     the columns of `changes_schema`
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from afa.errors import ChangeError
from afa.operator.members import MEMBERS, column_type
from afa.spark.hashing import bucket_numbers
from afa.spark.held import table_of
from afa.spark.job import ARROW, BucketAnswer, Job, told_of
from punctuation.time import FOREVER
from speculation.stage_state import stream_of

_begun: Counter[str] = Counter()
EVENTS, ARC, BAD, END, WAKE = 0, 1, 2, 3, 4
PARTS = "bucket int, part int, rows binary"
OF_FEED = "afa.fault"
"""The metadata of a column that says why a message of a feed is no row (`afa.spark.feed`), and by which name that is told."""
STATE = "state "
"""What stands, among a bucket's numbers, before the name of a state whose partial matches are counted."""
MATCH, LATE, FAULT, CODE, NOTE, METRICS = "match", "late", "fault", "code", "note", "metrics"


def settle(kind: str) -> None:
    """Begin a task of this kind. Outside of a worker it does nothing."""
    if TaskContext.get() is None:
        return
    _begun[kind] += 1
    if _begun[kind] == 2:
        gc.freeze()


class BadRow(NamedTuple):
    """A row that could not be read, as far as its values show it; its time in ticks, if that could be read."""

    row: dict[str, Any]
    le: int | None


class BucketParts(NamedTuple):
    """The parts that came for a bucket."""

    events: pa.Table | None
    arcs: list[bytes | None]
    bad: list[BadRow]
    promised: int | None = None


def packer(
    job: Job, time: str, until: str | None = None, wake: int = 0
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that cuts typed rows (see `afa.spark.typed`) into parts; it knows of the job no more than it needs.

    Its first task wakes so many buckets, so that each is called in every batch that has rows.
    """
    more, nulls = ({}, job.asked.chooses) if job.asked.own is None else (job.asked.own.times, job.asked.own.null_keys)
    needed = [*(() if nulls else job.keys), *(field.name for field in job.fields if not field.optional), "le", *more, "diff"]
    names = () if job.messages is None else (*job.keys, *job.messages.columns, "diff")
    times = {"le": time, "re": until, **({} if job.instant in (None, time) else {job.instant: None}), **more}
    needed = [*needed, *names]
    return partial(
        pack, keys=job.keys, needed=tuple(dict.fromkeys(needed)), buckets=job.buckets, times=times, wake=wake, names=names
    )


def pack(
    batches: Iterable[pa.RecordBatch],
    keys: Sequence[str],
    needed: Sequence[str],
    buckets: int,
    times: Mapping[str, str | None],
    wake: int = 0,
    names: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Return rows as parts. Bad rows stand apart: a null where none is allowed, a strange ``diff`` or end, a text in ``bad``,
    text that is no UTF-8.

    ``times`` are columns of ticks, each with the column that it comes from; None: it is none of its own. ``names``: where rows are
    messages, the columns by which a retraction names an event; no other is needed of one.

    Spark's own columns cost the most of this step, by their number: so neither the bucket nor what is wrong comes as one.
    """
    settle("pack")
    context = TaskContext.get()
    if wake and context is not None and context.partitionId() == 0:
        yield _parts([(number, WAKE, b"") for number in range(wake)])
    for batch in batches:
        rows, unread = _readable(pa.Table.from_batches([batch]))
        numbers, parts = _numbers(rows, keys, buckets), []
        wrong = _wrong(rows, needed, unread, names)
        if wrong is not None:
            parts = [(b, BAD, line) for b, line in zip(numbers[wrong].tolist(), _said(rows.filter(pa.array(wrong)), times))]
            rows, numbers = rows.filter(pa.array(~wrong)), numbers[~wrong]
        order = np.argsort(numbers, kind="stable")
        rows = rows.drop_columns([name for name in ("bad",) if name in rows.column_names]).take(order)
        ends = np.flatnonzero(np.diff(numbers[order], append=-1)) + 1
        begin = 0
        for end in ends.tolist():
            parts.append((int(numbers[order[begin]]), EVENTS, stream_of(rows.slice(begin, end - begin))))
            begin = end
        yield _parts(parts)


def _numbers(rows: pa.Table, keys: Sequence[str], buckets: int) -> Any:
    """Return the bucket of each row; without a key there is one."""
    return bucket_numbers([rows[name] for name in keys], buckets) if keys else np.zeros(len(rows), np.int16)


def _parts(parts: list[tuple[int, int, bytes]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([bucket for bucket, _, _ in parts], pa.int32()),
            pa.array([part for _, part, _ in parts], pa.int32()),
            pa.array([blob for _, _, blob in parts], pa.binary()),
        ],
        names=["bucket", "part", "rows"],
    )


def _readable(rows: pa.Table) -> tuple[pa.Table, list[Any]]:
    """Return rows whose text Python can read, and in which of them it was none: Spark does not look at the bytes of its strings."""
    unread = []
    for place, column in enumerate(rows.columns):
        if pa.types.is_string(column.type):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid:
                raw = column.cast(pa.binary()).to_pylist()
                texts = [None if each is None else each.decode(errors="backslashreplace") for each in raw]
                torn = [text is not None and text.encode() != each for text, each in zip(texts, raw)]
                unread.append(pa.chunked_array([pa.array(torn)]))
                rows = rows.set_column(place, rows.field(place), pa.array(texts, pa.string()))
    return rows, unread


def _wrong(rows: pa.Table, needed: Sequence[str], unread: Sequence[Any], names: Sequence[str] = ()) -> Any:
    names = [name for name in names if name in rows.column_names]
    there = [name for name in needed if name in rows.column_names and rows[name].null_count]
    found = [*unread, *(pc.is_null(rows[name]) for name in there)]
    if "re" in rows.column_names:
        found.append(pc.fill_null(pc.less_equal(rows["re"], rows["le"]), False))
    if "diff" in names:  # of a retraction only what names its event is read
        gone = pc.fill_null(pc.equal(rows["diff"], -1), False)
        found = [*unread, *(pc.and_not(each, gone) for each in found[len(unread) :])]
        found += [pc.is_null(rows[name]) for name in there if name in names]
    if "diff" in rows.column_names:
        found.append(pc.fill_null(pc.not_equal(pc.abs(rows["diff"]), 1), False))
    found += [pc.fill_null(pc.is_nan(rows[name]), False) for name in names if pa.types.is_floating(rows.field(name).type)]
    if "bad" in rows.column_names:
        found.append(pc.is_valid(rows["bad"]))
    wrong = np.zeros(len(rows), bool)
    for column in found:
        wrong |= column.to_numpy()
    return wrong if wrong.any() else None


def _said(rows: pa.Table, times: Mapping[str, str | None]) -> list[bytes]:
    """Return bad rows as JSON, see `BadRow`: as they came, or where that is not told, as they were read."""
    les = rows[next(iter(times))].to_pylist()
    for name, told in times.items():
        if name in rows.column_names:
            moments = [None if tick == FOREVER else moment_of(tick) for tick in rows[name].to_pylist()]
            rows = rows.drop_columns([name, *({told} & {*rows.column_names} - {name})])
            if told is not None:
                rows = rows.append_column(told, pa.array(moments, pa.string()))
    return [f"[{row.pop('bad', None) or json.dumps(row)}, {json.dumps(le)}]".encode() for row, le in zip(rows.to_pylist(), les)]


def moment_of(tick: int | None) -> str | None:
    """Return a tick as a moment in text, the microseconds since 1970 where a calendar ends.

    >>> moment_of(1_500_000), moment_of(2**62)
    ('1970-01-01 00:00:01.500000', '4611686018427387904')
    """
    if tick is None:
        return None
    try:
        return (datetime(1970, 1, 1) + timedelta(microseconds=tick)).isoformat(" ", "microseconds")
    except OverflowError:
        return str(tick)


def read_parts(rows: Iterable[tuple[int, bytes]]) -> BucketParts:
    """Return the parts again, each as ``(part, rows)``."""
    tables, bad, promised = [], [], None
    arcs: list[bytes | None] = []
    for part, blob in rows:
        if part == END:
            promised = int(bytes(blob))
        elif part == EVENTS:
            tables.append(table_of(blob))
        elif part == ARC:
            arcs.append(None if blob is None else bytes(blob))
        elif part == BAD:
            bad.append(BadRow(*json.loads(bytes(blob))))
    return BucketParts(pa.concat_tables(tables) if tables else None, arcs, bad, promised)


# -- out ---------------------------------------------------------------------------------------------------------------------


def changes_schema(job: Job) -> pa.Schema:
    """Return the schema of changes: keys, register, ``le``, ``re`` in ticks (null: for ever), ``diff``, ``kind``, ``reason``."""
    register = [(field.name, ARROW[field.type]) for field in job.shown.fields]
    keys = [(name, job.schema.field(name).type) for name in job.keys]
    told = [] if job.members is None else [(MEMBERS, column_type(told_of(job)))]
    rest = [("le", pa.int64()), ("re", pa.int64()), ("diff", pa.int32()), *told, ("kind", pa.string()), ("reason", pa.string())]
    return pa.schema([*keys, *register, *rest])


def written(job: Job, answer: BucketAnswer, bad: Sequence[BadRow], metrics: dict[str, Any] | None = None) -> pa.Table:
    """Returns all that a bucket has to say as one table of `changes_schema`. ChangeError: bad rows are to stop the query."""
    if bad and job.stop_on_fault:
        raise ChangeError(why(job, bad[0]))
    schema = changes_schema(job)
    tables = [_matches(schema, changes) for changes in answer.changes if changes.num_rows]
    rows = [_late(job, change) for change in answer.late]
    faults = ((fault.rule, _fault(job, f"{fault.reason} (in {fault.what})", fault.key, fault.le)) for fault in answer.faults)
    rows += [{**row, "rule": rule} for rule, row in faults]
    rows += [_fault(job, reason, None, None) for reason in _left_out(job, schema, answer)]
    rows += [_fault(job, why(job, each), tuple(each.row.get(name) for name in job.keys), each.le) for each in bad]
    rows += [{"kind": NOTE, "reason": note} for note in answer.notes]
    if answer.code is not None:
        rows.append({"kind": CODE, "reason": answer.code})
    if metrics is not None:
        rows.append({"kind": METRICS, "reason": json.dumps(metrics)})
        of = {name: metrics.get(name) for name in ("batch", "bucket")}
        rows += [{"kind": METRICS, "rule": row["rule"], "reason": json.dumps({**of, **row})} for row in answer.by_rule]
    if rows:
        tables.append(pa.Table.from_pylist([_fitting(row, schema) for row in rows], schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _matches(schema: pa.Schema, changes: pa.Table) -> pa.Table:
    """Return changes of matches as rows, of which each says that one comes or goes."""
    diff = changes["diff"].to_numpy()
    if (np.abs(diff) > 1).any():
        changes = changes.take(np.repeat(np.arange(len(diff)), np.abs(diff)))
        changes = changes.set_column(changes.column_names.index("diff"), "diff", pc.sign(changes["diff"]))
    n = changes.num_rows
    re = pc.if_else(pc.equal(changes["re"], FOREVER), pa.scalar(None, pa.int64()), changes["re"])
    columns = {name: changes[name] for name in changes.schema.names}
    columns |= {"re": re, "kind": pa.repeat(MATCH, n), "reason": pa.nulls(n)}
    if MEMBERS in schema.names and pa.types.is_struct(schema.field(MEMBERS).type):
        came = columns[MEMBERS].combine_chunks()
        names = [field.name for field in schema.field(MEMBERS).type]
        columns[MEMBERS] = pa.StructArray.from_arrays([came.field(name) for name in names], names, mask=came.is_null())
    return pa.table({field.name: columns[field.name] for field in schema}).cast(schema)


def _left_out(job: Job, schema: pa.Schema, answer: BucketAnswer) -> list[str]:
    """Return, in words, for which components of later arcs members have come that have no column."""
    if job.members is None or not pa.types.is_struct(schema.field(MEMBERS).type):
        return []
    names = [field.name for field in schema.field(MEMBERS).type]
    new: dict[str, None] = {}
    for changes in answer.changes:
        came = changes[MEMBERS].combine_chunks()
        for name in sorted({field.name for field in came.type} - set(names)):
            if pc.any(pc.greater(pc.list_value_length(came.field(name)), 0)).as_py():
                new[name] = None
    return [f"expected members of {', '.join(names)}, which have columns, but got some of {name!r}: left out" for name in new]


def _late(job: Job, change: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"le": change.le, "re": None if change.re == FOREVER else change.re, "diff": change.diff, "kind": LATE}
    row["reason"] = f"behind the watermark: {change.payload!r}"
    if change.key is not None:
        row |= zip(job.keys, change.key if len(job.keys) > 1 else (change.key,))
    return row


def _fault(job: Job, reason: str, key: tuple[Any, ...] | None, le: int | None) -> dict[str, Any]:
    return {**dict(zip(job.keys, key or ())), "le": le, "kind": FAULT, "reason": reason}


def why(job: Job, bad: BadRow) -> str:
    """Returns what is wrong with a row that could not be read, as far as its values show it."""
    if OF_FEED in bad.row:
        return str(bad.row[OF_FEED])
    diff = bad.row.get("diff", 1)
    if diff not in (1, -1):
        return f"expected 1 (an insertion) or -1 (a retraction) in the column that diff= names but got diff={diff!r} in {bad.row!r}"
    fields = [field for field in job.fields if field.name != job.instant]
    text = [f"{f.name}: {f.type.__name__ if f.type else 'Any'}{' | None' if f.optional else ''}" for f in fields]
    end = ["an end after it"] if job.lifetimes else []
    times = "lower <= upper" if job.asked.own is not None and job.asked.own.times else "a time"
    named = [] if job.messages is None else ["an id", *([] if job.messages.version is None else ["a version"])]
    what = ", ".join([*(["a key"] if job.keys else []), *named, times, *end])
    return f"expected {what}{' and ' if text else ''}{', '.join(text)} but got {bad.row!r}"


def _fitting(row: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """Return a row without values that do not fit their columns: those of a row that could not be read."""
    found = {}
    for name, value in row.items():
        if isinstance(value, str):  # what a function says may hold text that no UTF-8 does
            value = value.encode(errors="backslashreplace").decode()
        try:
            found[name] = pa.scalar(value, schema.field(name).type).as_py()
        except (pa.ArrowException, KeyError, TypeError, ValueError, OverflowError):
            continue
    return found


def _values(column: pa.ChunkedArray) -> Any:
    """Return a column as pandas has it; lists and structs as Python's, of which Spark takes None for a missing one."""
    if not pa.types.is_nested(column.type):
        return pd.arrays.ArrowExtensionArray(column)
    return pd.Series(column.to_pylist(), dtype=object)


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return a table as PySpark's stateful operator wants it, its columns still Arrow's: no int becomes a float, no null a NaN."""
    table = table.combine_chunks()
    columns = {name: _values(table[name]) for name in table.schema.names}
    frame: pd.DataFrame = pd.DataFrame(columns, copy=False)
    return frame
