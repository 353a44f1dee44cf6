"""Deal rows out to buckets, and give what these say its columns: the steps that a stream and a static table share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from afa.operator.members import MEMBERS
from afa.schema import SCALARS
from afa.spark.bucket import bucket_of_job
from afa.spark.hashing import bucket_of, label_of
from afa.spark.job import Job, told_of
from afa.spark.packed_rows import MATCH, PARTS, changes_schema, read_parts, written
from afa.spark.shipped import shipped
from afa.spark.typed import column


def packed(typed: DataFrame, job: Job, pack: Callable[[Any], Any]) -> DataFrame:
    """Return rows as parts. PySpark takes names of columns apart at dots, so that such columns go by other names."""
    names = typed.columns
    if not any(sign in name for name in names for sign in ".`"):
        return typed.mapInArrow(shipped(pack), PARTS)

    def renamed(batches: Any) -> Any:
        return pack(pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)

    return typed.toDF(*(f"c{i}" for i in range(len(names)))).mapInArrow(shipped(renamed), PARTS)


def to_all(table: DataFrame, part: int, of: str, buckets: int) -> DataFrame:
    """Return the rows of a table as a part for each bucket."""
    numbers = F.explode(F.sequence(F.lit(0), F.lit(buckets - 1))).alias("bucket")
    return table.select(numbers, F.lit(part).alias("part"), F.col(of).cast("string").cast("binary").alias("rows"))


def labelled(parts: DataFrame, buckets: int) -> DataFrame:
    """Return parts with the labels of their buckets, by which Spark deals these out evenly: `afa.spark.hashing`."""
    labels = F.array(*(F.lit(label_of(number)).cast("bigint") for number in range(buckets)))
    return parts.select(labels[F.col("bucket")].alias("bucket"), "part", "rows")


def at_once(job: Job, promised: int | None = None) -> Callable[[pa.Table], pa.Table]:
    """Return the function that matches all rows of a bucket at once: history; ``promised``: at its end, if no part says it."""

    def work(table: pa.Table) -> pa.Table:
        parts = read_parts(zip(table["part"].to_pylist(), table["rows"].to_pylist()))
        bucket = bucket_of_job(job, bucket_of(table["bucket"][0].as_py()))
        end = promised if parts.promised is None else parts.promised
        return written(job, bucket.history(parts.events, parts.arcs, end), parts.bad)

    return work


def spark_schema(job: Job) -> StructType:
    """Return the columns of what buckets say, as Spark has them."""
    return from_arrow_schema(changes_schema(job))


def finished(changes: DataFrame, job: Job, events: StructType) -> DataFrame:
    """Return changes with keys as they came, times as timestamps (also the LEs of events in what is shown), the ids of matches."""
    fields, moments = job.shown.fields, job.shown.times
    register, optional = [field.name for field in fields], [field.name for field in fields if field.optional]
    names = [*job.keys, *register, "le", "re"]
    # A hash passes over nulls, so that it is told which there are. sha2 of JSON takes twice the time, the most of a batch's output.
    arrays = {field.name for field in fields if field.type not in SCALARS}  # within which it would pass over them, too
    told: list[Any] = [F.to_json(column(name)) if name in arrays else column(name) for name in names]
    told += [column(name).isNull() for name in [*optional, "re"]]
    match_id = F.concat_ws("-", *(F.hex(F.xxhash64(F.lit(seed), *told)) for seed in (1, 2)))
    times = [F.timestamp_micros(F.col(name)).alias(name) for name in ("le", "re")]
    known = F.when(F.col("kind") == MATCH, match_id).alias("id")
    keys = [column(name).cast(events[name].dataType).alias(name) for name in job.keys]
    members = [] if job.members is None else [_as_times(job).alias(MEMBERS)]
    shown = [F.timestamp_micros(column(name)).alias(name) if name in moments else column(name) for name in register]
    first, shown = (shown[:1], shown[1:]) if job.asked.own is not None and job.asked.own.rules is not None else ([], shown)  # whose
    return changes.select(*first, *keys, *shown, *times, "diff", *members, known, "kind", "reason")


def without(changes: DataFrame, kinds: list[str]) -> DataFrame:
    """Return changes without the rows of some kinds."""
    return changes.where(~F.col("kind").isin(*kinds)) if kinds else changes


def _as_times(job: Job) -> Any:
    """Return the column of members, with LEs as timestamps."""
    members, found = told_of(job), F.col(MEMBERS)
    if members.field is not None:
        return found
    if not members.named:
        return F.transform(found, F.timestamp_micros)
    parts = [F.transform(found[name], F.timestamp_micros).alias(name) for name in members.components(())]
    return F.when(found.isNotNull(), F.struct(*parts))
