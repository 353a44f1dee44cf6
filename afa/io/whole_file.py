"""Write a file that a user has named: as a whole or not at all, and in place of nothing of another kind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from afa.errors import AfaError

HEAD = 1 << 20
"""The bytes by which a kind of file is known."""
# each comment ends at its first end, so that a thousand of them can be read in one way only
_BEFORE = rb"(\xef\xbb\xbf)?\s*(<\?xml[^?]*(\?(?!>)[^?]*)*\?>\s*)?(<!--[^-]*(-(?!->)[^-]*)*-->\s*)*"
_HTML = re.compile(_BEFORE + rb"<(!doctype\s+html|html)\b", re.DOTALL | re.IGNORECASE)
_SVG = re.compile(_BEFORE + rb"(<!doctype\s+svg[^>]*>\s*)?<svg\b", re.DOTALL | re.IGNORECASE)
_REMARKS = rb"\s*((//|#)[^\n]*\n\s*|/\*[^*]*(\*(?!/)[^*]*)*\*/\s*)*"
_CSV = re.compile(rb'(\xef\xbb\xbf)?([^\n]*,)?"?le"?(,|\r?\n)')
_DOT = re.compile(_REMARKS + rb"(strict\s+)?(di)?graph\b[^;=(]*\{", re.DOTALL | re.IGNORECASE)


def _is_lines(head: bytes) -> bool:
    first, end, _ = head.partition(b"\n")
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return not end and len(head) == HEAD and head.startswith(b'{"')  # a line that is longer than that


KINDS: dict[str, tuple[str, Callable[[bytes], object]]] = {
    "html": ("an HTML page", _HTML.match),
    "svg": ("an SVG picture", _SVG.match),
    "dot": ("a graph in DOT", _DOT.match),
    "parquet": ("a Parquet file", lambda head: head.startswith(b"PAR1")),
    "jsonl": ("JSON lines", _is_lines),
    "csv": ("CSV with a column le", _CSV.match),
}
"""Of a form: in words, and what knows it by its first bytes."""


def check_kind(path: str | os.PathLike[str], form: str, hint: str = "name another file, or delete it first") -> None:
    """Refuse to write over a file that is neither empty nor of the form that is to be written; ``hint``: what to do."""
    place = Path(path)
    if not place.is_file():
        return
    said, known = KINDS[form]
    with open(place, "rb") as file:
        head = file.read(HEAD)
    if head and not known(head):
        raise AfaError(f"expected {said}, or no file yet, to write {place} but got a file of another kind: {hint}")


@contextlib.contextmanager
def drafted(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield where a file is written that takes its place at the end, beside it; of a link, beside what it points to.

    A failure leaves what was there before. What is no file, such as /dev/stdout, is written as it is.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        yield Path(path)
        return
    place = Path(os.path.realpath(path))
    draft = place.with_name(f".{place.name}.{secrets.token_hex(6)}.part")
    try:
        yield draft
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    with drafted(path) as draft, open(draft, "w", encoding="utf-8") as file:
        file.write(text)


def write_all(file: int, data: bytes) -> None:
    """Write bytes to a file of the system, however many it takes at a time."""
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    there = os.open(path, os.O_RDONLY)
    try:
        os.fsync(there)
    finally:
        os.close(there)
