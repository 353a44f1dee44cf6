"""Find the Java process that a Spark worker works for, and clean up when that process ends. Only Linux tells (/proc)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

WATCH = """(n=0
while [ -d "/proc/$1" ]; do
  sleep 1
  n=$((n + 1))
  if [ $n -ge "$5" ]; then
    n=0
    find "$2" -mindepth 1 -maxdepth 1 -mmin "+$3" -exec rm -rf {} +
    find "$2" -type f -cmin "+$4" -exec rm -f {} +
  fi
done
rm -rf "$2") &"""


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
        """Return the process of a name; ValueError if it is none."""
        pid, begun, namespace = map(int, name.split("-"))
        return cls(pid, begun, namespace)

    @property
    def is_gone(self) -> bool:
        """Whether it has ended; False where that can't be seen."""
        return self.namespace == _namespace() and (_stat(self.pid) or ("", 0, 0))[2] != self.begun


def owner() -> Process | None:
    """Return the Java process that this one works for, if there is one and it can be seen."""
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


def process(pid: int) -> Process | None:
    """Return the process that has this number now, if it can be seen."""
    found = _stat(pid)
    return None if found is None else Process(pid, found[2], _namespace())


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


def watch(process: Process, folder: Path, old: float, lost: float, often: float) -> None:
    """Leave a small process behind that deletes a folder as soon as a process has ended, however it does.

    Parameters
    ----------
    process : Process
    folder : Path
    old : float
        Seconds. Until then it deletes what lies in the folder and was not changed for so long (of a folder in it: no name came or
        went), as `find` counts minutes;
    lost : float
        and files that were not written or renamed for so long.
    often : float
        Seconds between two looks.
    """
    quiet = subprocess.DEVNULL
    numbers = [process.pid, folder, int(old / 60), int(lost / 60), int(often)]
    command = ["sh", "-c", WATCH, "sh", *map(str, numbers)]
    subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd="/", check=False)
