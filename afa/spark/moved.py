"""Move keys to other buckets when a job goes on with another number of buckets than its checkpoint has.

Spark gives a bucket its own state only. So the states of the last batch are split by key, in a job of Spark's, and written:

    <checkpoint>/afa/bucket=3/*.parquet      old int, state binary: what bucket 3 gets of each old bucket

and in the first batch each bucket takes what it gets (`joined`), while those that are no more clear their state: all in one batch,
as Spark commits it. A crash before that leaves the checkpoint as it was, and the next start writes the files anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from afa.errors import AfaError, SnapshotError
from afa.spark.bucket import Bucket, bucket_of_job
from afa.spark.job import BucketAnswer, Job, Moved
from afa.spark.rules_bucket import split as split_rules
from afa.spark.shipped import shipped
from afa.state.sound import wanted

VARIABLES = {"head", "log"}
"""The name by which this operator is known among others of a query."""
UNBORN = {"STDS_COMMITTED_BATCH_UNAVAILABLE", "STDS_OFFSET_LOG_UNAVAILABLE"}
"""Errors of Spark's readers of states, by their names, where no batch is committed yet."""
NUMBER = "hash(key.bucket) AS bucket"
"""The number of a bucket, of its label: see `afa.spark.hashing`."""


def moved(spark: SparkSession, checkpoint: str, job: Job) -> Moved | None:
    """Split the states of a checkpoint, if it has another number of buckets than the job; for the driver, before the query starts.

    A checkpoint that holds several patterns like this one, or lies where workers can't read it by themselves, is refused, and so
    are states of another job.
    """
    places = _places(spark, checkpoint)
    found = [(place, heads) for place in places if (heads := _heads(spark, checkpoint, place)) is not None]
    if len(found) > 1 and any(len(heads) != job.buckets for _, heads in found):
        raise AfaError(
            f"expected a checkpoint with one match but got {len(found)} in {checkpoint!r}: "
            f"keep the buckets of each, and leave checkpoint= out"
        )
    if not found or len(found[0][1]) == job.buckets:
        return None
    (place, tokens), target = found[0], f"{checkpoint.rstrip('/')}/afa"
    log = _state(spark, checkpoint, place, "log")
    states = log.select(F.expr(NUMBER), F.monotonically_increasing_id().alias("n"), F.col("list_element.blob").alias("state"))
    split = shipped(splitter(job, len(tokens)), job.automaton.arcs)
    parts = states.groupBy("bucket").applyInArrow(split, "bucket int, old int, state binary")
    parts.write.mode("overwrite").partitionBy("bucket").parquet(target)
    files: dict[int, list[str]] = {number: [] for number in range(job.buckets)}
    for address in spark.read.parquet(target).inputFiles():
        _system(address)
        files[int(address.rpartition("/bucket=")[2].partition("/")[0])].append(address)
    return Moved(tokens, files)


def _places(spark: SparkSession, checkpoint: str) -> list[int]:
    """Return the numbers of the operators in a checkpoint that have states such as ours; none if there is no checkpoint yet."""
    try:
        rows = spark.read.format("state-metadata").load(checkpoint).select("operatorId", "operatorProperties").distinct().collect()
    except Exception as error:
        if is_unborn(error, checkpoint):
            return []
        raise
    names = {row[0]: {item.get("stateName") for item in json.loads(row[1] or "{}").get("stateVariables", [])} for row in rows}
    return sorted(place for place, variables in names.items() if variables >= VARIABLES)


def is_unborn(error: BaseException, checkpoint: str) -> bool:
    """Whether Spark says that no batch of a checkpoint is committed yet, by the name of its error, or that there is no such folder.

    >>> is_unborn(RuntimeError("java.lang.X: [STDS_COMMITTED_BATCH_UNAVAILABLE] No committed batch found"), "cp")
    True
    >>> is_unborn(RuntimeError("java.lang.X: [MALFORMED_LOG_FILE] Log file was malformed"), "cp")
    False
    >>> is_unborn(RuntimeError("java.io.FileNotFoundException: File file:/data/cp/state does not exist"), "/data/cp")
    True
    """
    name = re.search(r"\[([A-Z][A-Z_.0-9]+)\]", str(error))
    if name is not None:
        return name[1] in UNBORN
    folder = re.escape(checkpoint.rstrip("/"))
    return bool(re.search(rf"FileNotFoundException: File \S*{folder}(/state)? does not exist", str(error)))


def _state(spark: SparkSession, checkpoint: str, place: int, name: str) -> DataFrame:
    return spark.read.format("statestore").option("operatorId", place).option("stateVarName", name).load(checkpoint)


def _heads(spark: SparkSession, checkpoint: str, place: int) -> dict[int, bytes] | None:
    """Return the token of each bucket; None if there is no state yet, as where the first batch has failed."""
    try:
        rows = _state(spark, checkpoint, place, "head").selectExpr(NUMBER, "value.token", "value.buckets").collect()
    except Exception as error:
        if is_unborn(error, checkpoint):
            return None
        raise
    if not rows:
        return None
    tokens = {row[0]: bytes(row[1]) for row in rows}
    sound = {row[2] for row in rows} == {len(rows)} and sorted(tokens) == list(range(len(rows)))
    wanted("the states of all buckets in the checkpoint", sound, sorted((row[0], row[2]) for row in rows))
    return tokens


def splitter(job: Job, before: int) -> Callable[[pa.Table], pa.Table]:
    """Return the function that splits the state of one old bucket, of so many, into parts for the buckets of a job."""
    old = job._replace(buckets=before, recipe={**job.recipe, "buckets": before})

    def split(table: pa.Table) -> pa.Table:
        table = table.sort_by("n")
        number = table["bucket"][0].as_py()
        blobs = table["state"].to_pylist()
        own = old.asked.own
        parts = Bucket(old, number, blobs).split(job.buckets) if own is None else split_rules(blobs, before, number, job.buckets)
        states = list(parts)
        schema = pa.schema([("bucket", pa.int32()), ("old", pa.int32()), ("state", pa.binary())])
        return pa.table({"bucket": range(len(states)), "old": [number] * len(states), "state": states}, schema)

    return split


def joined(job: Job, number: int, states: Sequence[bytes], promised: int) -> tuple[Any, BucketAnswer]:
    """Return the bucket that parts of the old ones make, once each has followed the watermark; what that has brought."""
    parts = [bucket_of_job(job, number, [state]) for state in states]
    answers = [part.settle(promised) for part in parts]
    parts[0].join(parts[1:])
    told = f"the buckets were {len(parts)}, are {job.buckets}: keys have moved"
    return parts[0], reduce(BucketAnswer.then, answers)._replace(code=told)


def arrived(job: Job, number: int) -> list[bytes]:
    """Return what a bucket gets of each old one, in their order. Raises SnapshotError if something is missing."""
    assert job.moved is not None
    rows = [row for address in job.moved.files[number] for row in _rows(address)]
    sound = sorted(old for old, _ in rows) == list(range(job.moved.buckets))
    wanted(f"what bucket {number} gets of {job.moved.buckets} others", sound, [old for old, _ in rows])
    return [state for _, state in sorted(rows)]


def _rows(address: str) -> Iterator[tuple[int, bytes]]:
    system, path = _system(address)
    table = pq.ParquetFile(path, filesystem=system).read(["old", "state"])
    return zip(table["old"].to_pylist(), table["state"].to_pylist())


def _system(address: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of an address, which workers read without Spark; and the path in it."""
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(address)
    except pa.ArrowInvalid as error:
        raise AfaError(
            f"expected a checkpoint in a file system that pyarrow knows but got {address!r}: {error}; keep the buckets, or mount it"
        ) from error
    return found


def check_token(job: Job, number: int, token: bytes | None) -> None:
    """Refuse to go on (SnapshotError) where the state is not the one that was split."""
    assert job.moved is not None
    if job.moved.tokens.get(number) != token:
        raise SnapshotError(
            f"expected in bucket {number} the state that match(checkpoint=..) has read but got another: call match anew before the "
            f"query starts, with the checkpoint of this query"
        )
