"""The table of keys: open addressing, one word for a slot. See `key_layout`.

Many keys are looked up together, in rounds over a few rows each, so that their lines of cache are fetched at the same time:
tag -> slot -> value -> record. `find` writes only to its own rows, so that several threads may each look up a part of them.

Rows often have the key of a row shortly before. So words that were found are noted with their numbers, in the rows' part of LOG,
and looked up there first; no longer once few rows are found there.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.key_hash import record_at, tag_of, words_of
from afa.compiled.kernel.key_layout import *
from afa.compiled.kernel.key_records import free_record, key_of, same_record, take_record
from afa.compiled.kernel.layout import DONE
from afa.compiled.kernel.native_call import kernel, peek, prefetch, wrapped

ROUND = 32
"""How many rows are looked up side by side."""
NUMBER = (1 << 32) - 1
"""The bits of a slot that hold the number."""
NOTES, SPREAD = 256, 0x9E3779B97F4A7C15 - (1 << 64)
"""How many words are noted, each with its number; the multiplier of their hash."""
NOTED = 4 * NOTES
"""From how many rows on words are noted. After so many rows noting ends if less than a quarter of them was found so."""


@kernel
def home_of(m: KeyTable, tag: int) -> int:
    """Return the first slot in which a key of this tag may stand."""
    return tag >> TAG - m.bits


@kernel
def value_at(number: int) -> int:
    """Return the place of a key's value in ``w``."""
    return (number >> 3) * GROUP + 1 + (number & 7)


@kernel
def kind_at(w: Any, number: int) -> int:
    """Return the kind of the key of a number; 0: the number is free."""
    return (w[(number >> 3) * GROUP] >> 8 * (number & 7)) & 127


@kernel
def put_kind(w: Any, number: int, kind: int) -> None:
    """Write the kind of the key of a number."""
    at, bits = (number >> 3) * GROUP, 8 * (number & 7)
    w[at] = (w[at] & ~(127 << bits)) | kind << bits


@kernel
def of_words(c: KeyCall) -> bool:
    """Return whether the keys of a call are words, not records."""
    return c.tuple == 0 and c.parts == 1 and KeyColumnWords(KeyCall.columns).data == 0


@kernel
def is_key(w: Any, p: KeyArena, number: int, kind: int, word: int, at: int) -> bool:
    """Return whether a number is that of a key: of a word, or where ``at`` is not 0 of the record there, of length ``word``."""
    if (kind_at(w, number) ^ kind) & CLASS or kind & CLASS == OBJECT:
        return False
    value = w[value_at(number)]
    if at == 0:
        return value == word
    return value & LONGEST == word and same_record(p, at, kind, word, value >> LENGTH)


@kernel
def search(m: KeyTable, w: Any, p: KeyArena, tag: int, kind: int, word: int, at: int) -> tuple[int, int]:
    """Return the number of a key, NOWHERE if it has none; and its slot, or the free one for it. O(1) expected."""
    last, slot = (1 << m.bits) - 1, home_of(m, tag)
    while m[SLOTS + slot] != 0:
        found = m[SLOTS + slot]
        if found >> 32 == tag and is_key(w, p, (found & NUMBER) - 1, kind, word, at):
            return (found & NUMBER) - 1, slot
        slot = (slot + 1) & last
    return -1, slot


@kernel
def first_of_tag(m: KeyTable, tag: int) -> int:
    """Return the word of the first slot with a tag; 0: there is none."""
    last, slot = (1 << m.bits) - 1, home_of(m, tag)
    while m[SLOTS + slot] != 0 and m[SLOTS + slot] >> 32 != tag:
        slot = (slot + 1) & last
    return m[SLOTS + slot]


@kernel
def note_of(word: int) -> int:
    """Return where a word would be noted: a pair of words behind the rows that `unnoted` lists."""
    return ROUND + 2 * (wrapped(word * SPREAD) >> 56 & NOTES - 1)


@kernel
def unnoted(c: KeyCall, low: int, row: int, end: int, notes: bool) -> int:
    """Write the numbers of rows whose words are noted, and list the other rows at ``c[LOG, low]``. Returns how many these are."""
    count, words = 0, KeyColumnWords(KeyCall.columns).at
    for r in range(row, end):
        if notes:
            word = peek(words + 8 * r)
            note = low + note_of(word)
            if c[LOG, note] == word and c[LOG, note + 1] >= 0:
                c[OUT, r] = c[LOG, note + 1]
                continue
        c[LOG, low + count] = r
        count += 1
    return count


@kernel
def tag_of_row(m: KeyTable, p: KeyArena, c: Any, r: int, at: int) -> int:
    """Return the tag of a row's key; ``at``: where its record is made, 0: it is a word."""
    kind, word = key_of(p, c, r, at)
    return tag_of(m, p, kind, word, at)


@kernel
def find(m: KeyTable, w: Any, p: KeyArena, c: KeyCall, low: int, high: int) -> int:
    """Write the numbers of rows' keys to OUT; of a key without one, -1 less its tag. Returns how many have none."""
    missing, row, words, known, column = 0, low, of_words(c), 0, KeyColumnWords(KeyCall.columns)
    at = 0 if words else p.room + low // c.rows * c.width
    notes = words and column.kinds == 0 and high - low >= NOTED
    if notes:
        for k in range(NOTES):
            c[LOG, low + ROUND + 2 * k + 1] = -1
    while row < high:
        end = min(row + ROUND, high)
        count = unnoted(c, low, row, end, notes)
        # 1. Tags; fetch the slots.
        for k in range(count):
            r = c[LOG, low + k]
            # With 0 written out, words are found in three quarters of the time: no code of records is in their way.
            tag = tag_of_row(m, p, c, r, at) if at else tag_of_row(m, p, c, r, 0)
            c[OUT, r] = tag
            prefetch(m.m_at + 8 * (SLOTS + home_of(m, tag)))
        # 2. The first slot of each tag; fetch the values, then the records.
        for k in range(count):
            r = c[LOG, low + k]
            tag = c[OUT, r]
            found = first_of_tag(m, tag)
            c[OUT, r] = found if found else -1 - tag
            if found:
                prefetch(m.w_at + 8 * value_at((found & NUMBER) - 1))
        if not words:
            for r in range(row, end):
                if c[OUT, r] >= 0:
                    prefetch(m.p_at + 8 * (w[value_at((c[OUT, r] & NUMBER) - 1)] >> LENGTH))
        # 3. Compare the keys, and note the words.
        for k in range(count):
            r = c[LOG, low + k]
            if c[OUT, r] >= 0:
                settle(m, w, p, c, r, at)
            if c[OUT, r] < 0:
                missing += 1
            elif notes:
                _, word = key_of(p, c, r, 0)
                note = low + note_of(word)
                c[LOG, note], c[LOG, note + 1] = word, c[OUT, r]
        known += end - row - count
        notes = notes and (end - low < NOTED or 4 * known >= end - low)
        row = end
    return missing


@kernel
def settle(m: KeyTable, w: Any, p: KeyArena, c: KeyCall, r: int, at: int) -> None:
    """Write the number of a row's key, whose tag has a slot; ``at``: where its record is made, 0: it is a word."""
    found = c[OUT, r]
    kind, word = key_of(p, c, r, at)
    number = (found & NUMBER) - 1
    if not is_key(w, p, number, kind, word, at):
        number, _ = search(m, w, p, found >> 32, kind, word, at)
    c[OUT, r] = number if number >= 0 else -1 - (found >> 32)


@kernel
def insert(m: KeyTable, w: Any, p: KeyArena, c: Any, high: int) -> int:
    """Give numbers to the keys of the rows from KeyTable.next on to which `find` gave none. Returns a status."""
    at = 0 if of_words(c) else p.room
    while m.next < high:
        r = m.next
        ahead = min(r + ROUND, high - 1)
        if c[OUT, ahead] < 0:
            prefetch(m.m_at + 8 * (SLOTS + home_of(m, -1 - c[OUT, ahead])))
        if c[OUT, r] < 0:
            number = place(m, w, p, c, r, at)
            if number < 0:
                return number
            c[OUT, r] = number
        m.next = r + 1
    return DONE


@kernel
def place(m: KeyTable, w: Any, p: KeyArena, c: Any, r: int, at: int) -> int:
    """Return the number of a row's key, a new one if it has none, or a status; ``at``: see `settle`."""
    tag = -1 - c[OUT, r]
    kind, word = key_of(p, c, r, at)
    number, slot = search(m, w, p, tag, kind, word, at)
    if number >= 0:
        return number
    # INVARIANT: nothing is written before all that may be lacking is there; a quarter of the slots stays free.
    if 4 * (m.count + 1) > 3 << m.bits:
        return NEED_SLOTS
    if m.free == 0 and m.top == m.room:
        return NEED_NUMBERS
    value = word
    if at:
        size = words_of(kind, word)
        record = take_record(p, size)
        if record < 0:
            return record
        for i in range(size):
            p[record + i] = p[at + i]
        value = record << LENGTH | word
    number = take_number(m, w, c)
    w[value_at(number)] = value
    put_kind(w, number, kind)
    m[SLOTS + slot] = tag << 32 | number + 1
    m.count += 1
    return number


@kernel
def take_number(m: KeyTable, w: Any, c: Any) -> int:
    """Take a free number, which is logged, or the first that was never given."""
    if m.free == 0:
        m.top += 1
        return m.top - 1
    number = m.free - 1
    m.free = w[value_at(number)]
    c[LOG, m.logged] = number
    m.logged += 1
    return number


@kernel
def tag_at(m: KeyTable, w: Any, p: KeyArena, number: int) -> int:
    """Return the tag of the key that has a number."""
    kind = kind_at(w, number)
    word, at = record_at(kind, w[value_at(number)])
    return tag_of(m, p, kind, word, at)


@kernel
def remove(m: KeyTable, w: Any, p: KeyArena, c: Any, high: int) -> int:
    """Forget the keys of the numbers at OUT, and free the numbers. Numbers that are free stay so. Returns DONE."""
    row = 0
    while row < high:
        end = min(row + ROUND, high)
        for r in range(row, end):
            prefetch(m.w_at + 8 * value_at(c[OUT, r]))
        for r in range(row, end):
            if kind_at(w, c[OUT, r]):
                c[LOG, r] = tag_at(m, w, p, c[OUT, r])
                prefetch(m.m_at + 8 * (SLOTS + home_of(m, c[LOG, r])))
        for r in range(row, end):
            number = c[OUT, r]
            kind = kind_at(w, number)
            if kind == 0:
                continue
            clear_slot(m, c[LOG, r], number)
            word, at = record_at(kind, w[value_at(number)])
            if at:
                free_record(p, at, words_of(kind, word))
            put_kind(w, number, 0)
            w[value_at(number)] = m.free
            m.free = number + 1
            m.count -= 1
        row = end
    return DONE


@kernel
def clear_slot(m: KeyTable, tag: int, number: int) -> None:
    """Free a number's slot, and shift later entries of its probe sequence back."""
    last, slot = (1 << m.bits) - 1, home_of(m, tag)
    while m[SLOTS + slot] & NUMBER != number + 1:
        slot = (slot + 1) & last
    after = (slot + 1) & last
    while m[SLOTS + after] != 0:
        home = home_of(m, m[SLOTS + after] >> 32)
        # INVARIANT: no free slot between the home of a key and its slot.
        if (after - home) & last >= (after - slot) & last:
            m[SLOTS + slot] = m[SLOTS + after]
            slot = after
        after = (after + 1) & last
    m[SLOTS + slot] = 0


@kernel
def refill(m: KeyTable, w: KeyTable) -> int:
    """Copy the slots of a table, given as ``w``, to a larger one. Returns DONE."""
    last = (1 << m.bits) - 1
    for i in range(1 << w.bits):
        found = w[SLOTS + i]
        if found != 0:
            slot = home_of(m, found >> 32)
            while m[SLOTS + slot] != 0:
                slot = (slot + 1) & last
            m[SLOTS + slot] = found
    return DONE
