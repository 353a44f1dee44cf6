"""``python -m tests.spark.matrix [VERSION ..]``: these tests on several PySparks, each in an environment of its own.

Of each: streams in local mode; a stream and its history under Spark Connect; a stream on a master and two workers. An environment
is made where there is none, under ``$AFA_MATRIX`` or ``build/matrix`` (about 1.5 GB each); what a run says lies beside it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("AFA_MATRIX", ROOT / "build" / "matrix")).absolute()
VERSIONS = ("4.0", "4.1", "4.2", "4.3")
LONG = ("test_flights", "test_bench")
"""Files of jobs that say nothing of a version."""
RUNS = {
    "streams": ["tests/spark", "-m", "spark and not stress", "-k", " and ".join(f"not {name}" for name in LONG)],
    "connect": ["tests/spark/test_connect.py", "-m", "stress"],
    "cluster": ["tests/spark/test_cluster.py", "-m", "stress", "-k", "equals_one_operator and branches"],
}


class Result(NamedTuple):
    """What pytest says at its end, and whether all was well."""

    said: str
    ok: bool


def environment(version: str) -> Path:
    """The Python of an environment with that PySpark, the newest of the series."""
    folder = FOLDER / version
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        wanted = [f"{ROOT}[test]", f"pyspark[connect]=={version}.*"]
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quiet, "--editable", *wanted], check=True)
        (folder / "ready").touch()
    return python


def run(python: Path, name: str) -> Result:
    """One of `RUNS`."""
    log = python.parents[1] / f"{name}.log"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *RUNS[name]]
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, check=False)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    ends = [line for line in lines if re.search(r"\d+ (passed|failed|skipped|error)", line)]
    return Result(re.sub(r", \d+ deselected|=", "", ends[-1] if ends else "nothing").strip(), done.returncode == 0)


def main(versions: list[str]) -> int:
    """Print a row of a table for each version; 1 if anything failed."""
    print(f"| PySpark | {' | '.join(RUNS)} |\n|---|{'---|' * len(RUNS)}", flush=True)
    failed = 0
    for version in versions or VERSIONS:
        python = environment(version)
        exact = subprocess.run(
            [python, "-c", "import pyspark; print(pyspark.__version__)"], capture_output=True, text=True, check=True
        )
        begun, results = time.time(), [run(python, name) for name in RUNS]
        failed += sum(not result.ok for result in results)
        told = [result.said if result.ok else f"FAILED: {result.said}" for result in results]
        print(f"| {exact.stdout.strip()} | {' | '.join(told)} | ({time.time() - begun:.0f} s)", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
