"""Load the kernels for rows as one native function, kept on disk like those of the operator; compiled where they are not."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from afa.compiled.machine.kernel_ir import DECLARES, functions
from afa.compiled.machine.native import FULL, digest_of, native

ENTRY = """
define i64 @f(ptr %m, ptr %r, i64 %width, i64 %what, i64 %n) {
  %status = call i64 @row_entry.main(ptr %m, i64 0, ptr %r, i64 %width, i64 %what, i64 %n)
  ret i64 %status
}
"""
SOURCES = ("speculation.rows", "afa.compiled.kernel", "afa.compiled.machine")
PROTOTYPE = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)


def load() -> Callable[[Any, int, int], int]:
    """Return ``main(memory, what, n)`` over a `speculation.rows.row_memory.RowMemory`."""
    from speculation.rows.row_entry import main

    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return lambda memory, what, n: int(main(memory.m, memory.r, what, n))
    function = PROTOTYPE(native.function(f"rows {digest_of(*SOURCES)}", lambda: functions(main) + ENTRY + DECLARES, FULL))

    def call(memory: Any, what: int, n: int) -> int:
        status: int = function(memory.m_at, memory.r_at, memory.width, what, n)
        return status

    return call
