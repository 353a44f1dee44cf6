"""Count turns of speech that stand in a reader's way, in pages, in error texts and in docstrings: ``python -m tests.turns``.

``python -m tests.turns pages "of which"`` shows each place.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator

from tests.pages import DOCS, ROOT

TURNS = {
    "what is": r"\bwhat is\b",
    "of which": r"\bof which\b",
    "none": r"\b(it|that|there) (is|are) none\b",
    "behind": r"\bbehind\b",
    "beside": r"\bbeside\b",
    "tells": r"\b(tell|tells|told)\b",
    "goes on": r"\b(go|goes|went) on\b",
    "return what": r"^Returns? what\b",
    "conflict": r"\bexpected\b.*\bbeside\b",
}
"""The turns, as regular expressions; "behind" is to be "after", "beside" is "with", "tells" is "says", "shows" or "outputs"."""
LONG = 35
"""More words than these are too many for a sentence."""
PLACES = {"pages": ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", *DOCS], "contract": ["SEMANTICS.md"]}


def page_text(path: str) -> Iterator[str]:
    """The paragraphs, items and cells of a page, without code."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / path).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^    .*$", "", re.sub(r"\]\([^)]*\)", "]", text), flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*|#]|\d+\. )", text):
        yield from block.strip().strip("|").split(" | ") if block.strip().startswith("|") else [block]


def parsed() -> Iterator[ast.Module]:
    for top in ("afa", "punctuation", "speculation"):
        for path in sorted((ROOT / top).rglob("*.py")):
            yield ast.parse(path.read_text(encoding="utf-8"))


def errors() -> Iterator[str]:
    """The texts that are raised; "X" stands for a value in one."""
    for tree in parsed():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                yield from filter(None, map(literal, [*node.exc.args, *(word.value for word in node.exc.keywords)]))


def literal(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def docstrings() -> Iterator[str]:
    """The paragraphs of all docstrings, without examples."""
    for tree in parsed():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                text = re.split(r"^Examples\n-+$", text, flags=re.MULTILINE)[0]
                yield from (block for block in re.split(r"\n\s*\n", text) if not re.search(r"^    .* {3}", block, re.MULTILINE))


@functools.cache
def texts(place: str) -> list[str]:
    made = {"errors": errors, "docstrings": docstrings}.get(place)
    blocks = made() if made else (block for page in PLACES[place] for block in page_text(page))
    return [re.sub(r"\s+", " ", block).strip() for block in blocks]


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?:])\)? (?=[\W_]*[A-Z])", text)


def found(place: str, turn: str) -> list[str]:
    """Each occurrence of a turn in a place, with what stands around it."""
    if turn == "long":
        return [each for text in texts(place) for each in sentences(text) if len(re.findall(r"\w[\w.,'`-]*", each)) > LONG]
    pattern = re.compile(TURNS[turn], re.IGNORECASE)
    return [text[max(0, hit.start() - 60) : hit.end() + 60] for text in texts(place) for hit in pattern.finditer(text)]


def counts() -> dict[str, dict[str, int]]:
    places = [*PLACES, "errors", "docstrings"]
    return {place: {turn: len(found(place, turn)) for turn in [*TURNS, "long"]} for place in places}


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print("\n".join(found(*sys.argv[1:])))
    else:
        for place, each in counts().items():
            print(f'    "{place}": {each},')
