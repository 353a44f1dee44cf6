"""The pages of the documentation as tests: their blocks of Python run one after the other, their links lead somewhere.

A fenced block is ``python`` (executed; with a second word, ``python cluster``, read only), ``pycon`` (each answer compared),
``mermaid`` (what the name ``picture`` holds then) or ``sh``. Each page stands alone.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
ROOT_PAGES = ("README", "SEMANTICS", "CHANGELOG", "CONTRIBUTING", "ARCHITECTURE", "SECURITY", "CODE_OF_CONDUCT")
PAGES = [*(f"{name}.md" for name in ROOT_PAGES), *DOCS]


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page: what they are, and their text."""
    text = (ROOT / page).read_text(encoding="utf-8")
    yield from re.findall(r"^```(\w[\w ]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def execute(page: str) -> dict[str, Any]:
    """Run the Python of a page; the names that it leaves behind. An `AssertionError` tells a block that answers something else."""
    names: dict[str, Any] = {"__name__": f"page {page}"}
    for number, (kind, code) in enumerate(blocks(page)):
        if kind == "python":
            exec(compiled(code, f"<{page} {number}>", "exec"), names)
        elif kind == "pycon":
            for part, example in enumerate(doctest.DocTestParser().get_examples(code)):
                _compare(page, example, compiled(example.source, f"<{page} {number}, {part}>", "single"), names)
        elif kind == "mermaid" and "picture" in names:
            assert code.strip() == names["picture"].strip()
    return names


def compiled(code: str, name: str, mode: str) -> Any:
    """Code whose functions have a source that can be read, as those of a file or a notebook."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    return compile(code, name, mode)


def _compare(page: str, example: doctest.Example, code: Any, names: dict[str, Any]) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(code, names)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    same = doctest.OutputChecker().check_output(example.want, said.getvalue(), flags)
    assert same, f"{page}: expected\n{example.want}but got\n{said.getvalue()}from\n{example.source}"


def links(page: str) -> Iterator[tuple[Path, str]]:
    """The files of this project that a page links to, with the heading."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!http)([^)]+)\)", text):
        path, _, heading = link.partition("#")
        yield ((ROOT / page).parent / path).resolve() if path else ROOT / page, heading


def headings(path: Path) -> set[str]:
    """The headings of a page as GitHub names them in links."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
