"""Compile code in a separate process, at low priority, while this one goes on. One process compiles for all that wait for it."""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from afa.compiled.machine.folder import in_environment
from afa.compiled.machine.native import LOCK, native

PAUSE = 0.05
"""The seconds between two looks."""
LOGGER = logging.getLogger("afa")


class Background:
    """A compilation in another process; None: in the process that holds the folder's lock. ``blob``: the output of ``process``.

    The process keeps the code on disk, where all that wait find it. It may outlive this one by a few seconds, for the next one's
    sake, and an interrupt from the terminal does not reach it. Without a usable folder each process starts its own, and takes the
    code from its output.
    """

    def __init__(self, key: str, process: subprocess.Popen[bytes] | None = None, blob: IO[bytes] | None = None) -> None:
        self.address = 0
        self._key, self._process, self._blob = key, process, blob
        self._home, self._next = os.getpid(), 0.0
        if process is not None:
            atexit.register(_let_go, process, blob)

    @classmethod
    def begin(cls, key: str, module: str) -> Background | None:
        """Start a process that runs ``python -m module``, unless one runs already; None: no process can be started."""
        with LOCK:  # no fork while this process holds the folder's lock
            try:
                lock = None if native.folder is None else native.folder.lock()
            except BlockingIOError:
                return cls(key)
            blob: IO[bytes] | None = None
            try:
                blob = tempfile.TemporaryFile()  # noqa: SIM115  # it is read when the process has ended
                return cls(key, _started(module, blob, lock), blob)
            except (OSError, ValueError) as error:
                LOGGER.info("the kernels are compiled here: %s", error)
                if blob is not None:
                    blob.close()
                return None
            finally:
                if lock is not None:
                    os.close(lock)  # the process holds it until it ends

    def over(self) -> bool:
        """Return whether the compilation has ended. ``address`` is then that of the code; 0: none, and the log says why."""
        now = time.monotonic()
        if now < self._next:
            return False
        with LOCK:
            self._next = now + PAUSE
            ended = self._ended()
            self.address = native.function(self._key, None) or self._given()
        if ended and self._blob is not None:
            self._blob.close()
        if ended and not self.address:
            status = "" if self._process is None else f", with status {self._process.returncode}"
            LOGGER.warning("the process that compiles the kernels has ended without them%s: they stay as slow as they are", status)
        return ended

    def _ended(self) -> bool:
        if self._process is not None and self._home == os.getpid():
            return self._process.poll() is not None
        try:
            lock = None if native.folder is None else native.folder.lock()
        except BlockingIOError:
            return False
        if lock is not None:
            os.close(lock)
        return True

    def _given(self) -> int:
        """Return the address of the code in the output of the process, if that has ended well; else 0."""
        if self._process is None or self._blob is None or self._process.returncode != 0:
            return 0
        self._blob.seek(0)
        blob = self._blob.read()
        return native.take(self._key, blob) if blob else 0


def _let_go(process: subprocess.Popen[bytes], blob: IO[bytes] | None) -> None:
    """Leave the other process alone, without a warning, when this one ends."""
    process.returncode = 0
    if blob is not None:
        blob.close()


def _started(module: str, blob: IO[bytes], lock: int | None) -> subprocess.Popen[bytes]:
    """Start this Python with the path of this process, apart from the terminal; it inherits the lock."""
    if getattr(sys, "frozen", False) or not sys.executable:
        raise ValueError(f"expected Python but got sys.executable={sys.executable!r}")  # the user's program would start again
    root = Path(__file__).parents[3]
    path = os.pathsep.join(os.path.abspath(place) for place in sys.path)
    cache = {} if native.folder is None else in_environment(native.folder)
    return subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.DEVNULL,
        stdout=blob,
        stderr=subprocess.DEVNULL,
        cwd=root,  # not where this process is: Python looks there for modules first
        env={**os.environ, **cache, "PYTHONPATH": path},
        pass_fds=() if lock is None else (lock,),
        start_new_session=True,
    )
