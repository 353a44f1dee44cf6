"""The directory of keys: each key's number is the place of its entry in the kernels' directory.

A number is a key's for as long as anything is held of it, and in the call in which it is given. An entry tells in which call its
key last changed (D_CHANGED), so that a snapshot finds the keys that have changed since the last one without any work on the way.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.compiled.memory import Memory
from afa.state.key_columns import KeyColumns

NOBODY = object()


class Directory:
    """The numbers of keys. Without keys there is one, None, for ever."""

    def __init__(self, memory: Memory, keyed: bool) -> None:
        self.codes: dict[Hashable, int] = {} if keyed else {None: 0}
        self.names: list[Any] = [] if keyed else [None]
        self.touched: list[Any] = []  # numbers, or arrays of them, of keys that may be gone when the call ends
        self._memory = memory
        self._keyed = keyed
        self._free: list[int] = []
        self._saved: set[Hashable] | None = None  # keys that the last snapshot has; None: there was none
        self._gone: dict[Hashable, None] = {}  # those of them that are gone
        self._since = k.BEGINNING  # the call at which it was taken

    @property
    def entries(self) -> Any:
        """The entries, as a view of shape (keys, DIRECTORY)."""
        m = self._memory.m
        n = int(m[k.C_KEYS])
        return m[m[k.C_DIR] : m[k.C_DIR] + n * k.D_SIZE].reshape(n, k.D_SIZE)

    def code(self, key: Hashable) -> int:
        code = self.codes.get(key)
        if code is None:
            if self._free:
                self._give([key])
                return self.codes[key]
            code = len(self.names)
            self._memory.reach(code + 1)
            self.touched.append(code)
            self.names.append(key)
            self.codes[key] = code
        return code

    def numbers(self, keys: Sequence[Hashable]) -> Any:
        found = list(map(self.codes.get, keys))
        if None in found:
            self._give(list(dict.fromkeys(key for key, code in zip(keys, found) if code is None)))
            found = list(map(self.codes.get, keys))
        return np.array(found, np.int64)

    def names_of(self, codes: Any) -> KeyColumns:
        """Return the keys of numbers, an array."""
        return KeyColumns.of(list(map(self.names.__getitem__, codes.tolist())))

    def _give(self, keys: list[Hashable]) -> None:
        """Give numbers to new keys; they are forgotten when the call ends, unless something is held of them by then.

        INVARIANT: a key is known, by `codes`, once all else that belongs to it is there; a number that is free is taken from there
        before it is given. If this ends half-way, a number is lost at worst.
        """
        begin, again = len(self.names), min(len(keys), len(self._free))
        self._memory.reach(begin + len(keys) - again)
        codes = [*self._free[len(self._free) - again :], *range(begin, begin + len(keys) - again)]
        self.touched.append(np.array(codes, np.int64))
        del self._free[len(self._free) - again :]
        for code, key in zip(codes[:again], keys):
            self.names[code] = key
        self.names.extend(keys[again:])
        self.codes.update(zip(keys, codes))

    def touch(self, codes: Any) -> None:
        self.touched.append(codes)

    def touch_all(self) -> None:
        self.touched.append(np.arange(len(self.names)))

    def end(self) -> None:
        """End a call: the numbers of keys that are gone may be given again; if memory is short, at the end of the next call."""
        if self._keyed:
            try:
                gone = [code for codes in self.touched for code in self._empty(codes)]
            except MemoryError:
                return
            for code in gone:
                self._forget(code)
        self.touched.clear()

    def _empty(self, codes: Any) -> list[int]:
        m = self._memory.m
        if isinstance(codes, int):
            return [] if m[m[k.C_DIR] + codes * k.D_SIZE] else [codes]
        codes = np.atleast_1d(codes)
        found: list[int] = codes[m[m[k.C_DIR] + codes * k.D_SIZE + k.D_BLOCK] == 0].tolist()
        return found

    def _forget(self, code: int) -> None:
        """Forget a key. INVARIANT: in an order that lets this be done again, wherever it ended."""
        key = self.names[code] if code < len(self.names) else NOBODY
        if key is NOBODY:
            return
        if self.codes.get(key) == code:
            if self._saved is not None and key in self._saved:
                self._gone[key] = None
            del self.codes[key]
        self.names[code] = NOBODY
        self._free.append(code)

    # -- snapshots -----------------------------------------------------------------------------------------------------------

    @property
    def since(self) -> int:
        """The call from which on changes are newer than the last snapshot."""
        return self._since

    def changed(self) -> list[Hashable]:
        """Return the keys that have changed since the last snapshot, or are gone. O(keys)."""
        changed = np.flatnonzero((self.entries[:, k.D_CHANGED] >= self._since) & (self.entries[:, k.D_BLOCK] != 0))
        names = [self.names[code] for code in changed.tolist()]
        return [*names, *(key for key in self._gone if key not in self.codes)]

    def arcs_dropped(self, t: int) -> None:
        """Count a key as changed that has steps from before ``t``, not cleaned yet: the arcs that ended by ``t`` are forgotten."""
        if self._saved is not None:
            entries = self.entries
            entries[entries[:, k.D_CLEAN] <= t, k.D_CHANGED] = self._memory.m[k.C_SERIAL]

    def saved(self) -> None:
        self.put_saved(set(self.codes), {}, int(self._memory.m[k.C_SERIAL]))

    def as_of(self) -> tuple[set[Hashable] | None, dict[Hashable, None], int]:
        """Return what is known of the last snapshot, for `put_saved`."""
        return self._saved, self._gone, self._since

    def put_saved(self, saved: set[Hashable] | None, gone: dict[Hashable, None], since: int) -> None:
        """Let this be what is known of it: the keys that it has, those of them that are gone, its call."""
        self._saved, self._gone, self._since = saved, gone, since

    def loaded(self, codes: Any) -> None:
        self._saved = (self._saved or set()).union(map(self.names.__getitem__, codes.tolist()))
        self._since = int(self._memory.m[k.C_SERIAL])
        self.entries[codes, k.D_CHANGED] = k.BEGINNING

    @property
    def as_saved(self) -> bool:
        """Whether the keys are those of the last snapshot."""
        return not self._gone and self._saved == self.codes.keys()

    def take(self, names: list[Any], since: int) -> None:
        """Take over what another directory was right after a snapshot at the call ``since``, with these names by number."""
        self.names, self._since = names, since
        self.codes = {name: code for code, name in enumerate(names) if name is not NOBODY}
        self._free = [code for code, name in enumerate(names) if name is NOBODY]
        self._saved = set(self.codes)

    def follow(self, other: Directory) -> None:
        """Take over the relation of another directory, of an engine with the same state, to its last snapshot."""
        self._saved, self._gone = other._saved, dict(other._gone)
        self._since = int(self._memory.m[k.C_SERIAL]) if other._saved is not None else k.BEGINNING
        self.entries[:, k.D_CHANGED] = k.BEGINNING
        for key in other.changed():
            if key in self.codes:
                self.entries[self.codes[key], k.D_CHANGED] = k.FOREVER
