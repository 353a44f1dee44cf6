"""Build the plan of `match` for `Worlds`: typed rows with ends of intervals, through the `Worlds` of each bucket, changes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.types import StructType

from afa.errors import AfaError
from afa.language.bare_numbers import check_units
from afa.model.conflicts import SPARK_WORLDS
from afa.model.conflicts import check as check_conflicts
from afa.model.reach import check_whole
from afa.operator.options import Options
from afa.spark.dealing import ddl, finished, labelled, packed, to_all, without
from afa.spark.hashing import bucket_of
from afa.spark.job import fields_of
from afa.spark.metrics import name_of, observed, watch
from afa.spark.packed_rows import END, METRICS, pack, read_parts, written
from afa.spark.session import check
from afa.spark.shipped import Parcel, by_value, shipped
from afa.spark.stages import NONE
from afa.spark.typed import check_names, check_tables, column, key_types, keyed, micros, timed, typed_with
from afa.spark.watermark import beginning, delay_of, marked, watermarked
from afa.spark.worlds_bucket import WorldsBucket
from afa.spark.worlds_job import LOWER, UPPER, WorldsJob, worlds_job_of
from afa.spark.worlds_processor import WorldsMatcher
from afa.uncertain.worlds import Worlds
from punctuation.time import FOREVER


def match_worlds(
    worlds: Worlds,
    options: Options,
    *,
    time: str,
    diff: str | None,
    lateness: str | timedelta | None,
    late: str,
    on_fault: str,
    buckets: int,
    metrics: bool,
    end: str,
    name: str | None,
    since: datetime | str | int | None,
    **rest: Any,
) -> Callable[[DataFrame], DataFrame]:
    """Return `match` of a `Worlds`, which is a template: each bucket makes its own. ``rest``: what `match` takes beside.

    Raises
    ------
    AfaError
        An option is none of Worlds on Spark.
    """
    check_units(worlds.query, worlds.options["tick"], (), 'tick="us"')
    said = {option: value for option, value in {**options.said, **rest}.items() if value is not None}
    check_conflicts({**said, SPARK_WORLDS: True})

    def plan(events: DataFrame) -> DataFrame:
        check_tables(events, None)
        check_whole(worlds.automaton)
        if end not in ("latest", "forever"):
            raise AfaError(f'expected end="latest" or "forever" but got end={end!r}')
        first = beginning(since) if events.isStreaming else 0
        schema = events.schema
        events = keyed(events, worlds.options["key"] or (), fields_of(worlds.automaton, NONE))
        of_key = partial(key_types, events.schema)
        policies = {"late": late, "on_fault": on_fault}
        known: Any = dict(policies, buckets=1 if worlds.options["key"] is None else buckets, since=first)
        job = worlds_job_of(worlds, time, options, key_types=of_key, **known)
        check_names(events, job.job)
        rows = _timed(events, worlds.options, time)
        if events.isStreaming:
            check(events.sparkSession, job.job.buckets)
            watch(events.sparkSession)
            rows, clock = watermarked(rows, time, lateness, first)
            job = job._replace(job=job.job._replace(delay=delay_of(rows, clock)))
        typed = _typed(rows, job, worlds.options, time, diff)
        parts = packed(typed, job.job, _packer(job, worlds.options, time, job.job.buckets if events.isStreaming else 0))
        if not events.isStreaming and job.waits:
            last = F.max(F.col(LOWER) - job.before) if end == "latest" else F.max(F.lit(FOREVER))
            whole = typed.where(F.col(LOWER).isNotNull()).agg(last.alias("le")).where("le is not null")
            parts = parts.unionByName(to_all(whole, END, "le", job.job.buckets))
        grouped = labelled(parts, job.job.buckets).groupBy("bucket")
        columns, arcs = ddl(schema, job.job), job.job.automaton.arcs
        if not events.isStreaming:
            return without(_finished(grouped.applyInArrow(shipped(_at_once(job), arcs), columns), job, schema), job.job.dropped)
        if not hasattr(grouped, "transformWithStateInPandas"):
            raise AfaError("expected PySpark 4.1 or later under Spark Connect: before, it has no stateful operator")
        matcher: Any = Parcel(WorldsMatcher(job), arcs)
        found = _finished(grouped.transformWithStateInPandas(matcher, columns, "append", "EventTime"), job, schema)
        if not first:  # matches change down to the promise, which a clock puts behind the watermark
            found = found.withColumn("le", marked(F.col("le"), job.job.delay, job.waits or job.before > 0))
        found = observed(found, name_of(job.job, name), None)
        return without(found, [*job.job.dropped, *([] if metrics else [METRICS])])

    def transform(events: DataFrame) -> DataFrame:
        with by_value(worlds.automaton):
            return plan(events)

    return transform


def _timed(events: DataFrame, options: Mapping[str, Any], time: str) -> DataFrame:
    """Return a table whose columns of times are timestamps; ends of intervals may be microseconds."""
    if options["lower"] is None:
        return timed(events, time)
    for name in (options["lower"], options["upper"]):
        kind = events.schema[name].dataType.simpleString() if name in events.schema.names else None
        if kind in ("int", "bigint"):
            events = events.withColumn(name, F.timestamp_micros(column(name)))
        elif kind == "timestamp_ntz":
            events = timed(events, name)
        elif kind != "timestamp":
            there = f"{kind}: cast it" if kind else f"the columns {', '.join(events.schema.names)}"
            raise AfaError(f"expected a column {name!r} of timestamps, or of microseconds as bigint, but got {there}")
    return events


def _typed(rows: DataFrame, job: WorldsJob, options: Mapping[str, Any], time: str, diff: str | None) -> DataFrame:
    """Return typed rows with the ends of intervals, or the time."""
    if options["lower"] is None:
        return typed_with(rows, job.job, {LOWER: micros(column(time))}, {}, diff)
    times = {LOWER: micros(column(options["lower"])), UPPER: micros(column(options["upper"]))}
    return typed_with(rows, job.job, times, {}, diff, [F.coalesce(times[LOWER] > times[UPPER], F.lit(False))])


def _packer(job: WorldsJob, options: Mapping[str, Any], time: str, wake: int) -> Callable[[Any], Any]:
    instant = job.job.instant
    fields = [field.name for field in job.job.fields if not field.optional and field.name != instant]
    needed = tuple(dict.fromkeys([*job.job.keys, *fields, *job.times, "diff"]))
    times = {LOWER: time} if options["lower"] is None else {LOWER: options["lower"], UPPER: options["upper"]}
    return partial(pack, keys=job.job.keys, needed=needed, buckets=job.job.buckets, times=times, wake=wake)


def _at_once(job: WorldsJob) -> Callable[[pa.Table], pa.Table]:
    """Return the function that matches all rows of a bucket at once: history."""

    def work(table: pa.Table) -> pa.Table:
        parts = read_parts(zip(table["part"].to_pylist(), table["rows"].to_pylist()))
        bucket = WorldsBucket(job, bucket_of(table["bucket"][0].as_py()))
        return written(job.job, bucket.run_all(parts.events, parts.bad, parts.promised), [])

    return work


def _finished(changes: DataFrame, job: WorldsJob, schema: StructType) -> DataFrame:
    """Return changes with ``first`` and ``last`` as timestamps, too."""
    found = finished(changes, job.job, schema)
    return found.withColumns({name: F.timestamp_micros(F.col(name)) for name in ("first", "last")})
