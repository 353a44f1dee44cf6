"""Each page of the tutorial, and each recipe, runs alone, pasted into an empty folder, and shows what comes out."""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs import notebooks
from tests.pages import compiled
from tests.tutorial import PAGES, outputs

SPARK = "docs/tutorial/spark.md"
"""Runs in `tests/spark/test_docs.py`."""


@pytest.mark.parametrize("page", [page for page in PAGES if page != SPARK])
def test_a_page_alone(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    compare(page)


def compare(page: str, edit: Callable[[str], str] = str) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for code, shown, said in outputs(page, edit):
        assert doctest.OutputChecker().check_output(shown, said, flags), f"{page}: expected\n{shown}but got\n{said}from\n{code}"


@pytest.mark.parametrize("page", notebooks.PAGES)
def test_a_notebook_is_its_page_and_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = (notebooks.FOLDER / f"{page}.ipynb").read_text(encoding="utf-8")
    assert kept == notebooks.notebook(page), "python -m docs.notebooks"
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(kept)["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            exec(compiled(text, f"<{page}.ipynb {number}>", "exec"), names)
        for link in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", text) if cell["cell_type"] == "markdown" else ():
            assert (notebooks.FOLDER / link).exists(), link
