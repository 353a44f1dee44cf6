"""The arrays of kernels that stages call, with a heap among them; and such kernels as one native function."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, ClassVar

from afa.compiled import reserve
from afa.compiled.kernel.layout import Memory
from afa.compiled.machine.kernel_ir import DECLARES, functions
from afa.compiled.machine.native import FULL, digest_of, native

RESERVED = 1 << 27
"""So many words of address space a heap grows into; a larger one moves."""


class KernelArrays:
    """Arrays with their addresses, which numpy takes long to tell; ``m`` is a heap, which begins with the words of `Memory`."""

    arrays: ClassVar[tuple[str, ...]]
    """The names of the arrays, in the order in which the kernels take them."""
    m: Any
    addresses: tuple[int, ...]
    """For each array its address, and the length of a row; 0: it has one index."""

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"m": self.m[: int(self.m[Memory.top])]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.grow_heap()

    def use(self, **arrays: Any) -> None:
        """Replace arrays. INVARIANT: with their addresses in one step, which nothing can interrupt."""
        all_ = [arrays.get(name, getattr(self, name, None)) for name in self.arrays]
        at = [(0, 0) if each is None else (each.ctypes.data, each.shape[1] if each.ndim > 1 else 0) for each in all_]
        vars(self).update(arrays, addresses=tuple(word for pair in at for word in pair))

    @staticmethod
    def heap(least: int) -> Any:
        """Return the array of a heap that grows in place, where there is address space; else of so many words.

        Its pages are small: where blocks of many keys grow at once, large ones took five times as long to get.
        """
        m = reserve.words(least, RESERVED)
        m[Memory.limit] = len(m)
        return m

    def grow_heap(self, words: int = 0) -> None:
        """Move the heap to an array twice as large, or of so many words."""
        m = self.m
        more = self.heap(max(words, 2 * len(m)))
        more[: Memory.limit], more[Memory.limit + 1 : len(m)] = m[: Memory.limit], m[Memory.limit + 1 :]
        self.use(m=more)


def native_main(main: Any, *sources: str) -> Callable[[Any, int, int], int]:
    """Return ``main(memory, what, n)`` over `KernelArrays` as native code, kept on disk like that of the operator's kernels.

    ``main`` is a kernel that takes the arrays, then ``what`` and ``n``; ``sources``: the modules that its code depends on.
    """
    arrays = main.__code__.co_argcount - 2
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return lambda memory, what, n: int(main(*(getattr(memory, name) for name in memory.arrays), what, n))
    given = ", ".join([*(f"ptr %a{i}, i64 %w{i}" for i in range(arrays)), "i64 %what, i64 %n"])
    name = f"{main.__module__.rpartition('.')[2]}.{main.__name__}"
    entry = f"\ndefine i64 @f({given}) {{\n  %s = call i64 @{name}({given})\n  ret i64 %s\n}}\n"
    key = f"{name} {digest_of(*sources, __name__, 'afa.compiled.kernel', 'afa.compiled.machine')}"
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * (2 * arrays + 2))
    function = prototype(native.function(key, lambda: functions(main) + entry + DECLARES, FULL))

    def call(memory: Any, what: int, n: int) -> int:
        status: int = function(*memory.addresses, what, n)
        return status

    return call
