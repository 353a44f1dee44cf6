"""SipHash-1-3 of whole words, with a secret of the process: who chooses keys can't make them collide."""

from __future__ import annotations

from afa.compiled.kernel.key_layout import *
from afa.compiled.kernel.native_call import kernel, wrapped


@kernel
def turned(x: int, bits: int) -> int:
    """Return a word rotated to the left."""
    return wrapped(x << bits) | ((x >> (64 - bits)) & ((1 << bits) - 1))


@kernel
def mixed(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """Return the state after a round of SipHash."""
    a, c = wrapped(a + b), wrapped(c + d)
    b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
    a = turned(a, 32)
    c, a = wrapped(c + b), wrapped(a + d)
    b, d = turned(b, 17) ^ c, turned(d, 21) ^ a
    c = turned(c, 32)
    return a, b, c, d


@kernel
def ended(m: KeyTable, a: int, b: int, c: int, d: int) -> int:
    """Return the tag, once all words are taken in."""
    a, b, c, d = mixed(a, b, c ^ 255, d)
    a, b, c, d = mixed(a, b, c, d)
    a, b, c, d = mixed(a, b, c, d)
    return (a ^ b ^ c ^ d) >> 33 & (1 << TAG) - 1 & int(m.mask)


@kernel
def tag_of(m: KeyTable, p: KeyArena, kind: int, word: int, at: int) -> int:
    """Return the tag of a key: of a word, or where ``at`` is not 0 of the record there, of length ``word``."""
    a, b, c, d = int(m.secret[0]) ^ int(kind) & CLASS, int(m.secret[1]), int(m.secret[2]), int(m.secret[3])
    a, b, c, d = mixed(a, b, c, d ^ int(word))
    a = a ^ int(word)
    heads = heads_of(kind, int(p[at]) & 255) if at and word else 0
    for i in range(words_of(kind, word) if at else 0):
        part = int(p[at + i])
        if i < heads:
            part = part & (HEADS if i == 0 else KINDS)
        a, b, c, d = mixed(a, b, c, d ^ part)
        a = a ^ part
    return ended(m, a, b, c, d)


@kernel
def record_at(kind: int, value: int) -> tuple[int, int]:
    """Return the length of a key's record and where it is, by the key's value; of a word itself and 0."""
    if kind & CLASS in (TEXT, TUPLE):
        return value & LONGEST, value >> LENGTH
    return value, 0


@kernel
def words_of(kind: int, length: int) -> int:
    """Return how many words a record of a length takes."""
    return length if kind & CLASS == TUPLE else length + 7 >> 3


@kernel
def heads_of(kind: int, parts: int) -> int:
    """Return how many words of a record tell the kinds of its parts."""
    return parts + 8 >> 3 if kind & CLASS == TUPLE else 0
