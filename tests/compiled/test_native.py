"""Machine code kept in memory and on disk: found again, never trusted, never in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from afa.compiled.machine import folder as folders
from afa.compiled.machine import native as native_module
from afa.compiled.machine.folder import EVERY, Folder, default_path
from afa.compiled.machine.native import Native, digest_of
from tests.compiled.calls import function

SEVEN = "define i64 @f() { ret i64 7 }"


def seven() -> str:
    return SEVEN


def never() -> str:
    raise AssertionError("code that is kept is compiled again")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def call(native: Native, key: str = "seven") -> int:
    result: int = function(native.function(key, seven), 0)()
    return result


def kept(path: Path) -> list[Path]:
    return sorted(path.glob("*.afa"))


def test_code_is_compiled_once_in_a_process_and_once_on_disk(path: Path) -> None:
    first, second = Native(Folder(path)), Native(Folder(path))
    address = first.function("seven", seven)
    assert first.function("seven", never) == address
    assert function(second.function("seven", never), 0)() == 7
    assert first.statistics()[:3] == (1, 1, 0)
    assert second.statistics()[:3] == (1, 0, 1)
    assert not first.known("eight")
    assert first.known("seven")


def test_the_folder_is_the_user_s_own(path: Path) -> None:
    call(Native(Folder(path)))
    assert path.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in kept(path)] == [0o600]


def test_the_key_and_the_modules_that_make_code_are_in_the_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call(Native(Folder(path)))
    call(Native(Folder(path)), "another")
    assert len(kept(path)) == 2
    monkeypatch.setattr("afa.compiled.machine.native.SOURCES", ("afa.compiled.code",))
    call(Native(Folder(path)))
    assert len(kept(path)) == 3


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign", "swap"])
def test_damaged_code_is_never_run_and_is_written_anew(path: Path, damage: str) -> None:
    call(Native(Folder(path)))
    (file,) = kept(path)
    whole = file.read_bytes()
    if damage == "swap":  # the right checksum under another name
        Native(Folder(path)).function("eight", lambda: "define i64 @f() { ret i64 8 }")
        (other,) = set(kept(path)) - {file}
        file.write_bytes(other.read_bytes())
    else:
        bad = {"cut": whole[:-1], "flip": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], "empty": b"", "foreign": b"x" * 99}
        file.write_bytes(bad[damage])
    native = Native(Folder(path))
    assert call(native) == 7
    assert native.statistics().compiled == 1
    assert "is damaged" in native.statistics().reason
    assert file.read_bytes()[-8:] == whole[-8:]
    assert Native(Folder(path)).function("seven", never)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720])
def test_a_folder_that_others_write_to_is_left_alone(path: Path, mode: int) -> None:
    path.mkdir()
    path.chmod(mode)
    native = Native(Folder(path))
    assert call(native) == 7
    assert "expected a folder that only its owner writes to but got path=" in native.statistics().reason
    assert not list(path.iterdir())


def test_a_file_that_others_write_to_is_left_alone(path: Path) -> None:
    call(Native(Folder(path)))
    kept(path)[0].chmod(0o666)
    native = Native(Folder(path))
    assert call(native) == 7
    assert native.statistics().from_disk == 0
    assert "expected a file that only its owner writes to" in native.statistics().reason


def test_symlinks_are_not_followed(path: Path, tmp_path: Path) -> None:
    call(Native(Folder(path)))
    link = tmp_path / "link"
    link.symlink_to(path)
    assert call(Native(Folder(link))) == 7
    (file,) = kept(path)
    moved = file.rename(tmp_path / "moved")
    file.symlink_to(moved)
    native = Native(Folder(path))
    assert call(native) == 7
    assert native.statistics()[1:3] == (1, 0)
    refused = Native(Folder(link))
    call(refused)
    assert refused.statistics()[1:3] == (1, 0)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners are told apart by uid")
def test_another_user_s_folder_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.mkdir(mode=0o700)
    monkeypatch.setattr("os.getuid", lambda: path.stat().st_uid + 1)
    native = Native(Folder(path))
    assert call(native) == 7
    assert native.statistics().failures
    assert not list(path.iterdir())


@pytest.mark.parametrize("failing", ["mkdir", "mkstemp", "replace", "open"])
def test_a_disk_that_fails_costs_a_compile_and_nothing_else(path: Path, failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if failing == "open":
        call(Native(Folder(path)))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    where = {"mkdir": "pathlib.Path.mkdir", "mkstemp": "tempfile.mkstemp", "replace": "os.replace", "open": "os.open"}[failing]
    monkeypatch.setattr(where, full)
    native = Native(Folder(path))
    assert call(native) == 7
    assert native.statistics().compiled == 1
    assert "No space left on device" in native.statistics().reason
    monkeypatch.undo()
    assert not list(path.glob("*draft"))


def test_a_file_in_the_folder_s_place(path: Path) -> None:
    path.write_text("no folder")
    native = Native(Folder(path))
    assert call(native) == 7
    assert native.statistics().failures


def test_the_folder_stays_small(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "FILES", 40)
    monkeypatch.setattr(folders, "EVERY", 10)
    folder = Folder(path)
    for i in range(200):
        folder.put(f"{i:040x}", b"code")
        os.utime(path / f"{i:040x}.afa", (i, i))
    assert len(kept(path)) <= 50
    assert folder.get(f"{199:040x}") == b"code"
    assert folder.get(f"{0:040x}") is None
    draft = path / "tmpab_45678.afa-draft"
    draft.write_bytes(b"by a process that was killed")
    os.utime(draft, (0, 0))
    for i in range(10):
        folder.put(f"{i:040x}", b"code")
    assert not draft.exists()
    assert not folder.failures


STRANGE = (
    *("thesis.tex", "tmpab_45678", "lock", ".afa", ".last.afa", "notes.afa", "old.last.afa", "tmpab_45678.afa-draft.bak"),
    *("tmp.afa-draft", "tmpAB345678.afa-draft", f"{'A' * 40}.afa", f"{'a' * 39}.afa", f"{'a' * 41}.last.afa", f"{'a' * 40}.afa~"),
    *(f"{'a' * 40}", f" {'a' * 40}.afa", f"{'a' * 40}.lasting.afa"),
)
"""Names of files that others left; some nearly have our shape."""


@pytest.mark.parametrize("age", [0, 3_600, 3 * folders.DAY, 300 * folders.DAY])
@pytest.mark.parametrize("bound", ["FILES", "BYTES", "neither"])
def test_nothing_is_deleted_that_is_not_ours(tmp_path: Path, age: int, bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder that the variable names, and in ours below it; whichever bound is passed, however old it is."""
    monkeypatch.setattr(folders, "EVERY", 1)
    if bound != "neither":
        monkeypatch.setattr(folders, bound, 1)
    monkeypatch.setenv("AFA_CACHE_DIR", str(tmp_path / "named"))
    ours = default_path()
    outside = tmp_path / "outside"
    outside.mkdir()
    ours.mkdir(parents=True, mode=0o700)
    made = [outside / f"{'b' * 40}.afa"]
    for place in (ours.parent, ours):
        made += [place / name for name in STRANGE]
    for path in made:
        path.write_text("not ours")
        os.utime(path, (time.time() - age,) * 2)
    for name, to in ((f"{'c' * 40}.afa", made[0]), ("tmpab_link8.afa-draft", made[0]), (f"{'d' * 40}.last.afa", outside)):
        (ours / name).symlink_to(to)
        os.utime(ours / name, (time.time() - age,) * 2, follow_symlinks=False)
    for name in (f"{'e' * 40}.afa", "tmpabfolder.afa-draft"):
        (ours / name).mkdir()
        made.append(ours / name / f"{'f' * 40}.afa")
        made[-1].write_text("not ours")
        os.utime(ours / name, (time.time() - age,) * 2)
    before = set(tmp_path.rglob("*"))
    folder = Folder()
    for i in range(6):
        folder.put(f"{i:040x}", b"code", lasting=i % 2 == 0)
    assert not folder.failures
    left = set(tmp_path.rglob("*"))
    assert before <= left
    assert {path.read_text() for path in made} == {"not ours"}
    assert len(left - before) == (6 if bound == "neither" else 0)


def test_the_lock_outlasts_all_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "EVERY", 1)
    monkeypatch.setattr(folders, "FILES", 1)
    folder = Folder(tmp_path / "cache")
    lock = folder.lock()
    assert lock is not None
    os.utime(tmp_path / "cache" / "lock", (0, 0))
    folder.put(f"{1:040x}", b"code")
    with pytest.raises(BlockingIOError):
        Folder(tmp_path / "cache").lock()
    os.close(lock)


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AFA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_path() == Path("/home/someone/.cache/afa")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert default_path() == Path("/caches/afa")
    monkeypatch.setenv("AFA_CACHE_DIR", "/here")
    assert default_path() == Path("/here/afa")


def test_ir_without_a_function(path: Path) -> None:
    with pytest.raises(RuntimeError, match="expected a function @f in the IR of 'nothing'"):
        Native().function("nothing", lambda: "define i64 @g() { ret i64 7 }")


def test_threads_share_one_compile(path: Path) -> None:
    native, found = Native(Folder(path)), []
    threads = [threading.Thread(target=lambda: found.append(native.function("seven", seven))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert native.statistics().compiled == 1


def run(program: str, path: Path, **environment: str) -> subprocess.Popen[str]:
    """A program in a process of its own."""
    text = "from afa.compiled.machine.native import Native, native\nimport ctypes, os, threading, time\n" + textwrap.dedent(program)
    env = {**os.environ, "AFA_CACHE_DIR": str(path), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", text], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def output(process: subprocess.Popen[str]) -> str:
    """What it prints; one that hangs is ended with its children, and fails."""
    try:
        out, error = process.communicate(timeout=180)  # a slow machine takes tens of seconds: LLVM's import, 20 forks
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, error = process.communicate()
        pytest.fail(f"hangs; it has written {out!r} {error!r}")
    assert process.returncode == 0, error
    return out


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_while_a_thread_compiles_does_not_hang(path: Path) -> None:
    program = """
        ir = lambda i: f"define i64 @f() {{ ret i64 {i} }}"
        stop = False
        def compile_all():
            i = 0
            while not stop:
                i += 1
                native.function(f"key {i}", lambda: ir(i))
        thread = threading.Thread(target=compile_all)
        thread.start()
        for i in range(20):
            time.sleep(0.002)
            child = os.fork()
            if child == 0:
                address = native.function(f"child {i}", lambda: ir(i))
                os._exit(ctypes.CFUNCTYPE(ctypes.c_int64)(address)() != i)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        thread.join()
        print("done")
    """
    assert output(run(program, path, PYTHONWARNINGS="ignore")) == "done\n"


def test_processes_share_a_folder(path: Path) -> None:
    program = """
        for i in range(100):
            address = native.function(f"key {i}", lambda: f"define i64 @f() {{ ret i64 {i} }}")
            assert ctypes.CFUNCTYPE(ctypes.c_int64)(address)() == i
        print(native.statistics().failures)
    """
    processes = [run(program, path) for _ in range(2)]
    assert [output(process) for process in processes] == ["0\n", "0\n"]
    assert len(kept(path / "afa")) == 100


def test_a_file_that_vanishes_while_the_folder_is_looked_through(path: Path) -> None:
    folder = Folder(path)
    folder.put("first", b"code")
    (path / "gone").symlink_to(path / "nowhere")
    folder._written = EVERY - 1
    folder.put("second", b"code")
    assert (folder.get("second"), folder.failures) == (b"code", 0)


def test_without_jit_native_code_runs_all_the_same(path: Path) -> None:
    program = f"print(ctypes.CFUNCTYPE(ctypes.c_int64)(native.function('seven', lambda: {SEVEN!r}))())"
    assert output(run(program, path, NUMBA_DISABLE_JIT="1")) == "7\n"


def test_llvm_is_loaded_at_first_use(path: Path) -> None:
    assert output(run("import sys; print('llvmlite' in sys.modules)", path)) == "False\n"


def test_code_of_other_words_is_not_taken() -> None:
    """Functions of arcs read and write words whose places `names` tells."""
    assert "afa.compiled.kernel.layout" in native_module.SOURCES
    both = {digest_of(*sources) for sources in (native_module.SOURCES, native_module.SOURCES[:-1], native_module.SOURCES[-1:])}
    assert len(both) == 3
