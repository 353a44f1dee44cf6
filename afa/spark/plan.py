"""Build the plan of `match`: typed rows, grouped by bucket, through the stateful operator, changes out."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from afa.errors import AfaError
from afa.model.arc import TIMEOUT
from afa.model.automaton import Automaton
from afa.model.renamed import renamed
from afa.operator.contract import Pattern
from afa.operator.options import OF_SPARK, SparkOptions, Unpack, options_of, takes_options
from afa.spark.computed_rows import computed_rows
from afa.spark.dealing import at_once, finished, labelled, packed, spark_schema, to_all, without
from afa.spark.job import Job, events_of, fields_of, job_of, policy_of
from afa.spark.message_options import message_options
from afa.spark.metrics import name_of, observed, watch
from afa.spark.moved import moved
from afa.spark.packed_rows import ARC, END, METRICS, packer
from afa.spark.pattern_said import check_call, said_of, tell_of_carried, tell_of_python
from afa.spark.processor import Matcher
from afa.spark.session import BUCKETS, check
from afa.spark.shared import forget_ended
from afa.spark.shipped import Parcel, by_value, shipped
from afa.spark.typed import check_names, check_tables, key_types, keyed, timed, typed_rows, with_moments
from afa.spark.watermark import beginning, delay_of, marked, watermarked
from punctuation.time import FOREVER

log = logging.getLogger("afa.spark")
TAKES = OF_SPARK


@renamed(automaton="pattern")
@takes_options(*TAKES)
def match(
    pattern: Automaton | Pattern,
    *,
    time: str,
    until: str | None = None,
    diff: str | None = None,
    arcs: DataFrame | None = None,
    lateness: str | timedelta | None = None,
    late: str = "report",
    on_fault: str = "report",
    buckets: int = BUCKETS,
    metrics: bool = False,
    end: str = "latest",
    name: str | None = None,
    since: datetime | str | int | None = None,
    checkpoint: str | None = None,
    columns: type | None = None,
    **options: Unpack[SparkOptions],
) -> Callable[[DataFrame], DataFrame]:
    """Return a function that matches an automaton in the rows of each key: ``events.transform(match(...))``.

    Parameters
    ----------
    pattern : Automaton, Query, TemporalPattern, Worlds or Rules, or what the words of `afa.language` have put together
        A query says key, window and order itself, a temporal pattern its window and perhaps its key, `Worlds` all of them and
        where intervals are; ``time`` is the column of their lower ends then, or of what a clock said. Rules say their
        keys, or `key` does, by which rows are dealt to all of them. An automaton has
        ``event=``, whose fields are columns. Times in its functions are microseconds since 1970, and so are timestamps and dates
        in int and float fields; intervals are microseconds, and so is `afa.span`. A number that a field's type can't hold makes a
        bad row.
    key : str or sequence of str
        The columns that make the key.
    id, on_repeat, version, remember : optional
        As of `Operator`: rows are messages, which may come twice and in any order, and a retraction names its event by key and id
        alone; of its other columns nothing is read, and they may be null. Columns of the table: ints, texts or bools as id; ints,
        floats, texts or times as version. An id belongs to its key: where the key of an event changes it takes two rows, as
        `afa.spark.feed` makes them. A restart can't change them.
    time : str
        A timestamp column: when each event happened, its LE.
    window : str or timedelta
        How long an event lives, ``"24 hours"``. None: for ever.
    until : str, optional
        A timestamp column: until when each event lives, its RE. Where it is null, ``window`` holds.
    diff : str, optional
        A column that is 1 for an insertion, -1 for a retraction; without it all rows are insertions.
    order_by : str, optional
        The event's field that orders rows of one key and time.
    arcs : DataFrame, optional
        A second stream: the lines of an arc log in a string or binary column ``value``, in any order, and repeated if need be (see
        `afa.arclog.lines`); of a set of rules, of a log of rules (`afa.rules.rule_lines`). Without it no arc can come, so an
        automaton that can never match is refused. A query that begins without ``arcs`` can't get it later, as its checkpoint keeps
        the number of sources: begin with an empty log, ``arc_log("arcs", automaton).read(spark)`` or ``rule_log("rules", rules)``,
        which costs next to nothing.
    lateness : str or timedelta, optional
        How far behind the latest time rows may come: the delay of Spark's watermark, which is the operator's too. None: the
        stream's own watermark on ``time``, if ``withWatermark`` has set one, else ``"0 seconds"``.
    speculation : str or timedelta, optional
        How far ahead of the watermark an event may be when it reaches the operator; until then it waits in the state. None: any
        distance, so that matches come as early as possible, and are withdrawn if late rows prove them wrong. ``"0 seconds"``: only
        final matches come, and none is withdrawn; of a query with AFTER MATCH SKIP one may be, where a longer one comes in its
        place. It has no meaning for a static table, which has no watermark.
    late : "report", "drop" or "raise"
        Whether rows and arcs behind the watermark come out as ``kind = late``, are counted only, or stop the query.
    on_fault : "report", "drop" or "raise"
        Whether bad rows, rows that can't be taken, bad arcs and exceptions in functions come out as ``kind = fault``, are counted
        only, or stop the query. If they don't stop it, an arc does not serve where one of its functions raises ("Functions that
        raise" in SEMANTICS.md).
    buckets : int
        How many parts the keys are hashed into. A checkpoint with another number goes on only with ``checkpoint=``.
    metrics : bool
        Whether each bucket reports each batch in a row, ``kind = metrics``: see `afa.spark.metrics`.
    end : "latest" or "forever"
        What the end of a static table says, for automata with time-outs. "latest": nothing before its latest time comes any
        more, for all keys alike, so that time-outs due by then fire. "forever": nothing comes any more, so that all open time-outs
        fire. It has no meaning for a stream, which has a watermark.
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
    columns : NamedTuple class, optional
        Of a set of rules: the columns of matches that rules return, also those that a restart will bring. None: those of the rules
        that are given. A restart can't change them.
    longest : bool
        As of `Operator`. A restart can't change it.
    members : str, optional
        A field of the event, or ``"le"``: each match that comes has a column ``members`` of the values that its events have there:
        an array; a struct of arrays, where arcs of the automaton have a ``select=``, as every query's. A restart can't change it.
    partial_matches : int, optional
        How many partial matches of one key may stand at one step, as of `Operator`. A row under which there would be more is left
        out, and told, as ``on_fault`` says; its key stays as it was. A restart may change it.

    Returns
    -------
    callable
        Takes a streaming DataFrame and returns a streaming one of changes: key columns, register fields, ``le``, ``re`` (null: for
        ever), ``diff``, ``id`` (the same for an insertion and its retraction), ``kind`` (match, late, fault, code, note, metrics),
        ``reason``; of a set of rules ``rule`` stands in front. Or takes a static DataFrame and returns the matches of all its rows,
        each with ``diff = 1``.

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
    asked_for, late, on_fault = options_of(options, "match", TAKES), policy_of("late", late), policy_of("on_fault", on_fault)
    pattern, with_columns, made = computed_rows(pattern, time)
    given = said_of(pattern, asked_for, time=time, until=until, arcs=arcs, checkpoint=checkpoint, columns=columns)
    automaton, said, asked, query = given
    asked = asked._replace(said={**asked.said, "computed": made}) if made else asked
    key: Any = said.key
    own = asked.own

    def plan(events: DataFrame) -> DataFrame:
        check_tables(events, arcs)
        events = with_columns(events)
        check_call(given, events, time, arcs, end)
        schema = events.schema
        events = keyed(events, key, fields_of(automaton, asked))
        types = key_types(events.schema, key)
        first = beginning(since) if events.isStreaming else 0
        job = job_of(
            automaton,
            said if events.isStreaming else said.but(speculation=None),
            buckets=buckets if key else 1,
            on_fault=on_fault,
            late=late,
            key_types=types,
            lifetimes=until is not None,
            since=first,
            asked=asked,
            messages=message_options(said, events_of(automaton, asked).fields, events.schema),
        )
        check_names(events, job)
        rows = timed(events if not (own and own.times) else with_moments(events, (time, *own.times.values())), time)
        if events.isStreaming:
            check(events.sparkSession, job.buckets)
            watch(events.sparkSession)
            rows, clock = watermarked(rows, time, lateness, first)
            job = job._replace(delay=delay_of(rows, clock))
            if checkpoint is not None:
                job = job._replace(moved=moved(events.sparkSession, checkpoint, job))
        if own is None:  # else the user's own has told it
            tell_of_python(job)
            tell_of_carried(query)
        if arcs is None and not asked.keeps_arcs and events.isStreaming:
            _tell_alone()
        job = job._replace(retracts=diff is not None or said.version is not None)
        typed = typed_rows(rows, job, time, until, diff)
        parts = packed(typed, job, packer(job, time, until, wake=_woken(job) if events.isStreaming else 0))
        if arcs is not None:  # for buckets that are no more, too: a batch may have no other rows
            parts = parts.unionByName(to_all(arcs, ARC, "value", _woken(job)))
        timed_out = any(arc.kind == TIMEOUT for arc in automaton.arcs)
        clocked = (
            timed_out
            or (own is not None and (own.clocked or arcs is not None))  # later rules may have time-outs
            or (asked.readings is not None and (asked.readings.clocked or until is not None))
        )
        if not events.isStreaming and (arcs is not None or clocked):
            last = F.max("le") if end == "latest" else F.max(F.lit(FOREVER))
            parts = parts.unionByName(to_all(typed.agg(last.alias("le")).where("le is not null"), END, "le", job.buckets))
        grouped = labelled(parts, _woken(job)).groupBy("bucket")
        if events.isStreaming:
            if not hasattr(grouped, "transformWithStateInPandas"):
                raise AfaError("expected PySpark 4.1 or later under Spark Connect: before, it has no stateful operator")
            forget_ended(events.sparkSession)
            matcher: Any = Parcel(Matcher(job, metrics), job.automaton.arcs)
            found = grouped.transformWithStateInPandas(matcher, spark_schema(job), "append", "EventTime")
        else:
            found = grouped.applyInArrow(shipped(at_once(job), job.automaton.arcs), spark_schema(job))
        found = finished(found, job, schema)
        if not events.isStreaming:
            return without(found, job.dropped)
        behind = said.speculation is not None or clocked or (own is not None and own.before > 0)
        if not first and not asked.chooses and not asked.ahead:  # these may change behind the watermark
            found = found.withColumn("le", marked(F.col("le"), job.delay, behind))
        found = observed(found, name_of(job, name), list(automaton.states) if metrics and own is None else None)
        return without(found, [*job.dropped, *([] if metrics else [METRICS])])

    def transform(events: DataFrame) -> DataFrame:
        rules = () if own is None or own.rules is None else own.rules.content.rules.values()
        with by_value(automaton, asked.event, *(rule.pattern.automaton for rule in rules)):
            return plan(events)

    return transform


@functools.cache
def _tell_alone() -> None:
    log.warning(
        "a query that begins without arcs= can't have it later, after a restart neither: to keep that open, give it an empty arc "
        'log, match(.., arcs=afa.spark.arc_log("arcs", automaton).read(spark))'
    )


def _woken(job: Job) -> int:
    """Return how many buckets are called in each batch: those of before too, where keys move."""
    return job.buckets if job.moved is None else max(job.buckets, job.moved.buckets)
