"""The entry of the key table, and keys by their numbers: parts, texts side by side, the arena without free places."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.key_hash import heads_of, record_at, words_of
from afa.compiled.kernel.key_layout import *
from afa.compiled.kernel.key_records import size_of_record, take_record
from afa.compiled.kernel.key_table import ROUND, find, home_of, insert, kind_at, refill, remove, search, tag_at, value_at
from afa.compiled.kernel.layout import DONE, NOWHERE
from afa.compiled.kernel.native_call import kernel, prefetch, wrapped


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


@kernel
def keys(m: KeyTable, w: Any, p: KeyArena, c: Any, what: int, low: int, high: int) -> int:
    """Do the one thing that ``what`` names. Returns what the kernel that does it returns."""
    if what == FIND:
        return find(m, w, p, c, low, high)
    if what == INSERT:
        return insert(m, w, p, c, high)
    if what == REMOVE:
        return remove(m, w, p, c, high)
    if what == REFILL:
        return refill(m, w)
    if what == COMPACT:
        return compact(m, w, p, c, high)
    if what == REBUILD:
        return rebuild(m, w, p, c, high)
    if what == CELLS:
        return cells(m, w, p, c, low, high)
    return pack(m, w, p, c, high)


@kernel
def cells(m: KeyTable, w: Any, p: KeyArena, c: Any, part: int, high: int) -> int:
    """Write kind and value of the keys with the numbers at OUT to rows 2 and 3; ``part`` >= 0: those of a part of each tuple.

    Returns how many are tuples with such a part.
    """
    count = 0
    for r in range(high):
        ahead = min(r + ROUND, high - 1)
        prefetch(m.w_at + 8 * value_at(c[OUT, ahead]))
        kind, value = kind_at(w, c[OUT, r]), w[value_at(c[OUT, r])]
        if part >= 0 and kind & CLASS == TUPLE and part < p[value >> LENGTH] & 255:
            count += 1
            kind, value = part_of(p, value >> LENGTH, part)
        c[2, r], c[3, r] = kind, value
    return count


@kernel
def part_of(p: KeyArena, record: int, part: int) -> tuple[int, int]:
    """Return kind and value of a part of a tuple, by its record; of a text the value that a key of it has."""
    at = record + heads_of(TUPLE, p[record] & 255)
    for i in range(part):
        kind = (p[record + (i + 1 >> 3)] >> 8 * (i + 1 & 7)) & CLASS
        if kind == TEXT:
            at += 1 + words_of(TEXT, p[at])
        elif kind != NONE:
            at += 1
    kind = (p[record + (part + 1 >> 3)] >> 8 * (part + 1 & 7)) & 255
    if kind & CLASS == TEXT:
        return kind, at + 1 << LENGTH | p[at]
    return kind, 0 if kind & CLASS == NONE else p[at]


@kernel
def pack(m: KeyTable, w: Any, p: KeyArena, c: Any, high: int) -> int:
    """Write the texts among the keys that `cells` has written to rows 2 and 3 side by side to ``w``. Returns their bytes."""
    end, fill, word = 0, 0, 0
    for r in range(high):
        ahead = min(r + ROUND, high - 1)
        if c[2, ahead] & CLASS == TEXT:
            prefetch(m.p_at + 8 * (c[3, ahead] >> LENGTH))
        if c[2, r] & CLASS != TEXT:
            continue
        at, size = c[3, r] >> LENGTH, c[3, r] & LONGEST
        for i in range(size + 7 >> 3):  # word: the `fill` bytes, less than 8, that are not written yet
            here, n = p[at + i], min(size - 8 * i, 8)
            word = word | wrapped(here << 8 * fill)
            if fill + n >= 8:
                w[end] = word
                end += 1
                word = (here >> 8 * (8 - fill)) & ((1 << 8 * fill) - 1) if fill else 0
                fill -= 8
            fill += n
    w[end] = word
    return 8 * end + fill


@kernel
def compact(m: KeyArena, w: Any, p: KeyArena, c: Any, high: int) -> int:
    """Copy all records to an empty arena, given as ``m``, and write their keys' values to ``c``, a copy of ``w``. Returns DONE."""
    for number in range(high):
        kind = kind_at(w, number)
        length, at = record_at(kind, w[value_at(number)])
        if at:
            size = words_of(kind, length)
            record = take_record(m, size)
            for i in range(size):
                m[record + i] = p[at + i]
            c[0, value_at(number)] = record << LENGTH | length
    return DONE
