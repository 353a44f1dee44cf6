"""The arrays of a table of keys, and how they grow; see `afa.compiled.kernel.key_layout`.

A larger array is made next to the old one, and takes its place in one step: a call that ends in between leaves the arrays whole.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from afa.compiled import reserve
from afa.compiled.kernel import key_layout as t
from afa.compiled.memory import WordArray

SECRET = [secrets.randbits(64) - (1 << 63) for _ in range(4)]
"""Nobody outside of this process knows which keys share a place."""
MASK = (1 << t.TAG) - 1
"""Which bits of a tag are used; fewer in tests, so that keys collide."""
BITS, NUMBERS, WORDS, SPARE = 5, 16, 32, 16
"""To begin with: slots, a power of two; room for numbers; words for records, and for the key that is looked for."""
AHEAD, SMALL = 8, 1 << 12
"""The factor by which the address space of an array of SMALL words and more grows, if it costs nothing."""
MOST = (1 << 32) - 16
"""How many numbers there are."""


class KeyArrays:
    """Table, keys and arena, by the names that kernels have for them; ``alone``: see `afa.compiled.memory.EngineMemory`."""

    m: Any
    m_at: int
    m_size: int
    w: Any
    w_at: int
    p: Any
    at: int  # of p
    sought: int  # address of the key that is looked for
    alone = False

    def __init__(self) -> None:
        m, w = np.zeros(t.SLOTS + (1 << BITS), np.int64), np.zeros(NUMBERS // 8 * t.GROUP, np.int64)
        p = np.zeros(t.ARENA + WORDS + SPARE, np.int64)
        m[t.KeyTable.bits], m[t.KeyTable.mask], m[t.KeyTable.room] = BITS, MASK, NUMBERS
        m[t.KeyTable.secret : t.KeyTable.secret + 4] = SECRET
        p[t.KeyArena.top], p[t.KeyArena.room] = t.ARENA, t.ARENA + WORDS
        self._use(m=m, w=w, p=p)

    def _use(self, **arrays: Any) -> None:
        """INVARIANT: in one step, which nothing can interrupt."""
        found: dict[str, Any] = dict(arrays)
        for name, place in (("m", "m_at"), ("w", "w_at"), ("p", "at")):
            if name in arrays:
                found[place] = int(arrays[name].ctypes.data)
        if "m" in arrays:
            found["m_size"] = len(arrays["m"])
        if "p" in arrays:
            found["sought"] = found["at"] + reserve.WORD * int(arrays["p"][t.KeyArena.room])
        vars(self).update(found)

    def __deepcopy__(self, memo: Any) -> KeyArrays:
        """Copy what is in use."""
        w, p = _words(len(self.w)), _words(len(self.p))
        numbers, words = -(-int(self.m[t.KeyTable.top]) // 8) * t.GROUP, int(self.p[t.KeyArena.top])
        w[:numbers], p[:words] = self.w[:numbers], self.p[:words]
        return arrays_of(self.m.copy(), w, p)

    @property
    def words(self) -> Any:
        """The arena, as kernels that run as Python know the program."""
        return self.p

    def aim(self, program: int) -> None:
        self.m[:4] = self.m_at, self.w_at, program, self.m_size

    @property
    def nbytes(self) -> int:
        """The bytes that are in use."""
        m, p = self.m, self.p
        words = len(m) + (int(m[t.KeyTable.top]) + 7) // 8 * t.GROUP + int(p[t.KeyArena.top]) + len(p) - int(p[t.KeyArena.room])
        return words * reserve.WORD

    def provide(self, status: int, call: Any) -> None:
        """Provide the room that a status asks for, or raise MemoryError; ``call``: the kernels."""
        if status == t.NEED_SLOTS:
            self._more_slots(call)
        elif status == t.NEED_NUMBERS:
            self.reach(2 * int(self.m[t.KeyTable.room]))
        else:
            self.grow_arena(2 * (int(self.p[t.KeyArena.room]) - t.ARENA), len(self.p) - int(self.p[t.KeyArena.room]))

    def _more_slots(self, call: Any) -> None:
        bits = int(self.m[t.KeyTable.bits]) + 1
        if bits > t.TAG:
            raise MemoryError(f"expected at most {3 << t.TAG - 2:,} keys but got more")
        m = _words(t.SLOTS + (1 << bits))
        m[: t.SLOTS] = self.m[: t.SLOTS]
        m[t.KeyTable.bits] = bits
        call(t.REFILL, arrays=arrays_of(m, self.m, self.p))
        self._use(m=m)

    def reach(self, numbers: int) -> None:
        """Make room for so many numbers."""
        if numbers > MOST:
            raise MemoryError(f"expected at most {MOST:,} keys but got more")
        least = -(-numbers // 8) * t.GROUP
        if least > len(self.w):
            w = _words(least, AHEAD)
            w[: len(self.w)] = self.w
            self._use(w=w)
        self.m[t.KeyTable.room] = min(len(self.w) // t.GROUP * 8, MOST)

    def grow_arena(self, room: int, spare: int) -> None:
        """Grow the arena to so many words, and so many behind them for the key that is looked for."""
        p = _words(t.ARENA + room + spare, AHEAD)
        top = int(self.p[t.KeyArena.top])
        p[:top] = self.p[:top]
        p[t.KeyArena.room] = len(p) - spare
        sought = self.p[int(self.p[t.KeyArena.room]) :]
        p[len(p) - spare : len(p) - spare + len(sought)] = sought
        self._use(p=p)

    def spare(self, words: int) -> None:
        """Make room for a record of so many words that is looked for."""
        room = int(self.p[t.KeyArena.room])
        if room + words > len(self.p):
            self.grow_arena(room - t.ARENA, 2 * words)

    def take(self, w: Any, p: Any, top: int) -> None:
        """Set the keys of the numbers below ``top``, and their records; the table, without any yet, has slots for them."""
        bits = max(BITS, (-(-4 * top // 3)).bit_length())
        m = _words(t.SLOTS + (1 << bits))
        m[: t.SLOTS] = self.m[: t.SLOTS]
        m[t.KeyTable.bits] = bits
        self._use(m=m)
        self.reach(top)
        self.w[: len(w)] = w
        self.grow_arena(len(p) - t.ARENA + WORDS, SPARE)
        self.p[t.KeyArena.top] = len(p)
        self.p[t.ARENA : len(p)] = p[t.ARENA :]

    def compact(self, call: Any, whole: bool = False) -> None:
        """Make the arena anew, with records in the order of numbers; without ``whole``, only where most of it is free."""
        p, m = self.p, self.m
        free, top = int(p[t.KeyArena.freed]), int(m[t.KeyTable.top])
        held = int(p[t.KeyArena.top]) - t.ARENA - free
        if not whole and free <= max(held, top, SMALL):
            return
        spare, groups = len(p) - int(p[t.KeyArena.room]), -(-top // 8) * t.GROUP
        new, w = _words(t.ARENA + held + held // 4 + WORDS + spare, AHEAD), _words(len(self.w), 1)
        w[:groups] = self.w[:groups]
        new[t.KeyArena.top], new[t.KeyArena.room] = t.ARENA, len(new) - spare
        call(t.COMPACT, 0, top, WordArray(w.reshape(1, -1)), arrays_of(new, self.w, p))
        self._use(w=w, p=new)


def arrays_of(m: Any, w: Any, p: Any) -> KeyArrays:
    """Return these arrays as kernels take them."""
    found = KeyArrays.__new__(KeyArrays)
    found._use(m=m, w=w, p=p)
    return found


def _words(least: int, ahead: int = 1) -> Any:
    """Return an array of at least so many words, all 0. May raise MemoryError."""
    if least < SMALL:
        return np.zeros(least, np.int64)
    found = reserve.words(least, least * ahead)
    reserve.large_pages(found, 0, len(found))
    return found
