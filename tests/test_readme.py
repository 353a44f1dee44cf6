"""The README's example does what its comments say, and its links and commands exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from afa import Change, Punctuation, insert, retract

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def example() -> dict[str, Any]:
    """The names that the example leaves behind; each push keeps its answer in ``out``."""
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    names: dict[str, Any] = {"__name__": "readme", "out": []}
    exec(re.sub(r"^(op\.push.*?\))( *#.*)?$", r"out.append(\1)", code, flags=re.MULTILINE), names)
    return names


def test_the_ten_lines() -> None:
    names = example()
    falls, out = names["Falls"], names["out"]
    found, between = insert(falls(-3.0), 4, 61), insert(falls(-3.0), 3, 61)
    assert out == [
        [],
        [],
        [found],
        [found._replace(diff=-1), between],
        [between._replace(diff=-1), found],
        [],
    ]
    op, tick = names["op"], names["Tick"]
    assert op.push(insert(tick(1.0), le=9)) == []  # the arc has gone
    assert op.push(retract(tick(2.0), le=4)) == [found._replace(diff=-1)]


def test_what_is_final_and_what_may_change() -> None:
    names = example()
    code = next(block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "BoundedDisorder" in block)
    exec(re.sub(r"^(quiet\.push_many.*?\))( *#.*)?$", r"out.append(\1)", code, flags=re.MULTILINE), names)
    first, second = names["out"][-2:]
    assert first == [Punctuation(80)]
    assert [(item.le, item.diff) if isinstance(item, Change) else item for item in second] == [(110, 1), Punctuation(120)]


def test_links_and_commands() -> None:
    for link in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / link).exists(), link
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?make (\w+)", README):
        assert f"\n{target}:" in makefile, target
