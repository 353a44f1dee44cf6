"""The arrays of the kernel for readings, and how they grow; see `afa.extra.situations.reading_layout`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from afa.compiled.kernel.layout import CONTROL, Memory
from afa.compiled.kernel_arrays import KernelArrays, native_main
from afa.errors import Int64Error
from afa.extra.situations import reading_kernel
from afa.extra.situations import reading_layout as k
from afa.extra.situations.key_standing import Kind

UNDO, OUTPUT = 1 << 10, 1 << 10
"""How many words there are to begin with."""


@functools.cache
def loaded() -> Callable[[Any, int, int], int]:
    """Return the kernel: ``main(memory, what, n)``, of n rows."""
    return native_main(reading_kernel.main, "afa.extra.situations.reading_kernel", "afa.extra.situations.reading_layout")


class ReadingMemory(KernelArrays):
    """The readings of all keys; ``functions``: F_* of all aggregates; ``records``: whether records are told, else instants."""

    arrays = ("d", "m", "c", "u", "o")
    d: Any
    c: Any  # a batch
    u: Any
    o: Any

    def __init__(self, kinds: Sequence[Kind], functions: Sequence[int], records: bool) -> None:
        n, many, control = len(kinds), len(functions), k.ReadingControl
        entry = k.ReadingWords.SIZE + k.ValueWords.SIZE * many
        standing = k.StandingWords.SIZE + k.GoingWords.SIZE * n + k.HeldWords.SIZE * many
        of = control.specs + k.DefinitionWords.SIZE * (n + 1)
        old = of + many
        d = np.zeros(old + 3 * standing, np.int64)
        specs = d[control.specs : of].reshape(n + 1, k.DefinitionWords.SIZE)
        first = 0
        for spec, kind in zip(specs, kinds):
            spec[:] = kind.at_least or 0, kind.at_most or 0, kind.plain, first
            first += len(kind.folds)
        specs[n, k.DefinitionWords.first] = first
        d[of:old] = functions
        words = {
            "definitions": n,
            "aggregates": many,
            "records": records,
            "functions": of,
            "waits": any(kind.at_least is not None for kind in kinds),
            "timed": sum(1 << number for number, kind in enumerate(kinds) if not kind.plain),
            "entry_words": entry,
            "standing_words": standing,
            "record_words": k.KeyWords.SIZE + 2 * standing,
            "line_words": k.LineWords.SIZE + 2 * many,
            "bound": (n + 2) * (n if records else 1),
            "old": old,
            "new": old + standing,
            "passing": old + 2 * standing,
            "directory": len(d),
            "next": k.FOREVER,
            "serial": 1,
            "undo_size": UNDO,
            "output_size": OUTPUT,
        }
        for name, word in words.items():
            d[getattr(control, name)] = word
        self.entry, self.line = entry, words["line_words"]
        m = self.heap(CONTROL + (1 << 12))
        m[Memory.top] = CONTROL
        self.one = np.zeros((1 + entry, 1), np.int64)  # a batch of one
        self.use(d=d, m=m, c=self.one, u=np.empty(UNDO, np.int64), o=np.empty(OUTPUT, np.int64))

    def _larger(self, name: str, words: int) -> Any:
        """Return an array with what there is, and room for so many words in all."""
        old = getattr(self, name)
        more = np.zeros(max(words, 2 * len(old)), np.int64)
        more[: len(old)] = old
        return more

    def keys(self, n: int) -> None:
        """Let there be ``n`` keys."""
        d, known = self.d, int(self.d[k.ReadingControl.keys])
        if n <= known:
            return
        at, record = int(d[k.ReadingControl.directory]), int(d[k.ReadingControl.record_words])
        if at + n * record > len(d):
            self.use(d=self._larger("d", at + n * record))
            d = self.d
        definitions, standing = int(d[k.ReadingControl.definitions]), int(d[k.ReadingControl.standing_words])
        records = d[at + known * record : at + n * record].reshape(-1, record)
        records[:] = 0
        records[:, k.KeyWords.tells] = k.FOREVER
        for begin in (k.KeyWords.cover, k.KeyWords.cover + standing):
            records[:, begin + k.StandingWords.until] = k.FOREVER
            at = begin + k.StandingWords.going
            going = records[:, at : at + k.GoingWords.SIZE * definitions].reshape(n - known, definitions, k.GoingWords.SIZE)
            going[:] = k.FOREVER, 1
        d[k.ReadingControl.keys] = n

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def call(self, what: int, promised: int, c: Any = None, clock: int = 0, first: int = k.NOWHERE) -> None:
        """Call the kernel until it needs nothing more; ``first``: the source of the first row of a table."""
        d, c, control = self.d, self.one if c is None else c, k.ReadingControl
        if c is not self.c:
            self.use(c=c)
        d[control.done], d[control.promised], d[control.clock], d[control.first_source] = 0, promised, clock, first
        while status := loaded()(self, what, c.shape[1]):
            if status == k.NEED_HEAP:
                self.grow_heap()
            else:
                name, size = ("u", control.undo_size) if status == k.NEED_UNDO else ("o", control.output_size)
                room = int(self.d[control.bound] * self.d[control.line_words] + self.d[control.record_words])
                more = self._larger(name, 16 * room)
                self.use(**{name: more})
                self.d[size] = len(more)
        if c is not self.one:
            self.use(c=self.one)

    @property
    def too_much(self) -> bool:
        """Whether the ints of a situation add up to more than int64, told or not: else it might be in a snapshot."""
        if self.d[k.ReadingControl.left]:
            self.call(k.SUMS, 0)
        return bool(self.d[k.ReadingControl.left])

    def too_large(self) -> Int64Error:
        """Return the error of a sum that has left int64."""
        found = int(self.d[k.ReadingControl.large]) + int(self.d[k.ReadingControl.large_too])
        return Int64Error(f"expected a sum within int64 but got {found}: the readings of one situation add up to more")

    def lines(self) -> Any:
        """Return the output since the last time."""
        n = int(self.d[k.ReadingControl.output_top])
        self.d[k.ReadingControl.output_top] = 0
        return self.o[:n].reshape(-1, self.line).copy()

    def clashed(self) -> list[int]:
        """Return the rows of the batch that came where a reading is."""
        if not self.d[k.ReadingControl.clashes]:
            return []
        lines = self.lines()
        there = lines[:, k.LineWords.sign] == 0
        rest = lines[~there].reshape(-1)
        self.o[: len(rest)] = rest
        self.d[[k.ReadingControl.output_top, k.ReadingControl.clashes]] = len(rest), 0
        found: list[int] = lines[there, k.LineWords.told].tolist()
        return found

    def source(self, number: int, le: int) -> int:
        """Return the source of the reading of a key at an LE; NOWHERE: there is none."""
        self.one[:2, 0] = number, le
        self.call(k.FIND, 0)
        return int(self.d[k.ReadingControl.found])

    # -- what is held ------------------------------------------------------------------------------------------------------------

    @property
    def records(self) -> Any:
        """The records of all keys."""
        at, record = int(self.d[k.ReadingControl.directory]), int(self.d[k.ReadingControl.record_words])
        return self.d[at : at + int(self.d[k.ReadingControl.keys]) * record].reshape(-1, record)

    @property
    def covers(self) -> Any:
        """How all keys stand at the promise."""
        return self.records[:, k.KeyWords.cover : k.KeyWords.cover + int(self.d[k.ReadingControl.standing_words])]

    @property
    def held(self) -> Any:
        """Of which keys something is held."""
        return (self.records[:, k.KeyWords.n] > 0) | (self.covers[:, k.StandingWords.bits] > 0)

    def entries(self, number: int) -> Any:
        """Return the readings of a key."""
        record, e = self.records[number], int(self.d[k.ReadingControl.entry_words])
        at = int(record[k.KeyWords.block] + 1 + record[k.KeyWords.first] * e)
        return self.m[at : at + int(record[k.KeyWords.n]) * e].reshape(-1, e)
