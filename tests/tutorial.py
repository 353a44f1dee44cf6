"""The pages of the tutorial, and the recipes, each alone in an empty folder: its files are saved, its commands and code are run in
order.

A fence with a file's name (``csv payments.csv``) is saved. One of ``python`` or ``sh`` is run; a ``text`` right after it is its
output. ``pip`` is not called; ``afa serve`` is asked for its page once and ended.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import signal
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.cli import call, process
from tests.pages import ROOT, compiled

FENCE = re.compile(r"^```(\w+)(?: ([\w.-]+))?\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
FOLDERS = "docs/recipes", "docs/tutorial"
PAGES = sorted(f"{folder}/{path.name}" for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))


def outputs(page: str, edit: Callable[[str], str] = str) -> Iterator[tuple[str, str, str]]:
    """Code of a page, edited, the output that the page shows, and its output here; in the folder that is current."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, found in enumerate(FENCE.finditer((ROOT / page).read_text(encoding="utf-8"))):
        kind, name, code, shown = found.groups(default="")
        if name:
            Path(name).write_text(code, encoding="utf-8")
        elif kind == "python":
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compiled(edit(code), f"<{page} {number}>", "exec"), names)
            yield code, shown, said.getvalue()
        elif kind == "sh":
            yield code, shown, "".join(_said(shlex.split(line, comments=True)) for line in code.splitlines())


def _said(words: list[str]) -> str:
    """The standard output of a command."""
    if words[:1] == ["pip"] or not words:
        return ""
    assert words[0] == "afa", words
    if words[1] != "serve":
        return str(call(*words[1:]).stdout)
    job = process(*words[1:])
    assert job.stdout is not None
    try:
        address = next(found[0] for line in job.stdout if (found := re.search(r"http://\S+", line)))
        with urllib.request.urlopen(address) as answer:
            assert b"<html" in answer.read()
    finally:
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20)
    return ""
