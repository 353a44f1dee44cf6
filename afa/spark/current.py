"""Fold changes into the matches that are in force."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from afa.errors import AfaError
from afa.spark.fields import column
from afa.spark.packed_rows import MATCH
from afa.spark.table_folder import NOBODY, Table, Tables

FOLD = ("diff", "kind", "reason")


def current(changes: DataFrame) -> DataFrame:
    """Return the matches in force after a table of changes.

    Parameters
    ----------
    changes : DataFrame
        The output of `match`, read again: all of it, or several such tables together.

    Returns
    -------
    DataFrame
        Key columns, register fields, ``le``, ``re``, ``id``; each match once.

    Examples
    --------
    ``current(spark.read.parquet("changes"))``
    """
    kept = [name for name in changes.columns if name not in FOLD]
    found = changes.where(F.col("kind") == MATCH).groupBy(*map(column, kept)).agg(F.sum("diff").alias("copies"))
    return found.where(F.col("copies") > 0).drop("copies")


def keep_current(path: str | Path, keep: int = 10, run: str | None = None) -> Callable[[DataFrame, int], None]:
    """Return a function for ``foreachBatch`` that keeps the matches in force as a Parquet table.

    The table is replaced as a whole after each batch that changes it.

    Parameters
    ----------
    path : str or Path
        A folder of a mounted file system, of one query at a time. ``spark.read.parquet(path)`` is the table after the last batch,
        one whole table also while the next is written. For readers other than Spark, ``path/v=<number>`` with the largest number
        is the same: the batch's number, or a larger one in a folder that was used before.
    keep : int
        How many of the last tables stay, for readers that have not finished.
    run : str, optional
        The owner of the tables: a query goes on only with its own tables. None: the query's id, which its checkpoint holds. Under
        Spark Connect, where a query does not know its id, batch 0 begins a new table, and other batches go on with the last one.

    Raises
    ------
    AfaError
        An argument is not valid. When a batch is written: the query's own last table is missing.

    Notes
    -----
    A batch that runs again is written again. O(matches in force) a batch, so it suits tables that one job can rewrite. A larger
    table, or one in an object store, needs a table format with MERGE, by ``id``: docs/spark.md has the lines for Delta.
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path)):
        raise AfaError(
            f"expected a folder of a mounted file system but got path={str(path)!r}; elsewhere, MERGE into a table by id"
        )
    if not isinstance(keep, int) or keep < 2:
        raise AfaError(f"expected 2 tables to keep at least, as a batch run again needs the one before it, but got keep={keep!r}")
    if run is not None and not re.fullmatch(r"[A-Za-z0-9._-]+", run):
        raise AfaError(f"expected a name of letters, digits, '.', '_' and '-' but got run={run!r}")

    def write(changes: DataFrame, batch: int) -> None:
        tables, news = Tables(Path(path)), changes.where(F.col("kind") == MATCH).persist()  # they are asked twice
        try:
            turn = tables.turn(run or _query(changes), batch, lambda: not news.isEmpty())
            if turn is not None:
                table = current(_with(news, turn.before)).coalesce(1).write.mode("overwrite")
                table.option("maxRecordsPerFile", 0).parquet(f"file://{turn.draft}")
                tables.show(turn)
                tables.prune(keep, turn.before)
        finally:
            news.unpersist()

    return write


def _query(changes: DataFrame) -> str:
    """Return the id of the query whose batch this is, if that can be known."""
    context = getattr(changes.sparkSession, "_sc", None)
    return (context and context.getLocalProperty("sql.streaming.queryId")) or NOBODY


def _with(news: DataFrame, before: Table | None) -> DataFrame:
    """Changes after the table as it was before them, as changes too."""
    if before is None:
        return news
    table = news.sparkSession.read.parquet(before.uri)
    old = table.withColumn("diff", F.lit(1)).withColumn("kind", F.lit(MATCH))
    return news.unionByName(old.withColumn("reason", F.lit(None).cast("string")))
