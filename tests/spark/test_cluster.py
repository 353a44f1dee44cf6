"""On a master and two workers, each a process; and what is on disk after executors and Python workers have been killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.victim import KEYS
from tests.spark.world import LIGHT, World

pytestmark = pytest.mark.stress


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from examples.cluster import Cluster

    for name, value in LIGHT.items():
        monkeypatch.setenv(name, value)
    with Cluster() as found:
        yield found


@pytest.mark.parametrize("program", KEYS)
def test_a_stream_on_a_cluster_equals_one_operator(spark: Any, cluster: Any, program: str, tmp_path: Path) -> None:
    world = World(tmp_path, program, 120, 15)
    assert world.run(cluster.url) == 0
    world.check(spark)


def test_workers_of_a_cluster_are_killed_and_started_again(spark: Any, cluster: Any, tmp_path: Path) -> None:
    world = World(tmp_path, "branches", 240, 10)
    kills, done = 0, 0

    def attack() -> None:
        nonlocal kills, done
        if len(cluster.workers) < 2:
            cluster.workers.append(cluster.start_worker())
            return
        if world.batches() == done:  # an executor takes longer to start than a batch
            return
        done = world.batches()
        worker = cluster.workers.pop(0)  # the one that is longer at work
        os.killpg(worker.pid, signal.SIGKILL)  # with its executor
        worker.communicate()
        kills += 1

    failed = world.run(cluster.url, attack)  # besides tasks, kills take state and shuffled rows
    print(f"{kills} kills, {failed} failed tasks")
    assert kills >= 5, "too few kills to mean anything"
    world.check(spark)


def test_python_workers_are_killed(spark: Any, tmp_path: Path) -> None:
    world = World(tmp_path, "branches", 240, 10)
    kills = 0

    def attack() -> None:
        nonlocal kills
        found = python_workers(world.pid)
        if found:
            os.kill(world.choose.one(found), signal.SIGKILL)
            kills += 1

    failed = world.run("local[2,20]", attack)
    print(f"{kills} kills, {failed} failed tasks")
    assert kills >= 10, "too few kills to mean anything"
    assert failed
    world.check(spark)


def python_workers(root: int) -> list[int]:
    """Of all that a process has started, the daemons that run tasks, and their children."""
    said = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    table = [(int(pid), int(parent), args) for pid, parent, args in (line.split(None, 2) for line in said.splitlines())]
    ours, found = {root}, 1
    while found:
        new = {pid for pid, parent, _ in table if parent in ours} - ours
        ours |= new
        found = len(new)
    return [pid for pid, _, args in table if pid in ours and "pyspark.daemon" in args]
