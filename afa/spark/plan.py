"""Build the plan of `match`: typed rows, grouped by bucket, through the stateful operator, changes out."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.types import StructType

from afa.compiled.fit import admitted, taken_apart
from afa.errors import AfaError
from afa.language.builder import Builder
from afa.language.query import Query
from afa.model.arc import TIMEOUT
from afa.model.automaton import Automaton
from afa.model.reach import check_whole
from afa.operator.member_columns import MEMBERS
from afa.spark.bucket import Bucket
from afa.spark.hashing import bucket_of, label_of
from afa.spark.job import Job, job_of, told_of
from afa.spark.metrics import name_of, observed
from afa.spark.moved import moved
from afa.spark.packed_rows import ARC, END, MATCH, METRICS, PARTS, packer, read_parts, written
from afa.spark.processor import Matcher
from afa.spark.session import BUCKETS, check
from afa.spark.shared import forget_ended
from afa.spark.shipped import Parcel, by_value, shipped
from afa.spark.stages import NONE, Asked
from afa.spark.typed import SPARK, check_names, check_tables, column, key_types, quoted, timed, typed_rows
from afa.spark.watermark import beginning, delay_of, marked, watermarked
from punctuation.time import BEGINNING, FOREVER

log = logging.getLogger("afa.spark")


def match(
    automaton: Automaton | Query | Builder,
    *,
    key: str | Sequence[str] | None = None,
    time: str,
    window: str | timedelta | None = None,
    until: str | None = None,
    diff: str | None = None,
    sequence: str | None = None,
    arcs: DataFrame | None = None,
    lateness: str | timedelta | None = None,
    speculation: str | timedelta | None = None,
    late: str = "report",
    on_fault: str = "report",
    buckets: int = BUCKETS,
    metrics: bool = False,
    end: str = "latest",
    name: str | None = None,
    since: datetime | str | int | None = None,
    checkpoint: str | None = None,
    longest: bool = False,
    members: str | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """Return a function that matches an automaton in the rows of each key: ``events.transform(match(...))``.

    Parameters
    ----------
    automaton : Automaton or Query, or what the words of `afa.language` have put together
        A query says key, window and sequence itself. An automaton has ``event=``, whose fields are columns. Times in its functions
        are microseconds since 1970, and so are timestamps and dates in int and float fields; intervals are microseconds, and so is
        `afa.span`. A number that a field's type can't hold makes a bad row.
    key : str or sequence of str
        The columns that make the key.
    time : str
        A timestamp column: when each event happened, its LE.
    window : str or timedelta
        How long an event lives, ``"24 hours"``. None: for ever.
    until : str, optional
        A timestamp column: until when each event lives, its RE. Where it is null, ``window`` holds.
    diff : str, optional
        A column that is 1 for an insertion, -1 for a retraction; without it all rows are insertions.
    sequence : str, optional
        The event's field that orders rows of one key and time.
    arcs : DataFrame, optional
        A second stream: the lines of an arc log in a string or binary column ``value``, in any order, and repeated if need be (see
        `afa.arclog.lines`). Without it no arc can come, so an automaton that can never match is refused. A query that begins
        without ``arcs`` can't get it later, as its checkpoint keeps the number of sources: begin with an empty log,
        ``arc_log("arcs", automaton).read(spark)``, which costs next to nothing.
    lateness : str or timedelta, optional
        How far behind the latest time rows may come: the delay of the watermark, which is the operator's punctuation. None: the
        stream's own watermark on ``time``, if ``withWatermark`` has set one, else ``"0 seconds"``.
    speculation : str or timedelta, optional
        How far ahead of the watermark an event may be when it reaches the operator; until then it waits in the state. None: any
        distance, so that matches come as early as possible, and are withdrawn if late rows prove them wrong. ``"0 seconds"``: only
        final matches come, and none is withdrawn; of a query with AFTER MATCH SKIP these are those among which it chooses. It has
        no meaning for a static table, which has no watermark.
    late : "report" or "stop"
        Whether rows and arcs behind the watermark come out as ``kind = late``, or stop the query.
    on_fault : "report" or "stop"
        Whether bad rows, bad arcs and exceptions in functions come out as ``kind = fault``, or stop the query. If they come out, an
        arc does not serve where one of its functions raises ("Functions that raise" in SEMANTICS.md).
    buckets : int
        How many parts the keys are hashed into. A checkpoint with another number goes on only with ``checkpoint=``.
    metrics : bool
        Whether each bucket reports each batch in a row, ``kind = metrics``: see `afa.spark.metrics`.
    end : "latest" or "forever"
        What the end of a static table promises, for automata with time-outs. "latest": nothing before its latest time comes any
        more, for all keys alike, so that time-outs due by then fire. "forever": nothing comes any more, so that all open time-outs
        fire. It has no meaning for a stream, where the watermark promises.
    name : str, optional
        The name of each batch's numbers in the query's progress, after "afa". None: a name made from the final states, the pattern
        and the key, so that only two equal `match` in one query need names.
    since : datetime, str (ISO 8601) or int (microseconds), optional
        For a stream with times before 1970: the earliest time that may come. Spark's watermark is never before 1970; without
        ``since``, rows wait for it (with ``speculation=`` and time-outs), which is reported as ``kind = fault``, and old state is
        never forgotten. A restart can't change it. Spark's own progress shows times later by as much as this is before 1970.

    checkpoint : str, optional
        The folder of the query's checkpoint, if that may have another number of buckets. Its states are then split by key, and
        written into it, so that keys can move to their new buckets in the first batch. A checkpoint that does not exist yet, or
        has the same number of buckets, is left alone.
    longest : bool
        As of `Operator`. A restart can't change it.
    members : str, optional
        A field of the event, or ``"le"``: each match that comes has a column ``members`` of the values that its events have there:
        an array; a struct of arrays, where arcs of the automaton have a ``select=``, as every query's. A restart can't change it.

    Returns
    -------
    callable
        Takes a streaming DataFrame and returns a streaming one of changes: key columns, register fields, ``le``, ``re`` (null: for
        ever), ``diff``, ``id`` (the same for an insertion and its retraction), ``kind`` (match, late, fault, code, note, metrics),
        ``reason``. Or takes a static DataFrame and returns the matches of all its rows, each with ``diff = 1``.

    Raises
    ------
    AfaError
        An argument, the session or the DataFrame does not fit. Raised when the function is called.

    Notes
    -----
    A row of ``kind = code`` reports, once a bucket, how the job differs from that of the checkpoint. The difference holds from the
    present on, the same for all keys: just past the latest row that the watermark knows of. Arcs that the automaton has no more end
    there, new ones begin there, rows from there on live for the new ``window``. ``lateness``, ``speculation``, ``late``,
    ``on_fault`` and ``metrics`` may change, too. All else must stay, also functions that only Python can run; else the query ends
    with an error that says what was and what is. A row of ``kind = note`` reports, once, an arc that is in force but that no arc
    leads to yet, or that leads to no match yet: a state's name may be misspelled. A streaming query needs the RocksDB state store
    provider. Each batch's numbers are in the query's progress and reach its listeners, as observed metrics whose names begin with
    "afa": see `afa.spark.metrics`.

    One query may hold several `match`: the union of two, a window aggregate over ``le`` of the changes (``F.sum("diff")`` counts
    the matches in force), or a match on the changes of a match (rows of ``kind = match``, ``time="le"`` and ``diff="diff"``).
    ``le`` follows the watermark of the rows, so that none of these needs a watermark of its own. A match after one with time-outs
    or ``speculation=`` is refused: use a second query.
    """

    if isinstance(automaton, Builder):
        automaton = automaton.query(tick=automaton.tick or "us")
    asked = NONE
    if isinstance(automaton, Query):
        asked = _asked(automaton)
        automaton, key, window, sequence = _said(automaton, key=key, window=window, sequence=sequence)
    elif getattr(automaton, "having", None) is not None:
        raise AfaError(
            f"expected an automaton without having= on Spark, whose workers derive no paths around each change, but got "
            f"{automaton.having!r}; let its function choose among the members (members=) of the matches that leave"
        )
    if key is None:
        raise AfaError("expected the names of key columns but got key=None")

    def plan(events: DataFrame) -> DataFrame:
        check_tables(events, arcs)
        if arcs is None and isinstance(automaton, Automaton):
            check_whole(automaton)
        if end not in ("latest", "forever"):
            raise AfaError(f'expected end="latest" or "forever" but got end={end!r}')
        types = key_types(events.schema, key)
        ahead, first = (speculation, beginning(since)) if events.isStreaming else (None, 0)
        job = job_of(
            automaton,
            key,
            window,
            sequence,
            buckets,
            on_fault,
            types,
            late,
            ahead,
            lifetimes=until is not None,
            since=first,
            asked=asked,
            longest=longest,
            members=members,
        )
        if arcs is not None and arcs.isStreaming and not events.isStreaming:
            raise AfaError("expected static arcs beside static events but got a stream of arcs")
        if sequence is not None and sequence not in [field.name for field in job.fields]:
            fields = ", ".join(field.name for field in job.fields)
            raise AfaError(f"expected the event's field that orders rows, of {fields}, but got sequence={sequence!r}")
        check_names(events, job)
        rows = timed(events, time)
        if events.isStreaming:
            check(events.sparkSession, buckets)
            rows, clock = watermarked(rows, time, lateness, first)
            job = job._replace(delay=delay_of(rows, clock))
            if checkpoint is not None:
                job = job._replace(moved=moved(events.sparkSession, checkpoint, job))
        _tell(job, arcs is None and events.isStreaming)
        typed = typed_rows(rows, job, time, until, diff)
        parts = _packed(typed, job, packer(job, time, until, wake=_woken(job) if events.isStreaming else 0))
        if arcs is not None:  # for buckets that are no more, too: a batch may have no other rows
            parts = parts.unionByName(_to_all(arcs, ARC, "value", _woken(job)))
        if not events.isStreaming and (arcs is not None or any(arc.kind == TIMEOUT for arc in automaton.arcs)):
            last = F.max("le") if end == "latest" else F.max(F.lit(FOREVER))
            parts = parts.unionByName(_to_all(typed.agg(last.alias("le")).where("le is not null"), END, "le", buckets))
        grouped = _labelled(parts, _woken(job)).groupBy("bucket")
        if events.isStreaming:
            if not hasattr(grouped, "transformWithStateInPandas"):
                raise AfaError("expected PySpark 4.1 or later under Spark Connect: before, it has no stateful operator")
            forget_ended(events.sparkSession)
            matcher: Any = Parcel(Matcher(job, metrics), job.automaton.arcs)
            found = grouped.transformWithStateInPandas(matcher, _ddl(events.schema, job), "append", "EventTime")
        else:
            found = grouped.applyInArrow(shipped(_at_once(job), job.automaton.arcs), _ddl(events.schema, job))
        found = _finished(found, job, events.schema)
        if not events.isStreaming:
            return found
        behind = ahead is not None or any(arc.kind == TIMEOUT for arc in automaton.arcs)
        if not first and asked.choose is None:  # what is chosen may change behind the watermark
            found = found.withColumn("le", marked(F.col("le"), job.delay, behind))
        found = observed(found, name_of(job, name), list(automaton.states) if metrics else None)
        return found if metrics else found.where(F.col("kind") != METRICS)

    def transform(events: DataFrame) -> DataFrame:
        with by_value(automaton, *filter(None, [asked.event])):
            return plan(events)

    return transform


def _said(query: Query, **given: Any) -> tuple[Automaton, Any, timedelta | None, str | None]:
    """Return automaton, key, window and sequence of a query.

    Raises
    ------
    AfaError
        An argument says what the query says; it has no key, or its ticks are no microseconds.
    """
    tree = query.tree
    for name, value in given.items():
        if value is not None:
            raise AfaError(f"expected no {name}= beside a query, which says it itself, but got {name}={value!r}")
    if query.key is None:
        raise AfaError("expected a query with a key ([attribute] in text, .by(..), PARTITION BY): a stream is cut by it on Spark")
    if tree.tick not in (None, "us"):
        raise AfaError(f"expected a query with tick='us', as times are microseconds on Spark, but got tick={tree.tick!r}")
    window = None if query.window is None else timedelta(microseconds=query.window)
    return query.automaton, query.key, window, tree.order


def _asked(query: Query) -> Asked:
    """Return what a query asks for beside an operator."""
    back, choose = query.looking_back, query.choosing
    shown = None if choose is None else query.shown.cls
    rows = None if query.tree.rows is None else query.tree
    return Asked(back and query.tree.event, back and back.options, choose, shown, query.held, rows)


def _tell(job: Job, alone: bool) -> None:
    """Let the log say, here and not on each worker, which arcs run in Python; and of a query without an arc log what that means."""
    for arc in job.automaton.arcs:
        admitted(taken_apart(arc, job.automaton), strict=False)
    if alone:
        _tell_alone()


@functools.cache
def _tell_alone() -> None:
    log.warning(
        "a query that begins without arcs= can't have it later, after a restart neither: to keep that open, give it an empty arc "
        'log, match(.., arcs=afa.spark.arc_log("arcs", automaton).read(spark))'
    )


def _woken(job: Job) -> int:
    """Return how many buckets are called in each batch: those of before too, where keys move."""
    return job.buckets if job.moved is None else max(job.buckets, job.moved.buckets)


def _packed(typed: DataFrame, job: Job, pack: Callable[[Any], Any]) -> DataFrame:
    """Return rows as parts. PySpark takes names of columns apart at dots, so that such columns go by other names."""
    names = typed.columns
    if not any(sign in name for name in names for sign in ".`"):
        return typed.mapInArrow(shipped(pack), PARTS)

    def renamed(batches: Any) -> Any:
        return pack(pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)

    return typed.toDF(*(f"c{i}" for i in range(len(names)))).mapInArrow(shipped(renamed), PARTS)


def _to_all(table: DataFrame, part: int, of: str, buckets: int) -> DataFrame:
    numbers = F.explode(F.sequence(F.lit(0), F.lit(buckets - 1))).alias("bucket")
    return table.select(numbers, F.lit(part).alias("part"), F.col(of).cast("string").cast("binary").alias("rows"))


def _labelled(parts: DataFrame, buckets: int) -> DataFrame:
    """Return parts with the labels of their buckets, by which Spark deals these out evenly: `afa.spark.hashing`."""
    labels = F.array(*(F.lit(label_of(number)).cast("bigint") for number in range(buckets)))
    return parts.select(labels[F.col("bucket")].alias("bucket"), "part", "rows")


def _at_once(job: Job) -> Callable[[pa.Table], pa.Table]:
    """Return the function that matches all rows of a bucket at once: history."""

    def work(table: pa.Table) -> pa.Table:
        parts = read_parts(zip(table["part"].to_pylist(), table["rows"].to_pylist()))
        bucket = Bucket(job, bucket_of(table["bucket"][0].as_py()))
        answer = bucket.run(parts.events, parts.arcs, BEGINNING)
        if parts.promised is not None:
            last = bucket.run(None, [], parts.promised)
            answer = answer.then(last)
        answer.faults.extend(bucket.rest())
        return written(job, answer, parts.bad)

    return work


def _ddl(schema: StructType, job: Job) -> str:
    kinds = {field.name: SPARK[field.type] for field in job.fields if field.type}  # as the operator has a key that is a field, too
    keys = [f"{quoted(name)} {kinds.get(name, schema[name].dataType.simpleString())}" for name in job.keys]
    register = [f"{quoted(field.name)} {SPARK[field.type]}" for field in job.shown.fields if field.type]
    told = [] if job.members is None else [f"{MEMBERS} {_members_ddl(job)}"]
    return ", ".join([*keys, *register, "le bigint", "re bigint", "diff int", *told, "kind string", "reason string"])


def _members_ddl(job: Job) -> str:
    members = told_of(job)
    field = members.field
    each = f"array<{SPARK[int if field is None else field.type or str]}>"
    if not members.named:
        return each
    return f"struct<{', '.join(f'{quoted(name)}: {each}' for name in members.components(()))}>"


def _finished(changes: DataFrame, job: Job, events: StructType) -> DataFrame:
    """Return changes with keys as they came, times as timestamps, and the ids of matches."""
    fields = job.shown.fields
    register, optional = [field.name for field in fields], [field.name for field in fields if field.optional]
    names = [*job.keys, *register, "le", "re"]
    # A hash passes over nulls, so that it is told which there are. sha2 of JSON takes twice the time, the most of a batch's output.
    told: list[Any] = [*map(column, names), *(column(name).isNull() for name in [*optional, "re"])]
    match_id = F.concat_ws("-", *(F.hex(F.xxhash64(F.lit(seed), *told)) for seed in (1, 2)))
    times = [F.timestamp_micros(F.col(name)).alias(name) for name in ("le", "re")]
    known = F.when(F.col("kind") == MATCH, match_id).alias("id")
    keys = [column(name).cast(events[name].dataType).alias(name) for name in job.keys]
    told = [] if job.members is None else [_as_times(job).alias(MEMBERS)]
    return changes.select(*keys, *map(column, register), *times, "diff", *told, known, "kind", "reason")


def _as_times(job: Job) -> Any:
    """Return the column of members, with LEs as timestamps."""
    members, found = told_of(job), F.col(MEMBERS)
    if members.field is not None:
        return found
    if not members.named:
        return F.transform(found, F.timestamp_micros)
    parts = [F.transform(found[name], F.timestamp_micros).alias(name) for name in members.components(())]
    return F.when(found.isNotNull(), F.struct(*parts))
