"""A random stream on disk, run by a job in a process of its own; see `victim`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.spark.streams import arc_lines, of_program, plain, rows
from tests.spark.test_stream import Files, afa_spark, as_json, matches
from tests.spark.victim import KEYS, WINDOW
from tests.strategies import Seeded

ROOT = Path(__file__).parents[2]
PARTS = 2
"""How often the job is started: with more rows and more arcs each time."""
LIGHT = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""For processes of Java that live for a minute: half the work."""


class World:
    """A random stream on disk, and what must come of it.

    Parameters
    ----------
    path : Path
    program : str
    n : int
        Rows.
    size : int
        Rows of a batch.
    """

    def __init__(self, path: Path, program: str, n: int, size: int) -> None:
        self.choose, self.path, self.program = Seeded(f"{program}/{n}"), path, program
        self.here = of_program(program, KEYS[program])
        self.rows, self.lines = rows(self.choose, n, 8), arc_lines(self.choose, self.here, 2 * PARTS, n // 3)
        self.events, self.log, self.size = Files(path / "in"), Files(path / "arcs"), size

    def put(self, begin: int, end: int, lines: list[str]) -> None:
        """Let rows and lines of the arc log arrive."""
        for at in range(begin, end, self.size):
            self.events.put(list(map(as_json, self.rows[at : min(at + self.size, end)])))
        self.log.put(lines)

    def run(self, master: str, attack: Callable[[], None] | None = None) -> int:
        """Run the job to its end, part by part; ``attack`` is called at random moments. How many tasks failed."""
        failed, n = 0, len(self.rows)
        for part in range(PARTS):
            self.put(part * n // PARTS, (part + 1) * n // PARTS, self.lines[2 * part : 2 * part + 2])
            failed += self._job(master, attack)
        return failed

    def _job(self, master: str, attack: Callable[[], None] | None) -> int:
        command = [sys.executable, "-m", "tests.spark.victim", str(self.path), self.program, master]
        env = os.environ | LIGHT
        with (
            (self.path / "stderr").open("a") as log,
            subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=log, start_new_session=True) as job,
        ):
            self.pid = job.pid
            assert job.stdout is not None
            assert job.stdout.readline() == b"begins\n"
            try:
                while job.poll() is None:
                    try:
                        job.wait(None if attack is None else self.choose.number(3, 40) / 10)
                    except subprocess.TimeoutExpired:
                        assert attack is not None
                        attack()
            finally:
                if job.poll() is None:
                    os.killpg(job.pid, signal.SIGKILL)
            assert job.returncode == 0, (self.path / "stderr").read_text()[-3000:]
            return int(job.stdout.readline().split()[0])

    def batches(self) -> int:
        """How many are done."""
        return len(list(self.path.glob("checkpoint/commits/[0-9]*")))

    def check(self, spark: Any) -> None:
        """What is on disk is complete, without duplicates, and equal to the answer of one operator."""
        changes = spark.read.parquet(str(self.path / "changes"))
        assert changes.where("kind <> 'match'").count() == 0
        assert matches(afa_spark.current(changes)) == self.expected

    @property
    def expected(self) -> set[Any]:
        """The matches in force after all."""
        found = plain(self.here, WINDOW, self.rows, self.lines)
        assert len(found) > 5
        return found
