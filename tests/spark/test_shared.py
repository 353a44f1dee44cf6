"""Images in shared memory: whose they are, and when they go."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.spark.test_stream import Files, afa_spark, read, watched, when

pytest.importorskip("pyspark")
from afa.spark import shared
from afa.spark.operator_image import CLAIMED


def test_a_watcher_deletes_what_nothing_moves_in(tmp_path: Path) -> None:
    java, place = tmp_path / "java", tmp_path / "place"
    java.symlink_to(shutil.which("sleep") or "")
    for query in ("ended", "running"):
        (place / query).mkdir(parents=True)
        (place / query / "ab").touch()
    ago = time.time() - 20 * 60
    os.utime(place / "running" / "ab", (ago, ago))  # of a bucket that gets no rows: its query runs
    os.utime(place / "ended", (ago, ago))
    with subprocess.Popen([java, "60"]) as process:
        shared.watch(shared.Process(process.pid, 0, 0), place, 900, 3600, 1)
        wait_for(lambda: not (place / "ended").exists())
        assert (place / "running" / "ab").exists()
        process.kill()
    wait_for(lambda: not place.exists())


def test_a_process_that_is_not_there_has_no_name() -> None:
    assert shared.process(os.getpid()) is not None
    assert shared.process(2**22 + 1) is None


def test_images_of_ended_queries_go(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events, place = Files(tmp_path / "in"), Path(os.environ["AFA_SHARED_DIR"])
    given: dict[str, Any] = {"key": "who", "time": "at", "window": "1 hour", "buckets": 2}

    def batch(second: int) -> None:
        events.put([json.dumps({"who": who, "sort": 0, "at": when(second).isoformat()}) for who in range(9)])

    def changes() -> Any:
        return read(spark, events, "who long, sort int, at timestamp").transform(afa_spark.match(watched(), **given))

    def start(name: str) -> Any:
        return changes().writeStream.format("noop").option("checkpointLocation", str(tmp_path / name)).start()

    def images(query: Any) -> int:
        return len(list(place.glob(f"*-*-*/{query.id}/*")))

    batch(0)
    running, ended = start("running"), start("ended")
    try:
        for query in (running, ended):
            query.processAllAvailable()
        assert images(running) == images(ended) == 2
        ended.stop()
        shared.forget_ended(spark)
        assert images(ended) == 2, "it may be started again"
        monkeypatch.setattr(shared, "ENDED", -1.0)
        changes()  # `match` looks
        assert images(running) == 2
        assert not images(ended)
        batch(1)
        running.processAllAvailable()
        told = [row for progress in running.recentProgress for row in progress.observedMetrics.values()]
        assert sum(row["events"] or 0 for row in told) == 18
        assert not any(row["read_bytes"] for row in told), "its images were there"
    finally:
        running.stop()
        ended.stop()


def test_shared_memory_is_nobody_elses_and_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "shared"
    monkeypatch.setenv("AFA_SHARED_DIR", str(place))
    assert shared.folder.__wrapped__() == place
    for name, age in (("ab", shared.OLD + 9), (f"cd{CLAIMED}", shared.OLD + 9), ("ef", 0.0)):
        (place / name).touch()
        os.utime(place / name, (time.time() - age, time.time() - age))
    shared.folder.__wrapped__()
    assert [path.name for path in place.iterdir()] == ["ef"]
    place.chmod(0o755)
    assert shared.folder.__wrapped__() is None, "others can read there"
    monkeypatch.setenv("AFA_SHARED_DIR", "")
    assert shared.folder.__wrapped__() is None
    assert shared.take(b"ab") is None


def test_shared_memory_goes_with_the_java_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFA_SHARED_DIR", str(tmp_path / "shared"))
    java = tmp_path / "java"
    java.symlink_to(shutil.which("sleep") or "")
    with subprocess.Popen([java, "60"]) as process:
        found = shared.Process(process.pid, shared._stat(process.pid)[2], shared._namespace())  # type: ignore[index]
        assert shared._stat(process.pid)[0] == "java"  # type: ignore[index]
        monkeypatch.setattr(shared, "owner", lambda: found)
        place = shared.folder.__wrapped__()
        assert place == tmp_path / "shared" / found.name
        assert shared.folder.__wrapped__() == place
        (place / "ab").touch()
        shared.sweep(place.parent)
        assert (place / "ab").exists()
        stranger = place.parent / shared.Process(process.pid, found.begun, found.namespace + 1).name
        before = place.parent / shared.Process(process.pid, found.begun - 1, found.namespace).name
        for path in (stranger, before):
            path.mkdir()
        shared.sweep(place.parent)
        assert sorted(place.parent.iterdir()) == sorted([place, stranger]), "that one's process can't be seen"
        process.kill()
    end = time.monotonic() + 30
    while place.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


def wait_for(what: Any) -> None:
    end = time.monotonic() + 30
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)
