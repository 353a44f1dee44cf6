"""Keep operators in shared memory between two batches, for whichever worker of the machine has the bucket next.

Spark hands tasks to workers by no rule that one could build on, so an operator kept inside a worker is the wrong one half the time.
The store stays the authority: an image is found by a random token, which the store holds together with the state, so that one of a
batch that was not committed is never taken for the truth. Without an image the operator is restored from the store.

The folder is ``afa-<user>`` in ``$AFA_SHARED_DIR``, or in /dev/shm; an empty ``AFA_SHARED_DIR`` turns this off. What it holds
counts as memory of the machine or the container:

    <java process>/<query>/<token>.afa-image      an executor, a streaming query, an image of one bucket

Nothing else is ever deleted: not what has another name or is a link, nor a folder that holds such a thing.

An executor's folder goes when its process does: the first worker leaves a small process behind that waits for that, and meanwhile
deletes the folders of queries in which nothing has moved for `OLD`, and images that nobody has asked for in `LOST`. So no batch
spends time on it. Where the driver is the executor, `forget_ended` deletes the images of queries that have ended, at the next
`match`. A query whose images were deleted although it goes on reads its state from the store, once.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

from pyspark import TaskContext

from afa.errors import SnapshotError
from afa.operator.call import Core
from afa.spark import operator_image as image

WATCH = """
images() { # of a folder; what else is asked of them
  folder="$1"; shift
  for end in .afa-image .afa-image.claimed; do
    find "$folder" -mindepth 1 -maxdepth 1 -type f -name "?*$end" ! -name "*[!0-9a-f]*$end" "$@" -exec rm -f {} +
  done
}
clean() { # a folder of queries; which of them; which images of the others
  images "$1" $2
  for query in "$1"/????????-????-????-????-????????????; do
    case "${query##*/}" in *[!0-9a-f-]*) continue;; esac
    if [ -d "$query" ] && [ ! -h "$query" ]; then
      if [ -n "$(find "$query" -maxdepth 0 $2)" ]; then images "$query"; rmdir "$query"; else images "$query" $3; fi
    fi
  done
}
(n=0
while [ -d "/proc/$1" ]; do
  sleep 1
  n=$((n + 1))
  if [ $n -ge "$5" ]; then
    n=0
    clean "$2" "-mmin +$3" "-cmin +$4"
  fi
done
clean "$2"
rmdir "$2") &"""
OLD = 900.0
"""After so many seconds without a batch the images of a query go: one that is triggered less often has time to read its state."""
LOST = 3600.0
"""After so many seconds an image goes though its query runs: its task has failed, or its bucket had no rows for so long."""
ENDED = 60.0
"""How many seconds the images of an ended query stay, as it may be started again."""
OFTEN = 60.0
"""The seconds between two looks for such images."""


_PROCESS = re.compile(r"\d+-\d+-\d+", re.ASCII)
_QUERY = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_IMAGE = re.compile(rf"[0-9a-f]+{re.escape(image.ENDING)}({re.escape(image.CLAIMED)})?")


class Process(NamedTuple):
    """A process of this machine, told from others that have had its number."""

    pid: int
    begun: int
    namespace: int

    @property
    def name(self) -> str:
        """By which it is found again."""
        return "-".join(map(str, self))

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
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return name, int(fields[1]), int(fields[19])


def _namespace() -> int:
    """Return the namespace of process numbers: containers may share memory and number their processes each for itself."""
    return os.stat("/proc/self/ns/pid").st_ino


def watch(process: Process, folder: Path, old: float, lost: float, often: float) -> None:
    """Leave a small process behind that deletes a folder as soon as a process has ended, however it does.

    Until then it looks, every ``often`` seconds, for what lies in the folder and was not changed for ``old`` seconds (of a folder
    in it: no name came or went), and for files that were not written or renamed for ``lost``, and deletes them. `find` counts
    minutes.
    """
    quiet = subprocess.DEVNULL
    numbers = [process.pid, folder, int(old / 60), int(lost / 60), int(often)]
    command = ["sh", "-c", WATCH, "sh", *map(str, numbers)]
    subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, cwd="/", check=False)


def take(token: bytes) -> image.Image | None:
    """Return the operator that was put under a token, if it is there."""
    place = folder()
    if place is None:
        return None
    try:
        return image.Image(_image(place / _query(), token))
    except (OSError, SnapshotError):
        return None


def put(token: bytes, core: Core, note: Any) -> None:
    """Leave an operator, right after its snapshot; it may not be used any more. Nothing is left where there is no room."""
    place = folder()
    if place is None:
        return
    place /= _query()
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        space = os.statvfs(place)
        if image.store_of(core.engine).memory.file is None and space.f_bavail < _spared(place, space.f_blocks):
            return
        image.publish(core, _image(place, token), note)
    except OSError:
        _image(place, token).unlink(missing_ok=True)


def _image(place: Path, token: bytes) -> Path:
    return place / f"{token.hex()}{image.ENDING}"


@functools.cache
def folder() -> Path | None:
    """Return where images lie, if there is such a place and nobody else can write there."""
    root = _root()
    if root is None:
        return None
    try:
        sweep(root)
        java = owner()
        return root if java is None else _folder_of(java, root)
    except OSError:
        return None


def _root() -> Path | None:
    """Return the folder of all processes; it is made where it is not there."""
    asked = os.environ.get("AFA_SHARED_DIR")
    if asked == "" or not hasattr(os, "posix_fallocate") or not (asked or Path("/dev/shm").is_dir()):
        return None
    root = Path(asked or "/dev/shm").absolute() / f"afa-{os.getuid()}"
    try:
        root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return root if ours else None


def _folder_of(java: Process, root: Path) -> Path:
    place = root / java.name
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        return place
    watch(java, place, OLD, LOST, OFTEN)
    return place


def _query() -> str:
    """Return the query that this task works for, as the name of a folder; "" outside of one."""
    context = TaskContext.get()
    found = None if context is None else context.getLocalProperty("sql.streaming.queryId")
    return found or ""


def forget_ended(spark: Any) -> None:
    """Delete the images of this Java process's queries that have ended: where the driver is the executor. Not under Connect."""
    if not hasattr(spark, "_jsparkSession"):
        return
    from py4j.protocol import Py4JError

    root = _root()
    if root is None:
        return
    try:
        java = process(spark._jvm.java.lang.ProcessHandle.current().pid())
        place = None if java is None else root / java.name
        if place is None or not place.is_dir():
            return
        found = [path for path in place.iterdir() if _is_query(path) and _age(path) > ENDED]
        running = {str(query) for query in spark._jsparkSession.sharedState().activeStreamingQueries().keySet()} if found else set()
        for path in found:
            if path.name not in running:
                _clean(path)
    except (OSError, Py4JError):  # a worker was first; a Spark that tells it otherwise
        return


def _spared(place: Path, blocks: int) -> int:
    """Return how many blocks stay free: a quarter of what is memory, a twentieth of a disk that was asked for."""
    return blocks // (4 if place.is_relative_to("/dev/shm") else 20)


def sweep(place: Path) -> None:
    """Delete what nobody will ask for: of a process that is gone all, else old images, claimed ones if their process is gone."""
    for path in place.iterdir():
        try:
            if _is_folder(path) and _PROCESS.fullmatch(path.name):
                if Process(*map(int, path.name.split("-"))).is_gone:
                    for query in filter(_is_query, path.iterdir()):
                        _clean(query)
                    _clean(path)
            elif _is_query(path):  # nobody watches it
                if _age(path) > OLD:
                    _clean(path)
            elif _is_image(path) and _age(path) > OLD and (not path.name.endswith(image.CLAIMED) or image.is_orphan(path)):
                path.unlink()
        except OSError:  # another worker was first
            continue


def _clean(folder: Path) -> None:
    """Delete the images in a folder of ours, and the folder if it holds nothing else."""
    for path in filter(_is_image, folder.iterdir()):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _is_image(path: Path) -> bool:
    return _IMAGE.fullmatch(path.name) is not None and stat.S_ISREG(path.lstat().st_mode)


def _is_query(path: Path) -> bool:
    return _QUERY.fullmatch(path.name) is not None and _is_folder(path)


def _is_folder(path: Path) -> bool:
    """Return whether it is one itself, not a link to one."""
    return stat.S_ISDIR(path.lstat().st_mode)


def _age(path: Path) -> float:
    return time.time() - path.lstat().st_mtime
