"""The order of steps: places of a block, records of a batch brought into order.

    find_place(9)      LE of places   5  7 | 9  9  12                          the first place not before it, by halves

    arrange            LE of records       1  4  9  3  12  8
                       kept at W_INDEX     1  4  9  12                         those that only rise
                       aside at W_SORT     3  8                                sorted, then merged back from the end
                       W_INDEX             1  3  4  8  9  12

A stream in order is only looked through.
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel, peek, peek_byte

FEW = 16


@kernel
def promise(m: Any, t: int) -> None:
    """Take a punctuation of the event input."""
    if t <= m[C_EVENTS]:
        m[C_STALE] += 1
        return
    m[C_EVENTS] = t
    m[C_NOW] = max(m[C_NOW], t + 1 if t < FOREVER else FOREVER)


@kernel
def rank(m: Any, word: int) -> int:
    """Return what orders a sequence word: itself, or the rank of its string."""
    return int(peek(m[C_RANKS] + 8 * word)) if m[C_ORDERED] == 2 else word


@kernel
def find_place(m: Any, b: int, le: int, seq: int) -> int:
    """Return the first place whose step is not before ``(le, seq)``. O(log n); O(1) at the end."""
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
    """Return whether record ``x`` comes before record ``y``."""
    a, b = c[I_LE, x], c[I_LE, y]
    if a != b:
        return bool(a < b)
    return bool(m[C_ORDERED] != 0 and rank(m, c[I_SEQ, x]) < rank(m, c[I_SEQ, y]))


@kernel
def arrange(m: Any, w: Any, c: Any, n: int) -> bool:
    """Bring the records ``w[W_INDEX][:n]`` into order. Returns whether they are insertions at times that only rise.

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
def arrange_rows(m: Any, w: Any, c: Any, b: int, low: int, high: int) -> int:
    """Put the events among rows ``low`` to ``high`` of the columns at ``c`` (F_*) at W_INDEX in order, and take punctuations.

    Ends (C_PLACE) at the first row that is an arc, or late. C_STOPPED says how many events are not after the last step of the
    block. Returns how many events; 0: there are two of one LE.
    """
    index, aside, le_at, kind_at = w[W_INDEX], w[W_SORT], c[0, F_LE], c[0, F_KIND]
    kept = late = 0
    latest = BEGINNING
    x = low
    while x < high:
        le, kind = peek(le_at + 8 * x), peek_byte(kind_at + x) if kind_at != 0 else EVENT
        if kind == PUNCTUATION:
            promise(m, le)
        elif kind != EVENT or le < m[C_EVENTS]:
            break
        elif le > latest:
            w[index + kept] = x
            kept += 1
            latest = le
        else:
            w[aside + late] = x
            late += 1
        x += 1
    m[C_PLACE] = x
    n = kept + late
    if late:
        sort_rows(w, le_at, aside, aside + w[W_BATCH], late)
        a, z, k = kept - 1, late - 1, n - 1
        while z >= 0:
            if a >= 0 and peek(le_at + 8 * w[aside + z]) < peek(le_at + 8 * w[index + a]):
                w[index + k] = w[index + a]
                a -= 1
            else:
                w[index + k] = w[aside + z]
                z -= 1
            k -= 1
    last = BEGINNING
    if b and m[b + H_LAST] > m[b + H_FIRST]:
        last = m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + m[b + H_LAST] - 1]]
    before, m[C_STOPPED] = BEGINNING, 0
    for k in range(n):
        le = peek(le_at + 8 * w[index + k])
        if le == before and k:
            return 0
        m[C_STOPPED] += le <= last
        before = le
    return int(n)


@kernel
def sort_rows(w: Any, le_at: int, at: int, spare: int, n: int) -> None:
    """Sort row numbers ``w[at : at + n]`` by the LE in the column at ``le_at``, from the bottom up; stable. O(n log n)."""
    low = 0
    while low < n:  # short ones by insertion
        for k in range(low + 1, min(low + FEW, n)):
            x = w[at + k]
            le, j = peek(le_at + 8 * x), k
            while j > low and peek(le_at + 8 * w[at + j - 1]) > le:
                w[at + j] = w[at + j - 1]
                j -= 1
            w[at + j] = x
        low += FEW
    width = FEW
    while width < n:
        low = 0
        while low + width < n:
            middle, high = low + width, min(low + 2 * width, n)
            first = peek(le_at + 8 * w[at + middle])
            i = low
            while i < middle and peek(le_at + 8 * w[at + i]) <= first:  # those stand where they should
                i += 1
            for k in range(i, middle):
                w[spare + k] = w[at + k]
            j, k = middle, i
            while i < middle:
                if j < high and peek(le_at + 8 * w[at + j]) < peek(le_at + 8 * w[spare + i]):
                    w[at + k] = w[at + j]
                    j += 1
                else:
                    w[at + k] = w[spare + i]
                    i += 1
                k += 1
            low += 2 * width
        width *= 2


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
