"""The table of what holds a folder names every folder and every test, and nothing that is not there."""

from __future__ import annotations

import re

import pytest

from tests.held import ROOT, TESTS, files, holding, main, table
from tests.lanes import slow

TOPS = ("afa", "punctuation", "speculation")


def test_every_folder_is_held() -> None:
    there = {f"{path.parent.relative_to(ROOT)}/" for top in TOPS for path in (ROOT / top).rglob("*.py")}
    assert there <= table().keys()
    assert all((ROOT / folder).is_dir() for folder in table())


def test_what_the_table_names_is_there() -> None:
    assert [(folder, name) for folder, names in table().items() for name in names if not files(name)] == []


def test_what_the_map_of_kernels_names_is_there() -> None:
    tour = (ROOT / "afa" / "compiled" / "kernel" / "__init__.py").read_text("utf-8")
    named = re.findall(r"(?:\w+/)?test_\w+", tour)
    assert len(named) > 20
    assert [name for name in named if not files(f"{name}.py")] == []


def test_every_test_holds_something() -> None:
    """Those that hold the tests themselves aside."""
    named = {file for names in table().values() for name in names for file in files(name)}
    assert sorted(path.name for path in set(TESTS.rglob("test_*.py")) - named) == ["test_held.py", "test_runner.py"]


def test_what_is_slow_is_there() -> None:
    assert [name for name in slow() if not (ROOT / name.partition("::")[0]).exists()] == []


def test_the_longest_path_counts() -> None:
    kernel, top = holding("afa/compiled/kernel/step.py"), holding("afa/schema.py")
    assert TESTS / "compiled" / "test_names.py" in kernel
    assert TESTS / "test_layers.py" in top
    assert TESTS / "expression" / "test_wire.py" in holding("afa/expression")
    with pytest.raises(SystemExit, match=r"expected a path in one of punctuation/, afa/, .* but got tests/text.py"):
        holding("tests/text.py")
    with pytest.raises(SystemExit, match=r"expected a path such as afa/state/packed.py but got none"):
        main([])
