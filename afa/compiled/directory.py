"""Which keys there are, and their numbers: the places of their entries in the kernels' directory.

A number is a key's for as long as anything is held of it. An entry tells in which call its key last changed (D_CHANGED), so that a
snapshot finds the keys that have changed since the last one without any work on the way.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.compiled.memory import Memory

NOBODY = object()


class Directory:
    """Numbers for keys.

    Parameters
    ----------
    memory : Memory
    keyed : bool
        Without keys there is one, None, for ever.
    """

    def __init__(self, memory: Memory, keyed: bool) -> None:
        self.codes: dict[Hashable, int] = {} if keyed else {None: 0}
        self.names: list[Any] = [] if keyed else [None]
        self._memory = memory
        self._keyed = keyed
        self._free: list[int] = []
        self._touched: list[Any] = []  # numbers, or arrays of them, of keys that may be gone when the call ends
        self._saved: set[Hashable] | None = None  # keys that the last snapshot has; None: there was none
        self._gone: dict[Hashable, None] = {}  # those of them that are gone
        self._since = k.BEGINNING  # the call at which it was taken

    @property
    def entries(self) -> Any:
        """The entries, as a view of shape (keys, DIRECTORY)."""
        m = self._memory.m
        n = int(m[k.C_KEYS])
        return m[m[k.C_DIR] : m[k.C_DIR] + n * k.DIRECTORY].reshape(n, k.DIRECTORY)

    def code(self, key: Hashable) -> int:
        """The number of a key."""
        code = self.codes.get(key)
        if code is None:
            code = self._free.pop() if self._free else self._memory.add_key()
            self.codes[key] = code
            if code == len(self.names):
                self.names.append(key)
            else:
                self.names[code] = key
        return code

    def numbers(self, keys: Sequence[Hashable]) -> Any:
        """The numbers of many keys."""
        found = list(map(self.codes.get, keys))
        return np.array([self.code(key) if code is None else code for key, code in zip(keys, found)], np.int64)

    def touch(self, codes: Any) -> None:
        """Note a number, or an array of them: these keys may be gone when the call ends."""
        self._touched.append(codes)

    def touch_all(self) -> None:
        """Note all."""
        self._touched.append(np.arange(len(self.names)))

    def end(self) -> None:
        """The call has ended: let the numbers of keys that are gone be given again."""
        if not self._touched:
            return
        codes = np.concatenate([np.atleast_1d(codes) for codes in self._touched])
        self._touched.clear()
        if not self._keyed:
            return
        m = self._memory.m
        for code in codes[m[m[k.C_DIR] + codes * k.DIRECTORY] == 0].tolist():
            key = self.names[code]
            if key is not NOBODY:
                del self.codes[key]
                self.names[code] = NOBODY
                self._free.append(code)
                if self._saved is not None and key in self._saved:
                    self._gone[key] = None

    # -- snapshots -----------------------------------------------------------------------------------------------------------

    @property
    def since(self) -> int:
        """The call from which on changes are newer than the last snapshot."""
        return self._since

    def changed(self) -> list[Hashable]:
        """The keys that have changed since the last snapshot, or are gone. O(keys)."""
        changed = np.flatnonzero((self.entries[:, k.D_CHANGED] >= self._since) & (self.entries[:, k.D_BLOCK] != 0))
        names = [self.names[code] for code in changed.tolist()]
        return [*names, *(key for key in self._gone if key not in self.codes)]

    def arcs_dropped(self, t: int) -> None:
        """Arcs that ended by ``t`` are forgotten: a key that has steps from before, not cleaned yet, counts as changed."""
        if self._saved is not None:
            entries = self.entries
            entries[entries[:, k.D_CLEAN] <= t, k.D_CHANGED] = self._memory.m[k.C_SERIAL]

    def saved(self) -> None:
        """A snapshot was taken. O(keys)."""
        self._saved = set(self.codes)
        self._gone.clear()
        self._since = int(self._memory.m[k.C_SERIAL])

    def loaded(self, codes: Any) -> None:
        """Keys come from a snapshot."""
        self._saved = (self._saved or set()).union(self.names[code] for code in codes.tolist())
        self._since = int(self._memory.m[k.C_SERIAL])
        self.entries[codes, k.D_CHANGED] = k.BEGINNING

    @property
    def as_saved(self) -> bool:
        """Whether the keys are those of the last snapshot."""
        return not self._gone and self._saved == self.codes.keys()

    def take(self, names: list[Any], since: int) -> None:
        """Be as another was right after a snapshot at the call ``since``, with these names by number."""
        self.names, self._since = names, since
        self.codes = {name: code for code, name in enumerate(names) if name is not NOBODY}
        self._free = [code for code, name in enumerate(names) if name is NOBODY]
        self._saved = set(self.codes)

    def follow(self, other: Directory) -> None:
        """Be as another, of an engine with the same state, is to its last snapshot."""
        self._saved, self._gone = other._saved, dict(other._gone)
        self._since = int(self._memory.m[k.C_SERIAL]) if other._saved is not None else k.BEGINNING
        self.entries[:, k.D_CHANGED] = k.BEGINNING
        for key in other.changed():
            if key in self.codes:
                self.entries[self.codes[key], k.D_CHANGED] = k.FOREVER
