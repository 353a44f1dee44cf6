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
KILLS = 12


def committed(path: Path) -> int:
    """Batches that are done."""
    return len(list((path / "checkpoint" / "commits").glob("[0-9]*")))


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
            if kills < KILLS:
                goal = committed(tmp_path) + choose.number(0, 3)  # so that there is a state, the first few times aside
                while job.poll() is None and committed(tmp_path) < goal:
                    time.sleep(0.02)
                time.sleep(choose.number(0, 100) / 100)
                if job.poll() is None:
                    os.killpg(job.pid, signal.SIGKILL)
            job.wait()
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
    assert kills == KILLS
    print(f"{kills} kills")
    changes = spark.read.parquet(str(tmp_path / "changes"))
    assert changes.where("kind <> 'match'").count() == 0
    assert matches(afa_spark.current(changes)) == plain(here, WINDOW, stream, lines)
