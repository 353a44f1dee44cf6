"""Calls of native code by address, from compiled kernels and, with the JIT switched off, from Python.

Words are passed for pointers too: on the machines that numba serves both travel in the same registers.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

INT64 = ir.IntType(64)


def _typed(count: int) -> Any:
    """Signature and code of a call with ``count`` words."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = builder.inttoptr(args[0], ir.FunctionType(INT64, [INT64] * count).as_pointer())
        return builder.call(function, args[1:])

    return types.int64(*[types.int64] * (count + 1)), generate


@intrinsic
def _call4(context: Any, f: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return _typed(4)


@intrinsic
def _call1(context: Any, f: Any, a: Any) -> Any:
    return _typed(1)


@intrinsic
def _call2(context: Any, f: Any, a: Any, b: Any) -> Any:
    return _typed(2)


@intrinsic
def _call9(context: Any, f: Any, a: Any, b: Any, c: Any, d: Any, e: Any, g: Any, h: Any, i: Any, j: Any) -> Any:
    return _typed(9)


@intrinsic
def _peek(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], INT64.as_pointer()))

    return types.int64(types.int64), generate


@intrinsic
def _peek_byte(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = builder.load(builder.inttoptr(args[0], ir.IntType(8).as_pointer()))
        return builder.zext(byte, INT64)

    return types.int64(types.int64), generate


@functools.lru_cache(maxsize=4096)
def _native(address: int, count: int) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(address)


def _plain(address: int, *words: int) -> int:
    """The same call without compiled kernels."""
    return _native(int(address), len(words))(*map(int, words))


def _look(address: int) -> int:
    return ctypes.c_int64.from_address(int(address)).value


def _look_byte(address: int) -> int:
    return ctypes.c_uint8.from_address(int(address)).value


_jit = not numba.config.DISABLE_JIT
call1: Any = _call1 if _jit else _plain
call2: Any = _call2 if _jit else _plain
call4: Any = _call4 if _jit else _plain
call9: Any = _call9 if _jit else _plain
peek: Any = _peek if _jit else _look
peek_byte: Any = _peek_byte if _jit else _look_byte

OPTIONS = {"boundscheck": False, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}


def kernel(function: Any) -> Any:
    """Compile a function for the kernels; it is called from kernels only.

    A literal argument is an int64 like any other: numba would compile a function anew for each.
    """
    if numba.config.DISABLE_JIT:
        return function
    made = njit(**OPTIONS)(function)
    template = made.get_call_template
    made.get_call_template = lambda args, kws: template([types.unliteral(arg) for arg in args], kws)
    return made
