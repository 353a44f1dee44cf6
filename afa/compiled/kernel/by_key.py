"""Sort the records of a batch by key, stably, digit by digit: each word holds a key and a record.

    records   x      0   1   2   3   4
    key              7   3   7   7   3
    w.pairs          7:0 3:1 7:2 7:3 3:4   -->   3:1 3:4 | 7:0 7:2 7:3

So keys come in the order of their entries, and mostly of their memory. The memory of keys some places ahead is fetched meanwhile
(`fetch_ahead`).
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, prefetch

RECORD = 22
"""Bits of a word that number the record within the batch; the others are the key."""
SOON, LATER = 6, 12
"""How many keys ahead the state is fetched, and the entry that tells where it is."""


@kernel
def digits_of(most: int) -> Any:
    """Return how many rounds sort keys up to ``most``, and how many bits each takes."""
    bits = 0
    while most >> bits:
        bits += 1
    rounds = (bits + DIGIT - 1) // DIGIT
    return rounds, max(bits + rounds - 1, 0) // max(rounds, 1)


@kernel
def pairs_at(w: Scratch, rounds: int) -> int:
    """Return where pairs must be written so that `sort_pairs` leaves them at w.pairs."""
    return w.sort if rounds & 1 else w.pairs


@kernel
def sort_pairs(w: Scratch, source: int, n: int, rounds: int, bits: int) -> int:
    """Sort ``n`` pairs by key, stably, in ``rounds`` rounds; see `digits_of`. Returns where they are then: w.pairs or w.sort."""
    counts, mask = w.counts, (1 << bits) - 1
    for turn in range(rounds):
        shift, target = RECORD + turn * bits, w.sort + w.pairs - source
        # Count each digit, turn counts into places, and move the pairs there.
        for digit in range(mask + 1):
            w[counts + digit] = 0
        for k in range(n):
            w[counts + ((w[source + k] >> shift) & mask)] += 1
        at = target
        for digit in range(mask + 1):
            many = w[counts + digit]
            w[counts + digit] = at
            at += many
        for k in range(n):
            word = w[source + k]
            digit = counts + ((word >> shift) & mask)
            w[w[digit]] = word
            w[digit] += 1
        source = target
    return source


@kernel
def fetch_ahead(m: Memory, soon: int, later: int) -> None:
    """Fetch the state of a key that is served soon, and the entry of one that is served later."""
    base = m.m_at
    prefetch(base + 8 * (m.dir + later * KeyEntry.SIZE))
    b = base + 8 * abs(KeyEntry(m.dir + soon * KeyEntry.SIZE).block)
    prefetch(b)
    prefetch(b + 64)
    prefetch(b + 128)
    prefetch(b + 192)
