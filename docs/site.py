"""Build the site: ``python docs/site.py out/site``; with ``--no-api`` without the API reference, which takes most of the time.

The pages of docs/, and those beside it that a reader needs, are copied to one folder with their links turned: a link to a page of
the site leads there, one to any other file becomes its text. MkDocs makes the pages of it (mkdocs.yml), pdoc the API reference.
Nothing of it loads anything from elsewhere, and it can be read from a disk.
"""

from __future__ import annotations

import argparse
import importlib
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUTSIDE = {
    "README.md": "index.md",
    "SEMANTICS.md": "SEMANTICS.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "examples/README.md": "examples/index.md",
}
"""Pages beside docs/, and where they stand in the site."""
PACKAGES = ["afa", "afa.feeds", "afa.language", "afa.replay", "afa.situations", "afa.spark", "afa.uncertain"]
PACKAGES += ["punctuation", "speculation"]
COPIED = (".svg", ".png", ".css", ".js")
WORKER = "https://unpkg.com/iframe-worker/shim"
"""What the theme would load, so that its search works from a disk; docs/iframe_worker.js takes its place."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:)([^)\s#]+)(#[^)\s]*)?\)")
WORDS = re.compile(r"^(```\w+) .*$", re.MULTILINE)
"""A fence of code with words behind its language, which are for the tests; MkDocs would not take it for one, but its end."""


def pages() -> dict[str, str]:
    """Return the files of the site, pages, pictures, colours, by where they stand in the project."""
    found = dict(OUTSIDE)
    for top, under in (("docs", ""), ("examples", "examples/")):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in COPIED or (top == "docs" and path.suffix == ".md"):
                found[path.relative_to(ROOT).as_posix()] = under + path.relative_to(ROOT / top).as_posix()
    return found


def turned(text: str, source: str, known: dict[str, str]) -> str:
    """Return the text of a page with links that hold in the site.

    Examples
    --------
    >>> known = {"docs/guide.md": "guide.md", "README.md": "index.md"}
    >>> turned("[a](../README.md#x), [b](../afa/change.py)", "docs/guide.md", known)
    '[a](index.md#x), b'
    >>> turned("```python cluster", "docs/guide.md", known)
    '```python'
    """
    here = posixpath.dirname(known[source])

    def one(found: re.Match[str]) -> str:
        picture, shown, path, heading = found.groups()
        target = known.get(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        if target is None:
            return shown
        return f"{picture}[{shown}]({posixpath.relpath(target, here or '.')}{heading or ''})"

    return LINK.sub(one, WORDS.sub(r"\1", text.replace("```mermaid", "```text")))


def stage(folder: Path) -> None:
    """Copy all pages and pictures to one folder, with their links turned."""
    known = pages()
    for source, target in known.items():
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            path.write_text(turned((ROOT / source).read_text(encoding="utf-8"), source, known), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / source, path)


def build(out: Path, api: bool = True) -> None:
    """Build the site; ``out`` is replaced.

    Raises
    ------
    subprocess.CalledProcessError
        A link leads nowhere, or a page is in no menu.
    """
    out = out.resolve()
    with tempfile.TemporaryDirectory() as name:
        stage(Path(name) / "pages")
        config = Path(name) / "mkdocs.yml"
        config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: pages\nsite_dir: {out}\n", encoding="utf-8")
        quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config)]
        made = subprocess.run(command, env=quiet, capture_output=True, text=True)
        if made.returncode:
            print(made.stdout + made.stderr, file=sys.stderr)
        made.check_returncode()
    for page in out.rglob("*.html"):
        up = "../" * (len(page.relative_to(out).parts) - 1)
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(WORKER, f"{up}iframe_worker.js"), encoding="utf-8")
    if api:
        found = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, __file__, str(out), "--only-api"], check=True, cwd=ROOT, env=found)


def reference(out: Path) -> None:
    """Write the API reference to a folder; names that a package loads when they are asked for are there from the beginning."""
    import pdoc

    for name in PACKAGES:
        package = importlib.import_module(name)
        for each in package.__all__:
            setattr(package, each, getattr(package, each))
    for owner, methods in importlib.import_module("afa").METHODS.items():
        for method in methods:
            getattr(owner, method)  # which loads it
    pdoc.render.configure(docformat="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # types of NamedTuples are text, which it can't look up
        pdoc.pdoc(*PACKAGES, output_directory=out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--no-api", action="store_true")
    parser.add_argument("--only-api", action="store_true")
    options = parser.parse_args()
    if options.only_api:
        reference(options.out / "api")
    else:
        build(options.out, not options.no_api)
