"""Arrays of words that grow in place: address space is reserved once, the system gives memory at the first touch.

Where address space itself is scarce (``ulimit -v``, strict overcommit), an array is as large as was asked for, and whoever wants it
larger must copy it. The memory that the heap of an operator has touched is kept for the next one: it costs more to get, page by
page, than to be written to.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np

WORD = 8
HUGE = 1 << 21
"""The bytes of a large page. The first words of an array have small pages, for operators that stay small."""
KEPT, HEAPS = 1 << 28, 16
"""How many bytes of heaps, and how many heaps, are kept for later operators of this process."""

if sys.platform == "win32":  # pragma: no cover
    PRIVATE: dict[str, int] = {}
else:
    PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANON | getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)}

_kept: list[tuple[Any, int]] = []  # maps of heaps that nobody uses, and how much of each was touched


def roomy() -> bool:
    """Return whether address space costs nothing."""
    if sys.platform == "win32":  # pragma: no cover
        return False
    import resource

    return _overcommits() and resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


@functools.cache
def _overcommits() -> bool:
    try:
        return Path("/proc/sys/vm/overcommit_memory").read_text(encoding="ascii").strip() != "2"
    except OSError:
        return sys.platform != "linux"


def words(least: int, wanted: int) -> Any:
    """Return an array of ``wanted`` words, all 0; of ``least`` where address space is scarce. May raise MemoryError."""
    if wanted > least and roomy():
        try:
            return _array(mapped(wanted * WORD))
        except MemoryError:
            pass
    return _array(mapped(least * WORD))


def heap(least: int, wanted: int) -> Any:
    """Return the same, but with any words in it; memory goes from an array that is gone to the next one."""
    while _kept:
        try:
            found, _ = _kept.pop()
        except IndexError:  # another thread has it
            break
        if len(found) >= wanted * WORD:
            return _lent(found)
    array = words(least, wanted)
    large_pages(array, 0, len(array))
    return _lent(array.base.obj) if len(array) == wanted > least else array


def release(array: Any, start: int, stop: int) -> None:
    """Give the memory of the words from ``start`` to ``stop`` back to the system; they are 0 then, but for some at the ends."""
    _advise(array, "MADV_DONTNEED", start * WORD, stop * WORD, mmap.PAGESIZE)


def large_pages(array: Any, start: int, stop: int) -> None:
    """Ask for large pages for the words from ``start`` to ``stop``, but for the first few."""
    _advise(array, "MADV_HUGEPAGE", start * WORD + HUGE, stop * WORD, HUGE)


def _advise(array: Any, what: str, start: int, stop: int, unit: int) -> None:
    first, last = -(-start // unit) * unit, stop // unit * unit
    if first < last and hasattr(mmap, what):
        with contextlib.suppress(OSError):  # a system without
            array.base.obj.madvise(getattr(mmap, what), first, last - first)


def mapped(size: int) -> mmap.mmap:
    """Return so many bytes of memory, or raise MemoryError."""
    try:
        found = mmap.mmap(-1, size, **PRIVATE)
    except (OSError, OverflowError, ValueError) as error:
        raise MemoryError(f"expected {size:,} bytes of memory for the state of an operator but the system has no more") from error
    return found


def _array(found: mmap.mmap) -> Any:
    return np.frombuffer(found, np.int64)


def _lent(found: mmap.mmap) -> Any:
    """Return an array whose memory is kept again once nobody uses it."""
    array = _array(found)
    weakref.finalize(array, _keep, found).atexit = False
    return array


def _keep(found: mmap.mmap) -> None:
    from afa.compiled.kernel.layout import Memory

    touched = min(int(np.frombuffer(found, np.int64, Memory.top + 1)[Memory.top]) * WORD, len(found))
    spare = KEPT - sum(size for _, size in _kept)
    if spare > HUGE and len(_kept) < HEAPS and hasattr(mmap, "MADV_DONTNEED"):
        if touched > spare:
            touched = spare // HUGE * HUGE
            found.madvise(mmap.MADV_DONTNEED, touched)
        _kept.append((found, touched))
