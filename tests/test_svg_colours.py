"""Drawings are legible, light and dark: contrasts by the measure of WCAG 2; what a browser paints of them."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from afa.explain.draw.svg import DARK, LIGHT
from tests.browser import Browser, browser_there
from tests.drawn import Rect
from tests.random_pictures import random_automaton

TEXT = [("ink", "paper"), ("dim", "paper"), ("epsilon", "paper"), ("timeout", "paper"), ("ink", "fill"), ("ink", "final")]
LINES = [("line", "paper"), ("ignorable", "paper"), ("skip", "paper"), ("edge", "paper"), ("final-edge", "paper")]


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_contrasts(theme: str) -> None:
    colours = dict(re.findall(r"--afa-([\w-]+):(#\w+)", theme))
    assert contrast("#000", "#fff") == 21
    assert {pair: contrast(*(colours[name] for name in pair)) for pair in TEXT if contrast(*(colours[n] for n in pair)) < 4.5} == {}
    assert {pair: contrast(*(colours[name] for name in pair)) for pair in LINES if contrast(*(colours[n] for n in pair)) < 3} == {}


COLOURS = {False: ("rgb(255, 255, 255)", "rgb(31, 35, 40)"), True: ("rgb(13, 17, 23)", "rgb(230, 237, 243)")}
PAINTED = """
const box = e => { const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; };
return [...document.querySelectorAll('svg.afa')].map(svg => ({
  paper: getComputedStyle(svg.querySelector('.paper')).fill,
  ink: getComputedStyle(svg.querySelector('.state text')).fill,
  states: [...svg.querySelectorAll('.state > rect:not(.inner)')].map(box),
  names: [...svg.querySelectorAll('.state text')].map(box),
  labels: [...svg.querySelectorAll('.label text')].map(box),
}));
"""


@browser_there
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_what_a_browser_paints(dark: bool, tmp_path: Path) -> None:
    page = tmp_path / "drawn.html"
    drawings = "".join(random_automaton(random.Random(count), count).draw() for count in (3, 10, 30))
    page.write_text(f"<meta charset=utf-8><style>svg.afa{{max-width:none!important}}</style>{drawings}", encoding="utf-8")
    with Browser(dark=dark) as browser:
        browser.open(page.as_uri())
        painted: list[dict[str, Any]] = browser.run(PAINTED)
    assert len(painted) == 3
    for one in painted:
        assert (one["paper"], one["ink"]) == COLOURS[dark]
        states, names, labels = ([Rect(*box) for box in one[what]] for what in ("states", "names", "labels"))
        assert all(name.width < state.width and name.height < state.height for name, state in zip(names, states))
        for i, label in enumerate(labels):
            assert not any(label.meets(other, slack=2) for other in states + labels[:i])
