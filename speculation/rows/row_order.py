"""Compare rows of words, and sort them: numbers by themselves, texts by their ranks."""

from __future__ import annotations

from afa.compiled.kernel.native_call import kernel
from speculation.rows.row_layout import *


@kernel
def signed(m: RowControl, x: int, y: int, kind: int) -> int:
    """Return -1 if ``x`` stands before ``y``, else 1; they differ."""
    if kind & TEXT and m.ranked == 0:
        m.unranked = 1
    elif kind & TEXT:
        x, y = m[m.text_ranks + x], m[m.text_ranks + y]
    return -1 if (x < y) == (kind & DOWN == 0) else 1


@kernel
def compared(m: RowControl, r: RowPool, x: int, y: int, n: int) -> int:
    """Return -1, 0 or 1 as row ``x`` stands before, with or behind row ``y`` by the first ``n`` words of the order."""
    at = m.spec + RowSpec.order
    for i in range(n):
        column = m[at + 2 * i]
        if r[x, column] != r[y, column]:
            return signed(m, r[x, column], r[y, column], m[at + 2 * i + 1])
    return 0


@kernel
def ordered(m: RowControl, r: RowPool, x: int, y: int) -> int:
    """Compare two rows, by key first."""
    if r.key[x] != r.key[y]:
        return -1 if r.key[x] < r.key[y] else 1
    return compared(m, r, x, y, RowSpec(m.spec).order_n)


@kernel
def arrange(m: RowControl, r: RowPool, n: int) -> None:
    """Sort the rows in INDEX; of equal ones the first stays first. Short runs by insertion, then these are merged."""
    a, b = m.index, m.other
    low = 0
    while low < n:
        high = min(low + RUN, n)
        for i in range(low + 1, high):
            row = m[a + i]
            j = i
            while j > low and ordered(m, r, m[a + j - 1], row) > 0:
                m[a + j] = m[a + j - 1]
                j -= 1
            m[a + j] = row
        low = high
    size = RUN
    while size < n:
        low = 0
        while low + size < n:
            merge_runs(m, r, a, b, low, low + size, min(low + 2 * size, n))
            low += 2 * size
        size = 2 * size


@kernel
def merge_runs(m: RowControl, r: RowPool, a: int, b: int, low: int, middle: int, high: int) -> None:
    """Merge two runs that stand side by side at ``a``; ``b``: room."""
    if ordered(m, r, m[a + middle - 1], m[a + middle]) <= 0:
        return
    for i in range(low, middle):
        m[b + i] = m[a + i]
    i, j, at = low, middle, low
    while i < middle:
        if j < high and ordered(m, r, m[b + i], m[a + j]) > 0:
            m[a + at] = m[a + j]
            j += 1
        else:
            m[a + at] = m[b + i]
            i += 1
        at += 1
