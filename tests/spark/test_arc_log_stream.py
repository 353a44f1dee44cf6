"""Arc logs through Spark: a random log in random files, some of them no log at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.arclogs import in_force, random_log
from tests.spark.streams import SECOND, ZERO, of_program, plain, rows
from tests.spark.test_stream import SCHEMA, Files, afa_spark, as_json, matches, read, run
from tests.strategies import Seeded

BAD = [b"\xff\xfe no text \x80", b'"' + b"x" * 3_000_000 + b'"']


def put(log: Files, number: int, lines: list[bytes]) -> None:
    hidden = log.path / f".{number}"
    hidden.write_bytes(b"\n".join(lines) + b"\n")
    os.rename(hidden, log.path / f"{number}.txt")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(1, 12))])
def test_a_log_in_any_order_and_batches(spark: Any, seed: int, tmp_path: Path) -> None:
    choose = Seeded(f"spark/log/{seed}")
    here, buckets = of_program(choose.one(["branches", "runs"]), ("who",)), choose.number(1, 4)
    stream, events, log = rows(choose, 80, 6), Files(tmp_path / "in"), Files(tmp_path / "arcs")
    pool = [arc.to_json(here.automaton) for arc in [*here.automaton.arcs, *here.pool] if arc.name is not None]
    lines = random_log(choose, pool, 14, 40, SECOND, ZERO)
    lines = sorted([*lines, *lines[:3]], key=lambda line: choose.number(0, 10**6))
    given = {"key": "who", "time": "at", "window": "25 seconds", "diff": "diff", "lateness": "1 hour", "buckets": buckets}
    for part in range(2):  # stopped and started again in between
        for cut in range(3):
            put(log, 3 * part + cut, [line.encode() for line in lines[3 * part + cut :: 6]] + (BAD if part == cut == 1 else []))
        events.put(list(map(as_json, stream[part * 40 : part * 40 + 40])))
        pattern = afa_spark.match(
            here.automaton, arcs=spark.readStream.option("maxFilesPerTrigger", 2).text(str(log.path)), **given
        )
        run(read(spark, events).transform(pattern), tmp_path)
    changes = spark.read.parquet(str(tmp_path / "changes"))
    told = [row["reason"] for row in changes.where("kind = 'fault'").collect()]
    assert sum("JSON in UTF-8" in reason for reason in told) == 1
    assert sum("expected a line of at most 200000 characters" in reason for reason in told) == 1
    assert max(map(len, told)) < 1000
    assert matches(afa_spark.current(changes)) == plain(here, 25, stream, lines)
    history = spark.read.schema(SCHEMA).json(str(events.path))
    final = history.transform(afa_spark.match(here.automaton, arcs=spark.read.text(str(log.path)), **given)).collect()
    _, idle = in_force(list(map(json.loads, lines)), {arc.name: arc for arc in here.automaton.arcs if arc.name})
    assert sum("expected an arc in force but got" in (row["reason"] or "") for row in final) == len(idle)
    assert sum(row["kind"] == "match" for row in final) == len(plain(here, 25, stream, lines))
