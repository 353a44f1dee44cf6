"""Runs of the command line as processes that are forked of one that has loaded all, and that end at an instant or at a call.

`python -m tests.forks` reads a line of JSON for each run: ``arguments``; ``cwd``; ``kill``: after so many seconds, by ``signal``;
``at``: the number of a call of the operating system at which ``what`` happens: "die" behind it, "half" (death in its place, behind
half of a write), or the name of an error, "ENOSPC", which it raises. With ``here`` the process runs it itself. It answers by the
status, what went to standard error, and how many calls there were.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

CALLS = ("open", "write", "fsync", "replace", "ftruncate", "unlink", "mkdir", "rmdir", "close")
"""What of `os` a commit is made of."""
ROOT = Path(__file__).parent.parent


class Ended(NamedTuple):
    """How a run ended: its exit status, or less a signal's number; standard error; its calls."""

    status: int
    told: str
    calls: int


class Forks:
    """The process that forks."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        command = [sys.executable, "-W", "error", "-m", "tests.forks"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def run(self, *arguments: str, **how: Any) -> Ended:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"arguments": arguments, "cwd": os.getcwd(), **how}) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Shim:
    """Counts calls of the operating system, and lets something happen at one of them."""

    def __init__(self, at: int | None, what: str) -> None:
        self.count, self._at, self._what = 0, at, what
        for name in CALLS:
            setattr(os, name, self._around(getattr(os, name), name))

    def _around(self, call: Any, name: str) -> Any:
        def around(*arguments: Any, **named: Any) -> Any:
            self.count += 1
            here = self.count == self._at
            if here and self._what.startswith("E") and name != "close":
                raise OSError(getattr(errno, self._what), os.strerror(getattr(errno, self._what)))
            try:
                if here and self._what == "half":
                    return call(arguments[0], arguments[1][: len(arguments[1]) // 2]) if name == "write" else None
                return call(*arguments, **named)
            finally:
                if here and not self._what.startswith("E"):
                    os.kill(os.getpid(), signal.SIGKILL)

        return around


def _child(task: dict[str, Any]) -> int:
    from afa.cli.main import main

    os.chdir(task["cwd"])
    for number, name in ((1, os.devnull), (2, task["stderr"])):
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    sys.argv = ["afa", *task["arguments"]]
    shim = Shim(task.get("at"), task.get("what", "die"))
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    sys.stderr.flush()
    Path(task["stderr"] + ".calls").write_text(str(shim.count))
    return status


def main() -> None:
    import afa.cli.main
    import afa.cli.state_run
    import afa.language.query
    from afa.compiled.machine import kernels

    kernels.load(wait=True)
    for line in sys.stdin:
        task = json.loads(line)
        if task.get("here"):  # so that all is loaded, and compiled, when others are forked
            os.chdir(task["cwd"])
            sys.argv = ["afa", *task["arguments"]]
            with contextlib.suppress(SystemExit):
                afa.cli.main.main()
            print(json.dumps([0, "", 0]), flush=True)
            continue
        task["stderr"] = f"{task['cwd']}/.stderr.{os.getpid()}"
        calls = Path(task["stderr"] + ".calls")
        calls.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            os._exit(_child(task))
        if "kill" in task:
            time.sleep(task["kill"])
            os.kill(child, task.get("signal", signal.SIGKILL))
        _, status = os.waitpid(child, 0)
        told = Path(task["stderr"])
        counted = int(calls.read_text() or 0) if calls.exists() else 0  # a kill may fall behind its opening
        print(json.dumps([os.waitstatus_to_exitcode(status), told.read_text() if told.exists() else "", counted]), flush=True)
        told.unlink(missing_ok=True)
        calls.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
