"""A job to be killed: ``python -m tests.spark.victim FOLDER PROGRAM [MASTER]``; goes on where it was, ends with the files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import afa.spark
from tests.spark.streams import of_program
from tests.spark.test_stream import SCHEMA

KEYS = {"branches": ("who",), "words": ("name", "who")}
WINDOW = 25
SETTINGS: Any = {"time": "at", "window": f"{WINDOW} seconds", "diff": "diff", "lateness": "1 hour", "buckets": 4}
TRIES = "spark.task.maxFailures"


def session(master: str) -> SparkSession:
    """One that tries a task again often enough to outlive what the tests do to it."""
    if master.startswith("local"):
        return afa.spark.local_session(2, spark__master=master, spark__sql__shuffle__partitions=2, spark__driver__memory="1g")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {TRIES: "20", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g", "spark.executor.memory": "768m"}
    settings |= {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC", "spark.ui.enabled": "false"}
    return SparkSession.builder.master(master).config(map={**afa.spark.NEEDED, **settings}).getOrCreate()


def failed_tasks(spark: SparkSession, query: Any) -> int:
    """Tasks of a query that ended in failure."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(str(query.runId))]
    stages = {stage for job in jobs if job for stage in job.stageIds}
    return sum(info.numFailedTasks for info in map(tracker.getStageInfo, stages) if info)


def main(folder: Path, program: str, master: str = "local[2]") -> None:
    spark = session(master)
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    arcs = spark.readStream.text(str(folder / "arcs"))
    keys = KEYS[program]
    changes = events.transform(afa.spark.match(of_program(program, keys).automaton, key=keys, arcs=arcs, **SETTINGS))
    print("begins", flush=True)
    writer = changes.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "changes"))
    query.awaitTermination()
    print(failed_tasks(spark, query), "failed tasks", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
