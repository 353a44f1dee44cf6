"""The kernels as one native function.

numba translates them to LLVM IR; that is compiled and kept on disk like the code of arcs (`afa.compiled.native`), so that a process
that finds it there does not even import numba. With ``NUMBA_DISABLE_JIT=1`` the kernels run as the Python that they are.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.metadata
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from afa.compiled.native import native
from punctuation.errors import AfaError

SOURCES = (
    *("arcs", "blocks", "buffers", "call", "carry", "cleanup", "closure", "derive", "entry", "forward", "forward_runs"),
    *("groups", "main", "many", "matches", "memory", "names", "order", "prune", "records", "report", "rows", "saved"),
    *("steps", "swap", "sweep", "translate", "unit"),
)
PROTOTYPE = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 12)  # holds the interpreter's lock: state is no thread's own

if TYPE_CHECKING:
    from afa.compiled.memory import Batch, Memory
    from afa.compiled.program import Program

Call = Callable[..., int]


def load() -> Call:
    """The function ``main(memory, program, batch, what, low, high)``; compiles it where no code of it is kept (20 s, once)."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        from afa.compiled.kernel.main import main as plain

        def call(memory: Memory, program: Program, batch: Batch, *what: int) -> int:
            memory.aim(program.at)
            return int(plain(memory.m, memory.w, program.words, batch.words, *what))

        return call
    function = PROTOTYPE(native.function(f"kernel {digest()}", _ir, optimise=True))

    def main(memory: Memory, program: Program, batch: Batch, what: int, low: int, high: int) -> int:
        return function(
            memory.m_at, memory.m_size, memory.w_at, memory.w_size, program.at, program.size,
            batch.at, batch.rows, batch.n, what, low, high,
        )  # fmt: skip

    return main


@functools.cache
def digest() -> str:
    """What the code depends on."""
    digest = hashlib.blake2b(importlib.metadata.version("numba").encode(), digest_size=16)
    for module in SOURCES:
        digest.update(pkgutil.get_data("afa.compiled.kernel", f"{module}.py") or b"")
    return digest.hexdigest()


def _ir() -> str:
    """The kernels as LLVM IR, from a process of its own."""
    command = [sys.executable, "-m", "afa.compiled.kernel.translate"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    if done.returncode:
        raise AfaError(f"expected the kernels from {command} but it ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout
