"""The oven of `on_spark.py` with its readings and arcs in two topics of Kafka. Without a broker: the same bytes from files.

Kafka's source is a package of Spark's own: spark.jars.packages = org.apache.spark:spark-sql-kafka-0-10_2.13:<version of pyspark>.
A message that is no reading comes out as a fault, and the stream goes on.

It prints:

    A too hot at 12:00:03: 210 degrees, +1
    B too hot at 12:00:23: 190 degrees, +1
    fault: expected a key, a time and degrees: int but got {'oven': None, 'degrees': None, 'at': None}
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

import afa.spark
from examples.on_spark import FILES, PATTERN, too_hot


def topic(spark: SparkSession, name: str, servers: str) -> DataFrame:
    """The messages of a topic, from its beginning; a checkpoint remembers how far a job has come."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", name)
    return source.option("startingOffsets", "earliest").load()


def changes(readings: DataFrame, arcs: DataFrame) -> DataFrame:
    """Of two streams with a column ``value``: each message of ``arcs`` is a line of an arc log as it is."""
    message = F.from_json(F.col("value").cast("string"), "oven string, at timestamp, degrees long")
    return (
        readings.select(message.alias("m"))
        .select("m.*")
        .transform(afa.spark.match(PATTERN, key="oven", time="at", window="1 minute", lateness="1 minute", arcs=arcs, buckets=2))
    )


def job(spark: SparkSession, servers: str, folder: str) -> Any:
    """The job of a cluster: it runs until it is stopped."""
    found = changes(topic(spark, "readings", servers), topic(spark, "arcs", servers))
    writer = found.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    return writer.trigger(processingTime="5 seconds").start(f"{folder}/changes")


def main() -> None:
    spark = afa.spark.local_session(2, spark__sql__shuffle__partitions=2)
    folder = Path(tempfile.mkdtemp())
    (folder / "readings").mkdir()
    messages = [{"oven": oven, "at": f"2026-01-01T12:00:{at:02}", "degrees": x} for rows in FILES for oven, at, x in rows]
    (folder / "readings" / "0").write_text("\n".join([*map(json.dumps, messages), "no reading"]))
    log = afa.spark.arc_log(folder / "arcs", PATTERN)
    log.insert(too_hot(180), at="2026-01-01T12:00:20")
    values = [spark.readStream.text(str(folder / name)).select(F.col("value").cast("binary")) for name in ("readings", "arcs")]
    writer = changes(*values).writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "changes")).awaitTermination()
    for row in spark.read.parquet(str(folder / "changes")).orderBy(F.col("le").asc_nulls_last()).collect():
        if row["kind"] == "match":
            print(f"{row['oven']} too hot at {row['le']:%H:%M:%S}: {row['degrees']} degrees, {row['diff']:+}")
        else:
            print(f"{row['kind']}: {row['reason'].partition(' (in')[0]}")


if __name__ == "__main__":
    main()
