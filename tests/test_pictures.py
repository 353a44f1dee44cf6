"""The pictures of docs/pictures are what `docs/pictures.py` draws, nothing overlaps in them, and each is on a page."""

from __future__ import annotations

import re

import pytest

from docs.pictures import FOLDER, PICTURES
from tests.drawn import drawing, faults
from tests.pages import PAGES, ROOT


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_current(name: str) -> None:
    text = (FOLDER / f"{name}.svg").read_text("utf-8")
    assert text == PICTURES[name]() + "\n", "python -m docs.pictures draws it anew"
    assert faults(drawing(text)) == []


def test_each_picture_is_on_a_page() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(PICTURES)
    shown = {name for page in PAGES for name in re.findall(r"pictures/(\w+)\.svg", (ROOT / page).read_text("utf-8"))}
    assert shown == set(PICTURES)
