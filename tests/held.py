"""Which tests hold a file, by the table in ``tests/README.md``: ``python -m tests.held afa/state/packed.py`` runs them.

A folder in the table is all tests in it; a star stands for any text.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def table() -> dict[str, list[str]]:
    """Of each folder of the table what it says holds it."""
    _, _, text = (TESTS / "README.md").read_text("utf-8").partition("\n## What holds a folder\n")
    rows = re.findall(r"^\| `([^`]+/)` \| (.+) \|$", text.partition("\n## ")[0], re.MULTILINE)
    return {folder: [name for name in re.findall(r"`([^`]+)`", names) if not name.startswith("make ")] for folder, names in rows}


def files(name: str) -> list[Path]:
    """The test files that a name in the table stands for."""
    return sorted(TESTS.glob(f"{name}test_*.py" if name.endswith("/") else name))


def holding(path: str) -> list[Path]:
    """The test files that hold a source file, or a folder; `SystemExit` where the table has no folder above it."""
    known = table()
    above = [folder for folder in known if f"{path}/".startswith(folder)]
    if not above:
        raise SystemExit(f"expected a path in one of {', '.join(known)} but got {path}")
    return [file for name in known[max(above, key=len)] for file in files(name)]


def main(arguments: list[str]) -> int:
    """Run the tests that hold a file; further arguments are pytest's."""
    if not arguments:
        raise SystemExit("expected a path such as afa/state/packed.py but got none")
    path, *more = arguments
    found = [str(file.relative_to(ROOT)) for file in holding(path)]
    print("\n".join(found), flush=True)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *found, *more], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
