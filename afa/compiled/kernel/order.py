"""The order of steps: places of a block, records of a batch brought into order."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.call import kernel, peek
from afa.compiled.kernel.names import (
    C_ORDERED,
    C_RANKS,
    H_CAP,
    H_FIRST,
    H_LAST,
    HEAD,
    I_DIFF,
    I_LE,
    I_SEQ,
    LE,
    SEQ,
    W_BATCH,
    W_INDEX,
    W_SORT,
)


@kernel
def rank(m: Any, word: int) -> int:
    """What orders a sequence word: itself, or the rank of its string."""
    return int(peek(m[C_RANKS] + 8 * word)) if m[C_ORDERED] == 2 else word


@kernel
def find(m: Any, b: int, le: int, seq: int) -> int:
    """The first place whose step is not before ``(le, seq)``. O(log n); O(1) at the end."""
    low, high = m[b + H_FIRST], m[b + H_LAST]
    cap = m[b + H_CAP]
    order, times, seqs = b + HEAD, b + HEAD + LE * cap, b + HEAD + SEQ * cap
    ordered = m[C_ORDERED] != 0
    wanted = rank(m, seq) if ordered else 0
    if low < high and m[times + m[order + high - 1]] < le:
        return int(high)
    while low < high:
        middle = (low + high) >> 1
        i = m[order + middle]
        t = m[times + i]
        if t < le or (ordered and t == le and rank(m, m[seqs + i]) < wanted):
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def earlier(m: Any, c: Any, x: int, y: int) -> bool:
    """Whether record ``x`` comes before record ``y``."""
    a, b = c[I_LE, x], c[I_LE, y]
    if a != b:
        return bool(a < b)
    return bool(m[C_ORDERED] != 0 and rank(m, c[I_SEQ, x]) < rank(m, c[I_SEQ, y]))


@kernel
def arrange(m: Any, w: Any, c: Any, n: int) -> bool:
    """Bring the records ``w[W_INDEX][:n]`` into order; whether they are insertions at times that only rise.

    What arrives behind the largest time so far is set aside, sorted, and merged back: in order O(n), else O(n + late log late).
    *Requires* room for ``2 * n`` at W_SORT.
    """
    index, aside = w[W_INDEX], w[W_SORT]
    kept = late = 0
    simple = True
    for k in range(n):
        x = w[index + k]
        if c[I_DIFF, x] != 1:
            simple = False
        if kept and not earlier(m, c, w[index + kept - 1], x):
            simple = False
            if earlier(m, c, x, w[index + kept - 1]):
                w[aside + late] = x
                late += 1
                continue
        w[index + kept] = x
        kept += 1
    if late:
        sort(m, w, c, aside, aside + w[W_BATCH], late)
        a, b, k = kept - 1, late - 1, n - 1
        while b >= 0:
            if a >= 0 and earlier(m, c, w[aside + b], w[index + a]):
                w[index + k] = w[index + a]
                a -= 1
            else:
                w[index + k] = w[aside + b]
                b -= 1
            k -= 1
    return simple


@kernel
def sort(m: Any, w: Any, c: Any, at: int, spare: int, n: int) -> None:
    """Sort record numbers ``w[at : at + n]`` from the bottom up, with as much room at ``spare``; stable. O(n log n)."""
    source, target = at, spare
    width = 1
    while width < n:
        low = 0
        while low < n:
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and not earlier(m, c, w[source + j], w[source + i])):
                    w[target + k] = w[source + i]
                    i += 1
                else:
                    w[target + k] = w[source + j]
                    j += 1
            low += 2 * width
        source, target = target, source
        width *= 2
    if source != at:
        for k in range(n):
            w[at + k] = w[source + k]
