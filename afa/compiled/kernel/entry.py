"""The kernels as one native function.

They are translated to LLVM IR (`afa.compiled.kernel.translate`), compiled and kept on disk like the code of arcs
(`afa.compiled.native`). A process that finds none there compiles them in haste, in 0.4 s, and is served by these until a process of
their own has compiled them in full (`afa.compiled.kernel.beside`). Both do the same to the same arrays: the one takes the place of
the other between two calls. With ``NUMBA_DISABLE_JIT=1`` the kernels run as the Python that they are.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import logging
import os
import pkgutil
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from afa.compiled.kernel.beside import Beside
from afa.compiled.kernel.translate import kernels
from afa.compiled.native import FULL, HASTE, native

LIMIT = 300
"""Seconds after which a process that compiles the kernels ends, however far it is."""
LOGGER = logging.getLogger("afa")
SOURCES = (
    *("arcs", "blocks", "body", "buffers", "call", "carry", "cleanup", "closure", "derive", "entry", "forward", "forward_runs"),
    *("groups", "lines", "main", "many", "matches", "memory", "names", "order", "prune", "records", "report", "rows", "saved"),
    *("steps", "swap", "sweep", "translate", "unit", "words"),
)
PROTOTYPE = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 9)  # holds the interpreter's lock: state is no thread's own

if TYPE_CHECKING:
    from afa.compiled.memory import Batch, Memory
    from afa.compiled.program import Program

Call = Callable[..., int]


def load(wait: bool = False) -> Call:
    """The function ``main(memory, program, batch, what, low, high)``.

    Parameters
    ----------
    wait : bool
        Whether to wait until the kernels are compiled in full, where no code of them is kept: about 3 s, and the log says so.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        from afa.compiled.kernel.main import main as plain

        def call(memory: Memory, program: Program, batch: Batch, *what: int) -> int:
            memory.aim(program.at)
            return int(plain(memory.m, memory.w, program.words, batch.words, *what))

        return call
    address, beside = native.function(key(), None), None
    if not address and not wait:
        beside = Beside.begin(key(), __name__)
    if beside is not None:
        address = native.function(f"{key()} in haste", kernels, HASTE)
    function = PROTOTYPE(address or _compiled())

    def main(memory: Memory, program: Program, batch: Batch, what: int, low: int, high: int) -> int:
        nonlocal beside, function
        if beside is not None:
            over = beside.over()
            function = PROTOTYPE(beside.address) if beside.address else function
            beside = None if over else beside
        return function(memory.m_at, memory.m_size, memory.w_at, program.at, batch.at, batch.n, what, low, high)

    return main


def _compiled() -> int:
    """The kernels compiled now, for one who waits; if another process is at it, by that."""
    failed = native.statistics().reason
    LOGGER.warning("compiling the kernels, once (about 3 s)%s", f"; the folder of code failed: {failed}" if failed else "")
    with contextlib.nullcontext() if native.folder is None else native.folder.locked():
        return native.function(key(), kernels, FULL)


def key() -> str:
    """By what their code is kept."""
    return f"kernel {digest()}"


@functools.cache
def digest() -> str:
    """What the code of the kernels depends on."""
    digest = hashlib.blake2b(digest_size=16)
    for module in SOURCES:
        digest.update(pkgutil.get_data("afa.compiled.kernel", f"{module}.py") or b"")
    return digest.hexdigest()


def _serve() -> None:
    """Compile the kernels for others, which do not wait."""
    if hasattr(signal, "alarm"):
        signal.alarm(LIMIT)
        os.nice(10)
    sys.stdout.buffer.write(native.compile(key(), kernels, FULL))


if __name__ == "__main__":
    _serve()
