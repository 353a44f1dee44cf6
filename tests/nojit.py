"""Kernels as the Python that they are, over arrays that refuse what compiled code would do silently.

With ``NUMBA_DISABLE_JIT=1`` (``make test-nojit``) an index that is negative or past the end is an error, so is a word that
is no int64. What kernels read by address (`afa.compiled.kernel.native_call`) is not seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class Words:
    """An array of int64 with every index checked."""

    __slots__ = ("_n", "_words")

    def __init__(self, array: Any) -> None:
        self._words, self._n = memoryview(array), len(array)

    def __getitem__(self, i: int) -> int:
        if 0 <= i < self._n:
            return self._words[i]
        raise IndexError(f"word {i} of {self._n}")

    def __setitem__(self, i: int, value: int) -> None:
        if not 0 <= i < self._n:
            raise IndexError(f"word {i} of {self._n}")
        self._words[i] = value


class Columns:
    """The same with two indices."""

    __slots__ = ("_columns", "shape")

    def __init__(self, array: Any) -> None:
        self._columns, self.shape = memoryview(array), array.shape

    def __getitem__(self, at: tuple[int, int]) -> int:
        if 0 <= at[0] < self.shape[0] and 0 <= at[1] < self.shape[1]:
            return self._columns[int(at[0]), int(at[1])]
        raise IndexError(f"word {at} of {self.shape}")

    def __setitem__(self, at: tuple[int, int], value: int) -> None:
        if not (0 <= at[0] < self.shape[0] and 0 <= at[1] < self.shape[1]):
            raise IndexError(f"word {at} of {self.shape}")
        self._columns[int(at[0]), int(at[1])] = value


def checked() -> Callable[..., int]:
    """What `afa.compiled.machine.kernels.load` gives, over checked arrays."""
    from afa.compiled.kernel.entry import main

    def call(memory: Any, program: Any, batch: Any, *what: int) -> int:
        memory.aim(program.at)
        return int(main(Words(memory.m), Words(memory.w), Words(program.words), Columns(batch.words), *what))

    return call


def install() -> None:
    """Let all engines of this process run checked kernels."""
    from afa.compiled import store

    call = checked()
    store.kernel = lambda wait: call  # type: ignore[assignment]
