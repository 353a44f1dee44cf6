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
def tag_of_word(m: KeyTable, kind: int, word: int) -> int:
    """Return the tag of a key that is one word."""
    a, b, c, d = int(m.secret[0]) ^ int(kind) & CLASS, int(m.secret[1]), int(m.secret[2]), int(m.secret[3])
    a, b, c, d = mixed(a, b, c, d ^ int(word))
    return ended(m, a ^ int(word), b, c, d)


@kernel
def tag_of_record(m: KeyTable, p: KeyArena, at: int, kind: int, length: int) -> int:
    """Return the tag of a key whose record stands at ``p[at]``; ``length``: as its value counts it."""
    a, b, c, d = int(m.secret[0]) ^ int(kind) & CLASS, int(m.secret[1]), int(m.secret[2]), int(m.secret[3])
    a, b, c, d = mixed(a, b, c, d ^ int(length))
    a = a ^ int(length)
    heads = heads_of(kind, int(p[at]) & 255) if length else 0
    for i in range(words_of(kind, length)):
        word = int(p[at + i])
        if i < heads:
            word = word & (HEADS if i == 0 else KINDS)
        a, b, c, d = mixed(a, b, c, d ^ word)
        a = a ^ word
    return ended(m, a, b, c, d)


@kernel
def words_of(kind: int, length: int) -> int:
    """Return how many words a record of a length takes."""
    return length if kind & CLASS == TUPLE else length + 7 >> 3


@kernel
def heads_of(kind: int, parts: int) -> int:
    """Return how many words of a record tell the kinds of its parts."""
    return parts + 8 >> 3 if kind & CLASS == TUPLE else 0
