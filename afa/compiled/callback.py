"""Arcs that Python runs for the kernels: for want of native code, or where that asks what only Python can tell."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any

from afa.compiled import output
from afa.compiled.kernel import names as k
from afa.model.arc import CONSUME, EPSILON, Arc
from afa.model.arctable import ArcTable
from afa.model.raised import Faults
from afa.model.transitions import Transitions

if TYPE_CHECKING:
    from afa.compiled.compiled_engine import CompiledEngine

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class Callback:
    """The function that kernels call; a fault is kept here until they have ended.

    Parameters
    ----------
    engine : CompiledEngine
    faults : Faults, optional
        Takes what the functions raise; None: it is a fault of the call.
    """

    def __init__(self, engine: CompiledEngine, faults: Faults | None = None) -> None:
        self._engine: CompiledEngine = weakref.proxy(engine)  # whose memory is free at once when nobody holds it any more
        self._transitions = Transitions(engine.automaton, ArcTable(()), faults)
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

    def let_raise(self) -> None:
        """Let what functions raise be a fault of the call, from now on."""
        self._transitions.faults = None

    def _run_python(self, code: int, event: int, register: int, out: int) -> int:
        """One arc in Python, for a kernel that can't: YES or NO; all else is a fault. NOWHERE: a closure that goes on."""
        try:
            engine, transitions = self._engine, self._transitions
            le = int(engine.memory.m[k.C_PLACE])
            if transitions.faults is not None:
                transitions.key = engine.directory.names[int(engine.memory.w[k.W_KEY])] if engine.keyed else None
            if code == k.NOWHERE:
                if transitions.faults is not None:
                    transitions.endless(output.endless(engine), le)
                    return k.NO
                return k.FAULT  # which the kernel tells
            words = (ctypes.c_int64 * engine.registers.layout.width).from_address(register)[:]
            found = self._carry_out(engine.arcs.program.arcs[code], event, engine.registers.record(words), le)
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
        elif arc.kind == EPSILON:
            new = transitions.pass_on(arc, register, le)
        else:
            return [transitions.instant(arc, register, le)]
        return None if new is None else self._engine.registers.words(new)
