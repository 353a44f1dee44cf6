"""The oven of `hot_swap.py` as a Spark job: readings of ovens arrive as files, one of them late, and an arc as a second stream.

A file is a micro-batch. Oven A's second reading comes after its third: the match is found all the same. The limit is lowered from
12:00:20 on, for all ovens alike.

It prints:

    A too hot at 12:00:03: 210 degrees, +1
    B too hot at 12:00:23: 190 degrees, +1
    in force: 2
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import afa.spark
from afa import Arc, Automaton


class Reading(NamedTuple):
    degrees: int


class Rise(NamedTuple):
    degrees: int = 0


def too_hot(limit: int) -> Arc:
    return Arc("2", "too hot", f"e.degrees > r.degrees and e.degrees > {limit}", "(e.degrees,)", name=f"above {limit}")


PATTERN = Automaton(
    start="0",
    final={"too hot"},
    register=Rise(),
    event=Reading,
    arcs=[
        Arc("0", "1", lambda e, r: True, lambda e, r: Rise(e.degrees)),
        Arc("1", "2", lambda e, r: e.degrees > r.degrees, lambda e, r: Rise(e.degrees)),
        too_hot(200),
    ],
)
FILES = [
    [("A", 1, 170), ("A", 3, 210), ("B", 4, 150)],
    [("A", 2, 180), ("B", 5, 160), ("B", 6, 190)],
    [("B", 21, 150), ("B", 22, 170), ("B", 23, 190)],
]


def main(spark: Any = None) -> None:
    spark = spark or afa.spark.local_session(2, spark__sql__shuffle__partitions=2)
    folder = Path(tempfile.mkdtemp())
    for name in ("readings", "changes"):
        (folder / name).mkdir()
    for i, rows in enumerate(FILES):
        lines = [json.dumps({"oven": oven, "at": f"2026-01-01T12:00:{second:02}", "degrees": x}) for oven, second, x in rows]
        (folder / "readings" / f"{i}.json").write_text("\n".join(lines))
        os.utime(folder / "readings" / f"{i}.json", (i + 1, i + 1))  # in which order they arrive
    arcs = afa.spark.arc_log(folder / "arcs", PATTERN)
    arcs.insert(too_hot(180), at="2026-01-01T12:00:20")
    readings: Any = spark.readStream.schema("oven string, at timestamp, degrees long").option("maxFilesPerTrigger", 1)
    changes = readings.json(str(folder / "readings")).transform(
        afa.spark.match(PATTERN, key="oven", time="at", window="1 minute", lateness="1 minute", arcs=arcs.read(spark), buckets=2)
    )
    writer = changes.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "changes")).awaitTermination()
    found = spark.read.parquet(str(folder / "changes"))
    for row in found.orderBy("le").collect():
        print(f"{row['oven']} too hot at {row['le']:%H:%M:%S}: {row['degrees']} degrees, {row['diff']:+}")
    print("in force:", afa.spark.current(found).count())


if __name__ == "__main__":
    main()
