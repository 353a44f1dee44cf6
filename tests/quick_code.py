"""Loops that are linked for one automaton, one of eight in full: random worlds have thousands, and each took half a second.

Which ones depends on their keys alone, so that a failure is found again. The long runs (``-m stress``) have all of them in full.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from afa.compiled import linked
from afa.compiled.machine.native import Effort, native

FULL_OF = 8
"""One of so many loops is compiled in full."""
QUICK = Effort("places", 0)


class QuickCode:
    """Stands for `native` where loops are linked."""

    def function(self, key: str, make_ir: Callable[[], str] | None, effort: Effort) -> int:
        if zlib.crc32(key.encode()) % FULL_OF == 0:
            return native.function(key, make_ir, effort)
        return native.function(f"quick {key}", make_ir, QUICK)


def install() -> None:
    linked.native = QuickCode()  # type: ignore[assignment]
