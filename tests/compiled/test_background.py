"""The first run on a machine: baseline code at once, code compiled in full by one process of all, for all."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from afa.compiled.machine import background, kernels
from afa.compiled.machine.background import Background
from afa.compiled.machine.folder import Folder
from afa.compiled.machine.native import FULL, Native
from tests import nojit

ROOT = Path(__file__).parents[2]
MODULE = """
import sys, time
from afa.compiled.machine.native import FULL, native
time.sleep({sleep})
sys.exit({status}) if {status} else None
sys.stdout.buffer.write(native.compile("seven", lambda: "define i64 @f() {{ ret i64 7 }}", FULL))
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Native:
    """The code of this process, with a cache that is empty."""
    found = Native(Folder(tmp_path / "cache" / "afa"))
    for module in (background, kernels):
        monkeypatch.setattr(module, "native", found)
    return found


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Background]]:
    """Begin to compile in a process that takes its time, or fails."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(background, "PAUSE", 0.0)
    begun: list[Background] = []

    def module(sleep: float = 0.0, status: int = 0) -> Background:
        (tmp_path / "compiler.py").write_text(MODULE.format(sleep=sleep, status=status))
        found = Background.begin("seven", "compiler")
        assert found is not None
        begun.append(found)
        return found

    yield module
    for one in begun:
        if one._process is not None and one._process.poll() is None:
            one._process.kill()
            one._process.wait()
        if one._blob is not None:
            one._blob.close()


def ended(one: Background) -> int:
    """The address, once there is nothing more to wait for."""
    end = time.monotonic() + 60
    while not one.over():
        assert time.monotonic() < end
        time.sleep(0.01)
    return one.address


def test_one_process_compiles_for_all_that_want_the_code(here: Native, begin: Callable[..., Background]) -> None:
    first, second = begin(sleep=0.5), begin(sleep=0.5)
    assert first._process is not None
    assert second._process is None
    assert not first.over()
    assert not second.over()
    address = ended(first)
    assert address
    assert ended(second) == address == here.function("seven", None)


def test_where_no_folder_is_the_code_comes_from_the_process_itself(
    here: Native, begin: Callable[..., Background], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    here.folder = Folder(tmp_path / "file" / "afa")
    assert ended(begin())
    assert not list(tmp_path.glob("file*/*"))


def test_a_process_that_fails_is_told_once(
    here: Native, begin: Callable[..., Background], caplog: pytest.LogCaptureFixture
) -> None:
    assert ended(begin(status=3)) == 0
    (record,) = caplog.records
    assert record.getMessage() == (
        "the process that compiles the kernels has ended without them, with status 3: they stay as slow as they are"
    )


def test_a_process_that_is_killed_lets_the_lock_go(
    here: Native, begin: Callable[..., Background], caplog: pytest.LogCaptureFixture
) -> None:
    first, second = begin(sleep=60), begin()
    assert first._process is not None
    first._process.kill()
    assert (ended(first), ended(second)) == (0, 0)
    assert "with status -9" in caplog.records[0].getMessage()
    assert "has ended without them: they stay" in caplog.records[1].getMessage()
    assert ended(begin())


def test_a_forked_child_waits_by_itself(here: Native, begin: Callable[..., Background], monkeypatch: pytest.MonkeyPatch) -> None:
    first = begin(sleep=0.3)
    monkeypatch.setattr(os, "getpid", lambda: -1)  # as in a child, which can't wait for its parent's process
    assert not first.over()
    assert ended(first)


def test_one_who_waits_is_told_and_compiles_only_once(
    here: Native, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernels, "kernels", lambda: "define i64 @f() { ret i64 7 }")
    assert kernels._compiled() == kernels._compiled()
    assert here.statistics()[:2] == (1, 1)
    assert caplog.records[0].getMessage() == "compiling the kernels, once (about 3 s)"
    (tmp_path / "file").touch()
    here.folder = Folder(tmp_path / "file" / "afa")
    here._addresses.clear()
    kernels._compiled()
    assert caplog.records[-1].getMessage().startswith("compiling the kernels, once (about 3 s)")


def test_where_no_process_can_be_started_the_code_is_made_here(
    here: Native, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="afa")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert Background.begin("seven", "compiler") is None
    assert "the kernels are compiled here: [Errno 2]" in caplog.text
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert Background.begin("seven", "compiler") is None
    assert "the kernels are compiled here: expected Python but got sys.executable='/nowhere/python'" in caplog.text


FIRST = """
    import time
    begin = time.process_time()
    from typing import NamedTuple
    from afa import Arc, Automaton, Operator, insert
    from afa.compiled.machine import kernels
    from afa.compiled.machine.native import native
    class Event(NamedTuple):
        x: int
    class Sum(NamedTuple):
        n: int = 0
    arcs = [Arc("0", "0", lambda e, r: e.x > 0, lambda e, r: Sum(r.n + e.x)), Arc("0", "1", lambda e, r: e.x == 0)]
    automaton = Automaton(start="0", final={"1"}, register=Sum(), event=Event, arcs=arcs)
    op, slow = Operator(automaton, window=50), Operator(automaton, window=50, engine="interpreted")
    def push(n, t=0):
        event = insert(Event(n), t)
        assert sorted(op.push(event)) == sorted(slow.push(event))
    push(1, 1)
    push(0, 2)
    first = time.process_time() - begin
    assert op.statistics.matches == 2 and op._core.engine.name == "compiled"
    in_haste = native.function(kernels.key(), None) == 0
    n, end = 3, time.monotonic() + 120
    while not native.function(kernels.key(), None):
        assert time.monotonic() < end
        push(n % 3, n)
        n += 1
        time.sleep(0.02)
    for n in range(n, n + 50):
        push(n % 3, n)
    op._check()
    print(in_haste, first)
"""


@pytest.mark.skipif(nojit.DISABLED, reason="nothing is compiled")
def test_the_first_match_does_not_wait_and_the_full_code_goes_on_with_the_state(tmp_path: Path) -> None:
    environment = {**os.environ, "AFA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(FIRST))
    command = [sys.executable, "-W", "error", str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    in_haste, first = done.stdout.split()
    assert in_haste == "True"
    assert float(first) < 5  # of CPU; bench_start measures it
    assert len(list((tmp_path / "cache" / "afa").glob("*.last.afa"))) == 1


def test_the_kernels_outlast_much_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afa.compiled.machine.folder.FILES", 64)
    folder, native = Folder(tmp_path), Native(Folder(tmp_path))
    native.function("kernels", lambda: "define i64 @f() { ret i64 7 }", FULL)
    for i in range(12):
        folder.put(f"{i:040x}", b"kernels", lasting=True)
        os.utime(tmp_path / f"{i:040x}.last.afa", (i, i))
    for i in range(100, 400):
        folder.put(f"{i:040x}", b"code")
    folder._prune()
    assert Native(Folder(tmp_path)).function("kernels", None)
    assert len(list(tmp_path.glob("*.afa"))) <= 64
    assert [folder.get(f"{i:040x}") for i in (4, 5)] == [None, b"kernels"]
    assert folder.get(f"{399:040x}") == b"code"


def test_a_lock_is_held_by_one_and_not_waited_for_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Folder(tmp_path / "cache"), Folder(tmp_path / "cache")
    lock = one.lock()
    assert lock is not None
    with pytest.raises(BlockingIOError):
        other.lock()
    monkeypatch.setattr("afa.compiled.machine.folder.PATIENCE", 0.2)
    with other.locked():
        pass
    os.close(lock)
    with other.locked(), pytest.raises(BlockingIOError):
        one.lock()
