"""Rebuild the key table from keys that came from elsewhere."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.key_hash import heads_of, record_at, words_of
from afa.compiled.kernel.key_layout import *
from afa.compiled.kernel.key_records import size_of_record
from afa.compiled.kernel.key_table import ROUND, home_of, kind_at, search, tag_at, value_at
from afa.compiled.kernel.layout import DONE, NOWHERE
from afa.compiled.kernel.native_call import kernel, prefetch


@kernel
def rebuild(m: KeyTable, w: Any, p: KeyArena, c: Any, high: int) -> int:
    """Fill an empty table with the keys of the numbers below ``high``; numbers without a key are free, the least given first.

    Returns DONE; NOWHERE if a key is not sound, or there twice. *Requires* slots for all, and ROUND words in ``c``.
    """
    row, after = 0, ARENA
    while row < high:
        end = min(row + ROUND, high)
        for number in range(row, end):
            kind, value = kind_at(w, number), w[value_at(number)]
            if kind != 0:
                if not is_sound(p, kind, value):
                    return NOWHERE
                # INVARIANT: records stand in the order of numbers, as `compact` leaves them, so that no two share a place.
                length, at = record_at(kind, value)
                size = words_of(kind, length) if at else 0
                if size and at != after:
                    return NOWHERE
                _, whole = size_of_record(size)
                after += whole
                c[0, number - row] = tag_at(m, w, p, number)
                prefetch(m.m_at + 8 * (SLOTS + home_of(m, c[0, number - row])))
        for number in range(row, end):
            if kind_at(w, number) != 0 and not enter(m, w, p, number, c[0, number - row]):
                return NOWHERE
        row = end
    if after != p.top:
        return NOWHERE
    m.top, m.free = high, 0
    # INVARIANT: a free number's value is one past the next free number; 0 ends the list.
    for number in range(high - 1, -1, -1):
        if kind_at(w, number) == 0:
            w[value_at(number)] = m.free
            m.free = number + 1
    return DONE


@kernel
def enter(m: KeyTable, w: Any, p: KeyArena, number: int, tag: int) -> bool:
    """Give the key of a number a slot. Returns whether it had none."""
    kind = kind_at(w, number)
    word, at = record_at(kind, w[value_at(number)])
    found, slot = search(m, w, p, tag, kind, word, at)
    if found >= 0:
        return False
    m[SLOTS + slot] = tag << 32 | number + 1
    m.count += 1
    return True


@kernel
def is_sound(p: KeyArena, kind: int, value: int) -> bool:
    """Return whether a value fits its kind: its record lies in the arena, and its parts in the record."""
    if kind & ~CLASS == ODD:
        return False
    if kind & CLASS in (INT, REAL):
        return True
    at, length = value >> LENGTH, value & LONGEST
    if kind & CLASS not in (TEXT, TUPLE) or at < ARENA or at + words_of(kind, length) > p.top:
        return False
    if kind & CLASS == TEXT:
        return True
    if length == 0:
        return False
    parts = p[at] & 255
    end, heads = at + length, at
    at += heads_of(TUPLE, parts)
    for i in range(parts):
        if at > end:
            return False
        kind = (p[heads + (i + 1 >> 3)] >> 8 * (i + 1 & 7)) & CLASS
        if kind == TEXT:
            if at == end or p[at] < 0 or p[at] > LONGEST:
                return False
            at += 1 + words_of(TEXT, p[at])
        elif kind != NONE:
            at += 1
    return at == end
