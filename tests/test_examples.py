"""Every example runs and prints what its docstring says it prints."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
HEADING = "It prints:\n"


def load(name: str) -> ModuleType:
    """Import an example by its path."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_promises(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = load(name)
    assert module.__doc__ is not None
    _, heading, promised = module.__doc__.partition(HEADING)
    assert heading, f"expected {HEADING!r} in the docstring of {name}.py"
    module.main()
    assert capsys.readouterr().out.strip() == textwrap.dedent(promised).strip()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short_and_listed(name: str) -> None:
    assert len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) < 80
    assert f"`{name}.py`" in (FOLDER / "README.md").read_text(encoding="utf-8")
