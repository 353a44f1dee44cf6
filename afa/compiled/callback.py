"""Arcs that Python runs for the kernels: for want of native code, or where that asks what only Python can tell."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any

from afa.arc import CONSUME, EPSILON, Arc
from afa.arctable import ArcTable
from afa.compiled.kernel import names as k
from afa.interpreted.transitions import Transitions

if TYPE_CHECKING:
    from afa.compiled.engine import CompiledEngine

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class Callback:
    """The function that kernels call; a fault is kept here until they have ended.

    Parameters
    ----------
    engine : CompiledEngine
    """

    def __init__(self, engine: CompiledEngine) -> None:
        self._engine: CompiledEngine = weakref.proxy(engine)  # whose memory is free at once when nobody holds it any more
        self._transitions = Transitions(engine.automaton, ArcTable(()))
        self._function = CALLBACK(self._run_python)
        self._fault: BaseException | None = None
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def fault(self) -> BaseException:
        """What was raised; it is forgotten here.

        What was raised before the first line of the function, or after its last, never came here: ctypes has printed it. That can
        only be an interrupt.
        """
        fault, self._fault = self._fault, None
        return KeyboardInterrupt("between a kernel and Python") if fault is None else fault

    def _run_python(self, code: int, event: int, register: int, out: int) -> int:
        """One arc in Python, for a kernel that can't: YES or NO; all else is a fault."""
        try:
            arc, le = self._engine.arcs.program.arcs[code], int(self._engine.memory.m[k.C_PLACE])
            words = (ctypes.c_int64 * self._engine.registers.layout.width).from_address(register)[:]
            found = self._carry_out(arc, event, self._engine.registers.record(words), le)
            if found is None:
                return k.NO
            place: Any = (ctypes.c_int64 * len(found)).from_address(out)
            place[:] = found
            return k.YES
        except BaseException as fault:  # nothing may pass through a kernel
            self._fault = fault
            return k.FAULT

    def _carry_out(self, arc: Arc, event: int, register: Any, le: int) -> list[int] | None:
        transitions = self._transitions
        if arc.kind == CONSUME:
            words = (ctypes.c_int64 * self._engine.payloads.layout.width).from_address(event)[:]
            new = transitions.consume(arc, self._engine.payloads.record(words), register, le)
            return None if new is None else self._engine.registers.words(new)
        if arc.kind != EPSILON:
            return [transitions.instant(arc, register, le)]
        if not transitions.call(arc, "fence", arc.fence, register, le):
            return None
        if arc.transfer is not None:
            register = transitions.take_register(arc, transitions.call(arc, "transfer", arc.transfer, register, le), le)
        return self._engine.registers.words(register)
