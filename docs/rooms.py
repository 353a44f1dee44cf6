"""The picture of ARCHITECTURE.md: which room imports which, out of the code. ``python -m docs.rooms`` writes it into the page."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
ROOMS = {
    "punctuation": "punctuation: watermarks, doors of tables",
    "afa.model": "model: arcs, automata",
    "afa.expression": "expression: conditions, updates",
    "afa.io": "io: tables in and out",
    "afa.interpreted": "interpreted: the readable engine",
    "afa.compiled": "compiled: the fast engine",
    "afa.engines": "engines: which one serves",
    "afa.operator": "operator: calls, output",
    "speculation": "speculation: stages",
    "afa.language": "language: queries",
    "afa.replay": "replay: find, backtest, history",
    "afa.explain": "explain: why",
    "afa.spark": "spark",
    "afa.cli": "cli",
}
"""The rooms in the picture, from the ground up; all others belong to none."""


def room(module: str) -> str | None:
    return next((name for name in ROOMS if f"{module}.".startswith(f"{name}.")), None)


def imports() -> dict[str, set[str]]:
    """Each room, and the rooms that its files import."""
    found: dict[str, set[str]] = {name: set() for name in ROOMS}
    for top in ("punctuation", "afa", "speculation"):
        for path in (ROOT / top).rglob("*.py"):
            here = room(".".join(path.relative_to(ROOT).with_suffix("").parts))
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if here and isinstance(node, ast.ImportFrom) and (there := room(str(node.module))) not in (None, here):
                    found[here].add(str(there))
    return found


def picture() -> str:
    """Mermaid of the imports, without those that others imply."""
    found = imports()
    below: dict[str, set[str]] = {}
    lines = ["flowchart BT"]
    for name in TopologicalSorter(found).static_order():
        below[name] = found[name].union(*(below[each] for each in found[name]))
    lines += [f'    r{number}["{shown}"]' for number, shown in enumerate(ROOMS.values())]
    numbers = {name: number for number, name in enumerate(ROOMS)}
    for name in ROOMS:
        direct = {each for each in found[name] if not any(each in below[other] for other in found[name])}
        lines += [f"    r{numbers[name]} --> r{numbers[each]}" for each in sorted(direct, key=list(ROOMS).index)]
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The text of the page with the picture of today."""
    return re.sub(r"(?<=```mermaid\n).*?(?=```)", picture(), text, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
