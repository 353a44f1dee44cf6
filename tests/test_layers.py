"""Imports point one way, and importing the library stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "punctuation": {"punctuation"},
    "afa": {"punctuation", "afa"},
    "speculation": {"punctuation", "afa", "speculation"},
}


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_imports_point_one_way(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            tops = {name.partition(".")[0] for name in names} & set(ALLOWED)
            assert tops <= ALLOWED[package], f"{file.relative_to(ROOT)} imports {sorted(tops)}"


def test_import_afa_loads_nothing_heavy() -> None:
    heavy = ("pyspark", "pyarrow", "pandas", "numba", "typer", "rich", "afa.cli")
    code = f"import sys, afa; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert found.strip() == "[]"


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_nothing_read_is_ever_run(package: str) -> None:
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {a.name for a in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "cloudpickle", "dill", "marshal", "shelve"}, file
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}, f"{file}:{node.lineno}"
