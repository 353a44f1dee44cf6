"""``python -m tests.spark.connected FOLDER PROGRAM``: the same calls under Spark Connect, whose server it starts beside itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import afa.spark
from afa.spark.session import use_java
from tests.spark.streams import of_program
from tests.spark.test_stream import SCHEMA
from tests.spark.victim import KEYS, SETTINGS


def main(folder: Path, program: str) -> None:
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {**afa.spark.NEEDED, "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g", "spark.ui.enabled": "false"}
    spark = SparkSession.builder.remote("local[2]").config(map=settings).getOrCreate()
    automaton, keys = of_program(program, KEYS[program]).automaton, KEYS[program]
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    arcs = afa.spark.arc_log(folder / "arcs", automaton).read(spark)
    changes = events.transform(afa.spark.match(automaton, key=keys, arcs=arcs, name="afa", **SETTINGS))
    writer = changes.writeStream.foreachBatch(afa.spark.keep_current(folder / "now"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    metrics = [progress.observedMetrics["afa"]["values"] for progress in query.recentProgress]  # the client has the server's JSON
    assert sum(matches for matches, *_ in metrics) > 0
    history = spark.read.schema(SCHEMA).json(str(folder / "in"))
    past = spark.read.text(str(folder / "arcs"))
    final = history.transform(afa.spark.match(automaton, key=keys, arcs=past, **SETTINGS))
    final.write.parquet(str(folder / "final"))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
