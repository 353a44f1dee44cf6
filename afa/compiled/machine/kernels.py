"""Load all kernels as one native function.

They are translated to LLVM IR (`afa.compiled.machine.kernel_ir`), compiled and kept on disk like the code of arcs
(`afa.compiled.machine.native`). A process that finds none there compiles a baseline, in 0.4 s, and runs that until another process
has compiled the kernels in full (`afa.compiled.machine.background`). Both do the same to the same arrays, so one can replace the
other between two calls. With ``NUMBA_DISABLE_JIT=1`` the kernels run as Python.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from afa.compiled.machine.background import Background
from afa.compiled.machine.kernel_ir import kernels
from afa.compiled.machine.native import BASELINE, FULL, digest_of, native

LIMIT = 300
"""After so many seconds a process that compiles the kernels ends, finished or not."""
LOGGER = logging.getLogger("afa")
SOURCES = ("afa.compiled.kernel", "afa.compiled.machine")
_WORDS = [ctypes.c_int64] * 9
PROTOTYPE = ctypes.PYFUNCTYPE(ctypes.c_int64, *_WORDS)  # holds the interpreter's lock: state is no thread's own
ALONE = ctypes.CFUNCTYPE(ctypes.c_int64, *_WORDS)
"""Lets other threads run meanwhile: for operators of one thread whose arcs never ask Python; see ``EngineMemory.alone``."""

Call = Callable[..., int]


def load(wait: bool = False) -> Call:
    """Return the function ``main(memory, program, batch, what, low, high)`` over `EngineMemory`, `ArcProgram` of `afa.compiled`.

    ``wait``: if no code is on disk, wait until the kernels are compiled in full, about 3 s; the log says so.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        from afa.compiled.kernel.entry import main as plain

        def call(memory: Any, program: Any, batch: Any, *what: int) -> int:
            memory.aim(program.at)
            return int(plain(memory.m, memory.w, program.words, batch.words, *what))

        return call
    address, background = native.function(key(), None), None
    if not address and not wait:
        background = Background.begin(key(), __name__)
    if background is not None:
        address = native.function(f"{key()} baseline", kernels, BASELINE)
    address = address or _compiled()
    function, alone = PROTOTYPE(address), ALONE(address)

    def main(memory: Any, program: Any, batch: Any, what: int, low: int, high: int) -> int:
        nonlocal background, function, alone
        if (helper := background) is not None:
            over = helper.over()
            if helper.address:
                function, alone = PROTOTYPE(helper.address), ALONE(helper.address)
            background = None if over else background
        status: int = (alone if memory.alone else function)(
            memory.m_at, memory.m_size, memory.w_at, program.at, batch.at, batch.n, what, low, high
        )
        return status

    return main


def _compiled() -> int:
    """Compile the kernels in full now, and wait; or wait for the process that is compiling them. Returns their address."""
    failed = native.statistics().reason
    LOGGER.warning("compiling the kernels, once (about 3 s)%s", f"; the folder of code failed: {failed}" if failed else "")
    with contextlib.nullcontext() if native.folder is None else native.folder.locked():
        return native.function(key(), kernels, FULL)


def key() -> str:
    return f"kernel {digest_of(*SOURCES)}"


def _serve() -> None:
    """Compile the kernels in full for the processes that run the baseline meanwhile."""
    if hasattr(signal, "alarm"):
        signal.alarm(LIMIT)
        os.nice(10)
    sys.stdout.buffer.write(native.compile(key(), kernels, FULL))


if __name__ == "__main__":
    _serve()
