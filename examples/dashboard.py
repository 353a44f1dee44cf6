"""A dashboard on Spark: the matches in force as a Parquet table, brought up to date by `id` after each batch.

The falls of a stock, by SQL. The second batch brings a row late, so that a row of the table is replaced. Each batch is written
twice here, as after a crash between the table and the checkpoint: a batch that runs again changes nothing. With Delta in place of
Parquet: docs/spark.md.

It prints:

    after batch 0: A fell to 5, B fell to 4
    after batch 1: A fell to 3, B fell to 4
    after batch 2: A fell to 2, A fell to 3, B fell to 4
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import afa
import afa.spark


class Trade(NamedTuple):
    symbol: str
    price: int
    at: afa.Instant | None = None


FALLS = afa.sql(
    """
    SELECT * FROM trades MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY at
        MEASURES LAST(d.price) AS low
        AFTER MATCH SKIP PAST LAST ROW PATTERN (a d+ u) WITHIN INTERVAL '1' MINUTE
        DEFINE d AS price < PREV(price), u AS price > PREV(price)
    )""",
    event=Trade,
    tick="us",
)
FILES = [
    [("A", 1, 9), ("A", 2, 5), ("A", 4, 8), ("B", 2, 7), ("B", 3, 4), ("B", 4, 6)],
    [("A", 3, 3)],
    [("A", 5, 6), ("A", 6, 2), ("A", 7, 5)],
]


def main(spark: Any = None) -> None:
    spark = spark or afa.spark.local_session(2, spark__sql__shuffle__partitions=2)
    folder = Path(tempfile.mkdtemp())
    (folder / "trades").mkdir()
    for i, rows in enumerate(FILES):
        lines = [json.dumps({"symbol": symbol, "time": f"2026-01-01T12:00:{second:02}", "price": p}) for symbol, second, p in rows]
        (folder / "trades" / f"{i}.json").write_text("\n".join(lines))
        os.utime(folder / "trades" / f"{i}.json", (i + 1, i + 1))  # in which order they arrive
    trades: Any = spark.readStream.schema("symbol string, time timestamp, price long").option("maxFilesPerTrigger", 1)
    changes = trades.json(str(folder / "trades")).transform(afa.spark.match(FALLS, time="time", lateness="1 minute", buckets=2))
    keep = afa.spark.keep_current(folder / "now")

    def show(news: Any, batch: int) -> None:
        keep(news, batch)
        keep(news, batch)
        if batch < len(FILES):  # the last batch has no rows: it follows the watermark
            rows = spark.read.parquet(str(folder / "now")).orderBy("symbol", "low").collect()
            print(f"after batch {batch}:", ", ".join(f"{row['symbol']} fell to {row['low']}" for row in rows))

    writer = changes.writeStream.foreachBatch(show).option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
