"""The arrays of the kernels for rows, how they grow, and how a call is undone; see `speculation.rows.row_layout`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from afa.compiled.kernel_arrays import KernelArrays, native_main
from speculation.rows import row_entry
from speculation.rows import row_layout as k

HEAP, POOL = 1 << 13, 64
"""How many words and rows there are to begin with."""
REGION_WORDS = {
    k.DIRECTORY: 64,
    k.INDEX: 32,
    k.OTHER: 32,
    k.ACTIONS: 64,
    k.UNDO: 256,
    k.LOG: 256,
    k.GONE: 64,
    k.RANKS: 16,
}
_NEEDS = {k.NEED_UNDO: k.UNDO, k.NEED_LOG: k.LOG, k.NEED_GONE: k.GONE}


@functools.cache
def main() -> Callable[[Any, int, int], int]:
    """Return the kernels: ``main(memory, what, n)``."""
    return native_main(row_entry.main, "speculation.rows")


class RowMemory(KernelArrays):
    """Rows of ``width`` words in a pool, and the entries of keys; ``spec`` says how rows are compared, see `RowSpec`."""

    arrays = ("m", "r")
    r: Any

    def __init__(self, width: int, spec: Any) -> None:
        self.width = width
        self.use(m=self.heap(HEAP), r=np.empty((POOL, width), np.int64))
        self.m[k.RowControl.top] = k.HEAP_BEGIN
        for region, words in REGION_WORDS.items():
            self._region(region, words)
        self._region(k.SPEC, len(spec))
        self._region(k.NOW, int(spec[k.RowSpec.looks]))
        at = self.m[k.RowControl.spec]
        self.m[at : at + len(spec)] = spec
        self._free: Any = np.empty(0, np.int64)  # rows that nobody holds
        self._top = 0  # the first row that was never used
        self._fresh: tuple[Any, ...] = ()  # rows that this call has brought

    # -- room ------------------------------------------------------------------------------------------------------------------

    def _region(self, region: int, words: int) -> None:
        """Grow a region to so many words."""
        begin, room = k.RowControl.directory + region, k.RowControl.rooms + region
        n = int(self.m[room])
        if n >= words:
            return
        words = max(words, 2 * n)
        old, new = int(self.m[begin]), int(self.m[k.RowControl.top])
        if new + words > len(self.m):
            self.grow_heap(new + words)
        m = self.m
        m[k.RowControl.top] = new + words  # INVARIANT: first, so that words which were never used are 0 even after an interrupt
        m[new : new + n] = m[old : old + n]
        m[begin], m[room] = new, words

    def rows(self, n: int) -> Any:
        """Return the numbers of ``n`` rows for this call; the caller fills them at once."""
        spare, top = max(len(self._free) - n, 0), self._top + max(n - len(self._free), 0)
        found = np.concatenate([self._free[spare:], np.arange(self._top, top)])
        if top > len(self.r):
            more = np.empty((max(top, 2 * len(self.r)), self.width), np.int64)
            more[: self._top] = self.r[: self._top]
            self.use(r=more)
        vars(self).update(_free=self._free[:spare], _top=top, _fresh=(*self._fresh, found))
        return found

    def keys(self, n: int) -> None:
        """Make room in the directory for ``n`` keys; what was never used is 0."""
        if n > self.m[k.RowControl.key_count]:
            self._region(k.DIRECTORY, n * k.RowKey.SIZE)
            self.m[k.RowControl.key_count] = n

    @property
    def _entries(self) -> Any:
        at, n = int(self.m[k.RowControl.directory]), int(self.m[k.RowControl.key_count])
        return self.m[at : at + n * k.RowKey.SIZE].reshape(n, k.RowKey.SIZE)

    # -- calls -----------------------------------------------------------------------------------------------------------------

    def take(self, rows: Any, ranks: Any) -> int:
        """Call the kernels to take rows, in order of arrival. Returns DONE or FAULT. ``ranks``: gives the ranks of texts."""
        n = len(rows)
        for region, words in ((k.INDEX, n), (k.OTHER, n), (k.ACTIONS, 3 * n)):
            self._region(region, words)
        m = self.m
        at = m[k.RowControl.index]
        m[at : at + n] = rows
        m[k.RowControl.done], m[k.RowControl.ranked] = k.NOTHING, 0
        return self.call(k.TAKE, n, ranks)

    def call(self, what: int, n: int = 0, ranks: Any = None) -> int:
        """Call the kernels until they need nothing more."""
        while True:
            status: int = main()(self, what, n)
            if status == k.NEED_HEAP:
                self.grow_heap()
            elif status == k.NEED_RANKS:
                found = ranks()
                self._region(k.RANKS, len(found))
                at = self.m[k.RowControl.text_ranks]
                self.m[at : at + len(found)] = found
                self.m[k.RowControl.ranked], self.m[k.RowControl.unranked] = 1, 0
            elif status in _NEEDS:
                region = _NEEDS[status]
                self._region(region, 2 * int(self.m[k.RowControl.rooms + region]))
            else:
                return status

    def logged(self) -> Any:
        """Return the output since the last time: lines of row, copies, what it looks at."""
        m = self.m
        at, n = int(m[k.RowControl.log]), int(m[k.RowControl.log_top])
        m[k.RowControl.log_top] = 0
        return m[at : at + n].reshape(-1, 2 + int(m[m[k.RowControl.spec] + k.RowSpec.looks])).copy()

    def commit(self) -> None:
        """Forget how to undo the call; the rows that have gone are free."""
        if not self._fresh and not self.m[k.RowControl.undo_top]:
            return
        m = self.m
        at, n = int(m[k.RowControl.gone]), int(m[k.RowControl.gone_top])
        free = np.concatenate([self._free, m[at : at + n]]) if n else self._free
        m[k.RowControl.gone_top] = 0  # INVARIANT: before they are free: an interrupt here loses rows, none is ever given twice
        vars(self).update(_free=free, _fresh=())
        main()(self, k.COMMIT, 0)

    def rollback(self) -> None:
        """Restore all as it was before the call."""
        main()(self, k.ROLLBACK, 0)
        vars(self).update(_free=np.concatenate([self._free, *self._fresh]), _fresh=())

    def keys_held(self) -> Any:
        """Return the keys of which rows are held."""
        return np.flatnonzero(self._entries[:, k.RowKey.n])

    def held(self, keys: Any = None) -> Any:
        """Return the numbers of the rows that are held, of all keys or of some, in their order; and which of them are floors."""
        m, entries = self.m, self._entries
        entries = entries if keys is None else entries[keys[keys < len(entries)]]
        parts = [m[block + 1 : block + 1 + count] for block, count in entries[:, [k.RowKey.block, k.RowKey.n]].tolist() if count]
        found = np.concatenate(parts) if parts else np.empty(0, np.int64)
        return found >> 1, found & 1
