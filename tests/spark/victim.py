"""A job to be killed: ``python -m tests.spark.victim FOLDER``; goes on where it was, ends when all files are done."""

from __future__ import annotations

import sys
from pathlib import Path

import afa.spark
from tests.spark.streams import of_program
from tests.spark.test_stream import SCHEMA

PROGRAM, KEYS, SETTINGS = (
    "branches",
    ("who",),
    {"time": "at", "window": "25 seconds", "diff": "diff", "lateness": "1 hour", "buckets": 4},
)


def main(folder: Path) -> None:
    spark = afa.spark.local_session(2, spark__sql__shuffle__partitions=2, spark__driver__memory="1g")
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    arcs = spark.readStream.text(str(folder / "arcs"))
    pattern = afa.spark.match(of_program(PROGRAM, KEYS).automaton, key=KEYS, arcs=arcs, **SETTINGS)  # type: ignore[arg-type]
    print("begins", flush=True)
    writer = events.transform(pattern).writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "changes")).awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
