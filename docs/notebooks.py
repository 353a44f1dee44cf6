"""Notebooks of three pages of the tutorial, without output: ``python -m docs.notebooks``. Tests hold them current, and run them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = "late-rows", "keys", "frames"
FOLDER = ROOT / "docs" / "notebooks"
PART = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!http)(?:\.\./)?([^)]+)\)")


def notebook(page: str) -> str:
    """The notebook of a page: its text as cells of Markdown, its Python as cells of code; what that prints is left out."""
    text = (ROOT / "docs" / "tutorial" / f"{page}.md").read_text(encoding="utf-8")
    cells: list[dict[str, Any]] = []
    place = 0
    for found in PART.finditer(text):
        _add(cells, "markdown", text[place : found.start()])
        if found[1] == "python":
            _add(cells, "code", found[2])
        elif found[1] != "text":
            raise ValueError(f"expected blocks of python and text but got {found[1]} in {page}.md")
        place = found.end()
    _add(cells, "markdown", text[place:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _add(cells: list[dict[str, Any]], kind: str, text: str) -> None:
    text = text.strip("\n")
    if kind == "markdown":  # links are seen from docs/notebooks/
        text = LINK.sub(lambda link: f"](../{'' if link[0].startswith('](../') else 'tutorial/'}{link[1]})", text)
    if text:
        more: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
        lines = text.splitlines(keepends=True)
        cells.append({"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": lines, **more})


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in PAGES:
        (FOLDER / f"{each}.ipynb").write_text(notebook(each), encoding="utf-8")
