"""Run arcs in Python for the kernels: arcs without machine code, and cases in which machine code asks Python to decide."""

from __future__ import annotations

import ctypes
from typing import Any

from afa.compiled.directory import Directory
from afa.compiled.inforce import RunningProgram
from afa.compiled.kernel import layout as k
from afa.compiled.memory import EngineMemory
from afa.compiled.record_words import RecordForms
from afa.compiled.scan_program import ScanProgram
from afa.errors import blame
from afa.model.arc import EPSILON, Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.instants import instant_of
from afa.model.raised import Faults, Raised, in_words
from afa.model.transitions import Transitions

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class Callback:
    """The functions that kernels call in Python. A fault is kept here until the kernels have ended.

    ``faults`` takes the functions' exceptions; None: each is a fault of the call.
    """

    arcs: RunningProgram  # set once it is made, which needs the address of this

    def __init__(
        self,
        automaton: Automaton,
        payloads: RecordForms,
        registers: RecordForms,
        memory: EngineMemory,
        directory: Directory,
        faults: Faults | None,
        scan: ScanProgram | None = None,
    ) -> None:
        self._scan = scan
        self._payloads, self._registers, self._memory, self._directory = payloads, registers, memory, directory
        self._transitions = Transitions(automaton, ArcTable(()), faults)
        self._schema = automaton.register_schema
        self._fault: BaseException | None = None

    def fault(self) -> BaseException:
        """Return the exception that a function raised, and forget it.

        An exception before the first line of the function, or after its last, never came here: ctypes has printed it. It can only
        be an interrupt.
        """
        fault, self._fault = self._fault, None
        return KeyboardInterrupt("between a kernel and Python") if fault is None else fault

    @property
    def faults(self) -> Faults | None:
        """The taker of exceptions that the functions raise."""
        return self._transitions.faults

    @faults.setter
    def faults(self, faults: Faults | None) -> None:
        self._transitions.faults = faults

    def let_raise(self) -> None:
        self._transitions.faults = None

    def run(self, code: int, event: int, register: int, out: int) -> int:
        """Run one arc in Python for a kernel that can't. Returns YES or NO; else a fault. NOWHERE asks about an endless closure."""
        try:
            transitions, memory = self._transitions, self._memory
            le = int(memory.m[k.Memory.instant])
            if transitions.faults is not None:
                transitions.key = self._directory.name(int(memory.w[k.Scratch.key]))
            if code == k.NOWHERE:
                if transitions.faults is not None:
                    transitions.endless(self.arcs.endless(), le)
                    return k.NO
                return k.FAULT  # which the kernel tells
            if code >= len(self.arcs.program.arcs):
                return self._measured(code - len(self.arcs.program.arcs), event, register, out)
            words = (ctypes.c_int64 * self._registers.layout.width).from_address(register)[:]
            if code <= k.INSTANT:
                arc, record = self.arcs.program.arcs[k.INSTANT - code], self._registers.record(words)
                ctypes.c_int64.from_address(out).value = instant_of(arc, record, self._schema)
                return k.YES
            found = self._carry_out(self.arcs.program.arcs[code], event, self._registers.record(words), le)
            if found is None:
                return k.NO
            place: Any = (ctypes.c_int64 * len(found)).from_address(out)
            place[:] = found
            return k.YES
        except BaseException as fault:  # nothing may pass through a kernel
            self._fault = fault
            return k.FAULT

    def _measured(self, number: int, event: int, register: int, out: int) -> int:
        """Run an arc of the measures, which has no condition. NO: it has raised, and the operator goes on without the match."""
        assert self._scan is not None
        forms, w, faults = self._scan.registers, self._memory.w, self._transitions.faults
        begin, end = int(w[k.Scratch.match_from]), int(w[k.Scratch.match_to])
        words = (ctypes.c_int64 * forms.layout.width).from_address(register)[:]
        seen = forms if self._scan.finishes and number == len(self._scan.arcs) - 1 else self._payloads
        payload = (ctypes.c_int64 * seen.layout.width).from_address(event)[:]
        transfer: Any = self._scan.arcs[number].arc.transfer
        try:
            found = forms.record(words)
            if transfer is not None:
                found = forms.layout.schema.take(transfer(seen.record(payload), found))
            if faults is not None:
                faults.check(found)
        except Exception as error:
            where = f"MEASURES, in the match from {begin} to {end}"
            if faults is None or isinstance(error, MemoryError):
                blame(error, where)
                raise
            faults.take(Raised(self._transitions.key, end, None, "", "MEASURES", in_words(error)), f"in {where}: it is left out")
            return k.NO
        place: Any = (ctypes.c_int64 * len(words)).from_address(out)
        place[:] = forms.words(found)
        return k.YES

    def _carry_out(self, arc: Arc, event: int, register: Any, le: int) -> list[int] | None:
        transitions = self._transitions
        if arc.reads_event:
            words = (ctypes.c_int64 * self._payloads.layout.width).from_address(event)[:]
            new = transitions.consume(arc, self._payloads.record(words), register, le)
        elif arc.kind == EPSILON:
            new = transitions.pass_on(arc, register, le)
        else:
            return [transitions.instant(arc, register, le)]
        return None if new is None else self._registers.words(new)


def as_function(callback: Callback) -> tuple[Any, int]:
    """Return a function for the kernels, to be kept as long as they run, and its address.

    No circle: the callback does not hold the function, and `ctypes.cast` would let the function hold itself. So the memory is free
    at once when nobody holds the store any more.
    """
    function = CALLBACK(callback.run)
    return function, ctypes.c_size_t.from_address(ctypes.addressof(function)).value
