"""Sort rows of words by a column, digit by digit: one pass of a radix sort, stable.

rows       [7 a] [3 b] [7 c] [1 d]
counts     digit 1: 1, 3: 1, 7: 2  -->  where the rows of each digit begin
sorted     [1 d] [3 b] [7 a] [7 c]
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek, poke

WIDTH = 0
"""Words of a row."""
BITS = 11
"""Bits of a digit: its counts stay in the cache."""


@kernel
def sort(w: Any, x: RadixPass, here: int) -> int:
    """Write the rows at ``x.rows`` to ``x.out`` in the order of one digit. Returns 1 where they are in it: nothing is written."""
    mask = (1 << BITS) - 1
    counts = x.counts
    for digit in range(mask + 1):
        poke(counts + 8 * digit, 0)
    at, last, ordered = x.rows + 8 * x.place, 0, 1
    for _ in range(x.n):
        digit = (peek(at) - x.low) >> x.shift & mask
        poke(counts + 8 * digit, peek(counts + 8 * digit) + 1)
        ordered &= digit >= last
        last, at = digit, at + 8 * WIDTH
    if ordered:
        return 1
    to = x.out
    for digit in range(mask + 1):
        n = peek(counts + 8 * digit)
        poke(counts + 8 * digit, to)
        to += 8 * WIDTH * n
    row = x.rows
    for _ in range(x.n):
        digit = (peek(row + 8 * x.place) - x.low) >> x.shift & mask
        to = peek(counts + 8 * digit)
        poke(counts + 8 * digit, to + 8 * WIDTH)
        for j in range(WIDTH):
            poke(to + 8 * j, peek(row + 8 * j))
        row += 8 * WIDTH
    return 0
