"""The arrays that the kernels work on, and their growth; see `afa.compiled.kernel.names`."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.heap import FileHeap
from afa.compiled.kernel import names as k

SAMPLE = 64
"""Steps of a block that are looked at to see whether runs suit it; and how many records must have come."""


HEAP = 1 << 18
"""Words of a new heap. That they are many costs nothing: the system gives memory when it is first touched."""


def _larger(n: int) -> int:
    return n + n // 4 + 4096


class Batch:
    """An array of shape (rows, n) with its address, which numpy takes long to tell."""

    __slots__ = ("at", "n", "rows", "words")

    def __init__(self, words: Any) -> None:
        self.words = words
        self.rows, self.n = words.shape
        self.at: int = words.ctypes.data


EMPTY = Batch(np.zeros((k.I_WORDS, 1), np.int64))


class Memory:
    """What lasts (``m``) and scratch (``w``).

    Parameters
    ----------
    payload, register : int
        Words of a payload, of a register.
    ordered : int
        See C_ORDERED.
    keyed : bool
    """

    def __init__(self, payload: int, register: int, ordered: int, keyed: bool) -> None:
        self.payload, self.register = payload, register
        self.row = 4 + register
        self.keys = 16  # room in the directory
        self.sizes = {"undo": 1 << 10, "log": 16, "places": 64, "batch": 8, "rows": 32, "temp": 256, "keys": 16 if keyed else 1}
        self.file: FileHeap | None = None  # where the heap lies, if not in this process alone
        self.m: Any = np.zeros(HEAP, np.int64)
        self.m[k.C_V], self.m[k.C_R], self.m[k.C_ORDERED], self.m[k.C_KEYED] = payload, register, ordered, int(keyed)
        self.m[k.C_DIR], self.m[k.C_TOP] = k.CONTROL, k.CONTROL + self.keys * k.DIRECTORY
        self.m[k.C_KEYS], self.m[k.C_SERIAL] = 0 if keyed else 1, 1
        self.m[k.C_RATE : k.C_RATE + 3] = 80, 96, 8
        self.m[k.C_SAMPLE] = SAMPLE
        self._set_heap()
        self._lay_out()

    def _set_heap(self) -> None:
        self.m_size, self.m_at = len(self.m), int(self.m.ctypes.data)
        self.m[k.C_LIMIT], self.m[k.C_M] = self.m_size, self.m_at

    def adopt(self, file: FileHeap, top: int, keys: int, sizes: dict[str, int]) -> None:
        """Let the words of a file be the heap: ``top`` of them are in use, with room for so many keys; and scratch of these sizes.

        Raises
        ------
        OSError
            The file system has no room for more.
        """
        self.file, self.m, self.keys, self.sizes = file, file.mapped(top), keys, sizes
        self._set_heap()
        self._lay_out()

    def grow_heap(self) -> None:
        """Twice the heap; what was never used of it is left alone, as the system gives memory when it is first touched.

        In a file, which takes its room at once, a quarter more; or none where there is none: then the heap is in a file no longer.
        """
        if self.file is not None:
            try:
                self.m = self.file.mapped(_larger(len(self.m)))
                self._set_heap()
                return
            except OSError:
                self.file = None
        more, top = np.zeros(2 * len(self.m), np.int64), int(self.m[k.C_TOP])
        more[:top] = self.m[:top]
        self.m = more
        self._set_heap()

    def add_key(self) -> int:
        """One more entry in the directory; its number."""
        key = int(self.m[k.C_KEYS])
        if key == self.keys:
            self._grow_directory()
        self.m[k.C_KEYS] = key + 1
        if key >= self.sizes["keys"]:
            self.grow("keys", key + 1)
        return key

    def _grow_directory(self) -> None:
        words = self.keys * k.DIRECTORY
        while self.m[k.C_TOP] + 2 * words > self.m[k.C_LIMIT]:
            self.grow_heap()
        old, new = int(self.m[k.C_DIR]), int(self.m[k.C_TOP])
        self.m[new : new + words] = self.m[old : old + words]
        self.m[new + words : new + 2 * words] = 0
        self.m[k.C_DIR], self.m[k.C_TOP] = new, new + 2 * words
        self.keys *= 2

    def grow(self, what: str, least: int = 0) -> None:
        """At least twice as much of one kind of scratch; undo and output log stay."""
        while True:
            assert self.sizes[what] < 1 << 24, what
            self.sizes[what] *= 2
            if self.sizes[what] >= least:
                break
        old = self.w
        self._lay_out()
        undo, log = int(old[k.W_UNDO_TOP]), int(old[k.W_LOG_TOP]) * self.row
        self.w[self.w[k.W_UNDO] : self.w[k.W_UNDO] + undo] = old[old[k.W_UNDO] : old[k.W_UNDO] + undo]
        self.w[self.w[k.W_LOG] : self.w[k.W_LOG] + log] = old[old[k.W_LOG] : old[k.W_LOG] + log]
        for word in (k.W_UNDO_TOP, k.W_LOG_TOP, k.W_TAKEN):
            self.w[word] = old[word]

    def _lay_out(self) -> None:
        s, at = self.sizes, k.SCRATCH
        heads: dict[int, int] = {}
        hashes = 1 << (2 * s["rows"]).bit_length()
        parts = [
            (k.W_UNDO, s["undo"]),
            (k.W_LOG, s["log"] * self.row),
            (k.W_MARK, s["places"]),
            (k.W_ORDER, s["places"]),
            (k.W_INDEX, s["batch"]),
            (k.W_SORT, 2 * s["batch"]),
            (k.W_NEXT, s["batch"]),
            (k.W_TOUCHED, s["batch"]),
            *((word, s["rows"] * (self.row + 2)) for word in (k.W_NEW, k.W_SOURCE, k.W_OLD, k.W_OTHER, k.W_READY)),
            (k.W_TEMP, s["temp"]),
            (k.W_HASH, 3 * hashes),
            (k.W_AHEAD, k.X_WORDS + self.payload),
            (k.W_HEADS, s["keys"]),
        ]
        for word, size in parts:
            heads[word] = at
            at += size
        self.w: Any = np.zeros(at, np.int64)
        for word, place in heads.items():
            self.w[word] = place
        self.w[k.W_UNDO_CAP], self.w[k.W_LOG_CAP], self.w[k.W_PLACES] = s["undo"], s["log"], s["places"]
        self.w[k.W_BATCH], self.w[k.W_ROWS], self.w[k.W_TEMP_CAP], self.w[k.W_HASHES] = s["batch"], s["rows"], s["temp"], hashes
        self.w[heads[k.W_HEADS] :] = k.NOWHERE
        self.w_size, self.w_at = len(self.w), int(self.w.ctypes.data)
        self.m[k.C_W] = self.w_at

    def meet(self, status: int) -> bool:
        """Provide what a status asks for; whether it was one that can be met."""
        if status == k.NEED_HEAP:
            self.grow_heap()
            return True
        what = _NEEDS.get(status)
        if what is None:
            return False
        self.grow(what)
        return True


_NEEDS = {k.NEED_UNDO: "undo", k.NEED_LOG: "log", k.NEED_PLACES: "places", k.NEED_ROWS: "rows", k.NEED_TEMP: "temp"}
