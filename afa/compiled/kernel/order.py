"""The order of steps: places of a block, records of a batch brought into order.

    find_place(9)      LE of places   5  7 | 9  9  12                          the first place not before it, by halves

    arrange            LE of records       1  4  9  3  12  8
                       kept at w.index     1  4  9  12                         those that only rise
                       aside at w.sort     3  8                                sorted, then merged back from the end
                       w.index             1  3  4  8  9  12

For a stream in order one look at each record is all.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel, peek

FEW = 16


@kernel
def promise(m: Memory, t: int) -> None:
    """Take a punctuation of the event input."""
    if t <= m.events:
        m.stale += 1
        return
    m.events = t
    m.now = max(m.now, t + 1 if t < FOREVER else FOREVER)


@kernel
def rank(m: Memory, word: int) -> int:
    """Return the order of a sequence word: itself, or the rank of its string."""
    return peek(m.ranks + 8 * word) if m.ordered == 2 else word


@kernel
def is_before(m: Memory, b: Block, i: int, le: int, seq: int) -> bool:
    """Return whether a step comes before ``(le, seq)``."""
    if b.le[i] != le:
        return b.le[i] < le
    return m.ordered != 0 and rank(m, b.seq[i]) < rank(m, seq)


@kernel
def find_place(m: Memory, b: Block, le: int, seq: int) -> int:
    """Return the first place whose step is not before ``(le, seq)``. O(log of how many are not); O(1) at the end."""
    low, high, order, stride = b.first, b.last, b.order, 1
    while high - stride >= low:
        if is_before(m, b, order[high - stride], le, seq):
            low = high - stride + 1
            break
        high, stride = high - stride, 2 * stride
    while low < high:
        middle = (low + high) >> 1
        if is_before(m, b, order[middle], le, seq):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def earlier(m: Memory, c: Arrivals, le_at: int, x: int, y: int) -> bool:
    """Return whether record ``x`` comes before record ``y``; rows of a table, where ``le_at`` is its column of LE."""
    if le_at != 0:
        return peek(le_at + 8 * x) < peek(le_at + 8 * y)
    if c.le[x] != c.le[y]:
        return c.le[x] < c.le[y]
    return m.ordered != 0 and rank(m, c.seq[x]) < rank(m, c.seq[y])


@kernel
def arrange(m: Memory, w: Scratch, c: Arrivals, n: int) -> None:
    """Bring the records ``w[w.index][:n]`` into order.

    A record behind the largest time so far is set aside, sorted, and merged back: in order O(n), else O(n + late log late).
    *Requires* room for ``2 * n`` at w.sort.
    """
    index, aside = w.index, w.sort
    kept = late = 0
    for k in range(n):
        record = w[index + k]
        if kept and earlier(m, c, 0, record, w[index + kept - 1]):
            w[aside + late] = record
            late += 1
            continue
        w[index + kept] = record
        kept += 1
    # Sort what was set aside, and merge both from the end.
    sort(m, w, c, 0, aside, aside + w.batch, late)
    a, b = kept - 1, late - 1
    for k in range(kept + late - 1, -1, -1):
        if b < 0:
            break
        if a >= 0 and earlier(m, c, 0, w[aside + b], w[index + a]):
            w[index + k] = w[index + a]
            a -= 1
        else:
            w[index + k] = w[aside + b]
            b -= 1


@kernel
def sort(m: Memory, w: Scratch, c: Any, le_at: int, at: int, spare: int, n: int) -> None:
    """Sort numbers ``w[at : at + n]`` by `earlier` from the bottom up, with as much room at ``spare``; stable. O(n log n)."""
    # Groups of FEW by insertion; then pairs of groups are merged, until one is left.
    low = 0
    while low < n:
        for k in range(low + 1, min(low + FEW, n)):
            number, j = w[at + k], k
            while j > low and earlier(m, c, le_at, number, w[at + j - 1]):
                w[at + j] = w[at + j - 1]
                j -= 1
            w[at + j] = number
        low += FEW
    width = FEW
    while width < n:
        low = 0
        while low + width < n:
            middle, high = low + width, min(low + 2 * width, n)
            i = low
            while i < middle and not earlier(m, c, le_at, w[at + middle], w[at + i]):  # these stay where they stand
                i += 1
            for k in range(i, middle):
                w[spare + k] = w[at + k]
            j, k = middle, i
            while i < middle:
                if j < high and earlier(m, c, le_at, w[at + j], w[spare + i]):
                    w[at + k] = w[at + j]
                    j += 1
                else:
                    w[at + k] = w[spare + i]
                    i += 1
                k += 1
            low += 2 * width
        width *= 2
