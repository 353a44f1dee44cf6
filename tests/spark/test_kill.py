"""``kill -9`` of the whole job at random moments, again and again: what is on disk in the end is what an undisturbed run gives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.spark.streams import arc_lines, of_program, plain, rows
from tests.spark.test_stream import Files, afa_spark, as_json, matches
from tests.spark.victim import KEYS, WINDOW
from tests.strategies import Seeded

ROOT = Path(__file__).parents[2]
PROGRAM = "branches"


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(2))
def test_a_job_that_is_killed_all_the_time(spark: Any, seed: int, tmp_path: Path) -> None:
    choose = Seeded(f"kill/{seed}")
    here = of_program(PROGRAM, KEYS[PROGRAM])
    stream, lines = rows(choose, 400, 8), arc_lines(choose, here, 6, 120)
    events, log = Files(tmp_path / "in"), Files(tmp_path / "arcs")
    for at in range(0, len(stream), 10):
        events.put(list(map(as_json, stream[at : at + 10])))
    log.put(lines[:3])
    kills = 0
    while True:
        command = [sys.executable, "-m", "tests.spark.victim", str(tmp_path), PROGRAM]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as job:
            assert job.stdout is not None
            assert job.stdout.readline() == b"begins\n"
            try:
                job.wait(2 + choose.number(0, 80) / 10 if kills < 12 else None)
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
        if job.returncode != 0:
            assert job.returncode == -signal.SIGKILL
            kills += 1
            time.sleep(0.5)
            if kills == 4:
                log.put(lines[3:])
            continue
        if log.n == 2:
            break
        log.put(lines[3:])
    assert kills >= 10, "too few kills to mean anything"
    print(f"{kills} kills")
    changes = spark.read.parquet(str(tmp_path / "changes"))
    assert changes.where("kind <> 'match'").count() == 0
    assert matches(afa_spark.current(changes)) == plain(here, WINDOW, stream, lines)
