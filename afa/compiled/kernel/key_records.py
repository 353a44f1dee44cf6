"""Records of keys that are no word: made from columns, and kept in an arena with free lists by size."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.key_hash import heads_of, words_of
from afa.compiled.kernel.key_layout import *
from afa.compiled.kernel.native_call import kernel, peek, peek_byte


@kernel
def kind_of(c: Any, part: int, row: int) -> int:
    """Return the kind of a row's value in a column."""
    at = KeyColumnWords(KeyCall.columns + part * KeyColumnWords.SIZE)
    return peek_byte(at.kinds + row) if at.kinds else at.kind


@kernel
def text_at(p: KeyArena, at: int, begin: int, size: int) -> int:
    """Write the ``size`` bytes at address ``begin`` to ``p[at]``, filled up with 0 to whole words. Returns the word behind them."""
    whole, rest = size >> 3, size & 7
    for i in range(whole):
        p[at + i] = peek(begin + 8 * i)
    if rest == 0:
        return at + whole
    if whole:  # only bytes of the text are read
        p[at + whole] = (peek(begin + size - 8) >> (64 - 8 * rest)) & ((1 << 8 * rest) - 1)
    else:
        word = 0
        for i in range(rest):
            word = word | peek_byte(begin + i) << 8 * i
        p[at + whole] = word
    return at + whole + 1


@kernel
def key_of(p: KeyArena, c: KeyCall, row: int, at: int) -> tuple[int, int]:
    """Make the record of a row's key at ``p[at]``; 0: it is a word. Returns its kind, and the length or word. *Requires* room."""
    parts, column = c.parts, KeyColumnWords(KeyCall.columns)
    if at == 0:
        return kind_of(c, 0, row), peek(column.at + 8 * row)
    if parts == 0:  # it stands there already
        return c.kind, c.length
    if c.tuple == 0:  # a text
        offsets = column.at + 8 * row
        begin = peek(offsets)
        size = peek(offsets + 8) - begin
        text_at(p, at, column.data + begin, size)
        return kind_of(c, 0, row), size
    # A tuple: its number of parts and their kinds, then its parts.
    heads = heads_of(TUPLE, parts)
    for i in range(1, heads):
        p[at + i] = 0
    p[at] = parts
    end = at + heads
    for i in range(parts):
        kind, column = kind_of(c, i, row), KeyColumnWords(KeyCall.columns + i * KeyColumnWords.SIZE)
        p[at + (i + 1 >> 3)] = p[at + (i + 1 >> 3)] | kind << 8 * (i + 1 & 7)
        if kind & CLASS == NONE:
            continue
        if kind & CLASS != TEXT:
            p[end] = peek(column.at + 8 * row)
            end += 1
            continue
        offsets = column.at + 8 * row
        begin = peek(offsets)
        p[end] = peek(offsets + 8) - begin
        end = text_at(p, end + 1, column.data + begin, p[end])
    return TUPLE, end - at


@kernel
def same_record(p: KeyArena, at: int, kind: int, length: int, other: int) -> bool:
    """Return whether two records of one class and length are of one key."""
    heads = heads_of(kind, p[at] & 255) if length else 0
    for i in range(words_of(kind, length)):
        differ = p[at + i] ^ p[other + i]
        if differ if i >= heads else differ & (HEADS if i == 0 else KINDS):
            return False
    return True


@kernel
def size_of_record(words: int) -> tuple[int, int]:
    """Return the size class for so many words, and its words: up to 16 one class each, then eight for each doubling."""
    double, units = 0, words
    while units > 16:
        units = units + 1 >> 1
        double += 1
    return units + 8 * double, units << double


@kernel
def take_record(p: KeyArena, words: int) -> int:
    """Take room for a record from the arena. Returns where it is, or NEED_ARENA."""
    if words == 0:
        return ARENA
    size, whole = size_of_record(words)
    found = p.free[size]
    if found != 0:  # INVARIANT: the first word of a free record is the next one of its size
        p.free[size] = p[found]
        p.freed -= whole
        return found
    if p.top + whole > p.room:
        return NEED_ARENA
    p.top += whole
    return p.top - whole


@kernel
def free_record(p: KeyArena, at: int, words: int) -> None:
    """Put a record on the free list of its size."""
    if words:
        size, whole = size_of_record(words)
        p[at] = p.free[size]
        p.free[size] = at
        p.freed += whole
