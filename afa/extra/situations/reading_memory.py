"""The arrays of the kernel for readings, and how they grow; see `afa.extra.situations.reading_names`."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from afa.compiled import reserve
from afa.compiled.kernel.layout import CONTROL, Memory
from afa.compiled.machine.kernel_ir import functions
from afa.compiled.machine.native import FULL, digest_of, native
from afa.errors import Int64Error
from afa.extra.situations import reading_names as k
from afa.extra.situations.key_standing import Kind

ENTRY = """
define i64 @f(ptr %d, ptr %m, ptr %c, ptr %u, ptr %o, i64 %what, i64 %n) {
  %s = call i64 @reading_kernel.main(ptr %d, i64 0, ptr %m, i64 0, ptr %c, i64 0, ptr %u, i64 0, ptr %o, i64 0, i64 %what, i64 %n)
  ret i64 %s
}
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""
SOURCES = (
    "afa.extra.situations.reading_kernel",
    "afa.extra.situations.reading_names",
    "afa.compiled.kernel",
    "afa.compiled.machine",
)
PROTOTYPE = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)
RESERVED = 1 << 27
"""So many words of address space a heap grows into; a larger one moves."""


@functools.cache
def loaded() -> Callable[[Any, Any, int, int], int]:
    """Return ``main(memory, batch, what, n)``: the kernel as native code, kept on disk like those of the operator."""
    from afa.extra.situations.reading_kernel import main

    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return lambda of, c, what, n: int(main(of.d, of.m, c.reshape(-1), of.u, of.o, what, n))
    function = PROTOTYPE(native.function(f"readings {digest_of(*SOURCES)}", lambda: functions(main) + ENTRY, FULL))

    def call(of: Any, c: Any, what: int, n: int) -> int:
        at = of.one_at if c is of.one else c.ctypes.data
        status: int = function(of.d_at, of.m_at, at, of.u_at, of.o_at, what, n)
        return status

    return call


class ReadingMemory:
    """The readings of all keys; ``functions``: F_* of all aggregates; ``records``: whether records are told, else instants."""

    d: Any
    d_at: int
    m: Any
    m_at: int
    u: Any
    u_at: int
    o: Any
    o_at: int
    one: Any  # room for a batch of one, whose address is known
    one_at: int

    def __init__(self, kinds: Sequence[Kind], functions: Sequence[int], records: bool) -> None:
        n, many = len(kinds), len(functions)
        entry, standing = k.E_VALUES + 2 * many, k.S_GOING + 2 * n + 2 * many
        of = k.SPEC + k.SPEC_WORDS * (n + 1)
        old = of + many
        d = np.zeros(old + 3 * standing, np.int64)
        first = 0
        for number, kind in enumerate(kinds):
            at = k.SPEC + k.SPEC_WORDS * number
            d[at : at + k.SPEC_WORDS] = kind.at_least or 0, kind.at_most or 0, kind.plain, first
            first += len(kind.folds)
        d[k.SPEC + k.SPEC_WORDS * n + k.FIRST] = first
        d[of:old] = functions
        d[[k.DEFINITIONS, k.AGGREGATES, k.RECORDS, k.AGGREGATES_AT]] = n, many, records, of
        d[k.WAITS] = any(kind.at_least is not None for kind in kinds)
        d[k.TIMED] = sum(1 << number for number, kind in enumerate(kinds) if not kind.plain)
        d[[k.ENTRY, k.STANDING, k.RECORD, k.LINE]] = entry, standing, k.R_COVER + 2 * standing, k.L_VALUES + 2 * many
        d[[k.BOUND, k.OLD, k.NEW, k.PASSING]] = (n + 2) * (n if records else 1), old, old + standing, old + 2 * standing
        d[[k.DIRECTORY, k.NEXT, k.SERIAL]] = len(d), k.FOREVER, 1
        self.entry, self.line = entry, int(d[k.LINE])
        d[[k.UNDO_SIZE, k.OUTPUT_SIZE]] = 1 << 10, 1 << 10
        m = self._heap(CONTROL + (1 << 12))
        m[Memory.top] = CONTROL
        self._use(d=d, m=m, u=np.empty(1 << 10, np.int64), o=np.empty(1 << 10, np.int64))
        self._use(one=np.zeros(1 + entry, np.int64))

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if not name.endswith("_at")}
        return state | {"m": self.m[: int(self.m[Memory.top])]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        m, self.m = self.m, self._heap(2 * len(self.m))
        self.m[: Memory.limit], self.m[Memory.limit + 1 : len(m)] = m[: Memory.limit], m[Memory.limit + 1 :]
        self._use(**{name: getattr(self, name) for name in ("d", "m", "u", "o", "one")})

    def _use(self, **arrays: Any) -> None:
        """Let an array be this one. INVARIANT: with its address in one step, which nothing can interrupt."""
        vars(self).update({**arrays, **{f"{name}_at": array.ctypes.data for name, array in arrays.items()}})

    @staticmethod
    def _heap(least: int) -> Any:
        """Return the array of a heap that grows in place, where there is address space; else of so many words.

        Its pages are small: where blocks of many keys grow at once, large ones took five times as long to get.
        """
        m = reserve.words(least, RESERVED)
        m[Memory.limit] = len(m)
        return m

    def _larger(self, name: str, words: int) -> Any:
        """Return an array with what there is, and room for so many words in all."""
        old = getattr(self, name)
        more = np.zeros(max(words, 2 * len(old)), np.int64)
        more[: len(old)] = old
        return more

    def keys(self, n: int) -> None:
        """Let there be ``n`` keys."""
        d, known = self.d, int(self.d[k.KEYS])
        if n <= known:
            return
        at, record = int(d[k.DIRECTORY]), int(d[k.RECORD])
        if at + n * record > len(d):
            self._use(d=self._larger("d", at + n * record))
            d = self.d
        definitions, standing = int(d[k.DEFINITIONS]), int(d[k.STANDING])
        records = d[at + known * record : at + n * record].reshape(-1, record)
        records[:] = 0
        records[:, k.R_TELLS] = k.FOREVER
        for begin in (k.R_COVER, k.R_COVER + standing):
            records[:, begin + k.S_UNTIL] = k.FOREVER
            going = records[:, begin + k.S_GOING : begin + k.S_GOING + 2 * definitions]
            going[:, ::2], going[:, 1::2] = k.FOREVER, 1
        d[k.KEYS] = n

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def call(self, what: int, promised: int, c: Any = None, n: int = 0, clock: int = 0, first: int = k.NOWHERE) -> None:
        """Call the kernel until it needs nothing more; ``first``: the source of the first row of a table."""
        d, c = self.d, self.one if c is None else c
        d[k.DONE_N], d[k.PROMISED], d[k.CLOCK], d[k.FIRST_SOURCE] = 0, promised, clock, first
        while status := loaded()(self, c, what, n):
            if status == k.NEED_HEAP:
                more = self._heap(2 * len(self.m))
                more[: Memory.limit], more[Memory.limit + 1 : len(self.m)] = self.m[: Memory.limit], self.m[Memory.limit + 1 :]
                self._use(m=more)
            else:
                name, size = ("u", k.UNDO_SIZE) if status == k.NEED_UNDO else ("o", k.OUTPUT_SIZE)
                more = self._larger(name, 16 * int(self.d[k.BOUND] * self.d[k.LINE] + self.d[k.RECORD]))
                self._use(**{name: more})
                self.d[size] = len(more)

    @property
    def too_much(self) -> bool:
        """Whether the ints of a situation add up to more than int64, told or not: else it might be in a snapshot."""
        if self.d[k.LEFT]:
            self.call(k.SUMS, 0)
        return bool(self.d[k.LEFT])

    def too_large(self) -> Int64Error:
        """Return the error of a sum that has left int64."""
        found = int(self.d[k.LARGE]) + int(self.d[k.LARGE_TOO])
        return Int64Error(f"expected a sum within int64 but got {found}: the readings of one situation add up to more")

    def lines(self) -> Any:
        """Return the output since the last time."""
        n = int(self.d[k.OUTPUT_N])
        self.d[k.OUTPUT_N] = 0
        return self.o[:n].reshape(-1, self.line).copy()

    def clashed(self) -> list[int]:
        """Return the rows of the batch that came where a reading is."""
        if not self.d[k.CLASHES]:
            return []
        lines = self.lines()
        there = lines[:, k.L_SIGN] == 0
        rest = lines[~there].reshape(-1)
        self.o[: len(rest)] = rest
        self.d[[k.OUTPUT_N, k.CLASHES]] = len(rest), 0
        found: list[int] = lines[there, k.L_WORDS].tolist()
        return found

    def source(self, number: int, le: int) -> int:
        """Return the source of the reading of a key at an LE; NOWHERE: there is none."""
        self.one[:2] = number, le
        self.call(k.FIND, 0)
        return int(self.d[k.FOUND])

    # -- what is held ------------------------------------------------------------------------------------------------------------

    @property
    def records(self) -> Any:
        """The records of all keys."""
        at, record = int(self.d[k.DIRECTORY]), int(self.d[k.RECORD])
        return self.d[at : at + int(self.d[k.KEYS]) * record].reshape(-1, record)

    @property
    def covers(self) -> Any:
        """How all keys stand at the promise."""
        return self.records[:, k.R_COVER : k.R_COVER + int(self.d[k.STANDING])]

    @property
    def held(self) -> Any:
        """Of which keys something is held."""
        return (self.records[:, k.R_N] > 0) | (self.covers[:, k.S_BITS] > 0)

    def entries(self, number: int) -> Any:
        """Return the readings of a key."""
        record, e = self.records[number], int(self.d[k.ENTRY])
        at = int(record[k.R_BLOCK] + 1 + record[k.R_FIRST] * e)
        return self.m[at : at + int(record[k.R_N]) * e].reshape(-1, e)
