"""Each page of the tutorial, and each recipe, runs alone, pasted into an empty folder, and shows what comes out."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from pathlib import Path

import pytest

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
