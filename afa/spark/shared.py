"""Operators in shared memory between two batches, for whichever worker of the machine has the bucket next.

Spark hands tasks to workers by no rule that one could build on, so an operator kept inside a worker is the wrong one half the time.
The store stays the authority: an image is found by a random token, which the store holds together with the state, so that one of a
batch that was not committed is never taken for the truth. Without an image the operator is restored from the store.

The folder is ``$AFA_SHARED_DIR``, or one in /dev/shm; an empty ``AFA_SHARED_DIR`` turns this off. What it holds counts as memory of
the machine or the container. In it each Java process that has workers (an executor) has a folder, which goes when that process
does: a worker leaves a small process behind that waits for it. Images that nobody has asked for in a quarter of an hour, as after a
query has ended, are deleted by the next worker that puts one.
"""

from __future__ import annotations

import functools
import os
import shutil
import stat
import time
from pathlib import Path
from typing import Any

from afa import image
from afa.errors import SnapshotError
from afa.keyed import Keyed
from afa.spark.owner import Process, owner, remove_with

OLD = 900.0
"""Seconds after which an image is one that nobody will ask for."""
OFTEN = 60.0
"""Seconds between two looks for such."""
_swept = time.monotonic()


def take(token: bytes) -> image.Image | None:
    """The operator that was put under a token, if it is there."""
    place = folder()
    if place is None:
        return None
    try:
        return image.Image(place / token.hex())
    except (OSError, SnapshotError):
        return None


def put(token: bytes, operator: Keyed, note: Any) -> None:
    """Leave an operator, right after its snapshot; it may not be used any more. Nothing is left where there is no room."""
    place = folder()
    if place is None or operator._core.engine.name != "compiled":
        return
    try:
        _sweep_at_times(place)
        space = os.statvfs(place)
        if operator._core.engine.memory.file is None and space.f_bavail < _spared(place, space.f_blocks):  # type: ignore[attr-defined]
            return
        image.publish(operator, place / token.hex(), note)
    except OSError:
        (place / token.hex()).unlink(missing_ok=True)


@functools.cache
def folder() -> Path | None:
    """Where images lie, if there is such a place and nobody else can write there."""
    asked = os.environ.get("AFA_SHARED_DIR")
    if asked == "" or not hasattr(os, "posix_fallocate") or not (asked or Path("/dev/shm").is_dir()):
        return None
    root = Path(asked or f"/dev/shm/afa-{os.getuid()}")
    try:
        root.mkdir(mode=0o700, parents=asked is not None, exist_ok=True)
        found = root.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            return None
        sweep(root)
        java = owner()
        return root if java is None else _folder_of(java, root)
    except OSError:
        return None


def _folder_of(java: Process, root: Path) -> Path:
    """A folder that goes with its owner."""
    place = root / java.name
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        return place
    remove_with(java, place)
    return place


def _spared(place: Path, blocks: int) -> int:
    """How many blocks stay free: a quarter of what is memory, a twentieth of a disk that was asked for."""
    return blocks // (4 if place.is_relative_to("/dev/shm") else 20)


def _sweep_at_times(place: Path) -> None:
    global _swept
    if time.monotonic() - _swept > OFTEN:
        _swept = time.monotonic()
        sweep(place)


def sweep(place: Path) -> None:
    """Delete what nobody will ask for: of a process that is gone all, else old images, claimed ones if their process is gone."""
    for path in place.iterdir():
        try:
            if path.is_dir():
                if Process.named(path.name).is_gone:
                    shutil.rmtree(path)
                else:
                    sweep(path)
            elif time.time() - path.stat().st_mtime > OLD and (not path.name.endswith(image.CLAIMED) or image.is_orphan(path)):
                path.unlink()
        except (OSError, ValueError):  # another worker was first, or it is none of ours
            continue
