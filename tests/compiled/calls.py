"""Native code called from tests: records as words, the code of an arc as a function."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from afa.compiled.code.arc_code import ArcCode, arc_code, words
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.strings import Strings
from afa.compiled.machine.native import Native
from afa.expression.nodes import Expr
from afa.model.arc import CONSUME
from tests.compiled.expressions import EVENT, REGISTER

NATIVE = Native()
"""Leaves nothing on disk."""


def to_words(layout: Layout, record: Any, strings: Strings) -> list[int]:
    """A record as words."""
    found: list[int] = []
    for slot, value in zip(layout.slots, record):
        if slot.width == 2:
            found.append(int(value is not None))
        if value is None:
            found.append(0)
        elif slot.field.type is float:
            found += struct.unpack("<q", struct.pack("<d", value))
        else:
            found.append(strings.number(value) if slot.field.type is str else int(value))
    return found


def function(address: int, arguments: int) -> Any:
    """A function of words."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * arguments)(address)


def of(*items: int) -> Any:
    """An array of words."""
    return np.array(items or (0,), dtype=np.int64)


def compiled(fence: Expr | None, transfer: Expr | None = None, event: Layout = EVENT, register: Layout = REGISTER) -> ArcCode:
    """The code of an arc."""
    return arc_code(CONSUME, fence, transfer, None, False, event, register)


class NativeArc:
    """An arc as a function of an event and a register."""

    def __init__(self, code: ArcCode, strings: Strings, event: Layout = EVENT, register: Layout = REGISTER) -> None:
        self.code = code
        self._layouts = event, register
        self._strings = strings
        self._call = function(NATIVE.function(code.key, lambda: code.ir), 4)
        self._params = of(*words(code.params, strings))

    def __call__(self, event: Any, register: Any) -> tuple[int, list[int]]:
        """The status, and the words of the new register."""
        ev, reg = (of(*to_words(*pair, self._strings)) for pair in zip(self._layouts, (event, register)))
        out = np.full(self.code.width, -77, dtype=np.int64)
        status = self._call(ev.ctypes.data, reg.ctypes.data, out.ctypes.data, self._params.ctypes.data)
        return status, out.tolist()
