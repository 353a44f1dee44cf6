"""The process that runs Flink, and an environment for it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

VERSION = "2.3.0"
JOB = Path(__file__).with_name("job.py")


def install(folder: Path) -> Path:
    """Make a virtual environment with PyFlink there, if there is none; its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", f"apache-flink=={VERSION}"], check=True)
    return python


class Flink:
    """Flink in local mode with two slots, in a process of its own, for several tasks.

    The Python has PyFlink; the rest comes from this process's environment, JAVA_HOME too.
    """

    def __init__(self, python: Path) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (as long as the process)
        self._process = subprocess.Popen(
            [str(python), str(JOB)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        self.version: str = self._answer()["version"]

    def run(self, folder: Path, what: str, window: int) -> tuple[float, list[int]]:
        """Seconds and answer of one task, see `bench.flink.job`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"folder": str(folder), "what": what, "window": window}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        return answer["seconds"], answer["answer"]

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise RuntimeError(f"expected an answer of Flink but its process ended:\n{self._log.read()[-3000:]}")
        return json.loads(line)

    def __enter__(self) -> Flink:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()
