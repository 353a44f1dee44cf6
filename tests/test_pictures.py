"""The pictures of docs/ and examples/ are what `docs/pictures.py` draws, nothing overlaps in them, and each is on a page."""

from __future__ import annotations

import re

import pytest

from docs.pictures import PICTURES, ROOT
from tests.drawn import drawing, faults
from tests.pages import PAGES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_current(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert text == PICTURES[name]() + "\n", "python -m docs.pictures draws it anew"
    assert faults(drawing(text)) == []


def test_each_picture_is_on_a_page() -> None:
    there = {str(path.relative_to(ROOT)) for folder in ("docs", "examples") for path in (ROOT / folder / "pictures").iterdir()}
    assert there == set(PICTURES)
    pages = [ROOT / page for page in (*PAGES, "examples/README.md")]
    links = [(page, link) for page in pages for link in re.findall(r"[\w./]*pictures/\w+\.svg", page.read_text("utf-8"))]
    assert {(page.parent / link).resolve().relative_to(ROOT).as_posix() for page, link in links} == set(PICTURES)
