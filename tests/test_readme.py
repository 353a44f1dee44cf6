"""The README's example does what its comments say; `test_docs` holds its links and commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from afa import insert, retract

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


def test_it_stays_short() -> None:
    """What a newcomer needs; everything else is a page of docs/."""
    assert len(README.splitlines()) <= 120
