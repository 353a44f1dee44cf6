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
from afa.spark.operator_image import CLAIMED, ENDING

ENDED, RUNNING = (f"{n * 8}-0000-4000-8000-000000000000" for n in "ab")


def test_a_watcher_deletes_what_nothing_moves_in(tmp_path: Path) -> None:
    java, place = tmp_path / "java", tmp_path / "a place"
    java.symlink_to(shutil.which("sleep") or "")
    for query in (ENDED, RUNNING):
        (place / query).mkdir(parents=True)
        (place / query / f"ab{ENDING}").touch()
    ago = time.time() - 20 * 60
    os.utime(place / RUNNING / f"ab{ENDING}", (ago, ago))  # of a bucket that gets no rows: its query runs
    os.utime(place / ENDED, (ago, ago))
    with subprocess.Popen([java, "60"]) as process:
        shared.watch(shared.Process(process.pid, 0, 0), place, 900, 3600, 1)
        wait_for(lambda: not (place / ENDED).exists())
        assert (place / RUNNING / f"ab{ENDING}").exists()
        process.kill()
    wait_for(lambda: not place.exists())


STRANGE = (
    *("thesis.tex", ".hidden", "lock", "deadbeef", "ab.claimed", "ab.afa", "core.1234", ENDING, f"AB{ENDING}", f"xy{ENDING}"),
    *(f"ab{ENDING}.bak", f"ab{ENDING}~", f"ab{ENDING}{CLAIMED}.part", f"a b{ENDING}", f"\n{ENDING}", "1-2-3", ENDED),
)
"""Names of files that others left: some nearly have our shape, two have that of a folder of ours."""
FOLDERS = ("work", "1-2", "1-2-3-4", "a-b-c", "\uff11-\uff12-\uff13", f"{ENDED}0", ENDED.upper(), "2" * 36)


def strangers(place: Path, outside: Path, folders: bool = True) -> set[Path]:
    """Things that are not ours, in a folder: files, trees, links to outside, of every age."""
    made = set()
    for n, name in enumerate(STRANGE):
        (place / name).write_text("not ours")
        made.add(place / name)
        os.utime(place / name, (time.time() - n % 3 * 86_400 * 30,) * 2)
    for name in FOLDERS if folders else ():
        (place / name).mkdir()
        (place / name / f"ab{ENDING}").write_text("not ours")
        made |= {place / name, place / name / f"ab{ENDING}"}
    for n, name in enumerate((f"ef{ENDING}", f"ef{ENDING}{CLAIMED}", RUNNING, "4-5-6")):
        (place / name).symlink_to(outside, target_is_directory=n > 1)
        made.add(place / name)
        os.utime(place / name, (0, 0), follow_symlinks=False)
    return made


def test_nothing_is_deleted_that_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder that the variable names, in ours below it, in that of a process, and in that of a query."""
    named, outside = tmp_path / "named", tmp_path / "outside"
    for path in (named, outside):
        path.mkdir(0o755)
    kept = {outside / name for name in (f"ab{ENDING}", f"cd{ENDING}{CLAIMED}")}
    for path in kept:
        path.write_text("not ours")
    java = tmp_path / "java"
    java.symlink_to(shutil.which("sleep") or "")
    monkeypatch.setenv("AFA_SHARED_DIR", str(named))
    with subprocess.Popen([java, "20"]) as process:
        found = shared.Process(process.pid, shared._stat(process.pid)[2], shared._namespace())  # type: ignore[index]
        root = named / f"afa-{os.getuid()}"
        gone, watched = root / shared.Process(process.pid, found.begun - 1, found.namespace).name, root / found.name
        places = [named, root, gone, gone / ENDED.replace("a", "c"), watched, watched / ENDED.replace("a", "c")]
        for place in places:
            place.mkdir(0o700, exist_ok=True)
            kept |= {place, *strangers(place, outside)}
        ours = {place / name for place in places[1:] for name in (f"ab{ENDING}", f"cd{ENDING}{CLAIMED}")}
        empty = {place / f"{'7' * 8}-0000-4000-8000-000000000000" for place in (root, gone, watched)}
        for path in ours:
            path.write_text("ours")
            os.utime(path, (0, 0))
        for path in empty:
            path.mkdir()
        for path in kept | empty:
            if path.is_dir() and not path.is_symlink():
                os.utime(path, (0, 0))
        shared.watch(found, watched, 900, 3600, 1)
        monkeypatch.setattr(shared, "owner", lambda: None)
        assert shared.folder.__wrapped__() == root
        wait_for(lambda: not any(path.exists() for path in ours | empty))
        process.kill()
    time.sleep(1.5)  # the watcher ends
    assert set(tmp_path.rglob("*")) - {java} == kept | {outside}
    assert {path.read_text() for path in kept if path.is_file()} == {"not ours"}


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
        return len(list(place.glob(f"*/*-*-*/{query.id}/*")))

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
    monkeypatch.setenv("AFA_SHARED_DIR", str(tmp_path / "shared"))
    place = tmp_path / "shared" / f"afa-{os.getuid()}"
    assert shared.folder.__wrapped__() == place
    for name, age in ((f"ab{ENDING}", shared.OLD + 9), (f"cd{ENDING}{CLAIMED}", shared.OLD + 9), (f"ef{ENDING}", 0.0)):
        (place / name).touch()
        os.utime(place / name, (time.time() - age, time.time() - age))
    shared.folder.__wrapped__()
    assert [path.name for path in place.iterdir()] == [f"ef{ENDING}"]
    place.chmod(0o755)
    assert shared.folder.__wrapped__() is None, "others can read there"
    monkeypatch.setenv("AFA_SHARED_DIR", "")
    assert shared.folder.__wrapped__() is None
    assert shared.take(b"ab") is None


def test_a_relative_folder_is_the_same_one_for_the_watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AFA_SHARED_DIR", "shared")
    assert shared.folder.__wrapped__() == tmp_path / "shared" / f"afa-{os.getuid()}"


def test_shared_memory_goes_with_the_java_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFA_SHARED_DIR", str(tmp_path / "shared"))
    java = tmp_path / "java"
    java.symlink_to(shutil.which("sleep") or "")
    with subprocess.Popen([java, "60"]) as process:
        found = shared.Process(process.pid, shared._stat(process.pid)[2], shared._namespace())  # type: ignore[index]
        assert shared._stat(process.pid)[0] == "java"  # type: ignore[index]
        monkeypatch.setattr(shared, "owner", lambda: found)
        place = shared.folder.__wrapped__()
        assert place == tmp_path / "shared" / f"afa-{os.getuid()}" / found.name
        assert shared.folder.__wrapped__() == place
        (place / f"ab{ENDING}").touch()
        shared.sweep(place.parent)
        assert (place / f"ab{ENDING}").exists()
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
