"""Changes folded into the matches that are in force."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from afa.spark.rows import MATCH

FOLD = ("diff", "kind", "reason")


def current(changes: DataFrame) -> DataFrame:
    """The matches in force after changes: a batch.

    Parameters
    ----------
    changes : DataFrame
        What `match` gave, read again, all of it or several such tables together.

    Returns
    -------
    DataFrame
        Key columns, register fields, ``le``, ``re``, ``id``; each match once.

    Examples
    --------
    ``current(spark.read.parquet("changes"))``
    """
    kept = [name for name in changes.columns if name not in FOLD]
    found = changes.where(F.col("kind") == MATCH).groupBy(*kept).agg(F.sum("diff").alias("copies"))
    return found.where(F.col("copies") > 0).drop("copies")


def keep_current(path: str | Path) -> Callable[[DataFrame, int], None]:
    """For ``foreachBatch``: a Parquet table of the matches in force, replaced as a whole after each batch that changes it.

    Parameters
    ----------
    path : str or Path
        A folder. ``path/v=<batch>`` is the table after a batch; readers take the latest. A batch run again is written again.

    Notes
    -----
    O(matches in force) a batch: for tables that one job can rewrite; a larger one wants a table format with MERGE, by ``id``.
    """

    def keep(changes: DataFrame, batch: int) -> None:
        folder = Path(path)
        before = [int(part.name[2:]) for part in folder.glob("v=*") if (part / "_SUCCESS").exists() and int(part.name[2:]) < batch]
        news = changes.where(F.col("kind") == MATCH).persist()  # it is asked twice
        try:
            if not news.isEmpty():
                path_now = str(folder / f"v={batch}")
                current(_with(news, before, folder)).coalesce(1).write.mode("overwrite").parquet(path_now)
        finally:
            news.unpersist()

    return keep


def _with(news: DataFrame, before: list[int], folder: Path) -> DataFrame:
    """Changes after the table as it was before them, as changes too."""
    if not before:
        return news
    table = news.sparkSession.read.parquet(str(folder / f"v={max(before)}"))
    old = table.withColumn("diff", F.lit(1)).withColumn("kind", F.lit(MATCH))
    return news.unionByName(old.withColumn("reason", F.lit(None).cast("string")))
