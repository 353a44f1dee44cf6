"""Flink's side, run by the Python that has PyFlink; of this repository it needs this file only.

Reads tasks from its input, a line of JSON each (``folder``, ``what``: match or read, ``window`` in seconds), and answers each by
one: ``seconds`` from the submission of the job to its last row, ``answer``: how many matches (or rows), and sums over them.

Q1, k = 1 in SQL: a drop, then m falls and m rises without a gap. A key has one tick a second, so that times count ticks; the same
with COUNT(..) of falls and rises took about twice as long. Flink refuses ``C*`` after a greedy ``B+``; falls and rises exclude each
other, so that a reluctant one finds the same.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

HALVES = ("even", "odd")
CORES = 2
SETTINGS = {
    "parallelism.default": str(CORES),
    "taskmanager.numberOfTaskSlots": str(CORES),
    "pipeline.object-reuse": "true",
}
"""No checkpoints, state on the heap: the cheapest that there is."""


def source(name: str, path: str) -> str:
    """One file as a table. A watermark 1 ms behind the latest tick: those of the same time are not late.

    Each file is a table of its own: one reader could take two files one after the other, and all of the second would be late.
    """
    return f"""
CREATE TABLE {name} (
  `key` BIGINT, `at` BIGINT, price DOUBLE, `change` DOUBLE,
  moment AS TO_TIMESTAMP_LTZ(`at`, 3), WATERMARK FOR moment AS moment - INTERVAL '0.001' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""


def ticks(name: str) -> str:
    """All files as one table."""
    return f"CREATE TEMPORARY VIEW {name} AS " + " UNION ALL ".join(f"SELECT * FROM {name}_{half}" for half in HALVES)


def matches(name: str, window: int) -> str:
    """Q1 over it."""
    return f"""
CREATE TEMPORARY VIEW {name}_match AS SELECT * FROM {name} MATCH_RECOGNIZE (
  PARTITION BY `key` ORDER BY moment
  MEASURES A.`at` AS began, D.`at` AS ended, MATCH_ROWTIME(moment) AS moment
  ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B+? C*? D) WITHIN INTERVAL '{window}' SECOND({len(str(window))})
  DEFINE
    A AS A.`change` < -0.25,
    B AS B.`change` < 0,
    C AS C.`change` > 0 AND C.`at` - LAST(B.`at`, 0) < LAST(B.`at`, 0) - LAST(A.`at`, 0),
    D AS D.`change` > 0 AND D.`at` - LAST(B.`at`, 0) = LAST(B.`at`, 0) - LAST(A.`at`, 0))"""


def summed(table: str, columns: str) -> str:
    """A row per day of event time: the result of a stream, and hardly any of the work."""
    return (
        f"SELECT window_start, {columns} FROM TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(moment), INTERVAL '1' DAY)) "
        "GROUP BY window_start, window_end"
    )


def statements(name: str, folder: str, what: str, window: int) -> tuple[list[str], str]:
    """What is declared, and the query that is timed; ``name``: new for each task."""
    tables = [source(f"{name}_{half}", f"file://{Path(folder).absolute() / half}.csv") for half in HALVES]
    if what == "read":
        return [*tables, ticks(name)], summed(name, "COUNT(*), SUM(`key`)")
    answer = "COUNT(*), SUM(`key`), SUM(began), SUM(ended)"
    return [*tables, ticks(name), matches(name, window)], summed(f"{name}_match", answer)


def run(environment: Any, name: str, folder: str, what: str, window: int) -> dict[str, Any]:
    """One task."""
    declared, query = statements(name, folder, what, window)
    for statement in declared:
        environment.execute_sql(statement)
    begin = time.perf_counter()
    with environment.execute_sql(query).collect() as result:
        rows = [list(row) for row in result]
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "answer": [sum(column) for column in zip(*(row[1:] for row in rows))]}


def main() -> None:
    """Serve tasks until the input ends."""
    from pyflink.table import EnvironmentSettings, TableEnvironment
    from pyflink.version import __version__

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Java says is no answer
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in SETTINGS.items():
        environment.get_config().set(name, value)
    print(json.dumps({"version": __version__}), file=answers, flush=True)
    for number, line in enumerate(sys.stdin):
        print(json.dumps(run(environment, f"ticks_{number}", **json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
