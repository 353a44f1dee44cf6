"""Which Java process a worker of Spark's works for, and what goes when that one goes. Linux alone tells (/proc)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

REMOVE = '(while [ -d "/proc/$1" ]; do sleep 1; done; rm -rf "$2") &'


class Process(NamedTuple):
    """A process of this machine, told from others that have had its number."""

    pid: int
    begun: int
    namespace: int

    @property
    def name(self) -> str:
        """By which it is found again."""
        return "-".join(map(str, self))

    @classmethod
    def named(cls, name: str) -> Process:
        """The process of a name; ValueError if it is none."""
        pid, begun, namespace = map(int, name.split("-"))
        return cls(pid, begun, namespace)

    @property
    def is_gone(self) -> bool:
        """Whether it has ended; False where that can't be seen."""
        return self.namespace == _namespace() and (_stat(self.pid) or ("", 0, 0))[2] != self.begun


def owner() -> Process | None:
    """The Java process that this one works for, if there is one and it can be seen."""
    pid = os.getpid()
    while pid > 1:
        found = _stat(pid)
        if found is None:
            return None
        name, parent, begun = found
        if name == "java":
            return Process(pid, begun, _namespace())
        pid = parent
    return None


def _stat(pid: int) -> tuple[str, int, int] | None:
    """Of a process its name, its parent, and when it began."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return name, int(fields[1]), int(fields[19])


def _namespace() -> int:
    """Of process numbers: containers may share memory and number their processes each for itself."""
    return os.stat("/proc/self/ns/pid").st_ino


def remove_with(process: Process, folder: Path) -> None:
    """Leave a small process behind that deletes a folder as soon as a process has ended, however it does."""
    quiet = subprocess.DEVNULL
    command = ["sh", "-c", REMOVE, "sh", str(process.pid), str(folder)]
    subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd="/", check=False)
