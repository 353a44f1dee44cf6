"""What marks a kernel, and calls of native code by address: as Python, for the kernels that run as Python.

Words are passed for pointers too: on 64-bit machines both travel in the same registers.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
from collections.abc import Callable
from typing import TypeVar

from afa.compiled.kernel.named_fields import as_words
from afa.schema import NAN

R = TypeVar("R")
PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


@functools.lru_cache(maxsize=4096)
def _native(address: int, count: int) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(address)


def call1(address: int, a: int) -> int:
    """Call with one word."""
    return _native(int(address), 1)(int(a))


def call2(address: int, a: int, b: int) -> int:
    """Call with two."""
    return _native(int(address), 2)(int(a), int(b))


def call4(address: int, *words: int) -> int:
    """Call with four."""
    return _native(int(address), 4)(*map(int, words))


def call9(address: int, *words: int) -> int:
    """Call with nine."""
    return _native(int(address), 9)(*map(int, words))


def peek(address: int) -> int:
    """Return the word at an address."""
    return ctypes.c_int64.from_address(int(address)).value


def peek_byte(address: int) -> int:
    """Return the byte at an address."""
    return ctypes.c_uint8.from_address(int(address)).value


def poke(address: int, word: int) -> None:
    """Write a word at an address."""
    ctypes.c_int64.from_address(int(address)).value = int(word)


def prefetch(address: int) -> None:
    """Ask for the line of cache at an address, which need not be one; the words there are not read. As Python it does nothing."""


def wrapped(word: int) -> int:
    """Return what int64 makes of a result that is beyond it: nothing, in native code."""
    return (int(word) + (1 << 63)) % (1 << 64) - (1 << 63)


def float_sum(one: int, other: int) -> int:
    """Return the sum of two floats, all of them as the words of their bits; with one NaN."""
    found = sum(struct.unpack("2d", struct.pack("2q", int(one), int(other))))
    return int(struct.unpack("q", struct.pack("d", found if found == found else NAN))[0])


def kernel(function: Callable[..., R]) -> Callable[..., R]:
    """Mark a function that `afa.compiled.machine.kernel_ir` makes native code of; with the JIT off it is Python over words."""
    if PLAIN:
        function = as_words(function)
    function.is_kernel = True
    return function
